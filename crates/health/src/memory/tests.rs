#![allow(clippy::unwrap_used)]

use weft_fabric::FabricSpec;

use super::*;

const DAY: u64 = 86_400;

fn fabric() -> Topology {
    let spec: FabricSpec = "pgft:2;2,2;1,2;1,1;radix=4".parse().unwrap();
    spec.generate().unwrap()
}

/// The fabric without the links of one node, which is then not found by a manager; the node stays as a value.
fn without_link(topology: &Topology) -> (Topology, LinkKey) {
    let mut less = topology.clone();
    let (a, b) = less.links().last().unwrap();
    let key = link_key(&less, a, b).unwrap();
    less.disconnect(a);
    (less, key)
}

fn looked(memory: &mut Memory, now: u64, topology: &Topology) {
    memory.look(now, topology, DAY, |_| None);
}

#[test]
fn what_was_there_for_less_than_a_minute_is_missed_for_an_hour() {
    let whole = fabric();
    let (less, key) = without_link(&whole);
    let mut memory = Memory::default();
    looked(&mut memory, 1_000, &whole);
    looked(&mut memory, 1_059, &whole);
    looked(&mut memory, 1_060, &less);
    assert_eq!(memory.gone_links().next().unwrap().0, key);
    looked(&mut memory, 1_060 + 3_600, &less);
    assert_eq!(memory.gone_links().count(), 1);
    looked(&mut memory, 1_061 + 3_600, &less);
    assert!(memory.link(key).is_none(), "it is not even known");
}

#[test]
fn what_was_there_for_a_minute_is_missed_until_it_is_back() {
    let whole = fabric();
    let (less, key) = without_link(&whole);
    let mut memory = Memory::default();
    looked(&mut memory, 2_000, &whole);
    looked(&mut memory, 2_060, &whole);
    looked(&mut memory, 2_500, &less);
    looked(&mut memory, 2_060 + 3_700, &less);
    let gone: Vec<_> = memory.gone_links().collect();
    assert_eq!(gone.len(), 1);
    assert_eq!(gone[0].0, key);
    assert_eq!((gone[0].1.first(), gone[0].1.gone()), (2_000, Some(2_500)));
    looked(&mut memory, 2_060 + 3_800, &whole);
    assert_eq!(memory.gone_links().count(), 0);
    assert_eq!(memory.link(key).unwrap().first(), 2_000);
}

#[test]
fn what_is_gone_for_long_or_by_an_order_is_forgotten() {
    let whole = fabric();
    let (less, key) = without_link(&whole);
    let mut memory = Memory::default();
    looked(&mut memory, 1_000, &whole);
    looked(&mut memory, 1_100, &whole);
    looked(&mut memory, 1_200, &less);
    let mut late = memory.clone();
    looked(&mut late, 1_200 + DAY, &less);
    assert_eq!(late.gone_links().count(), 1);
    looked(&mut late, 1_201 + DAY, &less);
    assert_eq!(late.gone_links().count(), 0);

    let other = Target {
        node: key.0.0,
        port: Some(PortNum(key.0.1.0 + 1)),
    };
    assert_eq!(memory.forget(&[other]), Forgotten::default());
    let changes = memory.changes();
    let target = Target {
        node: key.1.0,
        port: Some(key.1.1),
    };
    let forgotten = memory.forget(&[target]);
    assert_eq!((forgotten.nodes, forgotten.links), (0, 1));
    assert!(memory.changes() > changes);
    assert_eq!(memory.gone_links().count(), 0);
}

#[test]
fn what_went_while_no_daemon_ran_is_missed_since_the_last_one_saw_it() {
    let whole = fabric();
    let (less, key) = without_link(&whole);
    let mut memory = Memory::default();
    looked(&mut memory, 1_000, &whole);
    looked(&mut memory, 1_100, &whole);
    let mut memory = Memory::decode(&memory.encode(5), 5).unwrap();
    looked(&mut memory, 9_000, &less);
    assert_eq!(memory.link(key).unwrap().gone(), Some(1_100));
}

