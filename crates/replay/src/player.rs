//! A manager that is given inputs, recorded ones or others.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use weft_fabric::Tick;
use weft_manager::{Input, Output, PlanInput};
use weft_state::StateError;

use crate::call::Call;
use crate::checkpoint::Frozen;
use crate::inputs::{Expected, What};
use crate::recorded::Recorded;
use crate::recorder::Recorder;

/// What became of an input.
pub(crate) enum Done {
    /// The manager has handled it and put out this.
    Handled(Vec<Output>),
    /// It put out this and panicked, with these words.
    Panicked(Vec<Output>, String),
    /// The input is no input now: a plan that nobody asked for, a second start, or any other before the start.
    Misplaced,
    /// It is no checkpoint.
    Refused(StateError),
}

/// The manager, none before its start.
#[derive(Debug, Default)]
pub(crate) struct Player {
    manager: Option<Recorded>,
    /// Where its inputs are recorded again.
    recorder: Option<Recorder>,
    /// What the checkpoint was restored to before: it is not read again.
    start: Option<Arc<Frozen>>,
}

impl Player {
    /// One that has restored the checkpoint before, where there is one.
    pub(crate) fn again(start: Option<Arc<Frozen>>) -> Self {
        Self {
            start,
            ..Self::default()
        }
    }

    /// The same, with its inputs recorded.
    pub(crate) fn recording(self, recorder: Recorder) -> Self {
        Self {
            recorder: Some(recorder),
            ..self
        }
    }

    pub(crate) fn manager(&self) -> Option<&Recorded> {
        self.manager.as_ref()
    }

    /// The manager, with the last plan that it asked for and has not yet.
    pub(crate) fn into_manager(self) -> Option<(Recorded, Option<Arc<PlanInput>>)> {
        let manager = self.manager?;
        let plan = manager.last_plan().and_then(|id| manager.plan(id));
        Some((manager, plan))
    }

    /// The number of the last plan that it asked for and has not yet.
    pub(crate) fn plan(&self) -> Option<u64> {
        self.manager.as_ref().and_then(Recorded::last_plan)
    }

    /// Passes on the inputs that are recorded so far.
    pub(crate) fn flush(&mut self) {
        if let Some(manager) = &mut self.manager {
            manager.flush();
        }
    }

    /// Whether its outputs so far have the recorded digest.
    pub(crate) fn has_put_out(&mut self, recorded: Expected) -> bool {
        let manager = self.manager.as_mut();
        manager.is_some_and(|manager| manager.has_put_out(recorded))
    }

    /// Passes an input to the manager.
    pub(crate) fn run(&mut self, now: Tick, what: &What) -> Done {
        let done = match (&mut self.manager, what) {
            (place @ None, What::Call(call)) => {
                let Call::Create { settings, stored } = &**call else {
                    return Done::Misplaced;
                };
                let recorder = self.recorder.take();
                let make = || match recorder {
                    Some(recorder) => {
                        let settings = settings.clone();
                        Recorded::new(now, settings, stored.as_deref(), Some(recorder))
                    }
                    None => {
                        let mut made = Recorded::compared(settings.clone(), stored.as_deref());
                        made.settle();
                        made
                    }
                };
                let made = catch_unwind(AssertUnwindSafe(make));
                made.map(|made| *place = Some(made))
            }
            (place @ None, What::Checkpoint(from)) => {
                let recorder = self.recorder.take();
                let restored = match &self.start {
                    Some(start) => Ok(Recorded::thawed(start)),
                    None => Recorded::restored(from),
                };
                let mut restored = match restored {
                    Ok(restored) => restored,
                    Err(error) => return Done::Refused(error),
                };
                if let Some(recorder) = recorder {
                    restored.record(now, from, recorder);
                }
                *place = Some(restored);
                Ok(())
            }
            (None, _) | (_, What::Checkpoint(_) | What::Sa(_)) => return Done::Misplaced,
            (Some(manager), What::Planned(id)) => {
                let Some(input) = manager.plan(*id) else {
                    return Done::Misplaced;
                };
                let make = || manager.handle(now, Input::Planned(Box::new(input.make())));
                catch_unwind(AssertUnwindSafe(make))
            }
            (Some(_), What::Call(call)) if matches!(**call, Call::Create { .. }) => {
                return Done::Misplaced;
            }
            (Some(manager), what) => catch_unwind(AssertUnwindSafe(|| match what {
                What::Tick | What::Planned(_) | What::Checkpoint(_) | What::Sa(_) => {
                    manager.handle(now, Input::Tick)
                }
                What::Received(packet) => manager.handle(now, Input::Received(packet.clone())),
                What::Call(call) => repeat(manager, now, call),
            })),
        };
        let outputs = self.take_outputs();
        match done {
            Ok(()) => Done::Handled(outputs),
            Err(panic) => Done::Panicked(outputs, words(&*panic)),
        }
    }

    fn take_outputs(&mut self) -> Vec<Output> {
        let Some(manager) = &mut self.manager else {
            return Vec::new();
        };
        std::iter::from_fn(|| manager.poll()).collect()
    }
}

/// Makes a rare input once more. What it returns is in the digest.
fn repeat(manager: &mut Recorded, now: Tick, call: &Call) {
    match call.clone() {
        Call::Create { .. } => {}
        Call::Command { id, command } => manager.handle(now, Input::Command { id, command }),
        Call::Multicast(groups) => manager.handle(now, Input::Multicast(groups)),
        Call::CopiedFrom(master) => manager.handle(now, Input::CopiedFrom(master)),
        Call::MulticastStorm(storm) => manager.handle(now, Input::MulticastStorm(storm)),
        Call::LinkErrors(all) => manager.handle(now, Input::LinkErrors(all)),
        Call::Detached => manager.handle(now, Input::Detached),
        Call::Reconfigure(settings) => manager.reconfigure(now, settings),
        Call::Adopt { condition, wanted } => drop(manager.adopt(now, &condition, wanted)),
        Call::Quarantine { end, order } => drop(manager.put_in_quarantine(now, end, order)),
        Call::Release { end } => drop(manager.release(now, end)),
        Call::LoopTest(order) => drop(manager.order_loop_test(now, order)),
        Call::Pause(time) => drop(manager.pause_sweeps(now, time)),
        Call::Resume => drop(manager.resume_sweeps(now)),
        Call::RestorePriority => drop(manager.restore_priority(now)),
        Call::Replace(order) => drop(manager.replace(now, order)),
        Call::EndReplacement(guid) => drop(manager.end_replacement(now, guid)),
        Call::Tell(told) => manager.tell(now, told),
    }
}

/// The words of a panic.
pub(crate) fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words").to_owned()
}
