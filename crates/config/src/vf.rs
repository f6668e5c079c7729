//! Virtual fabrics as the managers use them: partitions, service levels, bandwidth, multicast groups.
//!
//! [`Instance::resolve_fabrics`] turns the file's elements into settings of devices. The same code
//! finds errors in the virtual fabrics when a file is checked.

mod applications;
mod management;
mod multicast;
mod qos;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use weft_wire::id::{PKey, Sl};

pub use applications::{PA_SERVICE_ID, ResolvedApplications};
pub use multicast::ResolvedMulticastGroup;
pub use qos::{LEAST_WITHOUT_QOS, ResolvedQos, SERVICE_LEVELS};

use crate::finding::{Problem, Rule, Severity};
use crate::instance::Instance;
use crate::objects::{DeviceGroups, NodeFacts, VirtualFabric};
use crate::value::{Mtu, Rate};
use qos::Groups;

/// The management partition, without the bit of full membership.
pub const MANAGEMENT: PKey = PKey(0x7fff);
/// The bit of full membership.
const FULL: u16 = 0x8000;

/// A virtual fabric with everything that the file leaves open filled in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResolvedVirtualFabric {
    /// Its name.
    pub name: String,
    /// Its partition, without the bit of full membership.
    pub partition: PKey,
    /// Whether limited members are isolated from each other.
    pub security: bool,
    /// Whether it is defined but carries no traffic.
    pub standby: bool,
    /// Device groups whose ports are full members.
    pub members: Vec<String>,
    /// Device groups whose ports are limited members, unless they are full ones.
    pub limited_members: Vec<String>,
    /// Its applications.
    pub applications: ResolvedApplications,
    /// The largest MTU.
    pub max_mtu: Mtu,
    /// The highest rate.
    pub max_rate: Rate,
    /// Its group in [`ResolvedFabrics::qos`].
    pub qos_index: usize,
    /// The service level of its packets.
    pub sl: Sl,
    /// The service level of its multicast packets.
    pub multicast_sl: Sl,
    /// Multicast groups that the SM creates in it.
    pub multicast_groups: Vec<ResolvedMulticastGroup>,
}

impl ResolvedVirtualFabric {
    /// The key of a full member; where security is off, of every member.
    pub fn full_pkey(&self) -> PKey {
        PKey(self.partition.0 | FULL)
    }

    /// The key of a limited member.
    pub fn limited_pkey(&self) -> PKey {
        if self.security {
            PKey(self.partition.0 & !FULL)
        } else {
            self.full_pkey()
        }
    }

    /// Membership of a port in this virtual fabric.
    pub fn membership(&self, groups: &DeviceGroups, facts: &NodeFacts<'_>) -> Membership {
        let in_any = |names: &[String]| names.iter().any(|name| groups.contains(name, facts));
        if in_any(&self.members) {
            Membership::Full
        } else if in_any(&self.limited_members) {
            Membership::Limited
        } else {
            Membership::None
        }
    }
}

/// Membership of a port in a virtual fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Membership {
    /// Not in it.
    None,
    /// In it; with security it reaches full members only.
    Limited,
    /// In it, and reaches all members.
    Full,
}

/// All enabled virtual fabrics of an instance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ResolvedFabrics {
    /// The virtual fabrics, in the order of the file.
    pub fabrics: Vec<ResolvedVirtualFabric>,
    /// The groups that share service levels and bandwidth.
    pub qos: Vec<ResolvedQos>,
}

impl ResolvedFabrics {
    /// The virtual fabric of a name.
    pub fn get(&self, name: &str) -> Option<&ResolvedVirtualFabric> {
        self.fabrics.iter().find(|fabric| fabric.name == name)
    }

    /// The virtual fabrics that carry traffic.
    pub fn active(&self) -> impl Iterator<Item = &ResolvedVirtualFabric> {
        self.fabrics.iter().filter(|fabric| !fabric.standby)
    }

    /// The P_Keys of a port, in the order of the virtual fabrics, each partition once.
    ///
    /// A port that is a full member through one virtual fabric has the key of a full member, even
    /// if it is a limited one through another.
    pub fn pkeys(&self, groups: &DeviceGroups, facts: &NodeFacts<'_>) -> Vec<PKey> {
        let mut keys: Vec<PKey> = Vec::new();
        for fabric in self.active() {
            let key = match fabric.membership(groups, facts) {
                Membership::Full => fabric.full_pkey(),
                Membership::Limited => fabric.limited_pkey(),
                Membership::None => continue,
            };
            match keys
                .iter_mut()
                .find(|known| known.0 & !FULL == key.0 & !FULL)
            {
                Some(known) => known.0 |= key.0,
                None => keys.push(key),
            }
        }
        keys
    }
}

/// Virtual fabrics that cannot be put to work; a checked configuration has none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("virtual fabrics: {0}")]
pub struct VfError(pub String);

