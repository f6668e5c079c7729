//! Rules that concern several values of an instance, or several instances.

use std::collections::BTreeMap;

use crate::Config;
use crate::context::{Cx, Findings};
use crate::finding::{Problem, Rule, Severity};
use crate::instance::Instance;
use crate::sm::{LidStrategy, RoutingAlgorithm};
use crate::syntax::Kind;
use crate::vf::{self, Subject};
use crate::xml::{Document, Id};

/// Allowed number of tiers of a fat tree.
const TIERS: std::ops::RangeInclusive<u8> = 1..=10;

/// Rules for the merged values of `Common` and an `Fm`.
pub(crate) fn check_instance(instance: &mut Instance, fm: Id, cx: &mut Cx<'_>) {
    check_lids(instance, cx);
    check_traps(instance, cx);
    check_routing(instance, cx);
    check_images(instance, cx);
    check_executive(instance, cx);
    check_multicast(instance, cx);
    if instance.starts_sm() {
        check_fabrics(instance, fm, cx);
    }
}

fn check_lids(instance: &mut Instance, cx: &mut Cx<'_>) {
    let starts = instance.starts_sm();
    let sm = &mut instance.sm;
    if sm.lmc_e0 > sm.lmc {
        let place = cx.place(&["Sm", "LmcE0"]);
        cx.warn(
            place,
            Rule::Adjusted,
            format!("LmcE0 {} is above Lmc {}, which is used", sm.lmc_e0, sm.lmc),
        );
        sm.lmc_e0 = sm.lmc;
    }
    let topology = sm.lid_strategy == LidStrategy::Topology;
    if topology && starts && !sm.pre_defined_topology.is_usable() {
        let place = cx.place(&["Sm", "LidStrategy"]);
        let message =
            "LidStrategy topology needs PreDefinedTopology with Enable and TopologyFilename";
        cx.error(place, Rule::Conflict, message);
    }
    if sm.pre_defined_topology.enable && !sm.pre_defined_topology.is_usable() {
        let place = cx.place(&["Sm", "PreDefinedTopology", "Enable"]);
        let message = "PreDefinedTopology has no effect without TopologyFilename";
        cx.warn(place, Rule::NoEffect, message);
    }
    if topology && sm.lid.0 != 0 {
        let place = cx.place(&["Sm", "LID"]);
        cx.warn(
            place,
            Rule::NoEffect,
            "LID has no effect with LidStrategy topology",
        );
    } else if !sm.lid.0.is_multiple_of(sm.lmc.lids()) {
        let place = cx.place(&["Sm", "LID"]);
        let message = format!(
            "LID {} is not a multiple of {}, the number of LIDs of a port with Lmc {}",
            sm.lid,
            sm.lmc.lids(),
            sm.lmc
        );
        cx.error(place, Rule::Conflict, message);
    }
    if sm.dsap_in_use && !topology {
        let place = cx.place(&["Sm", "DsapInUse"]);
        cx.error(
            place,
            Rule::Conflict,
            "DsapInUse needs LidStrategy topology",
        );
    }
}

fn check_traps(instance: &mut Instance, cx: &mut Cx<'_>) {
    let sm = &mut instance.sm;
    let swept = !sm.sweep_interval.is_zero();
    if !sm.ignore_traps && swept && sm.trap_hold_down > sm.sweep_interval {
        let place = cx.place(&["Sm", "TrapHoldDown"]);
        cx.warn(
            place,
            Rule::Adjusted,
            "TrapHoldDown is longer than SweepInterval, so traps are ignored",
        );
        sm.ignore_traps = true;
    }
}

fn check_routing(instance: &Instance, cx: &mut Cx<'_>) {
    let sm = &instance.sm;
    match sm.routing_algorithm {
        RoutingAlgorithm::FatTree => check_fat_tree(instance, cx),
        RoutingAlgorithm::Dor if sm.mesh_torus.is_none() => {
            let place = cx.place(&["Sm", "RoutingAlgorithm"]);
            cx.error(
                place,
                Rule::StrictRouting,
                "RoutingAlgorithm dor needs a MeshTorusTopology",
            );
        }
        RoutingAlgorithm::DgShortestPath
            if sm.dg_shortest_path.routing_order.device_groups.is_empty() =>
        {
            let place = cx.place(&["Sm", "RoutingAlgorithm"]);
            cx.warn(
                place,
                Rule::NoEffect,
                "dgshortestpath without a RoutingOrder is the same as shortestpath",
            );
        }
        _ => {}
    }
}

fn check_fat_tree(instance: &Instance, cx: &mut Cx<'_>) {
    let tree = &instance.sm.fat_tree;
    if !TIERS.contains(&tree.tier_count) {
        let place = cx.place(&["Sm", "FatTreeTopology", "TierCount"]);
        let message = format!(
            "RoutingAlgorithm fattree needs a TierCount from 1 to 10, not {}",
            tree.tier_count
        );
        cx.error(place, Rule::StrictRouting, message);
    }
    if !tree.fis_on_same_tier && tree.core_switches.is_none() {
        let place = cx.place(&["Sm", "FatTreeTopology", "FIsOnSameTier"]);
        let message = "RoutingAlgorithm fattree needs CoreSwitches or FIsOnSameTier";
        cx.error(place, Rule::StrictRouting, message);
    }
}

