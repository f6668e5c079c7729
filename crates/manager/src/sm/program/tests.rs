#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use weft_fabric::generate::FabricSpec;
use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{Lid, LinearTables, TopologyBuilder, UNREACHABLE};
use weft_wire::sm::{AttributeId, BlockModifier};

use super::{Needs, Way, Writer, next, stage_after};
use crate::ask::batch::Batch;
use crate::sm::devices::{Devices, Lft, Stage};
use crate::sm::plan::Plan;
use crate::sm::settings::Settings;
use crate::sm::sweep::Gate;

/// The manager's own host, which comes first, and the switch that it is at.
const HOST: u32 = 0;
const SWITCH: u32 = 1;

/// Identified devices, and a plan in which the switch has a row of three blocks.
fn scene() -> (Devices, Plan) {
    let spec: FabricSpec = "one-switch:1".parse().unwrap();
    let topology = spec.generate().unwrap();
    let mut devices = Devices::default();
    let (switches, hosts): (Vec<_>, Vec<_>) =
        topology.nodes().partition(|(_, node)| node.is_switch());
    for (_, node) in hosts.into_iter().chain(switches) {
        let number = devices.add(node.guid(), node.is_switch());
        devices[number].observed.node = Some(Arc::new(node.clone()));
    }
    let mut builder = TopologyBuilder::new();
    for device in devices.iter() {
        let node = device.observed.node.as_ref().unwrap();
        builder.add(Arc::clone(node)).unwrap();
    }
    let row: Arc<[u8]> = (0..3 * LFT_BLOCK).map(|lid| lid as u8 % 2 + 1).collect();
    let plan = Plan {
        topology: Arc::new(builder.build().unwrap()),
        top: Lid(3 * LFT_BLOCK as u32 - 1),
        steps: vec![Arc::new(LinearTables::new(vec![row]))],
        ..Plan::default()
    };
    (devices, plan)
}

/// The blocks of the linear table that the switch is still to be written.
fn blocks_to_write(devices: &Devices, plan: &Plan) -> Vec<(usize, u8)> {
    let settings = Settings::default();
    let mut batch = Batch::default();
    batch.start(true, true);
    let mut writer = Writer {
        needs: Needs {
            settings: &settings,
            plan,
            devices,
            sweep: 1,
            rewrites: false,
        },
        node: SWITCH,
        step: 0,
        cursor: 0,
        batch: &mut batch,
    };
    next(&mut writer, Stage::WriteTable);
    let writes = batch.writes(AttributeId::LINEAR_FDB);
    let blocks = writes.map(|(modifier, _)| BlockModifier::from_bits(modifier));
    blocks.map(|at| (at.block as usize, at.count)).collect()
}

#[test]
fn only_blocks_that_differ_are_written() {
    let (mut devices, mut plan) = scene();
    assert_eq!(
        blocks_to_write(&devices, &plan),
        [(0, 3)],
        "nothing is known"
    );
    let row = Arc::clone(plan.row(0, SWITCH).unwrap());
    let lft = &mut devices[SWITCH].observed.lft;
    for block in [0, 2] {
        lft.confirm(block, &row[block * LFT_BLOCK..][..LFT_BLOCK]);
    }
    assert_eq!(blocks_to_write(&devices, &plan), [(1, 1)]);
    devices[SWITCH].observed.lft = Lft::Whole { row, blocks: 3 };
    assert_eq!(blocks_to_write(&devices, &plan), []);
    plan.top = Lid(4 * LFT_BLOCK as u32 - 1);
    assert_eq!(
        blocks_to_write(&devices, &plan),
        [(3, 1)],
        "nothing is known of what comes into use"
    );
}

#[test]
fn what_a_switch_holds_beyond_the_row_is_dropped() {
    let (mut devices, mut plan) = scene();
    let row = plan.row(0, SWITCH).unwrap().to_vec();
    devices[SWITCH].observed.lft = Lft::Whole {
        row: row.clone().into(),
        blocks: 3,
    };
    let short: Arc<[u8]> = row[..LFT_BLOCK].into();
    plan.steps = vec![Arc::new(LinearTables::new(vec![short]))];
    assert_eq!(blocks_to_write(&devices, &plan), [(1, 2)]);
    let lft = &mut devices[SWITCH].observed.lft;
    lft.confirm(1, &[UNREACHABLE; LFT_BLOCK]);
    lft.confirm(2, &[UNREACHABLE; LFT_BLOCK]);
    assert_eq!(blocks_to_write(&devices, &plan), []);
}

/// The stages that a node goes through until it waits for others.
fn way(node: u32, gate: Gate, pause: bool) -> Vec<Stage> {
    let (mut devices, plan) = scene();
    let plan = Plan { pause, ..plan };
    let way = Way {
        plan: &plan,
        gate,
        step: 0,
        updating: false,
    };
    let mut stages = vec![Stage::WriteNode];
    devices[node].work.enter(Stage::WriteNode);
    loop {
        let after = stage_after(&devices[node], &way);
        if after == Stage::Ready {
            return stages;
        }
        stages.push(after);
        devices[node].work.enter(after);
    }
}

#[test]
fn a_switch_waits_for_the_others_where_adaptive_routing_is_suspended() {
    use Stage::{Arm, Resume, WriteGroups, WriteMulticast, WriteNode, WritePorts, WriteTable};
    let settings = [WriteNode, WritePorts];
    assert_eq!(way(SWITCH, Gate::Settings, true), settings);
    let tables = [WriteNode, WritePorts, WriteTable, WriteGroups];
    assert_eq!(way(SWITCH, Gate::Tables, true), tables);
    let all = [&tables[..], &[Resume, WriteMulticast, Arm]].concat();
    assert_eq!(way(SWITCH, Gate::Tables, false), all);
    assert_eq!(way(HOST, Gate::Tables, false), [WriteNode]);
}
