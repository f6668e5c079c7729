//! Writes to a port's registers.

use thiserror::Error;
use weft_fabric::enums::{LinkInitReason, LinkSpeed, LinkWidth, PortState};
use weft_fabric::{Lid, PortNum, Vl};
use weft_wire::sm::PortInfo;

use crate::network::{Network, PortIndex};

/// A value that a register does not take, or a change that a link does not make now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a field has a value that is not allowed here")]
pub struct Refused;

impl Network {
    /// Writes the settings of PortInfo, then changes the state by its PortStates. Read-only
    /// fields are ignored; zero in link speeds, widths, modes and OperationalVL is no change.
    ///
    /// # Errors
    /// [`Refused`] when a value is not allowed: then nothing is written to a switch, and to an HFI the rest, its state
    /// included (`hfi1`, `mad.c`, `__subn_set_opa_portinfo`); or when the state cannot be changed: then the settings are
    /// still written.
    pub fn set_port_info(&mut self, at: PortIndex, new: &PortInfo) -> Result<(), Refused> {
        let kind = self.kind(at);
        let info = &self.ports[at.0 as usize].info;
        let wrong = check(info, new, kind);
        let Some(rest) = without(wrong, info, new, kind) else {
            return Err(Refused);
        };
        self.write_port_info(at, &rest, kind)?;
        match wrong.is_any() {
            true => Err(Refused),
            false => Ok(()),
        }
    }

    fn write_port_info(
        &mut self,
        at: PortIndex,
        new: &PortInfo,
        kind: Kind,
    ) -> Result<(), Refused> {
        let info = &mut self.ports[at.0 as usize].info;
        write_link(info, new);
        write_addressing(info, new, kind);
        write_lanes(info, new);
        write_flits(info, new);
        write_state_reports(info, new, kind);
        let count = &mut self.ports[at.0 as usize].reregistrations;
        *count = count.wrapping_add(u32::from(new.client_reregister));
        if kind != Kind::SwitchExternal {
            self.refresh_lid(at);
        }
        self.request_state(at, new.port_state, new.phys_state)
    }

    fn kind(&self, at: PortIndex) -> Kind {
        if !self.device_at(self.node_of(at)).is_switch() {
            Kind::Hfi
        } else if self.number_of(at) == PortNum(0) {
            Kind::SwitchManagement
        } else {
            Kind::SwitchExternal
        }
    }

    /// Switches a port's beacon.
    pub fn set_led(&mut self, at: PortIndex, on: bool) {
        self.ports[at.0 as usize].info.led_enabled = on;
    }

    /// Sets whether a subnet manager runs at a port; returns whether that changed.
    pub fn set_is_sm(&mut self, at: PortIndex, is_sm: bool) -> bool {
        let mask = &mut self.ports[at.0 as usize].info.capability_mask;
        std::mem::replace(&mut mask.is_sm, is_sm) != is_sm
    }

    /// Lets an end port take another LID, without management.
    pub fn take_lid(&mut self, at: PortIndex, lid: Lid) {
        self.ports[at.0 as usize].info.lid = lid;
    }

    /// Counts a datagram with a wrong M_Key at an end port.
    pub fn count_m_key_violation(&mut self, at: PortIndex) {
        let count = &mut self.ports[at.0 as usize].info.violations_m_key;
        *count = count.saturating_add(1);
    }

    /// Counts packets with a wrong Q_Key at an end port.
    pub fn count_q_key_violations(&mut self, at: PortIndex, packets: u32) {
        let count = &mut self.ports[at.0 as usize].info.violations_q_key;
        *count = count.saturating_add(u16::try_from(packets).unwrap_or(u16::MAX));
    }

