//! From one instance of opafm.xml to settings.

use crate::ask::SkippedWrites;
use crate::ask::batch::BLOCKS_MAX;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use weft_config::sm::{
    Enforcement, FieldEnforcement, LidStrategy, PortData, RootSelection, RoutingAlgorithm,
    SpeedRequirement, WidthRequirement,
};
use weft_config::{DeviceGroups, Instance, ResolvedFabrics, ResolvedVirtualFabric, VfError};
use weft_fabric::import::{import_topology, import_topology_with_lids};
use weft_fabric::intended::{Look, Rules};
use weft_fabric::{Lid, PortNum};
use weft_routing::{
    AdaptiveAlgorithm, AdaptiveSettings, Dimension, EngineKind, HypercubeSettings,
    MulticastSettings, PortCost, RootChoice,
};
use weft_wire::enums::{LinkWidth, Mtu};

use super::{
    AdmissionSettings, ElectionSettings, FatTree, FlapSettings, Hypercube, HypercubePorts, Least,
    Level, LidSettings, LinkPolicy, LinkSettings, LoopTestSettings, Members, Mesh, OrderedGroup,
    Partition, Preemption, RequestSettings, RoutingSettings, Selector, Settings, StormSettings,
    SweepSettings, TopologySettings, TrafficSettings,
};
use crate::settings::Resolved;
use crate::settings::lane_levels::LANES_MAX;

/// Highest unicast LID.
const HIGHEST_LID: Lid = Lid::MAX_UNICAST_16;

/// A configuration that this manager cannot carry out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// A LID of its own that is no base LID.
    #[error("<LID> {lid} is no multiple of 2^{lmc}, the number of LIDs per port with this <Lmc>")]
    OwnLid {
        /// The LID.
        lid: Lid,
        /// The LMC.
        lmc: u8,
    },
    /// A topology file that cannot be used.
    #[error("<TopologyFilename> {file}: {why}")]
    Topology {
        /// The file.
        file: String,
        /// Why, with its line where it was read.
        why: String,
    },
    /// Rules for links with errors, and nobody who reads counters.
    #[error("rules for links with errors need the performance manager, and <Start> of <Pm> is 0")]
    LinkRules,
    /// Virtual fabrics that do not go together.
    #[error("virtual fabrics: {0}")]
    VirtualFabrics(#[from] VfError),
}

impl Settings {
    /// Settings of a configuration.
    ///
    /// # Errors
    /// [`SettingsError`] for a setting that this manager does not support.
    pub(crate) fn from_config(from: &Resolved<'_>) -> Result<Self, SettingsError> {
        let (instance, sm) = (from.instance, &from.instance.sm);
        let (fabrics, groups) = (&from.fabrics, &from.groups);
        Ok(Self {
            subnet_prefix: instance.shared.subnet_prefix,
            m_key: sm.mkey,
            fencing: None,
            election: ElectionSettings {
                sm_key: sm.sm_key,
                priority: sm.election.priority.min(15),
                elevated_priority: sm.election.elevated_priority.min(15),
                ping_interval: sm.master_ping_interval,
                ping_max_fail: sm.master_ping_max_fail,
                monitors_standbys: sm.monitor_standby,
            },
            lids: lids(instance)?,
            routing: routing(instance, groups),
            multicast: multicast(instance),
            traffic: traffic(instance),
            sweeps: SweepSettings {
                interval: sm.sweep_interval,
                ignore_traps: sm.ignore_traps,
                trap_hold_down: sm.trap_hold_down,
                silent_max: sm.non_resp_timeout,
                silent_sweeps_max: sm.non_resp_max_count,
                longest_wait: sm.cumulative_timeout_limit,
                silent_devices_max: sm.sweep_errors_threshold,
                abandoned_max: sm.sweep_abandon_threshold,
                ..SweepSettings::default()
            },
            requests: requests(instance),
            links: links(instance),
            admission: AdmissionSettings::from_config(instance),
            topology: None,
            loop_test: LoopTestSettings {
                on: sm.loop_test_on,
                fast: sm.loop_test_fast_mode,
                packets: sm.loop_test_packets,
            },
            partitions: partitions(fabrics, groups),
            levels: levels(fabrics, from.overlays_multicast()),
        })
    }
}

