//! Virtual fabrics: ports, applications and policies.

use weft_wire::id::{PKey, Sl};

use super::define;
use super::qos::SERVICE_LEVEL;
use crate::context::Cx;
use crate::finding::Rule;
use crate::section::{Also, Many, One, Opt, Subs, section};
use crate::syntax::{
    Kind, PKeyText, Text, flag, keyword, lifetime, lifetime_code, lifetime_multiplier, percent,
    reference, strict_flag, u8s,
};
use crate::value::{Mtu, Percent, Rate, TimeExponent};
use crate::xml::Id;

/// The most enabled virtual fabrics.
pub(super) const MAX_FABRICS: usize = 1000;

section! {
    /// `VirtualFabrics`: those of `Fm` add to those of `Common`.
    pub struct VirtualFabrics {
        /// The virtual fabrics, in the order of the file: earlier ones come first in every table.
        list: Vec<VirtualFabric> = Vec::new(), "VirtualFabric" => Subs(4096);
    }
    finish check_count;
}

section! {
    /// `VirtualFabric`: which ports use which applications, and how.
    pub struct VirtualFabric {
        /// Its name, unique among enabled ones.
        name: String = String::new(), "Name" => One(Text::of(63));
        /// Whether it is used.
        enable: bool = false, "Enable" => One(flag());
        /// Whether it is defined but carries no traffic.
        standby: bool = false, "Standby" => One(strict_flag());
        /// Its partition; the SM chooses a free one if absent.
        pkey: Option<PKey> = None, "PKey" => Opt(PKeyText::PARTITION);
        /// Whether limited members are isolated from each other.
        security: bool = false, "Security" => One(flag());
        /// Device groups whose ports are full members.
        members: Vec<String> = Vec::new(), "Member" => Many(reference(Kind::DeviceGroup), 1024);
        /// Device groups whose ports are limited members, unless they are full ones.
        limited_members: Vec<String> = Vec::new(), "LimitedMember" => Many(reference(Kind::DeviceGroup), 1024);
        /// Its applications.
        applications: Vec<String> = Vec::new(), "Application" => Many(Text::name(63), 64);
        /// The largest MTU.
        max_mtu: Mtu = Mtu::Unlimited, "MaxMTU" => One(keyword());
        /// The highest rate.
        max_rate: Rate = Rate::Unlimited, "MaxRate" => One(keyword());
        /// The QOS group, which excludes the QOS values that follow.
        qos_group: Option<String> = None, "QOSGroup" => Opt(Text::of(63));
        /// Whether it has service levels of its own.
        qos: Option<bool> = None, "QOS" => Opt(strict_flag());
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

fn check(fabric: &mut VirtualFabric, id: Id, cx: &mut Cx<'_>) {
    define(Kind::VirtualFabric, &fabric.name, fabric.enable, id, cx);
    if !fabric.enable {
        return;
    }
    if let Some(name) = fabric
        .qos_group
        .as_deref()
        .filter(|name| !cx.is_enabled(Kind::QosGroup, name))
    {
        cx.error(
            id,
            Rule::Undefined,
            format!("no enabled QOSGroup `{name}` is defined above"),
        );
    }
    let has = |tag: &str| cx.document.has_child(id, tag);
    let (members, applications) = (has("Member") || has("LimitedMember"), has("Application"));
    if !members {
        cx.error(
            id,
            Rule::Count,
            format!(
                "VirtualFabric `{}` needs a Member or a LimitedMember",
                fabric.name
            ),
        );
    }
    if !applications {
        cx.error(
            id,
            Rule::Count,
            format!("VirtualFabric `{}` needs an Application", fabric.name),
        );
    }
}

fn check_count(fabrics: &mut VirtualFabrics, id: Id, cx: &mut Cx<'_>) {
    if fabrics.list.iter().filter(|fabric| fabric.enable).count() > MAX_FABRICS {
        cx.error(
            id,
            Rule::Count,
            format!("more than {MAX_FABRICS} enabled VirtualFabric"),
        );
    }
}

impl VirtualFabric {
    /// Whether it carries traffic.
    pub fn is_active(&self) -> bool {
        self.enable && !self.standby
    }
}

impl VirtualFabrics {
    /// The enabled virtual fabric of a name.
    pub fn get(&self, name: &str) -> Option<&VirtualFabric> {
        self.list
            .iter()
            .find(|fabric| fabric.enable && fabric.name == name)
    }
}
