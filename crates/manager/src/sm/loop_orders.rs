//! Orders of an operator to the loop test, see [`super::loop_test`].

use weft_fabric::{Guid, Tick};
use weft_routing::LOOP_LENGTH;

use super::Manager;
use super::loop_test::{LOOP_PACKETS_MAX, LoopTestError, LoopTestOrder, REDUNDANCY_MAX};
use crate::io::{CommandError, Input, SweepReason};

fn in_range(
    what: &'static str,
    value: u32,
    (least, most): (u32, u32),
) -> Result<(), LoopTestError> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(LoopTestError::Range {
            what,
            value,
            least,
            most,
        }),
    }
}

impl Manager {
    /// Gives the loop test an order; returns the number of the sweep that will have carried it out.
    ///
    /// # Errors
    /// [`LoopTestError`]; then nothing changes.
    pub fn order_loop_test(
        &mut self,
        now: Tick,
        order: LoopTestOrder,
    ) -> Result<u64, LoopTestError> {
        self.must_be_master()?;
        let ran = self.planning.loop_test.running;
        self.check_loop_order(order)?;
        let test = &mut self.planning.loop_test;
        match order {
            LoopTestOrder::Start { fast, packets } => test.start(fast, packets),
            LoopTestOrder::Stop => {
                test.stop();
                // What the configuration starts stays stopped when other settings of it change.
                test.by_order = self.settings.loop_test.on;
            }
            LoopTestOrder::FastMode(fast) => test.set_fast(fast),
            LoopTestOrder::Inject(packets) => {
                (test.packets, test.at, test.is_pending) = (packets, None, true);
            }
            LoopTestOrder::InjectAt(node) => {
                (test.at, test.is_pending) = (Some(node), true);
                test.packets = test.packets.max(1);
            }
            LoopTestOrder::InjectEachSweep(each) => test.each_sweep = each,
            LoopTestOrder::PathLength(length) => test.length_max = length,
            LoopTestOrder::Redundancy(loops) => test.redundancy = loops,
        }
        let runs = test.running;
        if ran != runs {
            let event = test.event();
            self.out.event(event);
        }
        if ran || runs {
            self.plan_again();
            self.sweep
                .request(now, SweepReason::Forced, &self.settings.sweeps);
            let number = self.sweep.number + 1;
            self.handle(now, Input::Tick);
            return Ok(number);
        }
        Ok(self.sweep.number)
    }

    fn check_loop_order(&self, order: LoopTestOrder) -> Result<(), LoopTestError> {
        let test = &self.planning.loop_test;
        let must_run = match test.running {
            true => Ok(()),
            false => Err(LoopTestError::NotRunning),
        };
        match order {
            LoopTestOrder::Start { .. } | LoopTestOrder::FastMode(_) if test.running => {
                return Err(LoopTestError::Running);
            }
            LoopTestOrder::Start { packets, .. } => {
                in_range("the number of packets", packets, (0, LOOP_PACKETS_MAX))?;
            }
            LoopTestOrder::Stop => must_run?,
            LoopTestOrder::Inject(packets) => {
                must_run?;
                in_range("the number of packets", packets, (1, LOOP_PACKETS_MAX))?;
            }
            LoopTestOrder::InjectAt(node) => {
                must_run?;
                self.check_switch(node)?;
            }
            LoopTestOrder::PathLength(length) => {
                let range = (u32::from(LOOP_LENGTH.0), u32::from(LOOP_LENGTH.1));
                in_range("the path length", u32::from(length), range)?;
            }
            LoopTestOrder::Redundancy(loops) => {
                in_range("the redundancy", loops, (1, REDUNDANCY_MAX))?;
            }
            LoopTestOrder::FastMode(_) | LoopTestOrder::InjectEachSweep(_) => return Ok(()),
        }
        match self.sweep.pause {
            Some(_) => Err(CommandError::Paused.into()),
            None => Ok(()),
        }
    }

    fn check_switch(&self, guid: Guid) -> Result<(), LoopTestError> {
        let plan = self.planning.plan.loops.as_ref();
        let found = plan.and_then(|plan| Some((plan, plan.topology.find(guid)?)));
        let is_in = found.is_some_and(|(plan, node)| {
            let mut paths = plan.paths.paths.iter();
            paths.any(|path| path.leads_through(node))
        });
        match is_in {
            true => Ok(()),
            false => Err(LoopTestError::NoSwitch { node: guid }),
        }
    }
}
