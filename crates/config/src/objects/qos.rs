//! QOS groups: service levels and bandwidth that virtual fabrics share.

use weft_wire::id::Sl;

use super::define;
use crate::context::Cx;
use crate::finding::Rule;
use crate::section::{Also, One, Opt, Subs, section};
use crate::syntax::{
    Kind, Named, Text, flag, lifetime, lifetime_code, lifetime_multiplier, named, percent,
    strict_flag, u8s,
};
use crate::value::{Percent, TimeExponent};
use crate::xml::Id;

/// The most enabled groups.
pub(super) const MAX_GROUPS: usize = 32;

/// A service level that the administrator may assign.
pub(super) const SERVICE_LEVEL: Named<Sl, u8> = named(u8s().strictly(0, 15), Sl, |sl| sl.0);

section! {
    /// `QOSGroups`: those of `Fm` add to those of `Common`.
    pub struct QosGroups {
        /// The groups, in the order of the file.
        list: Vec<QosGroup> = Vec::new(), "QOSGroup" => Subs(1024);
    }
    finish check_count;
}

section! {
    /// `QOSGroup`: service levels and bandwidth that virtual fabrics share.
    pub struct QosGroup {
        /// Its name, unique among enabled groups.
        name: String = String::new(), "Name" => One(Text::of(63));
        /// Whether it is used.
        enable: bool = false, "Enable" => One(flag());
        /// The service level; the SM chooses a free one if absent.
        base_sl: Option<Sl> = None, "BaseSL" => Opt(SERVICE_LEVEL);
        /// The service level of multicast; needs `BaseSL`.
        multicast_sl: Option<Sl> = None, "MulticastSL" => Opt(SERVICE_LEVEL);
        /// Whether packets are dropped if credits are missing.
        flow_control_disable: Option<bool> = None, "FlowControlDisable" => Opt(strict_flag());
        /// The minimum share of each link's bandwidth.
        bandwidth: Option<Percent> = None, "Bandwidth" => Opt(percent(1));
        /// Whether it has priority over all others, without a bandwidth.
        high_priority: Option<bool> = None, "HighPriority" => Opt(strict_flag());
        /// Factor for packet lifetimes, as a power of two.
        pkt_life_time_mult_log2: Option<u8> = None, "PktLifeTimeMult" => Opt(lifetime_multiplier());
        /// Packets interrupt those of lower rank; 0 neither interrupts nor is interrupted.
        preempt_rank: Option<u8> = None, "PreemptRank" => Opt(u8s().strictly(0, 127));
        /// Head-of-line lifetime of packets; the SM's value if absent.
        hoq_life: Option<TimeExponent> = None, "HoqLife" => Opt(lifetime()), "HoqLife_Int" => Also(lifetime_code());
    }
    finish check;
}

fn check(group: &mut QosGroup, id: Id, cx: &mut Cx<'_>) {
    define(Kind::QosGroup, &group.name, group.enable, id, cx);
}

fn check_count(groups: &mut QosGroups, id: Id, cx: &mut Cx<'_>) {
    if groups.list.iter().filter(|group| group.enable).count() > MAX_GROUPS {
        cx.error(
            id,
            Rule::Count,
            format!("more than {MAX_GROUPS} enabled QOSGroup"),
        );
    }
}

impl QosGroups {
    /// The enabled group of a name.
    pub fn get(&self, name: &str) -> Option<&QosGroup> {
        self.list
            .iter()
            .find(|group| group.enable && group.name == name)
    }
}
