//! The link state machine: training, arming, activating, going down.

use weft_fabric::enums::{
    LinkDownReason, LinkWidth, NodeType, OfflineDisabledReason, PhysState, PortState, PortType,
};
use weft_fabric::powered_on::{self, Neighbor};
use weft_fabric::{NodeId, PortNum};

use crate::counters::Counter;
use crate::network::{Network, PortIndex};
use crate::settings::Refused;

impl Network {
    /// Sets the link registers of a node's ports as they are when nothing is at the other end, and
    /// port 0 of a switch active.
    pub(crate) fn reset_link_registers(&mut self, id: NodeId) {
        let Some(device) = self.device(id) else {
            return;
        };
        let switch = device.is_switch();
        for (number, at) in device.ports() {
            if switch && number.0 == 0 {
                self.set_state(at, PortState::ACTIVE);
                let info = &mut self.ports[at.0 as usize].info;
                info.phys_state = PhysState::LINK_UP;
                info.neighbor_normal = true;
            } else {
                self.set_down(at, LinkDownReason::NONE);
                self.reset_speeds(at);
            }
            self.refresh_lid(at);
        }
    }

    fn set_state(&mut self, at: PortIndex, state: PortState) {
        let before = std::mem::replace(&mut self.links[at.0 as usize].state, state);
        self.state_changes += u64::from(before != state);
        let is_up = |state| state != PortState::DOWN;
        self.link_changes += u64::from(is_up(before) != is_up(state));
        self.ports[at.0 as usize].info.port_state = state;
    }

    /// Sets the registers for a port without a link.
    pub(crate) fn set_down(&mut self, at: PortIndex, reason: LinkDownReason) {
        self.end_training(at);
        let cabled = self.peer(at).is_some() && !self.links[at.0 as usize].cut;
        let registers = &mut self.ports[at.0 as usize];
        powered_on::link_down(&mut registers.info, reason);
        let (phys, why) = if registers.disabled {
            (PhysState::DISABLED, OfflineDisabledReason::SMA_DISABLED)
        } else if cabled {
            (PhysState::POLLING, OfflineDisabledReason::NONE)
        } else {
            (PhysState::OFFLINE, no_media(registers.info.port_type))
        };
        registers.info.phys_state = phys;
        registers.info.offline_disabled_reason = why;
        self.set_state(at, PortState::DOWN);
    }

    /// Brings a link up if both its ends can.
    pub(crate) fn train(&mut self, at: PortIndex) {
        let Some(peer) = self.peer(at) else {
            return;
        };
        if self.state(at) != PortState::DOWN || !self.may_train(at) || !self.may_train(peer) {
            return;
        }
        let common = (self.common_width(at, peer), self.common_speed(at, peer));
        if let (Some(_), Some(_)) = common
            && !self.begin_training(at, peer)
        {
            self.bring_up(&[at, peer]);
        }
    }

    /// Brings ends of one link up that have trained; leaves them polling where they have nothing in common any more.
    pub(crate) fn bring_up(&mut self, ends: &[PortIndex]) {
        for end in ends.iter().copied() {
            let Some(other) = self.peer(end) else {
                return;
            };
            let common = (self.common_width(end, other), self.common_speed(end, other));
            let (Some(width), Some(speed)) = common else {
                let reason = self.port(end).info().link_down_reason;
                self.set_down(end, reason);
                continue;
            };
            let neighbor = self.neighbor(other);
            let info = &mut self.ports[end.0 as usize].info;
            powered_on::link_up(info, width, speed, neighbor);
            self.set_state(end, PortState::INIT);
            self.note_change(end);
        }
    }

    fn may_train(&self, at: PortIndex) -> bool {
        let end = &self.links[at.0 as usize];
        !end.cut && !self.port(at).disabled && self.device_at(self.node_of(at)).powered
    }

    /// The widest width that both ends may use, none when they have none in common.
    fn common_width(&self, a_end: PortIndex, b_end: PortIndex) -> Option<LinkWidth> {
        let (a, b) = (self.port(a_end).info(), self.port(b_end).info());
        let widths = a.link_width_enabled.0 & b.link_width_enabled.0;
        let widths = widths & self.cable_widths(a_end) & self.cable_widths(b_end);
        widths.checked_ilog2().map(|bit| LinkWidth(1 << bit))
    }

    /// The widths that a cable supports: up to the one that the topology gives, less the
    /// lanes that it has lost since.
    fn cable_widths(&self, at: PortIndex) -> u16 {
        let node = self.topology.node(self.node_of(at));
        let port = node.and_then(|node| node.port(self.number_of(at)));
        let made = match port.map_or(0, |port| port.info.link_width_active.0) {
            0 => u16::MAX,
            active => u16::MAX >> active.leading_zeros(),
        };
        made & up_to(self.links[at.0 as usize].lanes)
    }

    fn neighbor(&self, at: PortIndex) -> Neighbor {
        let device = self.device_at(self.node_of(at));
        Neighbor {
            node_guid: device.info.node_guid,
            node_type: if device.is_switch() {
                NodeType::SWITCH
            } else {
                NodeType::HFI
            },
            port: self.number_of(at),
        }
    }

