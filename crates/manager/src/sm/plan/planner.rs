//! Plans for drivers whose clock stands still while they compute.

use std::sync::Arc;
use std::time::Duration;

use weft_fabric::Tick;

use super::PlanInput;
use crate::io::Input;

/// Computes plans for [`crate::Output::Plan`], ready after a fixed time of the driver's
/// clock.
#[derive(Debug, Default)]
pub struct Planner {
    takes: Duration,
    /// When it is ready. One plan takes the place of another.
    under_way: Option<(Tick, Arc<PlanInput>)>,
}

impl Planner {
    /// A planner whose plans take so long.
    pub fn new(takes: Duration) -> Self {
        Self {
            takes,
            under_way: None,
        }
    }

    /// Duration of its plans.
    pub fn takes(&self) -> Duration {
        self.takes
    }

    /// Begins a plan.
    pub fn begin(&mut self, now: Tick, input: Arc<PlanInput>) {
        self.under_way = Some((now + self.takes, input));
    }

    /// When the plan that was begun is ready, none while there is none.
    pub fn deadline(&self) -> Option<Tick> {
        self.under_way.as_ref().map(|(at, _)| *at)
    }

    /// Input for the manager at `now`, returned once.
    pub fn ready(&mut self, now: Tick) -> Option<Input> {
        let (_, input) = self.under_way.take_if(|(at, _)| *at <= now)?;
        Some(Input::Planned(Box::new(input.make())))
    }
}
