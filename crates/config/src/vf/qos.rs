//! Quality of service: groups of virtual fabrics with common service levels, and their bandwidth.

use serde::{Deserialize, Serialize};
use weft_wire::id::Sl;

use super::{Problems, Subject};
use crate::finding::Rule;
use crate::instance::Instance;
use crate::objects::{QosGroup, VirtualFabric};
use crate::value::{Percent, TimeExponent};

/// Number of service levels that a file may assign.
pub const SERVICE_LEVELS: u8 = 16;
/// The least bandwidth of all virtual fabrics without QOS together, in percent.
pub const LEAST_WITHOUT_QOS: u32 = 5;

/// Virtual fabrics that share service levels and bandwidth.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResolvedQos {
    /// The name, if it is a `QOSGroup`.
    pub name: Option<String>,
    /// Whether it has service levels of its own; at most one group has none.
    pub qos: bool,
    /// The service level.
    pub base_sl: Sl,
    /// Whether the file sets the service level; otherwise the SM has chosen it.
    pub base_sl_given: bool,
    /// The service level of multicast; equal unless the file sets another one.
    pub multicast_sl: Sl,
    /// The least part of each link's bandwidth; 0 where the group has high priority or no active member.
    pub bandwidth: Percent,
    /// Whether it goes before all others.
    pub high_priority: bool,
    /// Whether packets are dropped if credits are missing.
    pub flow_control_disable: bool,
    /// Factor for packet lifetimes, as a power of two.
    pub pkt_life_time_mult_log2: u8,
    /// Packets interrupt those of lower rank.
    pub preempt_rank: u8,
    /// Head-of-line lifetime of packets.
    pub hoq_life: TimeExponent,
    /// Number of virtual fabrics in it that carry traffic.
    pub active: u32,
}

/// A group under construction: the file's values, and derived ones.
#[derive(Clone, Default)]
pub(super) struct Draft {
    pub(super) settings: Settings,
    pub(super) name: Option<String>,
    qos: bool,
    /// Whether it came from one virtual fabric that names no service level, and so shares with none.
    private: bool,
    pub(super) base_sl: Option<Sl>,
    pub(super) multicast_sl: Option<Sl>,
    bandwidth: Option<u32>,
    active: u32,
    active_inline: u32,
}

/// Settings in which virtual fabrics of one group must agree.
#[derive(Clone, Default, PartialEq)]
pub(super) struct Settings {
    flow_control_disable: Option<bool>,
    high_priority: Option<bool>,
    pkt_life_time_mult_log2: Option<u8>,
    preempt_rank: Option<u8>,
    hoq_life: Option<TimeExponent>,
}

impl Draft {
    fn of_group(group: &QosGroup) -> Self {
        let high = group.high_priority == Some(true);
        Self {
            settings: Settings {
                flow_control_disable: group.flow_control_disable,
                high_priority: group.high_priority,
                pkt_life_time_mult_log2: group.pkt_life_time_mult_log2,
                preempt_rank: group.preempt_rank,
                hoq_life: group.hoq_life,
            },
            name: Some(group.name.clone()),
            qos: true,
            base_sl: group.base_sl,
            multicast_sl: group
                .multicast_sl
                .filter(|_| group.multicast_sl != group.base_sl),
            bandwidth: group
                .bandwidth
                .filter(|_| !high)
                .map(|percent| u32::from(percent.0)),
            ..Self::default()
        }
    }

    fn of_fabric(fabric: &VirtualFabric) -> Self {
        if fabric.qos != Some(true) {
            return Self::default();
        }
        Self {
            settings: Settings {
                flow_control_disable: fabric.flow_control_disable,
                high_priority: fabric.high_priority,
                pkt_life_time_mult_log2: fabric.pkt_life_time_mult_log2,
                preempt_rank: fabric.preempt_rank,
                hoq_life: fabric.hoq_life,
            },
            qos: true,
            private: fabric.base_sl.is_none(),
            base_sl: fabric.base_sl,
            multicast_sl: fabric
                .multicast_sl
                .filter(|_| fabric.multicast_sl != fabric.base_sl),
            ..Self::default()
        }
    }

    fn is_high(&self) -> bool {
        self.settings.high_priority == Some(true)
    }

