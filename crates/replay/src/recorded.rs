//! A manager whose inputs are recorded, with the calls of [`Manager`].

use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use weft_fabric::{Guid, PortNum, Tick};
use weft_manager::sm::Told;
use weft_manager::sm::loop_test::{LoopTestError, LoopTestOrder};
use weft_manager::sm::pause::Pause;
use weft_manager::sm::quarantine::{QuarantineError, QuarantineOrder};
use weft_manager::sm::replacements::{Replaced, ReplacementError, ReplacementOrder};
use weft_manager::sm::reroute::{Arrangement, Condition, RerouteError};
use weft_manager::{CommandError, Input, Manager, Output, PlanInput, Settings};
use weft_state::StateError;

use crate::call::Call;
use crate::checkpoint::{Checkpoint, Frozen, Plans};
use crate::digest::Compared;
use crate::inputs::Expected;
use crate::keys::Keys;
use crate::outputs::Outputs;
use crate::recorder::{RECEIVED, Recorder};

/// Plans that are asked for and not ready, beyond which the oldest are forgotten: a planner computes the last.
const PLANS_MAX: usize = 8;

/// A manager, and the recorder of its inputs where there is one. It is read as a [`Manager`], and each call that
/// changes it goes through here.
pub struct Recorded {
    manager: Manager,
    /// Outputs that are not taken yet.
    outputs: VecDeque<Output>,
    /// None where nobody compares outputs.
    compared: Option<Compared>,
    keys: Keys,
    recorder: Option<Recorder>,
    /// Plans that it asked for and has not yet, by their numbers: a replay makes them again.
    plans: Plans,
}

impl std::fmt::Debug for Recorded {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.manager.fmt(out)
    }
}

impl Deref for Recorded {
    type Target = Manager;

    fn deref(&self) -> &Manager {
        &self.manager
    }
}

impl Recorded {
    /// A manager as by [`Manager::new`], at `now`.
    pub fn new(
        now: Tick,
        settings: Settings,
        stored: Option<&[u8]>,
        recorder: Option<Recorder>,
    ) -> Self {
        let mut recorder = recorder;
        if let Some(recorder) = &mut recorder {
            let settings = recorder.keys().masked(settings.clone());
            let stored = stored.map(<[u8]>::to_vec);
            recorder.call(now, &Call::Create { settings, stored });
        }
        let mut made = Self::compared(settings, stored);
        made.compared = None;
        made.record_by(recorder);
        made.settle();
        // A recording begins with it, whatever else is recorded beside.
        made.flush();
        made
    }

    /// A manager whose outputs are compared.
    pub(crate) fn compared(settings: Settings, stored: Option<&[u8]>) -> Self {
        Self::of(Manager::new(settings, stored), BTreeMap::new())
    }

    /// The manager of a checkpoint, whose outputs are compared.
    pub(crate) fn restored(from: &Checkpoint) -> Result<Self, StateError> {
        let (manager, plans) = from.read()?;
        Ok(Self::of(manager, plans))
    }

    /// The same, of what it was once restored to.
    pub(crate) fn thawed(from: &Frozen) -> Self {
        Self::of(Manager::clone(&from.manager), from.plans.clone())
    }

    /// Records what follows, from the checkpoint on that it is restored from.
    pub(crate) fn record(&mut self, now: Tick, from: &Checkpoint, mut recorder: Recorder) {
        let goes_on = recorder.checkpoint(now, from);
        self.record_by(goes_on.then_some(recorder));
    }

    fn record_by(&mut self, recorder: Option<Recorder>) {
        if let Some(recorder) = &recorder {
            self.keys = recorder.keys().clone();
        }
        self.recorder = recorder;
    }

    fn of(manager: Manager, plans: Plans) -> Self {
        Self {
            manager,
            outputs: VecDeque::new(),
            compared: Some(Compared::default()),
            keys: Keys::default(),
            recorder: None,
            plans,
        }
    }

    /// The whole state, keys masked: a recording may begin with it. It is that at the end of an input.
    pub fn checkpoint(&mut self) -> Checkpoint {
        Checkpoint::of(&self.manager, &self.plans, &mut self.keys)
    }

    /// The same, not yet as bytes, for a recording that goes on at `at`.
    pub fn freeze(&self, at: Tick) -> Frozen {
        Frozen {
            at,
            manager: Box::new(self.manager.clone()),
            plans: self.plans.clone(),
            keys: self.keys.clone(),
        }
    }