    /// Takes the protection of an end port's M_Key away: its lease is over.
    pub fn expire_m_key(&mut self, at: PortIndex) {
        self.ports[at.0 as usize].info.m_key_protect_bits = 0;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Hfi,
    SwitchManagement,
    SwitchExternal,
}

/// Fields whose new values are not allowed.
#[derive(Debug, Clone, Copy, Default)]
struct Wrong {
    /// A LID that no driver takes at all.
    lids_too_large: bool,
    lid: bool,
    master_sm_lid: bool,
    width: bool,
    width_downgrade: bool,
    speed: bool,
    modes: bool,
    mtu: bool,
    lanes: bool,
}

impl Wrong {
    fn is_any(&self) -> bool {
        self.lids_too_large
            || self.lid
            || self.master_sm_lid
            || self.width
            || self.width_downgrade
            || self.speed
            || self.modes
            || self.mtu
            || self.lanes
    }
}

/// LIDs from here on are none for the driver of HFIs.
const LID_END: u32 = 0x0100_0000;

fn check(info: &PortInfo, new: &PortInfo, kind: Kind) -> Wrong {
    let subset = |new: u16, supported: u16| new & !supported == 0;
    let lids = new.lmc.lids();
    let end_port = kind != Kind::SwitchExternal;
    let is_hfi = kind == Kind::Hfi;
    // An HFI that is armed keeps the LIDs that it has.
    let keeps = is_hfi && info.port_state > PortState::INIT;
    let takes_none = |has: Lid| !keeps || has == Lid(0);
    let aligned = new.lid.is_unicast() && new.lid.0.is_multiple_of(lids);
    let none = new.lid == Lid(0) && takes_none(info.lid);
    let lid_right = aligned || none || !end_port && new.lid == Lid::PERMISSIVE;
    let modes_right = subset(
        u16::from(new.port_link_mode_enabled),
        u16::from(info.port_link_mode_supported),
    ) && subset(
        u16::from(new.port_ltp_crc_mode_enabled),
        u16::from(info.port_ltp_crc_mode_supported),
    ) && subset(
        new.port_packet_formats_enabled,
        info.port_packet_formats_supported,
    );
    let master_right = match new.master_sm_lid {
        Lid(0) => takes_none(info.master_sm_lid),
        lid => lid.is_unicast(),
    };
    Wrong {
        lids_too_large: is_hfi && (new.lid.0 >= LID_END || new.master_sm_lid.0 >= LID_END),
        lid: !lid_right || new.lmc.0 > 7,
        master_sm_lid: end_port && !master_right,
        width: !subset(new.link_width_enabled.0, info.link_width_supported.0),
        width_downgrade: !subset(
            new.link_width_downgrade_enabled.0,
            info.link_width_downgrade_supported.0,
        ),
        speed: !subset(new.link_speed_enabled.0, info.link_speed_supported.0),
        modes: !modes_right,
        mtu: (0..32).any(|vl| new.neighbor_mtu.get(Vl(vl)) > info.mtu_cap),
        lanes: new.operational_vl > info.vl_cap,
    }
}

/// What is written of a Set in which fields are wrong: nothing to a switch; of an HFI those keep their values, and too
/// large packets become the largest.
fn without(wrong: Wrong, info: &PortInfo, new: &PortInfo, kind: Kind) -> Option<PortInfo> {
    let mut rest = *new;
    if !wrong.is_any() {
        return Some(rest);
    }
    if kind != Kind::Hfi || wrong.lids_too_large {
        return None;
    }
    if wrong.lid {
        (rest.lid, rest.lmc) = (info.lid, info.lmc);
    }
    if wrong.master_sm_lid {
        rest.master_sm_lid = info.master_sm_lid;
    }
    if wrong.width {
        rest.link_width_enabled = LinkWidth::NOP;
    }
    if wrong.width_downgrade {
        rest.link_width_downgrade_enabled = LinkWidth::NOP;
    }
    if wrong.speed {
        rest.link_speed_enabled = LinkSpeed::NOP;
    }
    if wrong.modes {
        rest.port_link_mode_enabled = 0;
        rest.port_ltp_crc_mode_enabled = 0;
        rest.port_packet_formats_enabled = 0;
    }
    if wrong.mtu {
        for vl in (0..32).map(Vl) {
            let mtu = rest.neighbor_mtu.get(vl).min(info.mtu_cap);
            rest.neighbor_mtu.set(vl, mtu);
        }
    }
    if wrong.lanes {
        rest.operational_vl = 0;
    }
    Some(rest)
}

fn write_link(info: &mut PortInfo, new: &PortInfo) {
    if new.link_speed_enabled != LinkSpeed::NOP {
        info.link_speed_enabled = new.link_speed_enabled;
    }
    if new.link_width_enabled != LinkWidth::NOP {
        info.link_width_enabled = new.link_width_enabled;
    }
    if new.link_width_downgrade_enabled != LinkWidth::NOP {
        info.link_width_downgrade_enabled = new.link_width_downgrade_enabled;
    }
    if new.port_link_mode_enabled != 0 {
        info.port_link_mode_enabled = new.port_link_mode_enabled;
    }
    if new.port_ltp_crc_mode_enabled != 0 {
        info.port_ltp_crc_mode_enabled = new.port_ltp_crc_mode_enabled;
    }
    if new.port_packet_formats_enabled != 0 {
        info.port_packet_formats_enabled = new.port_packet_formats_enabled;
    }
    info.port_error_action = new.port_error_action;
    info.vl15_credit_rate = new.vl15_credit_rate;
}

fn write_addressing(info: &mut PortInfo, new: &PortInfo, kind: Kind) {
    info.lid = new.lid;
    info.lmc = new.lmc;
    if kind == Kind::SwitchExternal {
        info.partition_enforcement_inbound = new.partition_enforcement_inbound;
        info.partition_enforcement_outbound = new.partition_enforcement_outbound;
    } else {
        info.m_key = new.m_key;
        info.m_key_protect_bits = new.m_key_protect_bits;
        info.m_key_lease_period = new.m_key_lease_period;
        info.subnet_prefix = new.subnet_prefix;
        info.master_sm_lid = new.master_sm_lid;
        info.master_sm_sl = new.master_sm_sl;
        info.subnet_timeout = new.subnet_timeout;
        info.sm_trap_qp = new.sm_trap_qp;
        info.sa_qp = new.sa_qp;
        info.multicast_p_key_trap_suppression_enabled =
            new.multicast_p_key_trap_suppression_enabled;
    }
    if kind == Kind::Hfi {
        info.max_lid = new.max_lid;
    }
    if info.capability_mask3.is_addr_range_config_supported {
        info.multicast_mask = new.multicast_mask;
        info.collective_mask = new.collective_mask;
    }
    info.p_key_8b = new.p_key_8b;
    info.p_key_10b = new.p_key_10b;
}

fn write_lanes(info: &mut PortInfo, new: &PortInfo) {
    if new.operational_vl != 0 {
        info.operational_vl = new.operational_vl;
    }
    info.flow_control_mask = new.flow_control_mask;
    info.vl_high_limit = new.vl_high_limit;
    info.vl_preempting_limit = new.vl_preempting_limit;
    info.neighbor_mtu = new.neighbor_mtu;
    info.xmit_q = new.xmit_q;
}

fn write_flits(info: &mut PortInfo, new: &PortInfo) {
    info.is_active_optimize_enabled = new.is_active_optimize_enabled;
    info.is_pass_through_enabled =
        new.is_pass_through_enabled && info.capability_mask3.is_pass_through_supported;
    info.is_vl_marker_enabled =
        new.is_vl_marker_enabled && info.capability_mask3.is_vl_marker_supported;
    info.is_16b_trap_query_enabled = new.is_16b_trap_query_enabled;
    info.interleave_distance_enabled = new.interleave_distance_enabled;
    info.interleave_max_nest_level_tx_enabled = new.interleave_max_nest_level_tx_enabled;
    info.preemption_min_initial = new.preemption_min_initial;
    info.preemption_min_tail = new.preemption_min_tail;
    info.preemption_large_pkt_limit = new.preemption_large_pkt_limit;
    info.preemption_small_pkt_limit = new
        .preemption_small_pkt_limit
        .min(info.preemption_max_small_pkt_limit);
    info.preemption_limit = new.preemption_limit;
}

/// Fields about the link that the manager writes: reasons, and violations, which a write clears.
fn write_state_reports(info: &mut PortInfo, new: &PortInfo, kind: Kind) {
    if new.link_init_reason != LinkInitReason::NOP {
        info.link_init_reason = new.link_init_reason;
    }
    info.link_down_reason = new.link_down_reason;
    info.neighbor_link_down_reason = new.neighbor_link_down_reason;
    if kind != Kind::SwitchExternal {
        info.violations_m_key = new.violations_m_key;
        info.violations_q_key = new.violations_q_key;
    }
    info.violations_p_key = new.violations_p_key;
}
