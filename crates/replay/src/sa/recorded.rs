//! Subnet administration whose inputs are recorded, with the calls of [`Sa`].

use std::collections::VecDeque;
use std::fmt;
use std::ops::Deref;

use weft_fabric::Tick;
use weft_manager::dbsync::Inherited;
use weft_manager::{Sa, SaInput, SaOutput, SaSettings};
use weft_state::{State, Writer};

use super::frozen::FrozenSa;
use super::input::SaCall;
use crate::recorder::{Recorder, SA_CALL, SA_PUBLISHED, SA_RECEIVED, SA_TICK};

/// An administration, and the recorder of its inputs where there is one. It is read as an [`Sa`], and each call that
/// changes it goes through here.
pub struct RecordedSa {
    sa: Sa,
    /// Outputs that are not taken yet, while inputs are recorded.
    outputs: VecDeque<SaOutput>,
    row: Option<Row>,
}

/// What records its inputs.
struct Row {
    recorder: Recorder,
    /// The recording's time at the moment from which the administration counts.
    epoch: Tick,
    /// The recording has no room for more until it goes on in another file.
    rests: bool,
}

impl fmt::Debug for RecordedSa {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.sa.fmt(out)
    }
}

impl Deref for RecordedSa {
    type Target = Sa;

    fn deref(&self) -> &Sa {
        &self.sa
    }
}

impl RecordedSa {
    /// An administration that goes on `now`. `recorder` has the recording's time at the moment from which `now` counts.
    pub fn new(now: Tick, sa: Sa, recorder: Option<(Recorder, Tick)>) -> Self {
        let row = recorder.map(|(recorder, epoch)| Row {
            recorder,
            epoch,
            rests: false,
        });
        let mut recorded = Self {
            sa,
            outputs: VecDeque::new(),
            row,
        };
        recorded.begin(now);
        recorded
    }

    /// Another administration takes its place.
    pub fn replace(&mut self, now: Tick, sa: Sa) {
        self.sa = sa;
        self.begin(now);
    }

    /// The row begins with the state as it is. What is put out so far is not compared.
    fn begin(&mut self, now: Tick) {
        let Some(row) = &mut self.row else {
            return;
        };
        self.outputs.extend(std::iter::from_fn(|| self.sa.poll()));
        let frozen = FrozenSa {
            at: row.at(now),
            epoch: row.epoch,
            sa: Box::new(self.sa.clone()),
            keys: row.recorder.keys().clone(),
        };
        row.rests = !row.recorder.begin_sa(frozen);
    }

    /// Whether an input is recorded; begins anew where the recording goes on in another file.
    fn records(&mut self, now: Tick) -> bool {
        let is_full = |row: &Row| row.recorder.is_full();
        if self.row.as_ref().is_some_and(is_full) {
            self.begin(now);
        }
        self.row.as_ref().is_some_and(|row| !row.rests)
    }

    /// As [`Sa::handle`].
    pub fn handle(&mut self, now: Tick, input: SaInput) {
        if self.records(now)
            && let Some(row) = &mut self.row
        {
            row.input(now, &input);
        }
        self.sa.handle(now, input);
        self.settle();
    }

    /// As [`Sa::reconfigure`].
    pub fn reconfigure(&mut self, now: Tick, settings: SaSettings) {
        self.call(now, || SaCall::Reconfigure(Box::new(settings.clone())));
        self.sa.reconfigure(settings);
        self.settle();
    }

    /// As [`Sa::inherit`].
    pub fn inherit(&mut self, now: Tick, inherited: &Inherited) -> bool {
        self.call(now, || SaCall::Inherit(Box::new(inherited.clone())));
        let is_whole = self.sa.inherit(now, inherited);
        if let Some(row) = self.row.as_mut().filter(|row| !row.rests) {
            row.recorder.outputs().returned(is_whole);
        }
        self.settle();
        is_whole
    }

    /// As [`Sa::tell_groups`].
    pub fn tell_groups(&mut self, now: Tick) {
        self.call(now, || SaCall::TellGroups);
        self.sa.tell_groups();
        self.settle();
    }

    fn call(&mut self, now: Tick, call: impl FnOnce() -> SaCall) {
        if self.records(now)
            && let Some(row) = &mut self.row
        {
            row.call(now, &call());
        }
    }

    /// Takes the outputs of an input, at its end.
    fn settle(&mut self) {
        let Some(row) = self.row.as_mut().filter(|row| !row.rests) else {
            return;
        };
        while let Some(output) = self.sa.poll() {
            row.recorder.outputs().add_sa(&output);
            self.outputs.push_back(output);
        }
        row.rests = !row.recorder.end();
    }

    /// As [`Sa::poll`].
    pub fn poll(&mut self) -> Option<SaOutput> {
        self.outputs.pop_front().or_else(|| self.sa.poll())
    }

    /// Passes on the inputs that are recorded so far.
    pub fn flush(&mut self, now: Tick) {
        if self.records(now)
            && let Some(row) = &mut self.row
        {
            row.rests = !row.recorder.flush();
        }
    }

    /// The administration, whose recording ends.
    pub(crate) fn into_sa(self) -> Sa {
        self.sa
    }

    /// Whether there is a recorder, whose inputs wait to be passed on.
    pub fn has_recorder(&self) -> bool {
        self.row.is_some()
    }
}

impl Row {
    /// The recording's time.
    fn at(&self, now: Tick) -> Tick {
        Tick(self.epoch.0.saturating_add(now.0))
    }

    fn input(&mut self, now: Tick, input: &SaInput) {
        let at = self.at(now);
        let call = match input {
            SaInput::Tick => return self.recorder.begin(at, SA_TICK),
            SaInput::Received(packet) => {
                self.recorder.received(at, SA_RECEIVED, packet.clone());
                return;
            }
            SaInput::Published(snapshot) => {
                self.recorder.begin(at, SA_PUBLISHED);
                return self.recorder.number(snapshot.generation);
            }
            SaInput::Cables(memories) => SaCall::Cables(memories.clone()),
            SaInput::Congestion(held) => SaCall::Congestion(held.clone()),
            SaInput::RegistrationsLost { asked } => SaCall::RegistrationsLost(*asked),
            SaInput::Notice(bytes) => {
                let mut bytes = bytes.clone();
                self.recorder.keys().in_notice(&mut bytes);
                SaCall::Notice(bytes)
            }
        };
        self.call(now, &call);
    }

    fn call(&mut self, now: Tick, call: &SaCall) {
        let at = self.at(now);
        self.recorder.begin(at, SA_CALL);
        let mut keys = self.recorder.keys().clone();
        let mut writer = Writer::new(&mut keys);
        call.write(&mut writer);
        let bytes = writer.into_bytes();
        self.recorder.bytes(&bytes);
    }
}
