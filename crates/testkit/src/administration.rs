//! Subnet administration beside a manager, wired as the daemon wires it.

use std::sync::Arc;

use weft_fabric::Tick;
use weft_fabric::key_mask::KeyMask;
use weft_manager::{Sa, SaInput, SaOutput};
use weft_replay::{RecordedSa, Recorder};
use weft_wire::enums::SmState;
use weft_wire::packet::Packet;

/// It, and what it has sent.
#[derive(Debug)]
pub struct Administration {
    sa: RecordedSa,
    /// The manager's time at the moment from which it counts.
    epoch: Tick,
    mask: KeyMask,
    sent: Vec<(Tick, Packet)>,
}

impl Administration {
    /// One of a recording, which goes on at `now` and counts from `epoch`, both of the manager's time.
    pub fn new(now: Tick, (epoch, sa): (Tick, Sa)) -> Self {
        Self::recorded(now, (epoch, sa), None)
    }

    pub(crate) fn recorded(now: Tick, (epoch, sa): (Tick, Sa), recorder: Option<Recorder>) -> Self {
        let recorder = recorder.map(|recorder| (recorder, epoch));
        Self {
            sa: RecordedSa::new(since(now, epoch), sa, recorder),
            epoch,
            mask: KeyMask::default(),
            sent: Vec::new(),
        }
    }

    pub(crate) fn sa(&self) -> &Sa {
        &self.sa
    }

    pub(crate) fn take_sent(&mut self) -> Vec<(Tick, Packet)> {
        std::mem::take(&mut self.sent)
    }

    pub(crate) fn deadline(&self) -> Option<Tick> {
        let due = self.sa.deadline()?;
        Some(Tick(self.epoch.0.saturating_add(due.0)))
    }

    /// Takes an input; a snapshot is one of a manager that is master.
    pub(crate) fn handle(&mut self, now: Tick, input: SaInput) {
        let input = match input {
            SaInput::Published(snapshot) => {
                let own = snapshot.sms.first();
                if own.is_some_and(|own| own.state != SmState::MASTER) {
                    return;
                }
                SaInput::Published(Arc::new(self.mask.snapshot(&snapshot)))
            }
            input => input,
        };
        self.sa.handle(since(now, self.epoch), input);
    }

    pub(crate) fn poll(&mut self, now: Tick) -> Option<SaOutput> {
        let output = self.sa.poll()?;
        if let SaOutput::Send(packet) = &output {
            self.sent.push((now, packet.clone()));
        }
        Some(output)
    }

    /// Passes on the inputs that are recorded so far.
    pub(crate) fn flush(&mut self, now: Tick) {
        self.sa.flush(since(now, self.epoch));
    }
}

fn since(now: Tick, epoch: Tick) -> Tick {
    Tick(now.0.saturating_sub(epoch.0))
}