    /// Takes a link down, with the reason at this end and the one reported by the neighbour.
    pub(crate) fn take_down(&mut self, at: PortIndex, reason: LinkDownReason) {
        let up = self.state(at) != PortState::DOWN;
        let peer_up = |peer: &PortIndex| self.state(*peer) != PortState::DOWN;
        let peer = self.peer(at).filter(peer_up);
        let reason_before = self.port(at).info().link_down_reason;
        self.set_down(at, if up { reason } else { reason_before });
        if !up {
            return;
        }
        self.counters(at).add(Counter::LinkDowned, 1);
        self.note_change(at);
        if let Some(peer) = peer {
            self.set_down(peer, LinkDownReason::NEIGHBOR_UNKNOWN);
            self.ports[peer.0 as usize].info.neighbor_link_down_reason = reason;
            self.counters(peer).add(Counter::LinkDowned, 1);
            self.note_change(peer);
        }
    }

    /// A switch notes that a link of it came up or went down.
    pub(crate) fn note_change(&mut self, at: PortIndex) {
        let id = self.node_of(at);
        if let Some(registers) = self.switch_mut(id) {
            registers.info.port_state_change = true;
            if !self.changed.contains(&id) {
                self.changed.push(id);
            }
        }
    }

    /// The subnet manager begins to configure a port: the S flag of its request.
    pub fn start_configuration(&mut self, at: PortIndex) {
        if self.state(at) == PortState::INIT {
            self.ports[at.0 as usize].info.is_sm_configuration_started = true;
        }
    }

    /// Changes a port's state as requested by a Set of PortStates; [`PortState::NOP`] and
    /// [`PhysState::NOP`] change nothing.
    ///
    /// # Errors
    /// [`Refused`] when the change is not allowed: see [`PortState`] and
    /// `PortStates.IsSMConfigurationStarted`, `NeighborNormal` of the vendor's headers.
    pub fn request_state(
        &mut self,
        at: PortIndex,
        state: PortState,
        phys: PhysState,
    ) -> Result<(), Refused> {
        if self.is_management_port(at) {
            let harmless = matches!(state, PortState::NOP | PortState::ARMED | PortState::ACTIVE);
            return if harmless && phys == PhysState::NOP {
                Ok(())
            } else {
                Err(Refused)
            };
        }
        match (state, phys) {
            (PortState::NOP, PhysState::NOP) => Ok(()),
            (PortState::NOP | PortState::DOWN, PhysState::DISABLED) => {
                self.disable(at);
                Ok(())
            }
            (PortState::DOWN, PhysState::NOP)
            | (PortState::NOP | PortState::DOWN, PhysState::POLLING) => {
                self.bounce(at);
                Ok(())
            }
            (PortState::ARMED, PhysState::NOP) => self.arm(at),
            (PortState::ACTIVE, PhysState::NOP) => self.activate(at),
            _ => Err(Refused),
        }
    }

    fn is_management_port(&self, at: PortIndex) -> bool {
        self.number_of(at) == PortNum(0)
    }

    fn disable(&mut self, at: PortIndex) {
        self.ports[at.0 as usize].disabled = true;
        self.take_down(at, LinkDownReason::SMA_DISABLED);
    }

    /// Takes the link down and lets it come up again; enables a port that was disabled.
    fn bounce(&mut self, at: PortIndex) {
        self.ports[at.0 as usize].disabled = false;
        self.take_down(at, LinkDownReason::FM_BOUNCE);
        self.train(at);
    }

    fn arm(&mut self, at: PortIndex) -> Result<(), Refused> {
        let started = self.port(at).info().is_sm_configuration_started;
        match self.state(at) {
            PortState::ARMED if started => Ok(()),
            PortState::INIT if started && !self.links[at.0 as usize].refuses_arm => {
                self.set_state(at, PortState::ARMED);
                if let Some(peer) = self.peer(at) {
                    self.ports[peer.0 as usize].info.neighbor_normal = true;
                }
                Ok(())
            }
            _ => Err(Refused),
        }
    }

    fn activate(&mut self, at: PortIndex) -> Result<(), Refused> {
        let info = self.port(at).info();
        let ready = info.is_sm_configuration_started && info.neighbor_normal;
        match self.state(at) {
            PortState::ACTIVE => Ok(()),
            PortState::ARMED if ready => {
                self.set_state(at, PortState::ACTIVE);
                self.follow(at);
                Ok(())
            }
            _ => Err(Refused),
        }
    }

    /// The neighbour of a port that has just become active follows it where that is enabled.
    fn follow(&mut self, at: PortIndex) {
        let Some(peer) = self.peer(at) else {
            return;
        };
        let enabled = self.port(peer).info().is_active_optimize_enabled;
        if enabled && self.state(peer) == PortState::ARMED {
            self.set_state(peer, PortState::ACTIVE);
        }
    }

    /// Makes a port refuse to leave Init, or take it up again. Its link stays as it is until it next
    /// comes up.
    pub fn set_refuses_arm(&mut self, at: PortIndex, refuses: bool) {
        self.links[at.0 as usize].refuses_arm = refuses;
    }