    /// Whether a virtual fabric with these values may join the group.
    fn admits(&self, other: &Self) -> bool {
        if !self.qos && !other.qos {
            return true;
        }
        let multicast = self.multicast_sl.is_none()
            || other.multicast_sl.is_none()
            || self.multicast_sl == other.multicast_sl;
        self.qos
            && other.qos
            && !self.private
            && !other.private
            && self.base_sl == other.base_sl
            && multicast
            && self.settings == other.settings
    }

    fn resolve(self, base_sl: Sl, hoq_life: TimeExponent) -> ResolvedQos {
        let high_priority = self.is_high();
        let Settings {
            flow_control_disable,
            pkt_life_time_mult_log2,
            preempt_rank,
            ..
        } = self.settings;
        ResolvedQos {
            name: self.name,
            qos: self.qos,
            base_sl,
            base_sl_given: self.base_sl.is_some(),
            multicast_sl: self.multicast_sl.unwrap_or(base_sl),
            bandwidth: Percent(self.bandwidth.unwrap_or(0).min(100) as u8), // At most 100.
            high_priority,
            flow_control_disable: flow_control_disable.unwrap_or(false),
            pkt_life_time_mult_log2: pkt_life_time_mult_log2.unwrap_or(0),
            preempt_rank: preempt_rank.unwrap_or(0),
            hoq_life: self.settings.hoq_life.unwrap_or(hoq_life),
            active: self.active,
        }
    }

    fn levels(&self) -> impl Iterator<Item = Sl> {
        self.base_sl.into_iter().chain(self.multicast_sl)
    }
}

/// All groups of an instance, and the group of each enabled virtual fabric.
#[derive(Default)]
pub(super) struct Groups {
    pub(super) drafts: Vec<Draft>,
}

impl Groups {
    /// The enabled `QOSGroup` of the file.
    pub(super) fn named(instance: &Instance, problems: &mut Problems) -> Self {
        let mut groups = Self::default();
        for (at, group) in instance
            .qos_groups
            .list
            .iter()
            .enumerate()
            .filter(|(_, group)| group.enable)
        {
            let subject = Subject::Qos(at);
            if group.multicast_sl.is_some() && group.base_sl.is_none() {
                problems.error(subject, Rule::Conflict, "MulticastSL needs a BaseSL");
            }
            if group.high_priority == Some(true) && group.bandwidth.is_some() {
                problems.warn(subject, "Bandwidth has no effect with HighPriority");
            }
            let draft = Draft::of_group(group);
            groups.refuse_clash(&draft, subject, problems);
            groups.drafts.push(draft);
        }
        groups
    }

    /// The group of a virtual fabric, found by name or made from its own values.
    pub(super) fn place(
        &mut self,
        at: usize,
        fabric: &VirtualFabric,
        problems: &mut Problems,
    ) -> usize {
        let subject = Subject::Fabric(at);
        let index = match &fabric.qos_group {
            Some(name) => {
                refuse_mixed(fabric, subject, problems);
                self.drafts
                    .iter()
                    .position(|draft| draft.name.as_ref() == Some(name))
                    .unwrap_or(0)
            }
            None => self.place_inline(fabric, subject, problems),
        };
        if let Some(draft) = self.drafts.get_mut(index).filter(|_| !fabric.standby) {
            draft.active += 1;
            draft.active_inline += u32::from(fabric.qos_group.is_none());
        }
        index
    }

    fn place_inline(
        &mut self,
        fabric: &VirtualFabric,
        subject: Subject,
        problems: &mut Problems,
    ) -> usize {
        warn_ignored(fabric, subject, problems);
        if fabric.qos == Some(true) && fabric.multicast_sl.is_some() && fabric.base_sl.is_none() {
            problems.error(subject, Rule::Conflict, "MulticastSL needs a BaseSL");
        }
        let draft = Draft::of_fabric(fabric);
        if let Some(index) = self.drafts.iter().position(|known| known.admits(&draft)) {
            if self.drafts[index].multicast_sl.is_none() {
                self.drafts[index].multicast_sl = draft.multicast_sl;
                let merged = self.drafts[index].clone();
                self.refuse_clash_except(Some(index), &merged, subject, problems);
            }
            return index;
        }
        self.refuse_clash(&draft, subject, problems);
        self.drafts.push(draft);
        self.drafts.len() - 1
    }

    fn refuse_clash(&self, draft: &Draft, subject: Subject, problems: &mut Problems) {
        self.refuse_clash_except(None, draft, subject, problems);
    }

