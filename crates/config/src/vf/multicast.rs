//! Multicast groups that the SM creates: in which virtual fabrics they are.

use serde::{Deserialize, Serialize};
use weft_state::State;
use weft_wire::id::{PKey, Sl};

use super::{Problems, ResolvedQos, ResolvedVirtualFabric, Subject};
use crate::finding::Rule;
use crate::instance::Instance;
use crate::sm::MulticastGroup;
use crate::value::{Mgid, Mtu, Rate};

/// Groups that the SM creates, with the values that all of them have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, State)]
pub struct ResolvedMulticastGroup {
    /// The groups.
    pub mgids: Vec<Mgid>,
    /// The key of a full member of their partition.
    pub pkey: PKey,
    /// Their MTU.
    pub mtu: Mtu,
    /// Their rate.
    pub rate: Rate,
    /// Their service level.
    pub sl: Sl,
    /// Their Q_Key.
    pub qkey: u32,
    /// Their flow label.
    pub flow_label: u32,
    /// Their traffic class.
    pub tclass: u32,
}

/// The groups that IPv4 needs: all nodes and broadcast, multicast DNS, IGMP.
const IPV4: (u64, [u64; 4]) = (0xff12_401b_0000_0000, [0xffff_ffff, 0x1, 0x16, 0xfb]);
/// The groups that IPv6 needs: all nodes, all routers, multicast DNS, listener reports.
const IPV6: (u64, [u64; 4]) = (0xff12_601b_0000_0000, [0x1, 0x2, 0xfb, 0x16]);

/// Puts every group into its virtual fabrics.
pub(super) fn place(
    instance: &Instance,
    qos: &[ResolvedQos],
    fabrics: &mut [ResolvedVirtualFabric],
    problems: &mut Problems,
) {
    let groups = instance
        .sm
        .multicast
        .multicast_groups
        .iter()
        .enumerate()
        .filter(|(_, group)| group.create);
    let (explicit, implicit): (Vec<_>, Vec<_>) =
        groups.partition(|(_, group)| !group.mgids.is_empty());
    for (at, group) in explicit {
        place_explicit(
            instance,
            Subject::Multicast(at),
            group,
            qos,
            fabrics,
            problems,
        );
    }
    for (at, group) in implicit {
        place_implicit(Subject::Multicast(at), group, qos, fabrics, problems);
    }
    refuse_twins(instance, fabrics, problems);
}

fn place_explicit(
    instance: &Instance,
    subject: Subject,
    group: &MulticastGroup,
    qos: &[ResolvedQos],
    fabrics: &mut [ResolvedVirtualFabric],
    problems: &mut Problems,
) {
    if let Some(at) =
        (1..group.mgids.len()).find(|&at| group.mgids[..at].contains(&group.mgids[at]))
    {
        problems.error(
            subject,
            Rule::Conflict,
            format!("MGID {} is given twice", group.mgids[at]),
        );
    }
    let fits = |&at: &usize| {
        admits(group, qos, &fabrics[at])
            && group.mgids.iter().all(|&mgid| carries(fabrics, at, mgid))
    };
    let fitting: Vec<usize> = (0..fabrics.len()).filter(fits).collect();
    if fitting.is_empty() {
        problems.error(subject, Rule::VirtualFabric, "no enabled VirtualFabric has these groups among its applications and allows their values");
    }
    if fitting.len() > 1 && instance.sm.enforce_vf_path_record {
        let names: Vec<_> = fitting
            .iter()
            .map(|&at| fabrics[at].name.as_str())
            .collect();
        problems.error(
            subject,
            Rule::VirtualFabric,
            format!(
                "several VirtualFabrics have these groups: {}",
                names.join(", ")
            ),
        );
    }
    for at in fitting {
        let resolved = resolved(group, group.mgids.clone(), &fabrics[at]);
        fabrics[at].multicast_groups.push(resolved);
    }
}