fn check_images(instance: &Instance, cx: &mut Cx<'_>) {
    let pm = &instance.pm;
    let frozen = 2 * pm.max_clients.clamp(1, 20) - 1;
    if pm.freeze_frame_images < frozen {
        let place = cx.place(&["Pm", "FreezeFrameImages"]);
        let message = format!(
            "FreezeFrameImages {} is below 2 · MaxClients − 1 = {frozen}",
            pm.freeze_frame_images
        );
        cx.error(place, Rule::StrictImages, message);
    }
    if pm.total_images < pm.freeze_frame_images.saturating_add(2) {
        let place = cx.place(&["Pm", "TotalImages"]);
        let message = format!(
            "TotalImages {} is below FreezeFrameImages + 2",
            pm.total_images
        );
        cx.error(place, Rule::StrictImages, message);
    }
    if pm
        .image_update_interval
        .is_some_and(|interval| interval >= pm.sweep_interval)
    {
        let place = cx.place(&["Pm", "ImageUpdateInterval"]);
        cx.error(
            place,
            Rule::StrictImages,
            "ImageUpdateInterval is not below SweepInterval",
        );
    }
}

fn check_executive(instance: &Instance, cx: &mut Cx<'_>) {
    if instance.starts_fe() {
        let place = cx.place(&["Fe", "Start"]);
        let message =
            "there is no fabric executive; remote clients use gRPC, with TLS: weftd --listen";
        let problem = Problem::new(Rule::StrictSupport, message);
        cx.add(Severity::Error, place, problem, || "0".to_owned());
    }
}

fn check_multicast(instance: &Instance, cx: &mut Cx<'_>) {
    let place = cx.place(&["Sm", "Multicast"]);
    instance.sm.multicast.check_limits(place, cx);
}

/// Reports errors of the virtual fabrics, each at its own element.
fn check_fabrics(instance: &Instance, fm: Id, cx: &mut Cx<'_>) {
    let (_, problems) = vf::resolve(instance);
    let fabrics = cx.ids_of(Kind::VirtualFabric);
    let qos = cx.ids_of(Kind::QosGroup);
    let groups = cx.all(&["Sm", "Multicast", "MulticastGroup"]);
    for (severity, subject, problem) in problems.0 {
        let id = match subject {
            Subject::Fabric(at) => fabrics.get(at),
            Subject::Qos(at) => qos.get(at),
            Subject::Multicast(at) => groups.get(at),
            Subject::All => None,
        };
        cx.add(severity, id.copied().unwrap_or(fm), problem, String::new);
    }
}

/// Rules about conflicts between instances.
pub(crate) fn check_config(config: &Config, document: &Document<'_>, findings: &mut Findings) {
    let fms: Vec<Id> = document
        .children(document.root())
        .filter(|&child| document.name(child) == "Fm")
        .collect();
    let mut cx = Cx::new(document, findings);
    refuse_mixed_qos(config, &fms, &mut cx);
    let started = || {
        config
            .instances
            .iter()
            .zip(&fms)
            .filter(|(instance, _)| instance.shared.start)
    };
    warn_twins(
        started()
            .filter(|(instance, _)| instance.fe.start)
            .map(|(instance, &fm)| (instance.fe.tcp_port, fm)),
        "TcpPort of the FE",
        &mut cx,
    );
    warn_twins(
        started().map(|(instance, &fm)| (instance.shared.subnet_prefix, fm)),
        "SubnetPrefix",
        &mut cx,
    );
    warn_twins(
        started().map(|(instance, &fm)| (instance.shared.name.as_str(), fm)),
        "Name",
        &mut cx,
    );
}

/// QOS groups and virtual fabrics with QOS values of their own exclude each other in the whole file.
fn refuse_mixed_qos(config: &Config, fms: &[Id], cx: &mut Cx<'_>) {
    let named = config
        .instances
        .iter()
        .any(|instance| instance.qos_groups.list.iter().any(|group| group.enable));
    let inline = |instance: &Instance| {
        instance
            .virtual_fabrics
            .list
            .iter()
            .any(|fabric| fabric.enable && fabric.qos_group.is_none())
    };
    for (instance, &fm) in config
        .instances
        .iter()
        .zip(fms)
        .filter(|(instance, _)| named && inline(instance))
    {
        let message = format!(
            "{}: there are enabled QOSGroups, so every VirtualFabric must name one",
            instance.shared.name
        );
        cx.error(fm, Rule::Conflict, message);
    }
}

fn warn_twins<T: Ord + std::fmt::Display>(
    values: impl Iterator<Item = (T, Id)>,
    what: &str,
    cx: &mut Cx<'_>,
) {
    let mut seen: BTreeMap<T, Id> = BTreeMap::new();
    for (value, fm) in values {
        if let Some(&first) = seen.get(&value) {
            let message = format!(
                "{what} {value} is also that of the Fm at line {}",
                cx.document.line(first)
            );
            cx.warn(fm, Rule::NoEffect, message);
        } else {
            seen.insert(value, fm);
        }
    }
}