    fn refuse_clash_except(
        &self,
        own: Option<usize>,
        draft: &Draft,
        subject: Subject,
        problems: &mut Problems,
    ) {
        let others = self
            .drafts
            .iter()
            .enumerate()
            .filter(|(at, _)| Some(*at) != own)
            .map(|(_, other)| other);
        for level in others
            .flat_map(Draft::levels)
            .filter(|level| draft.levels().any(|own| own == *level))
        {
            problems.error(
                subject,
                Rule::Conflict,
                format!("service level {level} is already used with other settings"),
            );
        }
    }

    /// Assigns service levels and bandwidth.
    pub(super) fn finish(
        mut self,
        instance: &Instance,
        members: &[(usize, usize)],
        problems: &mut Problems,
    ) -> Vec<ResolvedQos> {
        self.give_bandwidth(instance, members, problems);
        let mut used: Vec<Sl> = self.drafts.iter().flat_map(Draft::levels).collect();
        let mut resolved = Vec::with_capacity(self.drafts.len());
        for draft in self.drafts {
            let base_sl = draft.base_sl.or_else(|| free_level(&mut used));
            if base_sl.is_none() {
                let message = format!("more groups than the {SERVICE_LEVELS} service levels");
                problems.error(Subject::All, Rule::StrictServiceLevels, message);
            }
            resolved.push(draft.resolve(base_sl.unwrap_or_default(), instance.sm.hoq_life));
        }
        resolved
    }
}

/// The lowest service level that is not used, which then is.
fn free_level(used: &mut Vec<Sl>) -> Option<Sl> {
    let level = (0..SERVICE_LEVELS)
        .map(Sl)
        .find(|level| !used.contains(level));
    used.extend(level);
    level
}

/// A virtual fabric with a `QOSGroup` has no QOS values of its own.
fn refuse_mixed(fabric: &VirtualFabric, subject: Subject, problems: &mut Problems) {
    if let Some(tag) = inline_tags(fabric).first() {
        problems.error(
            subject,
            Rule::Conflict,
            format!("`{tag}` next to a QOSGroup"),
        );
    }
    if fabric.pkey.is_none() {
        problems.error(
            subject,
            Rule::Count,
            "a VirtualFabric with a QOSGroup needs a PKey",
        );
    }
}

/// The QOS values set in a virtual fabric itself.
fn inline_tags(fabric: &VirtualFabric) -> Vec<&'static str> {
    let given = [
        (fabric.qos.is_some(), "QOS"),
        (fabric.base_sl.is_some(), "BaseSL"),
        (fabric.multicast_sl.is_some(), "MulticastSL"),
        (fabric.flow_control_disable.is_some(), "FlowControlDisable"),
        (fabric.bandwidth.is_some(), "Bandwidth"),
        (fabric.high_priority.is_some(), "HighPriority"),
        (fabric.pkt_life_time_mult_log2.is_some(), "PktLifeTimeMult"),
        (fabric.preempt_rank.is_some(), "PreemptRank"),
        (fabric.hoq_life.is_some(), "HoqLife"),
    ];
    given
        .iter()
        .filter(|(given, _)| *given)
        .map(|(_, tag)| *tag)
        .collect()
}

fn warn_ignored(fabric: &VirtualFabric, subject: Subject, problems: &mut Problems) {
    if fabric.qos != Some(true) {
        for tag in inline_tags(fabric).into_iter().filter(|tag| *tag != "QOS") {
            problems.warn(subject, format!("{tag} has no effect without QOS"));
        }
    }
}

/// Shares of bandwidth, in percent.
struct Shares {
    given: u32,
    groups_without: u32,
    fabrics_without: u32,
    any_without_qos: bool,
}

impl Shares {
    /// Bandwidth reserved for groups without a value.
    fn needed(&self) -> u32 {
        let least = if self.any_without_qos {
            LEAST_WITHOUT_QOS
        } else {
            0
        };
        least + self.groups_without + self.fabrics_without
    }

    /// The share of those without QOS, and the rest for the others. The first also get what does
    /// not divide evenly.
    fn divide(&self) -> (u32, Rest) {
        let left = 100 - self.given.min(100);
        let others = self.groups_without + self.fabrics_without;
        if !self.any_without_qos {
            return (
                0,
                Rest {
                    left,
                    slices: others,
                },
            );
        }
        let own = (left - left / (others + 1) * others).max(LEAST_WITHOUT_QOS);
        (
            own,
            Rest {
                left: left.saturating_sub(own),
                slices: others,
            },
        )
    }
}