    /// Sets whether the neighbours of a node report that they have not checked its firmware.
    pub fn set_unchecked_firmware(&mut self, id: NodeId, unchecked: bool) {
        let ports = self.device_at(id).ports();
        for peer in ports
            .filter_map(|(_, at)| self.peer(at))
            .collect::<Vec<_>>()
        {
            self.ports[peer.0 as usize].info.neighbor_fw_authen_bypass = unchecked;
        }
    }

    /// Whether a port has a cable, cut or not.
    pub fn has_cable(&self, at: PortIndex) -> bool {
        self.peer(at).is_some()
    }

    /// Cuts the cable at a port.
    pub fn cut_cable(&mut self, at: PortIndex) {
        let ends = [Some(at), self.peer(at)];
        for end in ends.into_iter().flatten() {
            self.links[end.0 as usize].cut = true;
        }
        self.take_down(at, LinkDownReason::UNKNOWN);
    }

    /// Mends the cable at a port; the link comes up unless something else keeps it down.
    pub fn mend_cable(&mut self, at: PortIndex) {
        let ends = [Some(at), self.peer(at)];
        for end in ends.into_iter().flatten() {
            if std::mem::replace(&mut self.links[end.0 as usize].cut, false) {
                let reason = self.port(end).info().link_down_reason;
                self.set_down(end, reason);
            }
        }
        self.train(at);
    }

    /// Sets the number of working lanes of the cable at a port. A link with more lanes continues with a width to which
    /// both ends may downgrade, or goes down if they may not; returning lanes are used when it comes up again.
    pub fn set_cable_lanes(&mut self, at: PortIndex, lanes: u8) {
        let ends = [Some(at), self.peer(at)];
        for end in ends.into_iter().flatten() {
            self.links[end.0 as usize].lanes = lanes;
        }
        self.lanes_changed(at);
    }

    /// The same of what a port sends alone: a link that is up continues with fewer lanes in this direction (`hfi1`,
    /// `chip.c`, `apply_link_downgrade_policy`); both directions have as many when it comes up.
    pub fn set_lanes_out(&mut self, at: PortIndex, lanes: u8) {
        self.links[at.0 as usize].lanes = lanes;
        self.lanes_changed(at);
    }

    fn lanes_changed(&mut self, at: PortIndex) {
        let Some(peer) = self.peer(at) else { return };
        if self.state(at) == PortState::DOWN {
            return self.train(at);
        }
        for (from, to) in [(at, peer), (peer, at)] {
            let active = self.port(from).info().link_width_downgrade_tx_active;
            let working = self.links[from.0 as usize].lanes;
            if active.lanes() > u32::from(working) && !self.narrow(from, to) {
                self.take_down(at, LinkDownReason::WIDTH_POLICY);
                return self.train(at);
            }
        }
    }

    /// Lets one direction of a link go on with the lanes that work; returns whether that is enabled.
    fn narrow(&mut self, from: PortIndex, to: PortIndex) -> bool {
        let enabled = |end| self.port(end).info().link_width_downgrade_enabled.0;
        let left = up_to(self.links[from.0 as usize].lanes) & enabled(from) & enabled(to);
        let Some(widest) = left.checked_ilog2() else {
            return false;
        };
        let width = LinkWidth(1 << widest);
        let (sends, receives) = (from.0 as usize, to.0 as usize);
        self.ports[sends].info.link_width_downgrade_tx_active = width;
        self.ports[receives].info.link_width_downgrade_rx_active = width;
        for end in [from, to] {
            let node = self.node_of(end);
            if self.switch(node).is_some() && !self.narrowed.contains(&node) {
                self.narrowed.push(node);
            }
        }
        true
    }

    /// Takes a node's power: its links go down, its registers are lost.
    pub fn power_off(&mut self, id: NodeId) {
        let Some(device) = self.devices.get_mut(id.0 as usize).filter(|d| d.powered) else {
            return;
        };
        device.powered = false;
        for (_, at) in device.ports() {
            self.take_down(at, LinkDownReason::REBOOT);
        }
        // A node without power notices nothing.
        self.changed.retain(|changed| *changed != id);
        self.narrowed.retain(|narrowed| *narrowed != id);
    }

    /// Powers a node on: its registers are at their defaults, its links come up.
    pub fn power_on(&mut self, id: NodeId) {
        if self.device(id).is_none_or(|device| device.powered) {
            return;
        }
        self.reset(id);
        let ports = self.device_at(id).ports();
        for (_, at) in ports {
            self.train(at);
        }
    }
}

/// All widths of at most `lanes` lanes.
fn up_to(lanes: u8) -> u16 {
    let above = u32::from(lanes).min(u16::BITS);
    (1_u32 << above).wrapping_sub(1) as u16
}

fn no_media(port_type: PortType) -> OfflineDisabledReason {
    if port_type == PortType::STANDARD {
        OfflineDisabledReason::LOCAL_MEDIA_NOT_INSTALLED
    } else {
        OfflineDisabledReason::NOT_INSTALLED
    }
}