fn place_implicit(
    subject: Subject,
    group: &MulticastGroup,
    qos: &[ResolvedQos],
    fabrics: &mut [ResolvedVirtualFabric],
    problems: &mut Problems,
) {
    let mut placed = false;
    for at in 0..fabrics.len() {
        if !admits(group, qos, &fabrics[at]) {
            continue;
        }
        let families = [IPV4, IPV6].map(|family| family_mgids(family, &fabrics[at]));
        let mgids: Vec<Mgid> = families
            .into_iter()
            .filter(|family| family.iter().all(|&mgid| carries(fabrics, at, mgid)))
            .flatten()
            .collect();
        if !mgids.is_empty() {
            placed = true;
            let resolved = resolved(group, mgids, &fabrics[at]);
            fabrics[at].multicast_groups.push(resolved);
        }
    }
    if !placed {
        problems.warn(subject, "no enabled VirtualFabric has IPv4 or IPv6 among its applications and allows these values");
    }
}

fn family_mgids((prefix, ids): (u64, [u64; 4]), fabric: &ResolvedVirtualFabric) -> [Mgid; 4] {
    ids.map(|id| Mgid::new(prefix | u64::from(fabric.full_pkey().0) << 16, id))
}

/// Whether a virtual fabric allows the values of a group.
fn admits(group: &MulticastGroup, qos: &[ResolvedQos], fabric: &ResolvedVirtualFabric) -> bool {
    let named = group
        .virtual_fabric
        .as_ref()
        .is_none_or(|name| *name == fabric.name);
    let partition = group.pkey.is_none_or(|pkey| pkey == fabric.partition);
    // An unassigned level cannot be requested.
    let given = qos
        .get(fabric.qos_index)
        .is_some_and(|qos| qos.qos && qos.base_sl_given);
    let level = group.sl.is_none_or(|sl| given && sl == fabric.multicast_sl);
    let room =
        group.mtu.bytes() <= fabric.max_mtu.bytes() && group.rate.mbps() <= fabric.max_rate.mbps();
    named && partition && level && room
}

/// Whether a virtual fabric has a group among its applications, or takes unclaimed ones.
fn carries(fabrics: &[ResolvedVirtualFabric], at: usize, mgid: Mgid) -> bool {
    let applications = &fabrics[at].applications;
    applications.has_mgid(mgid)
        || applications.unmatched_mgid
            && !fabrics
                .iter()
                .any(|other| other.applications.has_mgid(mgid))
}

fn resolved(
    group: &MulticastGroup,
    mgids: Vec<Mgid>,
    fabric: &ResolvedVirtualFabric,
) -> ResolvedMulticastGroup {
    ResolvedMulticastGroup {
        mgids,
        pkey: fabric.full_pkey(),
        mtu: group.mtu,
        rate: group.rate,
        sl: group.sl.unwrap_or(fabric.multicast_sl),
        qkey: group.qkey,
        flow_label: group.flow_label,
        tclass: group.tclass,
    }
}

/// A group may be created once only; without enforcement in congruent virtual fabrics again.
fn refuse_twins(instance: &Instance, fabrics: &[ResolvedVirtualFabric], problems: &mut Problems) {
    let all = fabrics.iter().flat_map(|fabric| {
        fabric
            .multicast_groups
            .iter()
            .map(move |group| (fabric, group))
    });
    let mut created: std::collections::BTreeMap<Mgid, Vec<&ResolvedVirtualFabric>> =
        Default::default();
    for (fabric, group) in all {
        for &mgid in &group.mgids {
            let earlier = created.entry(mgid).or_default();
            let allowed = |other: &&ResolvedVirtualFabric| {
                !instance.sm.enforce_vf_path_record
                    && other.name != fabric.name
                    && congruent(other, fabric, group)
            };
            if let Some(other) = earlier.iter().find(|other| !allowed(other)) {
                let message = format!(
                    "MGID {mgid} is created twice: for {} and {}",
                    other.name, fabric.name
                );
                problems.error(Subject::All, Rule::VirtualFabric, message);
            }
            earlier.push(fabric);
        }
    }
}

/// Whether two virtual fabrics treat a group alike.
fn congruent(
    a: &ResolvedVirtualFabric,
    b: &ResolvedVirtualFabric,
    group: &ResolvedMulticastGroup,
) -> bool {
    let room = |fabric: &ResolvedVirtualFabric| {
        group.mtu.bytes() <= fabric.max_mtu.bytes() && group.rate.mbps() <= fabric.max_rate.mbps()
    };
    a.partition == b.partition && a.qos_index == b.qos_index && room(a) && room(b)
}
