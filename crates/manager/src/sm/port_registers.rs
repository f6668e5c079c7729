//! The registers that a change of a port reads and writes, and what their answers mean.

use weft_fabric::PortNum;
use weft_wire::Layout;
use weft_wire::enums::{LinkSpeed, LinkWidth, PhysState, PortState};
use weft_wire::sm::{AttributeId, LedInfo, PortInfo, PortModifier, PortStateInfo};
use weft_wire::smp::SmpView;

use super::port_change::{End, PortChange, Step};
use super::wanted::port::to_set;
use crate::ask::batch::Batch;
use crate::io::{CommandError, LinkChange, PortAction};

/// A register of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Register {
    pub(super) at: End,
    attribute: AttributeId,
}

/// What follows from an answer.
#[derive(Debug, Clone)]
pub(super) enum Answered {
    /// The port is as it should be.
    Done,
    /// It has to be written, with this PortInfo where that is the register.
    Write(Option<Box<PortInfo>>),
    /// Its link has to train again; it holds this now.
    Retrain(Box<PortInfo>),
    /// It has confirmed this PortInfo.
    Info(Box<PortInfo>),
    /// It has confirmed this state.
    State(PhysState),
    /// It has confirmed its beacon.
    Led(bool),
}

impl Register {
    /// The register of a step of a change.
    pub(super) fn of(change: &PortChange, step: Step) -> Self {
        let (at, attribute) = match (change.action, step) {
            (PortAction::Led(_), _) => (change.named, AttributeId::LED_INFO),
            (PortAction::Link(_), Step::Read | Step::Write) => {
                (change.named, AttributeId::PORT_INFO)
            }
            _ => (change.at, AttributeId::PORT_STATE_INFO),
        };
        Self { at, attribute }
    }

    /// Puts the request into a batch that is a read or a write.
    pub(super) fn ask(
        self,
        batch: &mut Batch,
        port: PortNum,
        action: PortAction,
        info: Option<&PortInfo>,
    ) {
        let modifier = PortModifier::one(port).bits();
        match self.attribute {
            AttributeId::LED_INFO => {
                let led_mask = action == PortAction::Led(true);
                let led = LedInfo { led_mask };
                batch.push(self.attribute, modifier, LedInfo::LEN, |to| led.encode(to));
            }
            AttributeId::PORT_INFO => {
                let info = info.copied().unwrap_or_default();
                batch.push(self.attribute, modifier, PortInfo::LEN, |to| {
                    info.encode(to)
                });
            }
            _ => {
                let state = PortStateInfo {
                    port_state: PortState::DOWN,
                    phys_state: action.wanted(),
                    ..PortStateInfo::default()
                };
                batch.push(self.attribute, modifier, PortStateInfo::LEN, |to| {
                    state.encode(to)
                });
            }
        }
    }

    /// What follows from its answer.
    ///
    /// # Errors
    /// Why the change has failed.
    pub(super) fn answered(
        self,
        view: &SmpView<'_>,
        change: &PortChange,
        step: Step,
    ) -> Result<Answered, CommandError> {
        let node = self.at.0;
        let status = view.status();
        if status != 0 {
            return Err(CommandError::Refused { node, status });
        }
        let data = view.payload;
        match (self.attribute, change.action) {
            (AttributeId::LED_INFO, PortAction::Led(on)) => {
                let held = LedInfo::decode(data).is_ok_and(|held| held.led_mask);
                match (held == on, step) {
                    (true, _) => Ok(Answered::Led(held)),
                    (false, Step::Read) => Ok(Answered::Write(None)),
                    (false, _) => Err(self.not_set("LedInfo")),
                }
            }
            (AttributeId::PORT_INFO, PortAction::Link(wanted)) => {
                let held = PortInfo::decode(data).unwrap_or_default();
                self.link_answered(&held, wanted, step)
            }
            _ => {
                let held = PortStateInfo::decode(data).map(|held| held.phys_state);
                self.state_answered(held.unwrap_or_default(), change.action, step)
            }
        }
    }

    fn state_answered(
        self,
        held: PhysState,
        action: PortAction,
        step: Step,
    ) -> Result<Answered, CommandError> {
        let (node, port) = self.at;
        match step {
            Step::Read if !action.holds(held) => Ok(Answered::Write(None)),
            Step::Write | Step::Retrain if !action.follows(held) => {
                Err(CommandError::NotDone { node, port, held })
            }
            _ if action == PortAction::Disable => Ok(Answered::State(held)),
            _ => Ok(Answered::Done),
        }
    }

    fn link_answered(
        self,
        held: &PortInfo,
        wanted: LinkChange,
        step: Step,
    ) -> Result<Answered, CommandError> {
        let is_held = wanted
            .width
            .is_none_or(|width| width == held.link_width_enabled)
            && wanted
                .speed
                .is_none_or(|speed| speed == held.link_speed_enabled);
        match step {
            Step::Read => {
                self.check_supported(held, wanted)?;
                let mut info = to_set(held);
                info.client_reregister = false;
                info.link_width_enabled = wanted.width.unwrap_or_default();
                info.link_speed_enabled = wanted.speed.unwrap_or_default();
                match is_held {
                    true => Ok(Answered::Done),
                    false => Ok(Answered::Write(Some(Box::new(info)))),
                }
            }
            _ if !is_held => Err(self.not_set("LinkWidth.Enabled or LinkSpeed.Enabled")),
            _ if held.phys_state == PhysState::LINK_UP => Ok(Answered::Retrain(Box::new(*held))),
            _ => Ok(Answered::Info(Box::new(*held))),
        }
    }

    fn check_supported(self, held: &PortInfo, wanted: LinkChange) -> Result<(), CommandError> {
        let (node, port) = self.at;
        let refused = |what: String, supported: String| CommandError::NotSupported {
            node,
            port,
            what,
            supported,
        };
        let (width, speed) = (held.link_width_supported, held.link_speed_supported);
        match wanted {
            LinkChange {
                width: Some(new), ..
            } if new.0 == 0 || new.0 & !width.0 != 0 => {
                let [new, can] = [new, width].map(widths);
                Err(refused(format!("width {new}"), format!("width {can}")))
            }
            LinkChange {
                speed: Some(new), ..
            } if new.0 == 0 || new.0 & !speed.0 != 0 => {
                let [new, can] = [new, speed].map(speeds);
                Err(refused(format!("speed {new}"), format!("speed {can}")))
            }
            _ => Ok(()),
        }
    }

    fn not_set(self, what: &str) -> CommandError {
        let (node, port) = self.at;
        let what = what.to_owned();
        CommandError::NotSet { node, port, what }
    }
}

/// A set of widths in words: 1x, 4x.
fn widths(set: LinkWidth) -> String {
    let each = (0..16).filter(|bit| set.0 & 1 << bit != 0);
    listed(each.map(|bit| format!("{}x", bit + 1)))
}

/// A set of speeds in words: 25Gb.
fn speeds(set: LinkSpeed) -> String {
    let each = (0..16).map(|bit| LinkSpeed(set.0 & 1 << bit));
    let each = each.filter(|speed| *speed != LinkSpeed::NOP);
    listed(each.map(|speed| {
        let name = speed.name().map(str::to_owned);
        name.unwrap_or_else(|| format!("{:#x}", speed.0))
    }))
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(","),
    }
}