    /// Whether it asked for a plan that is not ready.
    pub fn waits_for_a_plan(&self) -> bool {
        !self.plans.is_empty()
    }

    /// The number of the last plan that it asked for and has not yet.
    pub(crate) fn last_plan(&self) -> Option<u64> {
        self.plans.last_key_value().map(|(id, _)| *id)
    }

    /// A plan that it asked for and has not yet.
    pub(crate) fn plan(&self, id: u64) -> Option<Arc<PlanInput>> {
        self.plans.get(&id).cloned()
    }

    /// Whether the outputs so far have the recorded digest.
    pub(crate) fn has_put_out(&mut self, recorded: Expected) -> bool {
        let compared = self.compared.as_mut();
        compared.is_some_and(|compared| compared.is(recorded))
    }

    /// Whether inputs are recorded still.
    pub fn is_recording(&self) -> bool {
        self.recorder.is_some()
    }

    /// Ends the recording.
    pub fn stop_recording(&mut self) {
        self.recorder = None;
        self.compared = None;
        self.plans.clear();
    }

    /// Goes on in another recording, where this one has enough: it begins with the state.
    fn turn(&mut self) {
        let Some(recorder) = self.recorder.as_ref().filter(|recorder| recorder.is_full()) else {
            return;
        };
        let at = recorder.last();
        let frozen = self.freeze(at);
        let recorder = self.recorder.as_mut();
        if !recorder.is_some_and(|recorder| recorder.begin_next(frozen)) {
            self.stop_recording();
        }
    }

    /// Adds outputs to those that are recorded or compared.
    fn put_out(&mut self, put: impl Fn(&mut Outputs)) {
        if let Some(recorder) = &mut self.recorder {
            put(recorder.outputs());
        }
        if let Some(compared) = &mut self.compared {
            compared.add(put);
        }
    }

    /// Remembers what plan was asked for, where that is recorded or compared.
    fn note_plan(&mut self, output: &Output) {
        if let Output::Plan(input) = output
            && (self.recorder.is_some() || self.compared.is_some())
        {
            self.plans.insert(input.id(), Arc::clone(input));
            while self.plans.len() > PLANS_MAX {
                self.plans.pop_first();
            }
        }
    }

    /// Passes on the inputs that are recorded so far.
    pub fn flush(&mut self) {
        if self
            .recorder
            .as_mut()
            .is_some_and(|recorder| !recorder.flush())
        {
            self.stop_recording();
        }
    }

    /// Takes the outputs of an input, at its end.
    pub(crate) fn settle(&mut self) {
        let mut publishes = false;
        while let Some(output) = self.manager.poll() {
            publishes |= matches!(output, Output::Publish(_));
            self.put_out(|outputs| outputs.add(&output));
            self.note_plan(&output);
            self.outputs.push_back(output);
        }
        let recorder = self.recorder.as_mut();
        if recorder.is_some_and(|recorder| !recorder.end()) {
            self.stop_recording();
        }
        if publishes {
            // Before subnet administration has it, so that a replay has it as well.
            self.flush();
        }
        self.turn();
    }

    /// As [`Manager::poll`].
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// As [`Manager::handle`].
    pub fn handle(&mut self, now: Tick, input: Input) {
        if let Input::Planned(planned) = &input {
            self.plans = self.plans.split_off(&planned.id().saturating_add(1));
        }
        match (&mut self.recorder, input) {
            (Some(recorder), Input::Received(packet)) => {
                let packet = recorder.received(now, RECEIVED, packet);
                self.manager.receive(now, packet);
            }
            (recorder, input) => {
                if let Some(recorder) = recorder {
                    recorder.input(now, &input);
                }
                self.manager.handle(now, input);
            }
        }
        self.settle();
    }

    /// Makes a call that may be refused, and records it.
    fn call<T, E>(
        &mut self,
        now: Tick,
        call: impl FnOnce(&Keys) -> Call,
        make: impl FnOnce(&mut Manager) -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(recorder) = &mut self.recorder {
            recorder.call(now, &call(&self.keys));
        }
        let result = make(&mut self.manager);
        self.put_out(|outputs| outputs.returned(result.is_ok()));
        self.settle();
        result
    }

