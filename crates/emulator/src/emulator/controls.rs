//! Changes of the fabric.

use weft_dataplane::PortIndex;
use weft_dataplane::constants::QUALITY_EXCELLENT;
use weft_dataplane::lossy_links::LOST_OF;
use weft_fabric::{Guid, PortNum};

use super::Emulator;
use super::strangers::Claimed;
use crate::io::{Control, ControlError, LinkTrap};
use crate::module::Measured;
use crate::trap::News;

/// Lanes of a cable.
const LANES_MAX: u8 = 4;

impl Emulator {
    pub(super) fn control(&mut self, control: Control) -> Result<(), ControlError> {
        match control {
            Control::LinkDown { node, port } => {
                let at = self.cable(node, port)?;
                self.end_flap(at);
                self.network.cut_cable(at);
            }
            Control::LinkUp { node, port } => {
                let at = self.cable(node, port)?;
                self.end_flap(at);
                self.network.mend_cable(at);
            }
            Control::LinkLanes { node, port, lanes } => {
                let at = self.cable(node, port)?;
                let lanes = checked_lanes(lanes)?;
                self.network.set_cable_lanes(at, lanes);
            }
            Control::LinkLanesOut { node, port, lanes } => {
                let at = self.cable(node, port)?;
                let lanes = checked_lanes(lanes)?;
                self.network.set_lanes_out(at, lanes);
            }
            Control::LinkSlow { node, port, slow } => {
                let at = self.cable(node, port)?;
                self.network.set_cable_slow(at, slow);
            }
            Control::Flap {
                node,
                port,
                times,
                over_ns,
            } => {
                let at = self.cable(node, port)?;
                self.flap(at, times, over_ns)?;
            }
            Control::LinkTraining { at, how } => {
                let at = at.map(|(node, port)| self.cable(node, port)).transpose()?;
                self.set_link_training(at, how)?;
            }
            Control::ExchangeCables { .. }
            | Control::MoveCable { .. }
            | Control::PlugCable { .. }
            | Control::PullCable { .. }
            | Control::ReplaceCable { .. }
            | Control::CableBusy { .. } => self.change_cable(control)?,
            Control::CableErrors { node, port, errors } => {
                let at = self.cable(node, port)?;
                self.set_cable_errors(at, errors)?;
            }
            Control::ErrorsRise {
                node,
                port,
                to,
                over_ns,
            } => {
                let at = self.cable(node, port)?;
                self.begin_rise(at, to, over_ns)?;
            }
            Control::LinkLoss { node, port, loss } => {
                let at = self.cable(node, port)?;
                self.set_link_loss(at, loss)?;
            }
            Control::RefuseArm { node, port, refuse } => {
                let at = self.cable(node, port)?;
                self.network.set_refuses_arm(at, refuse);
            }
            Control::LinkErrors { node, port, trap } => {
                let at = self.cable(node, port)?;
                let news = match trap {
                    LinkTrap::Integrity => News::Errors,
                    LinkTrap::Overrun => News::Overruns,
                    LinkTrap::Watchdog => News::Watchdog,
                };
                self.announce_port(news, at);
            }
            Control::CountErrors { node, port, errors } => {
                let at = self.cable(node, port)?;
                for (counter, count) in errors.by_counter() {
                    self.network.count(at, counter, count);
                }
            }
            Control::LinkQuality {
                node,
                port,
                quality,
            } => {
                let at = self.cable(node, port)?;
                self.set_quality(at, quality)?;
            }
            Control::Module {
                node,
                port,
                measured,
            } => {
                let at = self.cable(node, port)?;
                let copper = ControlError::Copper { node, port };
                self.network.optics(at).ok_or(copper)?;
                self.set_module(at, measured)?;
            }
            Control::NodeDown { node } => {
                self.power_off(node)?;
            }
            Control::Reboot { node, off_ns } => self.reboot(node, off_ns)?,
            Control::NodeUp { node } => self.power_on(node)?,
            Control::Replace { node, new } => self.replace(node, new)?,
            Control::Silence { node, silent } => {
                let id = self.node(node)?;
                self.agent(id).silent = silent;
            }
            Control::Slow { node, extra_ns } => {
                let id = self.node(node)?;
                let now = self.now;
                let agent = self.agent(id);
                // What waits is answered as slowly as it was begun; it does not hold up what comes from now on.
                agent.busy_until = agent.busy_until.min(now);
                agent.extra_ns = extra_ns;
            }
            Control::Claim { node, claims } => {
                let id = self.node(node)?;
                self.agent(id).claims = claims;
            }
            Control::TakeLid { node, port, lid } => {
                let at = self.hfi_port(node, port)?;
                self.network.take_lid(at, lid);
            }
            Control::Describe { node, description } => {
                let id = self.node(node)?;
                self.network.set_description(id, description);
                self.announce(id, News::Description);
            }
            Control::SystemGuid { node, guid } => {
                let id = self.node(node)?;
                self.network.set_system_image_guid(id, guid);
                self.announce(id, News::System);
            }
            Control::UsePKey {
                node,
                port,
                to,
                p_key,
                count,
            } => self.send_claiming((node, port), to, Claimed::PKey(p_key), count)?,
            Control::UseQKey {
                node,
                port,
                to,
                q_key,
                count,
            } => self.send_to_queue_pair((node, port), to, q_key, count)?,
            Control::UseMKey {
                node,
                port,
                to,
                m_key,
                count,
            } => self.send_claiming((node, port), to, Claimed::MKey(m_key), count)?,
            Control::UncheckedFirmware { node, unchecked } => {
                let id = self.node(node)?;
                self.network.set_unchecked_firmware(id, unchecked);
            }
            Control::Faults(faults) => self.fates.set(faults)?,
            Control::IsSm { node, port, is_sm } => self.set_is_sm(node, port, is_sm)?,
            Control::TrafficStart(job) => return self.start_traffic(job),
            Control::TrafficStop { name } => return self.stop_traffic(name),
        }
        self.links_changed();
        Ok(())
    }

