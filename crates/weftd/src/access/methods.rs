//! The role that each method of the API needs. A test compares this with the definition in `proto/`.

use Role::{Administer, Operate, View};

use super::Role;

/// Every method, by service and name, with its role.
const METHODS: &[(&str, Role)] = &[
    // Health and reflection tell nothing of the fabric, but only who has a role at all may ask.
    ("grpc.health.v1.Health/Check", View),
    ("grpc.health.v1.Health/Watch", View),
    (
        "grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        View,
    ),
    // Traffic fills links of an emulated fabric, and a cut cable is lost to it.
    ("weft.emulator.v1.EmulatorService/ListTraffic", View),
    ("weft.emulator.v1.EmulatorService/SetCable", Operate),
    ("weft.emulator.v1.EmulatorService/StartTraffic", Operate),
    ("weft.emulator.v1.EmulatorService/StopTraffic", Operate),
    // The record tells who asked for what, and why.
    ("weft.v1.AuditService/ListAuditRecords", Operate),
    ("weft.v1.AuditService/VerifyAudit", Operate),
    ("weft.v1.CableService/GetCable", View),
    ("weft.v1.ChangeService/ExplainChange", View),
    ("weft.v1.ChangeService/ListChanges", View),
    // Keys are not in it.
    ("weft.v1.ConfigService/GetEffectiveConfig", View),
    ("weft.v1.ConfigService/ReloadConfig", Administer),
    ("weft.v1.ConfigService/ValidateConfig", View),
    ("weft.v1.CounterService/ClearPortCounters", Operate),
    ("weft.v1.CounterService/GetPortCounters", View),
    ("weft.v1.CounterService/ListPortCounters", View),
    ("weft.v1.CounterService/ListVirtualFabricPorts", View),
    ("weft.v1.CounterService/WatchPortCounters", View),
    ("weft.v1.FabricHealthService/ForgetGone", Operate),
    ("weft.v1.FabricHealthService/GetHealth", View),
    ("weft.v1.FabricService/CheckTree", View),
    ("weft.v1.FabricService/CompareTopology", View),
    ("weft.v1.FabricService/ExportFabric", View),
    ("weft.v1.FabricService/GetFabric", View),
    ("weft.v1.FabricService/GetSnapshot", View),
    ("weft.v1.FabricService/ListBaselines", View),
    ("weft.v1.FabricService/ListForwarding", View),
    ("weft.v1.FabricService/ListLinks", View),
    ("weft.v1.FabricService/ListNodes", View),
    ("weft.v1.FabricService/ListPorts", View),
    ("weft.v1.FabricService/RemoveBaseline", Operate),
    ("weft.v1.FabricService/SaveBaseline", Operate),
    ("weft.v1.HistoryService/GetHistory", View),
    ("weft.v1.HistoryService/ListCounterSamples", View),
    ("weft.v1.HistoryService/ListPastEvents", View),
    ("weft.v1.IncidentService/ListIncidents", View),
    ("weft.v1.IncidentService/SaveIncident", Operate),
    ("weft.v1.JobService/ExplainJob", View),
    // The loop test fills links, and the others change how the manager runs.
    ("weft.v1.ManagerService/ControlLoopTest", Administer),
    ("weft.v1.ManagerService/DumpState", Operate),
    ("weft.v1.ManagerService/GetCounters", View),
    ("weft.v1.ManagerService/GetLoopTest", View),
    ("weft.v1.ManagerService/GetManager", View),
    ("weft.v1.ManagerService/PauseSweeps", Administer),
    ("weft.v1.ManagerService/ResetCounters", Administer),
    ("weft.v1.ManagerService/RestorePriority", Administer),
    ("weft.v1.ManagerService/ResumeSweeps", Administer),
    ("weft.v1.ManagerService/SetLogLevel", Administer),
    ("weft.v1.MulticastService/GetMulticastGroup", View),
    ("weft.v1.MulticastService/ListMulticastGroups", View),
    ("weft.v1.OperationService/CancelOperation", Operate),
    ("weft.v1.OperationService/GetOperation", View),
    ("weft.v1.OperationService/ListOperations", View),
    ("weft.v1.OperationService/WaitOperation", View),
    // A standby gets all that outlasts a restart, and what it acknowledges counts as kept.
    ("weft.v1.PeerService/WatchState", Administer),
    ("weft.v1.PerfGroupService/GetPerfConfig", View),
    ("weft.v1.PerfGroupService/ListGroupPorts", View),
    ("weft.v1.PerfGroupService/ListPerfGroups", View),
    ("weft.v1.PerfService/ListBusiestLinks", View),
    ("weft.v1.PictureService/DrawFabric", View),
    ("weft.v1.PortService/ExplainQuarantine", View),
    ("weft.v1.PortService/ListDisabledPorts", View),
    ("weft.v1.PortService/ListQuarantine", View),
    ("weft.v1.PortService/QuarantinePort", Operate),
    ("weft.v1.PortService/ReleasePort", Operate),
    ("weft.v1.PortService/SetPortState", Operate),
    ("weft.v1.PortService/SetPorts", Operate),
    ("weft.v1.ReplacementService/ListReplacements", View),
    ("weft.v1.ReplacementService/RemoveReplacement", Operate),
    ("weft.v1.ReplacementService/ReplaceHfi", Operate),
    ("weft.v1.RouteService/ApplyRoutePlan", Operate),
    ("weft.v1.RouteService/GetRoute", View),
    ("weft.v1.RouteService/ListDrains", View),
    // A plan of another configuration needs `administer`, as reading that configuration does.
    ("weft.v1.RouteService/PlanRoutes", Operate),
    ("weft.v1.RouteService/RollBackRoutes", Operate),
    ("weft.v1.SweepService/GetSweep", View),
    ("weft.v1.SweepService/ListSweeps", View),
    ("weft.v1.SweepService/StartSweep", Operate),
    ("weft.v1.VirtualFabricService/CheckReach", View),
    (
        "weft.v1.VirtualFabricService/ListVirtualFabricMembers",
        View,
    ),
    ("weft.v1.VirtualFabricService/ListVirtualFabrics", View),
    ("weft.v1.VirtualFabricService/PlanVirtualFabrics", View),
    ("weft.v1.WatchService/Watch", View),
    // Links give no more than who asks for them has.
    ("weft.v1.WebService/CreateLink", View),
    ("weft.v1.WebService/EndSessions", View),
    ("weft.v1.WebService/GetColumns", View),
    ("weft.v1.WebService/GetLayout", View),
    ("weft.v1.WebService/GetPage", View),
    ("weft.v1.WebService/GetPast", View),
    ("weft.v1.WhatIfService/GetForecast", View),
];