impl TopologySettings {
    /// Settings of an instance, none where the fabric is not compared with a file, which `read` reads.
    ///
    /// # Errors
    /// [`SettingsError::Topology`] where the file cannot be read, or is no topology.
    pub(crate) fn from_config(
        instance: &Instance,
        read: impl FnOnce(&str) -> Result<Vec<u8>, String>,
    ) -> Result<Option<Self>, SettingsError> {
        let section = &instance.sm.pre_defined_topology;
        let file = section.topology_filename.as_ref();
        let Some(file) = file.filter(|_| section.is_usable()) else {
            return Ok(None);
        };
        let text = read(file);
        let import = |text: Vec<u8>| match instance.sm.lid_strategy {
            LidStrategy::Serial => import_topology(&text),
            LidStrategy::Topology => import_topology_with_lids(&text, HIGHEST_LID),
        };
        let intended = text.and_then(|text| import(text).map_err(|error| error.to_string()));
        let intended = intended.map_err(|why| SettingsError::Topology {
            file: file.clone(),
            why,
        })?;
        Ok(Some(Self {
            intended: Arc::new(intended),
            rules: rules(&section.field_enforcement),
            messages_max: section.log_message_threshold,
        }))
    }
}

fn rules(fields: &FieldEnforcement) -> Rules {
    let look = |field: Enforcement| match field {
        Enforcement::Disabled => Look::Off,
        Enforcement::Warn => Look::Warn,
        Enforcement::Enabled => Look::Enforce,
    };
    Rules {
        node_desc: look(fields.node_desc),
        node_guid: look(fields.node_guid),
        port_guid: look(fields.port_guid),
        undefined_link: look(fields.undefined_link),
    }
}

fn links(instance: &Instance) -> LinkSettings {
    let sm = &instance.sm;
    let quarantine = &sm.long_term_port_quarantine;
    let flapping = &quarantine.flapping;
    // Without a window opa-fm watches no port (`sm_popo_monitor_port`).
    let watches = quarantine.enable && !flapping.window_size.is_zero();
    LinkSettings {
        hfi: link_policy(&sm.hfi_link_policy),
        switch: link_policy(&sm.isl_link_policy),
        error_action: sm.default_port_error_action,
        flapping: watches.then_some(FlapSettings {
            window: flapping.window_size,
            high: flapping.high_threshold,
            low: flapping.low_threshold,
        }),
        errors: None,
        cascade: sm.switch_cascade_activate_enable,
        storms: (sm.trap_threshold != 0).then_some(StormSettings {
            per_minute: sm.trap_threshold,
            least: sm.trap_threshold_min_count,
        }),
    }
}

fn lids(instance: &Instance) -> Result<LidSettings, SettingsError> {
    let sm = &instance.sm;
    let own = Some(sm.lid).filter(|lid| lid.0 != 0);
    let by_topology = sm.lid_strategy == LidStrategy::Topology;
    let own = own.filter(|_| !by_topology);
    match own.filter(|lid| !lid.0.is_multiple_of(sm.lmc.lids())) {
        Some(lid) => Err(SettingsError::OwnLid { lid, lmc: sm.lmc.0 }),
        None => Ok(LidSettings {
            lmc: sm.lmc,
            lmc_e0: sm.lmc_e0.min(sm.lmc),
            own,
            by_topology,
            highest: HIGHEST_LID,
        }),
    }
}

fn routing(instance: &Instance, groups: &Arc<DeviceGroups>) -> RoutingSettings {
    let sm = &instance.sm;
    let members = |name: &Option<String>| Members::of(name.iter().map(|name| group(groups, name)));
    let tree = &sm.fat_tree;
    let adaptive = &sm.adaptive_routing;
    RoutingSettings {
        engine: engine(sm.routing_algorithm),
        spine_first: sm.spine_first_routing,
        fat_tree: FatTree {
            tier_count: tree.tier_count,
            fis_on_same_tier: tree.fis_on_same_tier,
            core_switches: members(&tree.core_switches),
            route_last: members(&tree.route_last),
            pass_through: tree.pass_through,
            converge: tree.converge,
        },
        order: order(instance, groups),
        hypercube: hypercube(instance, groups),
        mesh: mesh(instance, groups),
        adaptive: adaptive.enable.then(|| AdaptiveSettings {
            lost_route_only: adaptive.lost_route_only,
            algorithm: match adaptive.algorithm.code() {
                0 => AdaptiveAlgorithm::Random,
                1 => AdaptiveAlgorithm::Greedy,
                _ => AdaptiveAlgorithm::RandomGreedy,
            },
            frequency: adaptive.frequency,
            threshold: adaptive.threshold,
        }),
    }
}