    /// Links may have come up or gone down: switches tell, traffic takes other paths.
    pub(super) fn links_changed(&mut self) {
        self.announce_changes();
        self.traffic_changed();
        self.circles_changed(None);
    }

    fn set_link_loss(&mut self, at: PortIndex, loss: f64) -> Result<(), ControlError> {
        if !(0.0..=1.0).contains(&loss) {
            return Err(ControlError::Range {
                what: "loss",
                value: loss,
                allowed: "0 to 1",
            });
        }
        let lost = (loss * f64::from(LOST_OF)).round() as u32;
        self.network.set_loss(at, lost, self.options.seed);
        Ok(())
    }

    fn set_quality(&mut self, at: PortIndex, quality: u8) -> Result<(), ControlError> {
        if !(1..=QUALITY_EXCELLENT).contains(&quality) {
            return Err(ControlError::Range {
                what: "quality",
                value: f64::from(quality),
                allowed: "1 to 5",
            });
        }
        self.network.set_quality(at, quality);
        Ok(())
    }

    fn set_module(&mut self, at: PortIndex, measured: Measured) -> Result<(), ControlError> {
        let changed = measured.apply(self.network.optics_set(at));
        let optics = changed.map_err(|(what, value, allowed)| ControlError::Range {
            what,
            value,
            allowed,
        })?;
        self.network.set_optics(at, optics);
        Ok(())
    }

    fn set_is_sm(&mut self, node: Guid, port: PortNum, is_sm: bool) -> Result<(), ControlError> {
        let at = self.hfi_port(node, port)?;
        if self.network.set_is_sm(at, is_sm) {
            self.announce(self.network.node_of(at), News::Capability);
        }
        Ok(())
    }

    pub(super) fn cable(&self, guid: Guid, port: PortNum) -> Result<PortIndex, ControlError> {
        let device = self.network.device_at(self.node(guid)?);
        let at = device.port(port).filter(|at| self.network.has_cable(*at));
        at.ok_or(ControlError::NoCable { node: guid, port })
    }
}

fn checked_lanes(lanes: u8) -> Result<u8, ControlError> {
    match (1..=LANES_MAX).contains(&lanes) {
        true => Ok(lanes),
        false => Err(ControlError::Range {
            what: "lanes",
            value: f64::from(lanes),
            allowed: "1 to 4",
        }),
    }
}