/// Subject of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A virtual fabric, by its index in the list of the file.
    Fabric(usize),
    /// A QOS group, by its index in the list of the file.
    Qos(usize),
    /// A multicast group, by its index in the list of the file.
    Multicast(usize),
    /// All virtual fabrics together.
    All,
}

/// Collects problems.
#[derive(Default)]
pub(crate) struct Problems(pub(crate) Vec<(Severity, Subject, Problem)>);

impl Problems {
    fn error(&mut self, subject: Subject, rule: Rule, message: impl Into<String>) {
        self.0
            .push((Severity::Error, subject, Problem::new(rule, message)));
    }

    fn warn(&mut self, subject: Subject, message: impl Into<String>) {
        self.0.push((
            Severity::Warning,
            subject,
            Problem::new(Rule::NoEffect, message),
        ));
    }
}

impl Instance {
    /// The enabled virtual fabrics with their partitions, service levels and bandwidth.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with them. [`check`](crate::check) reports all of them with
    /// their lines, for each instance whose SM starts.
    pub fn resolve_fabrics(&self) -> Result<ResolvedFabrics, VfError> {
        let (resolved, problems) = resolve(self);
        let error = problems
            .0
            .into_iter()
            .find(|(severity, ..)| *severity == Severity::Error);
        error.map_or(Ok(resolved), |(_, _, problem)| {
            Err(VfError(problem.message))
        })
    }
}

/// Resolves the virtual fabrics, and reports problems.
pub(crate) fn resolve(instance: &Instance) -> (ResolvedFabrics, Problems) {
    let mut problems = Problems::default();
    let enabled: Vec<(usize, &VirtualFabric)> = instance
        .virtual_fabrics
        .list
        .iter()
        .enumerate()
        .filter(|(_, fabric)| fabric.enable)
        .collect();
    let (qos, members) = resolve_qos(instance, &enabled, &mut problems);
    let partitions = partitions(&enabled, &mut problems);
    let mut fabrics = Vec::with_capacity(enabled.len());
    for (&(at, fabric), (&(_, qos_index), partition)) in
        enabled.iter().zip(members.iter().zip(partitions))
    {
        let (applications, missing) =
            ResolvedApplications::resolve(&fabric.applications, &instance.applications);
        for name in missing {
            problems.error(
                Subject::Fabric(at),
                Rule::Undefined,
                format!("no Application `{name}` is defined"),
            );
        }
        let group = qos.get(qos_index);
        fabrics.push(ResolvedVirtualFabric {
            name: fabric.name.clone(),
            partition,
            security: fabric.security,
            standby: fabric.standby,
            members: fabric.members.clone(),
            limited_members: fabric.limited_members.clone(),
            applications,
            max_mtu: fabric.max_mtu,
            max_rate: fabric.max_rate,
            qos_index,
            sl: group.map_or(Sl(0), |group| group.base_sl),
            multicast_sl: group.map_or(Sl(0), |group| group.multicast_sl),
            multicast_groups: Vec::new(),
        });
    }
    management::check(instance, &enabled, &fabrics, &mut problems);
    multicast::place(instance, &qos, &mut fabrics, &mut problems);
    (ResolvedFabrics { fabrics, qos }, problems)
}

/// The groups, and for each enabled virtual fabric its index in the file and that of its group.
fn resolve_qos(
    instance: &Instance,
    enabled: &[(usize, &VirtualFabric)],
    problems: &mut Problems,
) -> (Vec<ResolvedQos>, Vec<(usize, usize)>) {
    let mut groups = Groups::named(instance, problems);
    let named = !groups.drafts.is_empty();
    let mut members = Vec::with_capacity(enabled.len());
    for &(at, fabric) in enabled {
        if named && fabric.qos_group.is_none() {
            let message = "there are enabled QOSGroups, so every VirtualFabric must name one";
            problems.error(Subject::Fabric(at), Rule::Conflict, message);
        }
        members.push((at, groups.place(at, fabric, problems)));
    }
    let qos = groups.finish(instance, &members, problems);
    (qos, members)
}

/// Partitions: given ones stay; a secured virtual fabric gets one of its own, all unsecured ones share one.
fn partitions(enabled: &[(usize, &VirtualFabric)], problems: &mut Problems) -> Vec<PKey> {
    let mut used: BTreeSet<u16> = enabled
        .iter()
        .filter_map(|(_, fabric)| fabric.pkey)
        .map(|pkey| pkey.0)
        .collect();
    let mut shared = None;
    let mut partitions = Vec::with_capacity(enabled.len());
    for &(at, fabric) in enabled {
        let mut next = || {
            (1..MANAGEMENT.0)
                .find(|candidate| used.insert(*candidate))
                .map(PKey)
        };
        let partition = match fabric.pkey {
            Some(pkey) => Some(pkey),
            None if fabric.security => next(),
            None => {
                shared = shared.or_else(next);
                shared
            }
        };
        if partition.is_none() {
            problems.error(Subject::Fabric(at), Rule::Count, "all partitions are used");
        }
        partitions.push(partition.unwrap_or_default());
    }
    partitions
}
