//! Rules of the management partition, which carries the managers' own traffic.

use super::{MANAGEMENT, Problems, ResolvedVirtualFabric, Subject};
use crate::finding::Rule;
use crate::instance::Instance;
use crate::objects::{DeviceGroups, DeviceSelect, VirtualFabric};

/// Checks that SA, PM and PA are in the management partition, once, and that every port reaches them.
pub(super) fn check(
    instance: &Instance,
    enabled: &[(usize, &VirtualFabric)],
    fabrics: &[ResolvedVirtualFabric],
    problems: &mut Problems,
) {
    for (&(at, _), fabric) in enabled.iter().zip(fabrics) {
        check_fabric(
            Subject::Fabric(at),
            fabric,
            &instance.device_groups,
            problems,
        );
    }
    let count = |has: fn(&ResolvedVirtualFabric) -> bool| {
        fabrics
            .iter()
            .filter(|fabric| !fabric.standby && has(fabric))
            .count()
    };
    let managers: [(&str, usize, bool); 3] = [
        ("SA", count(|fabric| fabric.applications.sa), true),
        ("PM", count(|fabric| fabric.applications.pm), true),
        ("PA", count(|fabric| fabric.applications.has_pa()), false),
    ];
    for (name, count, once) in managers {
        if count == 0 {
            let message = format!(
                "no active VirtualFabric has {name} among its applications; one in partition 0x7fff must"
            );
            problems.error(Subject::All, Rule::VirtualFabric, message);
        } else if count > 1 && once {
            let message = format!(
                "{count} active VirtualFabrics have {name} among their applications; only one may"
            );
            problems.error(Subject::All, Rule::VirtualFabric, message);
        }
    }
}

fn check_fabric(
    subject: Subject,
    fabric: &ResolvedVirtualFabric,
    groups: &DeviceGroups,
    problems: &mut Problems,
) {
    let applications = &fabric.applications;
    let managed = fabric.partition == MANAGEMENT;
    if managed && !applications.is_management() {
        let message =
            "in the management partition 0x7fff, but without SA, PM or PA among its applications";
        problems.error(subject, Rule::VirtualFabric, message);
    }
    if !managed && applications.is_management() {
        let message = "has SA, PM or PA among its applications, so its PKey must be 0x7fff";
        problems.error(subject, Rule::VirtualFabric, message);
    }
    let everyone = [DeviceSelect::All];
    if managed
        && !any_selects(
            &fabric.members,
            groups,
            &[DeviceSelect::All, DeviceSelect::AllMgmtAllowed],
        )
    {
        let message =
            "in the management partition, so a Member must have the Select All or AllMgmtAllowed";
        problems.error(subject, Rule::VirtualFabric, message);
    }
    let reached = any_selects(&fabric.members, groups, &everyone)
        || any_selects(&fabric.limited_members, groups, &everyone);
    if (applications.sa || applications.pm) && !reached {
        let message = "has SA or PM, so a Member or LimitedMember must have the Select All";
        problems.error(subject, Rule::VirtualFabric, message);
    }
}

/// Whether one of these groups, or one that it includes, has one of the selects.
fn any_selects(names: &[String], groups: &DeviceGroups, selects: &[DeviceSelect]) -> bool {
    names.iter().any(|name| {
        groups.any_within(name, |group| {
            group.select.iter().any(|select| selects.contains(select))
        })
    })
}