    /// As [`Manager::reconfigure`].
    pub fn reconfigure(&mut self, now: Tick, settings: Settings) {
        let masked = settings.clone();
        let call = |keys: &Keys| Call::Reconfigure(keys.masked(masked));
        let make = |manager: &mut Manager| {
            manager.reconfigure(now, settings);
            Ok::<(), ()>(())
        };
        let _ = self.call(now, call, make);
    }

    /// As [`Manager::adopt`].
    ///
    /// # Errors
    /// The manager's refusal.
    pub fn adopt(
        &mut self,
        now: Tick,
        condition: &Condition,
        wanted: Arrangement,
    ) -> Result<(Arrangement, u64), RerouteError> {
        let masked = wanted.clone();
        let call = |keys: &Keys| Call::Adopt {
            condition: keys.masked_condition(condition.clone()),
            wanted: keys.masked_arrangement(masked),
        };
        self.call(now, call, |manager| manager.adopt(now, condition, wanted))
    }

    /// As [`Manager::put_in_quarantine`].
    ///
    /// # Errors
    /// The manager's refusal.
    pub fn put_in_quarantine(
        &mut self,
        now: Tick,
        end: (Guid, PortNum),
        order: QuarantineOrder,
    ) -> Result<(), QuarantineError> {
        let recorded = order.clone();
        let call = |_: &Keys| Call::Quarantine {
            end,
            order: recorded,
        };
        self.call(now, call, |manager| {
            manager.put_in_quarantine(now, end, order)
        })
    }

    /// As [`Manager::release`].
    pub fn release(&mut self, now: Tick, end: (Guid, PortNum)) -> bool {
        let make = |manager: &mut Manager| manager.release(now, end).then_some(()).ok_or(());
        self.call(now, |_| Call::Release { end }, make).is_ok()
    }

    /// As [`Manager::order_loop_test`].
    ///
    /// # Errors
    /// The manager's refusal.
    pub fn order_loop_test(
        &mut self,
        now: Tick,
        order: LoopTestOrder,
    ) -> Result<u64, LoopTestError> {
        let call = |_: &Keys| Call::LoopTest(order);
        self.call(now, call, |manager| manager.order_loop_test(now, order))
    }

    /// As [`Manager::pause_sweeps`].
    ///
    /// # Errors
    /// The manager's refusal.
    pub fn pause_sweeps(&mut self, now: Tick, time: Duration) -> Result<Pause, CommandError> {
        let call = |_: &Keys| Call::Pause(time);
        self.call(now, call, |manager| manager.pause_sweeps(now, time))
    }

    /// As [`Manager::resume_sweeps`].
    pub fn resume_sweeps(&mut self, now: Tick) -> bool {
        let make = |manager: &mut Manager| manager.resume_sweeps(now).then_some(()).ok_or(());
        self.call(now, |_| Call::Resume, make).is_ok()
    }

    /// As [`Manager::restore_priority`].
    ///
    /// # Errors
    /// The manager's refusal.
    pub fn restore_priority(&mut self, now: Tick) -> Result<(u8, u8), CommandError> {
        let call = |_: &Keys| Call::RestorePriority;
        self.call(now, call, |manager| manager.restore_priority(now))
    }

    /// As [`Manager::replace`].
    ///
    /// # Errors
    /// The manager's refusal.
    pub fn replace(
        &mut self,
        now: Tick,
        order: ReplacementOrder,
    ) -> Result<Replaced, ReplacementError> {
        let recorded = order.clone();
        let call = |_: &Keys| Call::Replace(recorded);
        self.call(now, call, |manager| manager.replace(now, order))
    }

    /// As [`Manager::tell`].
    pub fn tell(&mut self, now: Tick, told: Told) {
        let recorded = told.clone();
        let make = |manager: &mut Manager| {
            manager.tell(now, told);
            Ok::<(), ()>(())
        };
        let _ = self.call(now, |_| Call::Tell(recorded), make);
    }

    /// As [`Manager::end_replacement`].
    ///
    /// # Errors
    /// The manager's refusal.
    pub fn end_replacement(
        &mut self,
        now: Tick,
        guid: Guid,
    ) -> Result<Vec<Guid>, ReplacementError> {
        let call = |_: &Keys| Call::EndReplacement(guid);
        self.call(now, call, |manager| manager.end_replacement(now, guid))
    }
}