impl Groups {
    /// The configured bandwidth, and the number of groups and virtual fabrics without one.
    fn shares(&mut self, instance: &Instance, members: &[(usize, usize)]) -> Shares {
        let mut shares = Shares {
            given: 0,
            groups_without: 0,
            fabrics_without: 0,
            any_without_qos: false,
        };
        for draft in &mut self.drafts {
            if draft.active == 0 {
                draft.bandwidth = Some(0);
            }
            match draft.bandwidth {
                _ if !draft.qos => shares.any_without_qos = true,
                _ if draft.is_high() => {}
                Some(percent) => shares.given += percent,
                None if draft.active != draft.active_inline => shares.groups_without += 1,
                None => draft.bandwidth = Some(0),
            }
        }
        for fabric in self.sharing(instance, members).map(|(fabric, _)| fabric) {
            match fabric.bandwidth {
                Some(percent) => shares.given += u32::from(percent.0),
                None => shares.fabrics_without += 1,
            }
        }
        shares
    }

    /// The virtual fabrics that bring bandwidth to their group, with the group.
    fn sharing<'i>(
        &self,
        instance: &'i Instance,
        members: &[(usize, usize)],
    ) -> impl Iterator<Item = (&'i VirtualFabric, usize)> {
        let counts: Vec<bool> = self
            .drafts
            .iter()
            .map(|draft| draft.qos && !draft.is_high())
            .collect();
        let members = members.to_vec();
        let fabrics = members
            .into_iter()
            .map(|(fabric, group)| (&instance.virtual_fabrics.list[fabric], group));
        fabrics.filter(move |(fabric, group)| {
            !fabric.standby && fabric.qos_group.is_none() && counts.get(*group) == Some(&true)
        })
    }

    fn give_bandwidth(
        &mut self,
        instance: &Instance,
        members: &[(usize, usize)],
        problems: &mut Problems,
    ) {
        let shares = self.shares(instance, members);
        let needed = shares.needed();
        if shares.given + needed > 100 {
            let given = shares.given;
            let message =
                format!("bandwidths of {given}%, while {needed}% must be left for the others");
            return problems.error(Subject::All, Rule::VirtualFabric, message);
        }
        if needed == 0 && self.sharing(instance, members).next().is_some() {
            // The vendor's manager only adds up shares while something is left to divide.
            let message = "every VirtualFabric with QOS gives its Bandwidth: the vendor's manager then \
                           gives none to any, so one must leave it open or be without QOS";
            return problems.error(Subject::All, Rule::VirtualFabric, message);
        }
        let (without_qos, mut rest) = shares.divide();
        for draft in self
            .drafts
            .iter_mut()
            .filter(|draft| draft.active > 0 && !draft.is_high())
        {
            let share = if draft.qos { None } else { Some(without_qos) };
            draft.bandwidth = share.or(draft.bandwidth).or_else(|| Some(rest.next()));
        }
        for (fabric, group) in self.sharing(instance, members).collect::<Vec<_>>() {
            let percent = fabric
                .bandwidth
                .map_or_else(|| rest.next(), |percent| u32::from(percent.0));
            let sum = self.drafts[group].bandwidth.unwrap_or(0) + percent;
            self.drafts[group].bandwidth = Some(sum);
        }
        self.refuse_starved(problems);
    }

    fn refuse_starved(&self, problems: &mut Problems) {
        let starved = |draft: &&Draft| {
            draft.active > 0 && !draft.is_high() && draft.bandwidth.unwrap_or(0) == 0
        };
        if let Some(draft) = self.drafts.iter().find(starved) {
            let name = draft.name.as_deref().unwrap_or("of virtual fabrics");
            problems.error(
                Subject::All,
                Rule::VirtualFabric,
                format!("no bandwidth is left for the group {name}"),
            );
        }
    }
}

/// Bandwidth that is still to be divided evenly.
struct Rest {
    left: u32,
    slices: u32,
}

impl Rest {
    fn next(&mut self) -> u32 {
        let share = self.left / self.slices.max(1);
        self.left -= share;
        self.slices = self.slices.saturating_sub(1);
        share
    }
}
