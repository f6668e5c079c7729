//! Random fabrics survive every format; random texts never do harm.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use weft_fabric::cabling::Cabling;
use weft_fabric::enums::LinkWidth;
use weft_fabric::export::{write_ibnetdiscover, write_snapshot};
use weft_fabric::generate::LINKS_MAX;
use weft_fabric::import::{import_fabric, import_ibnetdiscover, import_snapshot};
use weft_fabric::{FabricSpec, NodeId, Topology};

const DUMP: &str = include_str!("../data/quirks.ibnetdiscover");

/// Switches of few ports and hosts, cabled at random.
fn topology() -> impl Strategy<Value = Topology> {
    let switches = prop::collection::vec((1..8u8, any::<bool>()), 0..6);
    let cables = prop::collection::vec((any::<(u8, u8)>(), any::<(u8, u8)>(), 0..4u16), 0..40);
    (0..6usize, switches, cables).prop_map(|(hosts, switches, cables)| {
        let mut cabling = Cabling::new();
        for _ in 0..hosts {
            cabling.add_hfi().unwrap();
        }
        for (index, (ports, chassis)) in switches.iter().enumerate() {
            let system = chassis.then_some(weft_fabric::Guid(0x0011_7501_0300_0001));
            cabling
                .add_switch(&format!("s{index}"), *ports, system)
                .unwrap();
        }
        let nodes = cabling.len().max(1) as u32;
        for ((a, a_port), (b, b_port), width) in cables {
            let end = |node: u8, port: u8| (NodeId(u32::from(node) % nodes), port % 8);
            // A port that does not exist or is taken: no cable.
            let _ = cabling.connect(end(a, a_port), end(b, b_port), LinkWidth(1 << width));
        }
        cabling.build().unwrap()
    })
}

/// A few random edits: bytes overwritten, lines doubled, dropped or exchanged, ends cut off.
fn mutate(text: &str, edits: &[(u8, usize, usize)]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for &(kind, a, b) in edits {
        let mut lines: Vec<Vec<u8>> = bytes
            .split(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        let count = lines.len();
        match kind % 6 {
            0 => {
                let length = bytes.len().max(1);
                if let Some(byte) = bytes.get_mut(a % length) {
                    *byte = b as u8;
                }
                continue;
            }
            1 => lines.swap(a % count, b % count),
            2 => lines.insert(a % count, lines[b % count].clone()),
            3 => {
                lines.remove(a % count);
            }
            4 => lines.truncate(count - a % count.min(20)),
            _ => {
                let line = &mut lines[a % count];
                line.truncate(b % (line.len() + 1));
            }
        }
        bytes = lines.join(&b'\n');
    }
    bytes
}

#[test]
fn a_name_ends_at_a_nul() {
    let dump = DUMP.replace("MF0;rack1:MCS8500/S01/U1", "MF0\0rack1:MCS8500/S01/U1");
    assert_ne!(dump, DUMP);
    let snapshot = import_fabric(dump.as_bytes()).unwrap();
    let mut text = Vec::new();
    write_ibnetdiscover(&snapshot.topology, &mut text).unwrap();
    let again = import_fabric(&text).unwrap();
    assert_eq!(again.topology, snapshot.topology);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_fabrics_survive_every_format(topology in topology(), lmc in 0..4u8) {
        let mut text = Vec::new();
        write_ibnetdiscover(&topology, &mut text).unwrap();
        prop_assert_eq!(&*import_fabric(&text).unwrap().topology, &topology);
        crate::picture::check(&topology, true);
        crate::picture::check(&topology, false);
        if !topology.is_empty() {
            let snapshot = crate::common::bring_up(topology, lmc);
            let read = import_snapshot(&crate::common::snapshot_xml(&snapshot, true)).unwrap();
            prop_assert_eq!(read.topology, snapshot.topology);
            prop_assert_eq!(read.linear, snapshot.linear);
        }
    }

    #[test]
    fn mutated_dumps_do_no_harm(edits in prop::collection::vec(any::<(u8, usize, usize)>(), 1..8)) {
        if let Ok(snapshot) = import_fabric(&mutate(DUMP, &edits)) {
            // An accepted fabric can be written and read again.
            let mut text = Vec::new();
            write_ibnetdiscover(&snapshot.topology, &mut text).unwrap();
            prop_assert_eq!(import_fabric(&text).unwrap().topology, snapshot.topology);
        }
    }

    #[test]
    fn mutated_snapshots_do_no_harm(edits in prop::collection::vec(any::<(u8, usize, usize)>(), 1..8)) {
        let snapshot = crate::common::bring_up(crate::common::generate("back-to-back"), 0);
        let xml = crate::common::snapshot_xml(&snapshot, true);
        if let Ok(snapshot) = import_fabric(&mutate(&xml, &edits)) {
            let mut text = Vec::new();
            write_snapshot(&snapshot, Default::default(), &mut text).unwrap();
        }
    }

    #[test]
    fn any_text_is_refused_or_read(text in ".{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = import_ibnetdiscover(&text);
        let _ = import_snapshot(&text);
        let _ = import_fabric(&bytes);
        if let Ok(spec) = text.parse::<FabricSpec>() {
            prop_assert_eq!(&spec.to_string().parse::<FabricSpec>().unwrap(), &spec);
        }
    }

    #[test]
    fn any_numbers_in_a_description_are_refused_or_made(
        kind in prop::sample::select(vec!["one-switch", "fattree", "mesh", "torus", "hypercube", "swd06"]),
        values in prop::collection::vec(0..60u32, 1..4),
        options in prop::collection::vec((prop::sample::select(vec!["hosts", "radix", "tiers", "links", "oversubscription"]), 0..60u32), 0..3),
    ) {
        let values: Vec<String> = values.iter().map(u32::to_string).collect();
        let options: String = options.iter().map(|(name, value)| format!(",{name}={value}")).collect();
        let text = format!("{kind}:{}{options}", values.join("x"));
        if let Ok(topology) = text.parse::<FabricSpec>().map_err(|_| ()).and_then(|spec| spec.generate().map_err(|_| ())) {
            prop_assert!(topology.links().count() as u64 <= LINKS_MAX);
        }
    }
}