#[test]
fn an_unchanged_fabric_is_no_change_to_store() {
    let whole = fabric();
    let mut memory = Memory::default();
    looked(&mut memory, 1_000, &whole);
    looked(&mut memory, 1_100, &whole);
    let changes = memory.changes();
    looked(&mut memory, 1_400, &whole);
    assert_eq!(memory.changes(), changes);
}

#[test]
fn points_name_what_is_gone() {
    let whole = fabric();
    let (_, node) = whole.nodes().next().unwrap();
    let (guid, name) = (node.guid(), node.name());
    let mut memory = Memory::default();
    looked(&mut memory, 1_000, &whole);
    let port = Some(PortNum(3));
    for (point, expected) in [
        (format!("node:{name}"), Some(None)),
        (format!("node:\"{name}\":port:3"), Some(port)),
        (format!("nodeguid:{guid}:port:3"), Some(port)),
        (format!("nodeguid:{}", guid.0), Some(None)),
        ("node:nobody".to_owned(), None),
        ("nodeguid:0x5".to_owned(), None),
        ("node:".to_owned(), None),
        (format!("node:{name}:port:300"), None),
        (format!("node:{name}:prt:3"), None),
        ("lid:3".to_owned(), None),
        ("node:\"open".to_owned(), None),
        (String::new(), None),
    ] {
        let parsed = Target::parse(&point, &memory);
        let expected = expected.map(|port| vec![Target { node: guid, port }]);
        assert_eq!(parsed.ok(), expected, "{point}");
    }
}

#[test]
fn a_file_holds_it_and_no_other_bytes_do() {
    let whole = fabric();
    let (less, _) = without_link(&whole);
    let mut memory = Memory::default();
    memory.look(1_000, &whole, DAY, |_| Some(*b"SERIAL          "));
    looked(&mut memory, 1_100, &whole);
    looked(&mut memory, 1_200, &less);
    memory.age(1_200, [7, 9]);
    let bytes = memory.encode(5);
    let mut read = Memory::decode(&bytes, 5).unwrap();
    assert!(!read.is_watching);
    read.is_watching = true;
    read.changes = memory.changes;
    assert_eq!(read, memory);
    assert_eq!(read.gone_links().next().unwrap().1.serial(), "SERIAL");

    let subnet = Memory::decode(&bytes, 6);
    assert!(matches!(subnet, Err(MemoryError::Subnet { found: 5, .. })));
    for cut in 0..bytes.len() {
        assert!(Memory::decode(&bytes[..cut], 5).is_err(), "{cut} bytes");
    }
    for at in 0..bytes.len() {
        let mut wrong = bytes.clone();
        wrong[at] ^= 0x10;
        assert!(Memory::decode(&wrong, 5).is_err(), "byte {at}");
    }
    let mut more = bytes.clone();
    more.truncate(bytes.len() - CHECKSUM_LEN);
    more.push(0);
    let sum = crc32c::crc32c(&more);
    more.extend_from_slice(&sum.to_be_bytes());
    assert!(matches!(
        Memory::decode(&more, 5),
        Err(MemoryError::Length { .. })
    ));
}

const CHECKSUM_LEN: usize = 4;

#[test]
fn a_cable_that_is_read_after_the_sweep_is_known_when_its_link_is_gone() {
    let whole = fabric();
    let (less, key) = without_link(&whole);
    let mut memory = Memory::default();
    looked(&mut memory, 1_000, &whole);
    let changes = memory.changes();
    memory.learn_serials(|end| (end == key.0).then_some(*b"W0000000000000A7"));
    assert_eq!(memory.changes(), changes + 1);
    looked(&mut memory, 1_100, &less);
    // What is in its ports now says nothing of it.
    memory.learn_serials(|_| Some(*b"ANOTHER         "));
    assert_eq!(memory.link(key).unwrap().serial(), "W0000000000000A7");
}