fn engine(algorithm: RoutingAlgorithm) -> EngineKind {
    match algorithm {
        RoutingAlgorithm::Auto => EngineKind::Automatic,
        RoutingAlgorithm::Dmodc => EngineKind::Dmodc,
        RoutingAlgorithm::Layered => EngineKind::Layered,
        RoutingAlgorithm::ShortestPath => EngineKind::ShortestPath,
        RoutingAlgorithm::OpaShortestPath => EngineKind::OpaShortestPath,
        RoutingAlgorithm::FatTree => EngineKind::FatTree,
        RoutingAlgorithm::DgShortestPath => EngineKind::DgShortestPath,
        RoutingAlgorithm::Dor => EngineKind::Dor,
        RoutingAlgorithm::Hypercube => EngineKind::Hypercube,
    }
}

fn order(instance: &Instance, groups: &Arc<DeviceGroups>) -> Vec<OrderedGroup> {
    /// The group of all ports, which stands for those that no other group names.
    const ALL: &str = "All";
    let names = &instance.sm.dg_shortest_path.routing_order.device_groups;
    let ordered = names.iter().map(|name| match name.as_str() {
        ALL => OrderedGroup::Others,
        _ => OrderedGroup::Of(Members::of([group(groups, name)])),
    });
    ordered.collect()
}

fn hypercube(instance: &Instance, groups: &Arc<DeviceGroups>) -> Hypercube {
    let cube = &instance.sm.hypercube;
    let members = |name: &String| Members::of([group(groups, name)]);
    let port = |data: &PortData| {
        let order = match data.virtual_port {
            0 => data.physical_port,
            port => port,
        };
        let cost = match data.cost {
            0 => HypercubeSettings::COST,
            cost => cost,
        };
        (PortNum(data.physical_port), PortCost { order, cost })
    };
    let controls = cube.enhanced_routing_ctrl.iter();
    let ports = controls.map(|control| HypercubePorts {
        switches: control.switches.as_ref().map(members),
        ports: control.port_data.iter().map(port).collect(),
    });
    Hypercube {
        route_last: cube.route_last.as_ref().map(members).unwrap_or_default(),
        ports: ports.collect(),
    }
}

fn mesh(instance: &Instance, groups: &Arc<DeviceGroups>) -> Mesh {
    let Some(mesh) = &instance.sm.mesh_torus else {
        return Mesh::default();
    };
    let dimensions = mesh.dimensions.iter().map(|dimension| {
        let pairs = dimension.port_pairs.iter();
        Dimension {
            toroidal: dimension.toroidal,
            length: dimension.length,
            pairs: pairs.map(|pair| (pair.first, pair.second)).collect(),
        }
    });
    let members = |name: &String| Members::of([group(groups, name)]);
    Mesh {
        dimensions: dimensions.collect(),
        route_last: mesh.route_last.as_ref().map(members).unwrap_or_default(),
        detour_lane: mesh.use_escape_vls,
        fault_regions: mesh.use_fault_regions,
        ignored_told: mesh.warn_threshold,
    }
}

fn multicast(instance: &Instance) -> MulticastSettings {
    let multicast = &instance.sm.multicast;
    MulticastSettings {
        root: match multicast.root_selection_algorithm {
            RootSelection::LeastTotalCost => RootChoice::LeastTotalCost,
            RootSelection::LeastWorstCaseCost => RootChoice::LeastWorstCaseCost,
            RootSelection::SmNeighbor => RootChoice::ManagerNeighbor,
        },
        min_improvement: multicast.min_cost_improvement.0,
        pruning: multicast.enable_pruning,
        rows_max: multicast.mlid_table_cap,
    }
}

