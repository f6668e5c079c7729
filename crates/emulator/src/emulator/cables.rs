//! Changes of what cable is where.

use weft_dataplane::PortIndex;
use weft_dataplane::cable_memory::{CableText, cable_text};
use weft_fabric::{Guid, PortNum};

use super::Emulator;
use crate::io::{Control, ControlError};

type At = (Guid, PortNum);

impl Emulator {
    /// Executes a change of a cable; others change nothing.
    pub(super) fn change_cable(&mut self, control: Control) -> Result<(), ControlError> {
        match control {
            Control::ExchangeCables { ports: [a, b] } => {
                let (a, b) = (self.cable(a.0, a.1)?, self.cable(b.0, b.1)?);
                self.leave_cable(a);
                self.leave_cable(b);
                self.network.exchange_cables(a, b);
            }
            Control::MoveCable { from, to } => {
                let (at, place) = (self.cable(from.0, from.1)?, self.cage(to)?);
                if self.network.has_cable(place) {
                    let (node, port) = to;
                    return Err(ControlError::Occupied { node, port });
                }
                self.leave_cable(at);
                self.network.exchange_cables(at, place);
            }
            Control::PlugCable { ports: [a, b] } => self.plug(a, b)?,
            Control::PullCable { node, port } => {
                let at = self.cable(node, port)?;
                self.leave_cable(at);
                self.network.pull_cable(at);
            }
            Control::ReplaceCable {
                node,
                port,
                serial,
                part,
            } => {
                let at = self.cable(node, port)?;
                let serial = checked_text(&serial)?;
                let part = part.as_deref().map(checked_text).transpose()?;
                self.leave_cable(at);
                self.network.replace_cable(at, serial, part);
            }
            Control::CableBusy { node, port, busy } => {
                let at = self.cable(node, port)?;
                self.network.set_cable_busy(at, busy);
            }
            _ => {}
        }
        Ok(())
    }

    fn plug(&mut self, a: At, b: At) -> Result<(), ControlError> {
        let ends = [self.cage(a)?, self.cage(b)?];
        if ends[0] == ends[1] {
            let (node, port) = a;
            return Err(ControlError::OnePort { node, port });
        }
        for end in ends {
            self.leave_cable(end);
        }
        self.network.plug_cable(ends[0], ends[1]);
        Ok(())
    }

    /// Ends what goes on at the cable of a port by itself.
    fn leave_cable(&mut self, at: PortIndex) {
        self.end_flap(at);
        self.end_rise(at);
    }

    /// A port that a cable fits in.
    fn cage(&self, (node, port): At) -> Result<PortIndex, ControlError> {
        let device = self.network.device_at(self.node(node)?);
        let at = device.port(port).filter(|_| port != PortNum(0));
        at.ok_or(ControlError::NoPort { node, port })
    }
}

fn checked_text(text: &str) -> Result<CableText, ControlError> {
    let printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    match printable && (1..=16).contains(&text.len()) {
        true => Ok(cable_text(text)),
        false => Err(ControlError::CableText(text.to_owned())),
    }
}
