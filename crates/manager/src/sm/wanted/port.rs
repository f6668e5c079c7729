//! PortInfo as it should be.

use weft_config::sm::CascadeActivate;
use weft_fabric::{Lid, Lmc, PortNum, Sl, Vl};
use weft_wire::enums::{LinkInitReason, LinkSpeed, LinkWidth, Mtu, PhysState, PortState};
use weft_wire::sm::{PortErrorAction, PortInfo, XmitQ};

use super::preemption;
use super::qos::Qos;
use crate::settings::MANAGEMENT_LANE;
use crate::sm::settings::{LinkPolicy, Settings, TrafficSettings};

/// Least time between two traps of one agent: 4.096 µs · 2^17, about half a second.
const SUBNET_TIMEOUT: u8 = 17;

/// Kind of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Port 0 of a switch.
    Management,
    /// A port of an HFI.
    Hfi,
    /// A cabled port of a switch.
    External,
}

/// Inputs of a port's settings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context<'a> {
    pub settings: &'a Settings,
    pub qos: &'a Qos,
    /// LID of the manager.
    pub sm_lid: Lid,
    /// Service level of what goes there.
    pub sm_sl: Sl,
    pub place: Place,
    /// Own LID and LMC of an end port; of an external port those of the HFI that it faces, zeros
    /// towards a switch.
    pub lid: Lid,
    pub lmc: Lmc,
    /// Key of an end port.
    pub m_key: u64,
    /// The port at the other end of the cable, which port 0 does not have.
    pub neighbour: Option<&'a PortInfo>,
    /// Both ends of the cable can mark lanes.
    pub markers: bool,
    /// The neighbour is an HFI that may not manage.
    pub faces_guest: bool,
    /// An external port checks the P_Keys of what its HFI sends and receives.
    pub enforces: bool,
    pub policy: &'a LinkPolicy,
}

/// `held` with all that the manager decides on as it should be.
pub(crate) fn wanted(held: &PortInfo, context: &Context<'_>) -> PortInfo {
    let mut info = *held;
    info.lid = context.lid;
    info.lmc = context.lmc;
    if context.place == Place::External {
        info.partition_enforcement_inbound = context.enforces;
        info.partition_enforcement_outbound = context.enforces;
    } else {
        set_end_port(&mut info, context);
    }
    if context.place == Place::Management {
        // Its neighbour is the switch itself.
        set_mtus(&mut info, held.mtu_cap, context.qos);
        info.link_width_downgrade_enabled =
            downgrade_widths(&info, context.policy.max_dropped_lanes);
    }
    if let Some(neighbour) = context.neighbour {
        set_link(&mut info, neighbour, context);
    }
    info
}

fn set_end_port(info: &mut PortInfo, context: &Context<'_>) {
    let settings = context.settings;
    info.master_sm_lid = context.sm_lid;
    info.master_sm_sl = context.sm_sl;
    info.subnet_prefix = settings.subnet_prefix;
    info.m_key = context.m_key;
    info.m_key_protect_bits = u8::from(context.m_key != 0);
    info.m_key_lease_period = 0;
    info.subnet_timeout = SUBNET_TIMEOUT;
    if context.place == Place::Hfi && info.capability_mask3.is_max_lid_supported {
        info.max_lid = settings.lids.highest;
    }
}

fn set_link(info: &mut PortInfo, neighbour: &PortInfo, context: &Context<'_>) {
    info.operational_vl = info.vl_cap.min(neighbour.vl_cap);
    let (settings, qos) = (context.settings, &*context.qos.within(info.operational_vl));
    set_mtus(info, neighbour.mtu_cap, qos);
    if context.place == Place::External {
        info.xmit_q = queues(info.operational_vl, qos, &settings.traffic);
    }
    info.vl_high_limit = match info.operational_vl {
        0 | 1 => 0,
        _ => qos.high_limit(),
    };
    info.flow_control_mask = qos.flow_control_mask();
    info.port_error_action = PortErrorAction::from_bits(settings.links.error_action);
    info.is_active_optimize_enabled = match settings.links.cascade {
        CascadeActivate::Disabled => false,
        CascadeActivate::Switches => context.place == Place::External,
        CascadeActivate::All => true,
    };
    info.link_init_reason = LinkInitReason::LINKUP;
    info.vl15_credit_rate = match context.faces_guest {
        true => settings.traffic.vl15_credit_rate,
        false => 0,
    };
    info.link_width_downgrade_enabled = downgrade_widths(info, context.policy.max_dropped_lanes);
    let preemption = qos.preempts().then_some(&settings.traffic.preemption);
    preemption::set(info, neighbour, context.markers, preemption);
}

/// The longest lifetime that is doubled (`IB_LIFETIME_MAX`): 4.096 µs · 2^value.
const LIFE_MAX: u8 = 0x13;