fn traffic(instance: &Instance) -> TrafficSettings {
    let sm = &instance.sm;
    let bytes = |value: i32| u32::try_from(value).ok();
    TrafficSettings {
        switch_lifetime: sm.switch_lifetime.0,
        hoq_life: sm.hoq_life.0,
        vl_stall_count: sm.vl_stall_count.min(7) as u8,
        vl15_credit_rate: match sm.vl15_flow_control_disable {
            true => sm.vl15_credit_rate.min(21) as u8,
            false => 0,
        },
        min_shared: sm.min_shared_vl_mem.0.min(100),
        timer_scaling: sm.timer_scaling_enable,
        dedicated_packets: sm.dedicated_vl_mem_multi.min(255) as u8,
        wire_depth: bytes(sm.wire_depth_override_bytes),
        replay_depth: bytes(sm.replay_depth_override_bytes),
        lanes_max: sm.max_fixed_vls.min(u32::from(LANES_MAX)) as u8,
        multicast_mask: sm.multicast_mask.min(7) as u8,
        preemption: Preemption {
            small_packet: sm.preemption.small_packet,
            large_packet: sm.preemption.large_packet,
            limit: sm.preemption.preempt_limit,
        },
    }
}

/// `<MaxParallelReqs>` of the vendor's stock file, which suits a manager that waits for each answer.
const STOCK_PARALLEL_REQS: u32 = 3;
/// Most requests in flight that a file may ask for.
const OUTSTANDING_MAX: usize = 4_096;

fn requests(instance: &Instance) -> RequestSettings {
    let sm = &instance.sm;
    let first = match sm.min_resp_timeout.is_zero() {
        true => sm.resp_timeout,
        false => sm.min_resp_timeout,
    };
    RequestSettings {
        attempts: sm.max_attempts.max(1),
        timeout: sm.resp_timeout,
        first_timeout: first,
        // Processes that share a machine are late by more than round trips take.
        floor: first.max(Duration::from_millis(1)),
        outstanding_per_node: sm.sma_batch_size.clamp(1, 16) as u8,
        table_blocks: sm.lft_multiblock.clamp(1, u32::from(BLOCKS_MAX)) as u8,
        aggregates: sm.use_aggregate_mads,
        shares_buffer_control: sm.optimized_buffer_control,
        rewrites: sm.force_attribute_rewrite,
        trusts_multicast: !sm.check_mft_responses,
        skips: SkippedWrites(sm.skip_attribute_write),
        outstanding: match sm.max_parallel_reqs {
            STOCK_PARALLEL_REQS => RequestSettings::default().outstanding,
            most => (most as usize).min(OUTSTANDING_MAX),
        },
        neighbor_normal_retries: sm.neighbor_normal_retries.min(32),
    }
}

fn link_policy(policy: &weft_config::sm::LinkPolicy) -> LinkPolicy {
    let width = match policy.width_policy.policy {
        WidthRequirement::Supported => Least::Supported,
        WidthRequirement::X2 => Least::Of(LinkWidth::X2),
        WidthRequirement::X3 => Least::Of(LinkWidth::X3),
        WidthRequirement::X4 => Least::Of(LinkWidth::X4),
    };
    let speed = match policy.speed_policy.policy {
        SpeedRequirement::Supported => Least::Supported,
    };
    LinkPolicy {
        max_dropped_lanes: policy.max_dropped_lanes.min(3) as u8,
        width: if policy.width_policy.enable {
            width
        } else {
            Least::Any
        },
        speed: if policy.speed_policy.enable {
            speed
        } else {
            Least::Any
        },
    }
}

fn group(groups: &Arc<DeviceGroups>, name: &str) -> Selector {
    Selector::Group {
        groups: Arc::clone(groups),
        name: name.to_owned(),
    }
}

/// The partitions of all virtual fabrics that are not on standby, each key once, in their order.
fn partitions(fabrics: &ResolvedFabrics, groups: &Arc<DeviceGroups>) -> Vec<Partition> {
    let mut keys: Vec<u16> = Vec::new();
    for fabric in fabrics.active() {
        if !keys.contains(&fabric.partition.0) {
            keys.push(fabric.partition.0);
        }
    }
    let all = |key: u16, names: fn(&ResolvedVirtualFabric) -> &Vec<String>| {
        let sharing = fabrics
            .active()
            .filter(move |fabric| fabric.partition.0 == key);
        Members::of(sharing.flat_map(names).map(|name| group(groups, name)))
    };
    let made = keys.into_iter().map(|key| Partition {
        key,
        secured: fabrics
            .active()
            .any(|fabric| fabric.partition.0 == key && fabric.security),
        full: all(key, |fabric| &fabric.members),
        limited: all(key, |fabric| &fabric.limited_members),
    });
    made.collect()
}