/// The role that a call of this path needs, `/weft.v1.PortService/SetPortState`; none where there is no such method.
pub(super) fn role(path: &str) -> Option<Role> {
    let name = path.strip_prefix('/')?;
    // In the order of their names, as a test sees.
    let found = METHODS.binary_search_by_key(&name, |(method, _)| method);
    found.ok().map(|place| METHODS[place].1)
}

/// The methods of a role, with the role that each needs.
pub(super) fn up_to(role: Option<Role>) -> impl Iterator<Item = (&'static str, Role)> {
    let all = METHODS.iter().copied();
    all.filter(move |(_, needed)| role.is_some_and(|role| role >= *needed))
}

/// Services and names of the methods that need more than `view`.
pub(super) fn above_view() -> impl Iterator<Item = &'static str> {
    let above = METHODS.iter().filter(|(_, role)| *role > View);
    above.map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    use prost::Message;
    use prost_types::FileDescriptorSet;

    use super::*;

    /// Names of all methods in descriptors.
    fn defined(descriptors: &[u8]) -> Vec<String> {
        let set = FileDescriptorSet::decode(descriptors).expect("descriptors");
        let mut names = Vec::new();
        for file in &set.file {
            for service in &file.service {
                for method in &service.method {
                    let (package, service) = (file.package(), service.name());
                    names.push(format!("{package}.{service}/{}", method.name()));
                }
            }
        }
        names
    }

    #[test]
    fn every_method_has_one_row_and_every_row_a_method() {
        let mut all = defined(weft_api::DESCRIPTORS);
        assert!(all.len() > 70, "{}", all.len());
        all.extend(defined(tonic_health::pb::FILE_DESCRIPTOR_SET));
        all.extend(defined(tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET));
        all.sort();
        let rows: Vec<&str> = METHODS.iter().map(|(name, _)| *name).collect();
        assert_eq!(rows, all, "in the order of their names");
        for name in &all {
            assert!(role(&format!("/{name}")).is_some(), "{name}");
        }
        for path in [
            "/weft.v1.PortService/Nothing",
            "weft.v1.WatchService/Watch",
            "/",
            "",
        ] {
            assert_eq!(role(path), None, "{path}");
        }
    }

    #[test]
    fn who_only_views_changes_nothing_of_a_fabric() {
        let changes = |name: &str| weft_api::ChangingCall::of(&format!("/{name}")).is_some();
        let of_who_views = METHODS
            .iter()
            .filter(|(name, role)| changes(name) && *role <= View);
        let of_who_views: Vec<&str> = of_who_views.map(|(name, _)| *name).collect();
        // Links and sessions of the page are nothing of the fabric.
        let of_the_page = [
            "weft.v1.WebService/CreateLink",
            "weft.v1.WebService/EndSessions",
        ];
        assert_eq!(of_who_views, of_the_page);
    }
}