/// Head-of-line lifetimes of a switch port's queues: unused lanes have
/// no time, and only lanes of the link count stalls.
fn queues(operational: u8, qos: &Qos, traffic: &TrafficSettings) -> [XmitQ; 32] {
    let mut queues = [XmitQ::default(); 32];
    let stalls = traffic.vl_stall_count.min(7);
    for queue in queues.iter_mut().take(usize::from(operational)) {
        queue.vl_stall_count = stalls;
    }
    let life = traffic.hoq_life.min(31);
    for (lane, level) in qos.by_lane() {
        let life = level.hoq_life.map_or(life, |own| own.min(31));
        let scaled = traffic.timer_scaling && qos.waits(lane, traffic.preemption.is_unlimited());
        let life = match scaled && life < LIFE_MAX {
            true => life + 1,
            false => life,
        };
        queues[usize::from(lane.0)].hoq_life = life;
    }
    queues[usize::from(MANAGEMENT_LANE.0)] = XmitQ {
        vl_stall_count: stalls,
        hoq_life: life,
    };
    queues
}

/// Sets what packets may be sent on each lane to a neighbour that can do `far`.
fn set_mtus(info: &mut PortInfo, far: Mtu, qos: &Qos) {
    let cap = info.mtu_cap.min(far);
    for lane in (0..32).map(Vl) {
        let mtu = match lane {
            MANAGEMENT_LANE => Mtu::B2048,
            lane => qos.mtu(lane, cap),
        };
        info.neighbor_mtu.set(lane, mtu);
    }
}

/// The widths to which a link may fall back, `dropped` lanes below the width it came up with at
/// most.
fn downgrade_widths(info: &PortInfo, dropped: u8) -> LinkWidth {
    let lanes = info.link_width_active.lanes();
    let least = lanes.saturating_sub(u32::from(dropped)).max(1);
    let allowed = (least..=lanes)
        .map(|lanes| 1_u16 << (lanes - 1))
        .sum::<u16>();
    LinkWidth(info.link_width_downgrade_supported.0 & allowed)
}

macro_rules! settings_of_a_port {
    ($($field:ident),* $(,)?) => {
        /// Whether two PortInfos agree in all that the manager decides on.
        pub(crate) fn same_settings(a: &PortInfo, b: &PortInfo) -> bool {
            true $(&& a.$field == b.$field)*
        }

        /// Takes over all that the manager decides on.
        pub(crate) fn take_settings(to: &mut PortInfo, from: &PortInfo) {
            $(to.$field = from.$field;)*
        }

        /// The first setting in which two PortInfos differ, with both values.
        pub(crate) fn first_difference(
            wanted: &PortInfo,
            held: &PortInfo,
        ) -> Option<Difference> {
            $(if wanted.$field != held.$field {
                return Some(Difference {
                    field: stringify!($field),
                    wanted: format!("{:?}", wanted.$field),
                    held: format!("{:?}", held.$field),
                });
            })*
            None
        }
    };
}
/// A setting that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    field: &'static str,
    wanted: String,
    held: String,
}

impl Difference {
    /// In words, for a port; a key is named without its values.
    pub(crate) fn of_port(&self, port: PortNum) -> String {
        let Self {
            field,
            wanted,
            held,
        } = self;
        match *field {
            "m_key" => format!("{field} of its port {port}"),
            _ => format!("{field} of its port {port} (wanted {wanted}, holds {held})"),
        }
    }
}

settings_of_a_port!(
    lid,
    lmc,
    master_sm_lid,
    master_sm_sl,
    subnet_prefix,
    m_key,
    m_key_protect_bits,
    m_key_lease_period,
    subnet_timeout,
    max_lid,
    neighbor_mtu,
    xmit_q,
    operational_vl,
    vl_high_limit,
    flow_control_mask,
    port_error_action,
    link_init_reason,
    is_active_optimize_enabled,
    vl15_credit_rate,
    link_width_downgrade_enabled,
    partition_enforcement_inbound,
    partition_enforcement_outbound,
    is_vl_marker_enabled,
    interleave_max_nest_level_tx_enabled,
    interleave_distance_enabled,
    preemption_large_pkt_limit,
    preemption_small_pkt_limit,
    preemption_limit,
);

/// The Set that makes a port hold `wanted`: states, speeds and widths stay
/// unchanged.
pub(crate) fn to_set(wanted: &PortInfo) -> PortInfo {
    PortInfo {
        port_state: PortState::NOP,
        phys_state: PhysState::NOP,
        link_speed_enabled: LinkSpeed::NOP,
        link_width_enabled: LinkWidth::NOP,
        is_sm_configuration_started: false,
        local_port_num: PortNum(0),
        ..*wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_may_lose_as_many_lanes_as_the_policy_says() {
        for (active, supported, dropped, expected) in [
            (LinkWidth::X4, 0xF, 1, 0b1100),
            (LinkWidth::X4, 0xF, 0, 0b1000),
            (LinkWidth::X4, 0b1000, 3, 0b1000),
            (LinkWidth::X2, 0xF, 3, 0b0011),
            (LinkWidth::NOP, 0xF, 3, 0),
        ] {
            let info = PortInfo {
                link_width_active: active,
                link_width_downgrade_supported: LinkWidth(supported),
                ..PortInfo::default()
            };
            assert_eq!(
                downgrade_widths(&info, dropped),
                LinkWidth(expected),
                "{active} {dropped}"
            );
        }
    }
}