/// The service levels in use, those of multicast included.
fn levels(fabrics: &ResolvedFabrics, overlays_multicast: bool) -> Vec<Level> {
    let mut levels = Vec::new();
    for (index, qos) in fabrics.qos.iter().enumerate() {
        let users: Vec<_> = fabrics
            .active()
            .filter(|fabric| fabric.qos_index == index)
            .collect();
        if users.is_empty() {
            continue;
        }
        let largest = users
            .iter()
            .map(|fabric| fabric.max_mtu.code())
            .collect::<Option<Vec<u8>>>();
        // As the vendor's manager shares it out (opa-fm, `sm_qos.c`: `_divide_bw_up`).
        let (base, multicast) = match qos.multicast_sl == qos.base_sl {
            true => (qos.bandwidth.0, None),
            false => (qos.bandwidth.0.div_ceil(2), Some(qos.bandwidth.0 / 2)),
        };
        let level = Level {
            sl: qos.base_sl,
            bandwidth: base,
            high_priority: qos.high_priority,
            max_mtu: largest.and_then(|codes| codes.into_iter().max()).map(Mtu),
            flow_control_disable: qos.flow_control_disable,
            hoq_life: Some(qos.hoq_life.0),
            preempt_rank: qos.preempt_rank,
            overlays: None,
        };
        levels.push(level);
        levels.extend(multicast.map(|bandwidth| Level {
            sl: qos.multicast_sl,
            bandwidth,
            overlays: overlays_multicast.then_some(qos.base_sl),
            ..level
        }));
    }
    levels
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::settings::ManagerSettings;

    fn settings_of(instance: &Instance) -> Result<Settings, SettingsError> {
        Ok(ManagerSettings::from_config(instance)?.sm)
    }
    use weft_fabric::{Lmc, Sl};

    fn instance(sm: &str) -> Instance {
        let text = format!(
            r#"<?xml version="1.0"?><Config><Common>
            <Applications>
              <Application><Name>All</Name><ServiceID>0x0</ServiceID></Application>
              <Application><Name>AllManagement</Name><Select>SA</Select><Select>PM</Select>
                <ServiceID>0x1100d03c34845555</ServiceID></Application>
              <Application><Name>AllOthers</Name><Select>UnmatchedServiceID</Select>
                <Select>UnmatchedMGID</Select></Application>
            </Applications>
            <DeviceGroups>
              <DeviceGroup><Name>All</Name><Select>All</Select></DeviceGroup>
              <DeviceGroup><Name>AllMgmtAllowed</Name><Select>AllMgmtAllowed</Select></DeviceGroup>
              <DeviceGroup><Name>AllSWE0s</Name><Select>SWE0</Select></DeviceGroup>
            </DeviceGroups>
            <VirtualFabrics>
              <VirtualFabric><Name>Default</Name><Enable>1</Enable><PKey>0x0001</PKey>
                <Security>0</Security><QOS>0</QOS><Member>All</Member>
                <Application>AllOthers</Application></VirtualFabric>
              <VirtualFabric><Name>Admin</Name><Enable>1</Enable><PKey>0x7fff</PKey>
                <Security>1</Security><QOS>0</QOS><Member>AllMgmtAllowed</Member>
                <Member>AllSWE0s</Member><LimitedMember>All</LimitedMember>
                <Application>AllManagement</Application></VirtualFabric>
            </VirtualFabrics><Shared/><Sm/><Fe/><Pm/></Common>
            <Fm><Shared><Start>1</Start><Name>fm0</Name>
              <SubnetPrefix>0xfe80000000000000</SubnetPrefix></Shared>
              <Sm>{sm}</Sm><Fe/><Pm/></Fm></Config>"#
        );
        let checked = weft_config::check(text, "test.xml");
        let errors: Vec<String> = checked.errors().map(ToString::to_string).collect();
        let config = checked.config.unwrap_or_else(|| panic!("{errors:?}"));
        config.instances.into_iter().next().unwrap()
    }

    #[test]
    fn elements_become_settings() {
        let sm = "<RoutingAlgorithm>fattree</RoutingAlgorithm><Lmc>2</Lmc><LmcE0>1</LmcE0>\
            <LID>0x10</LID><MKey>0x7</MKey><SweepInterval>0</SweepInterval>\
            <HoqLife>8ms</HoqLife><MaxAttempts>5</MaxAttempts>\
            <FatTreeTopology><TierCount>2</TierCount><FIsOnSameTier>1</FIsOnSameTier></FatTreeTopology>\
            <AdaptiveRouting><Enable>1</Enable><Algorithm>1</Algorithm></AdaptiveRouting>";
        let settings = settings_of(&instance(sm)).unwrap();
        assert_eq!(settings.routing.engine, EngineKind::FatTree);
        assert_eq!(settings.routing.fat_tree.tier_count, 2);
        assert_eq!(settings.lids.lmc, Lmc(2));
        assert_eq!(settings.lids.own, Some(Lid(0x10)));
        assert_eq!(settings.m_key, 7);
        assert_eq!(settings.sweeps.interval, Duration::ZERO);
        assert_eq!(settings.traffic.hoq_life, 11);
        assert_eq!(settings.requests.attempts, 5);
        assert_eq!(
            settings.routing.adaptive.map(|adaptive| adaptive.algorithm),
            Some(AdaptiveAlgorithm::Greedy)
        );
        let keys: Vec<u16> = settings
            .partitions
            .iter()
            .map(|partition| partition.key)
            .collect();
        assert_eq!(keys, [1, 0x7FFF]);
        assert_eq!(
            settings
                .levels
                .iter()
                .map(|level| level.sl)
                .collect::<Vec<_>>(),
            [Sl(0)]
        );
    }

    #[test]
    fn every_routing_algorithm_has_its_engine() {
        let mesh = "<MeshTorusTopology><Dimension><Toroidal>1</Toroidal><Length>4</Length>\
            <PortPair>1,2</PortPair><PortPair>3,4</PortPair></Dimension></MeshTorusTopology>";
        for (algorithm, engine) in [
            ("auto", EngineKind::Automatic),
            ("dmodc", EngineKind::Dmodc),
            ("layered", EngineKind::Layered),
            ("shortestpath", EngineKind::ShortestPath),
            ("opa-shortestpath", EngineKind::OpaShortestPath),
            ("dgshortestpath", EngineKind::DgShortestPath),
            ("hypercube", EngineKind::Hypercube),
            ("dor", EngineKind::Dor),
        ] {
            let sm = format!("<RoutingAlgorithm>{algorithm}</RoutingAlgorithm>{mesh}");
            let settings = settings_of(&instance(&sm)).unwrap();
            assert_eq!(settings.routing.engine, engine);
            let expected = Dimension {
                toroidal: true,
                length: 4,
                pairs: vec![(1, 2), (3, 4)],
            };
            assert_eq!(settings.routing.mesh.dimensions, [expected]);
        }
        let silent = settings_of(&instance("")).unwrap();
        assert_eq!(silent.routing.engine, EngineKind::Automatic);
    }

    #[test]
    fn orders_and_costs_become_settings() {
        let sm = "<DGShortestPathTopology><RoutingOrder><DeviceGroup>AllSWE0s</DeviceGroup>\
            <DeviceGroup>All</DeviceGroup></RoutingOrder></DGShortestPathTopology>\
            <HypercubeTopology><RouteLast>AllMgmtAllowed</RouteLast><EnhancedRoutingCtrl>\
            <Switches>AllSWE0s</Switches><PortData><pPort>3</pPort><vPort>1</vPort><Cost>7</Cost>\
            </PortData><PortData><pPort>4</pPort></PortData></EnhancedRoutingCtrl>\
            </HypercubeTopology>";
        let routing = settings_of(&instance(sm)).unwrap().routing;
        assert!(matches!(
            routing.order[..],
            [OrderedGroup::Of(_), OrderedGroup::Others]
        ));
        assert!(!routing.hypercube.route_last.is_empty());
        let [control] = &routing.hypercube.ports[..] else {
            panic!("{:?}", routing.hypercube);
        };
        assert!(control.switches.is_some());
        let cost = |order, cost| PortCost { order, cost };
        let expected = [(PortNum(3), cost(1, 7)), (PortNum(4), cost(4, 10))];
        assert_eq!(control.ports, expected);
    }
}
