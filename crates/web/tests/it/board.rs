//! Columns, and what readers get of them.

use std::sync::Arc;

use proptest::prelude::*;
use weft_fabric::enums::{PhysState, PortState};
use weft_fabric::{Guid, PortNum, PortRef, Snapshot, Topology};
use weft_health::{Color, End, Finding, Kind as Wrong, Page};
use weft_web::{Board, Change, Kind, Known, marks, states};

use crate::{fabric, guid};

fn known(topology: &Topology, page: &Page) -> Known {
    // The page is about the generation before, so that nothing is forgotten.
    let snapshot = Snapshot {
        generation: page.generation + 1,
        topology: Arc::new(topology.clone()),
        ..Snapshot::default()
    };
    Known {
        snapshot: Arc::new(snapshot),
        image: None,
        page: Arc::new(page.clone()),
    }
}

/// What a reader has, who takes over what he is told.
#[derive(Default)]
struct Reader {
    layout: u64,
    version: u64,
    columns: [Vec<u8>; Kind::ALL.len()],
    bytes: usize,
}

impl Reader {
    fn ask(&mut self, board: &Board) {
        let shown = board.since(self.layout, self.version);
        if shown.layout != self.layout {
            *self = Self {
                layout: shown.layout,
                ..Self::default()
            };
            return self.ask(board);
        }
        self.bytes = 0;
        self.version = shown.version;
        for (kind, change) in shown.changes {
            let own = &mut self.columns[kind as usize];
            match change {
                Change::Whole(values) => {
                    self.bytes += values.len();
                    *own = values;
                }
                Change::Some { places, values } => {
                    self.bytes += places.len() + values.len();
                    assert_eq!(places.len(), 4 * values.len());
                    for (place, value) in places.chunks(4).zip(values) {
                        own[u32::from_le_bytes(place.try_into().unwrap()) as usize] = value;
                    }
                }
            }
        }
    }

    fn count(&self, kind: Kind, value: u8) -> usize {
        let column = &self.columns[kind as usize];
        column.iter().filter(|one| **one == value).count()
    }
}

fn set(topology: &mut Topology, end: PortRef, state: PortState, phys: PhysState) {
    let port = topology.node_mut(end.node).unwrap();
    let info = &mut port.port_mut(end.port).unwrap().info;
    (info.port_state, info.phys_state) = (state, phys);
}

#[test]
fn a_lost_link_and_a_lost_node_are_seen_where_they_were() {
    let mut topology = fabric("fattree:1152");
    let page = Page::default();
    let (mut board, mut reader) = (Board::default(), Reader::default());
    board.take(known(&topology, &page));
    reader.ask(&board);
    let links = topology.links().count();
    assert_eq!(reader.count(Kind::State, states::ACTIVE), 2 * links);
    assert_eq!(reader.count(Kind::Load, u8::MAX), reader.columns[0].len());
    let layout = reader.layout;

    let (a, b) = topology.links().last().unwrap();
    topology.disconnect(a);
    set(&mut topology, a, PortState::DOWN, PhysState::POLLING);
    set(&mut topology, b, PortState::DOWN, PhysState::DISABLED);
    board.take(known(&topology, &page));
    reader.ask(&board);
    assert_eq!(reader.layout, layout);
    assert_eq!(reader.count(Kind::State, states::LOST), 1);
    assert_eq!(reader.count(Kind::State, states::DISABLED), 1);
    assert_eq!(reader.bytes, 10, "two ports of all");

    // The link is up again, and left out by the manager.
    for end in [a, b] {
        set(&mut topology, end, PortState::ACTIVE, PhysState::LINK_UP);
    }
    board.take(known(&topology, &page));
    reader.ask(&board);
    assert_eq!(reader.count(Kind::State, states::UNUSED), 2);

    let fewer = fabric("one-switch:3");
    let mut reader = Reader::default();
    let mut board = Board::default();
    board.take(known(&fewer, &page));
    reader.ask(&board);
    let without = Topology::default();
    board.take(known(&without, &page));
    reader.ask(&board);
    assert_eq!(
        reader.count(Kind::State, states::GONE),
        reader.columns[0].len()
    );
}

fn end_of(topology: &Topology, end: PortRef, whole: bool) -> End {
    End {
        node: guid(topology, end),
        name: "as it was called".to_owned(),
        port: (!whole).then_some(end.port),
        serial: String::new(),
    }
}

fn finding(kind: Wrong, a: End, b: Option<End>) -> Finding {
    Finding {
        kind,
        color: Color::Yellow,
        what: String::new(),
        a,
        b,
        since: None,
        times: 0,
        hosts: 0,
        host_names: Vec::new(),
        advice: String::new(),
        next: String::new(),
    }
}

#[test]
fn what_was_lost_before_anybody_looked_is_seen_until_it_is_forgotten() {
    let whole = fabric("fattree:1152");
    let (a, b) = whole.links().last().unwrap();
    let host = PortRef {
        node: whole.hfis().next().unwrap().0,
        port: PortNum(1),
    };
    let at = whole.peer(host).unwrap();
    // Another device is in its place, without a cable.
    let mut without = fabric("fattree:1152");
    without.disconnect(host);
    without.disconnect(a);
    without.exchange(host.node, Guid(7)).unwrap();
    for end in [a, b, at] {
        set(&mut without, end, PortState::DOWN, PhysState::POLLING);
    }
    let link = finding(
        Wrong::MissingLink,
        end_of(&whole, a, false),
        Some(end_of(&whole, b, false)),
    );
    let of_host = finding(
        Wrong::MissingHost,
        end_of(&whole, host, false),
        Some(end_of(&whole, at, false)),
    );
    let page = Page {
        findings: vec![link, of_host],
        counts: [(Wrong::MissingLink, 1), (Wrong::MissingHost, 1)].into(),
        generation: 1,
        ..Page::default()
    };
    let (mut board, mut reader) = (Board::default(), Reader::default());
    board.take(known(&without, &page));
    reader.ask(&board);
    let (_, layout) = board.layout();
    let names = layout.names();
    assert_eq!(names.len(), whole.len() + 1);
    assert!(names.contains(&"as it was called".to_owned()));
    assert_eq!(reader.count(Kind::State, states::GONE), 1);
    assert_eq!(reader.count(Kind::State, states::LOST), 3);

    let mut forgotten = known(&without, &Page::default());
    Arc::make_mut(&mut forgotten.snapshot).generation = 0;
    board.take(forgotten);
    reader.ask(&board);
    assert_eq!(board.layout().1.names().len(), whole.len());
    assert_eq!(reader.count(Kind::State, states::GONE), 0);
    assert_eq!(reader.count(Kind::State, states::LOST), 0);
}

#[test]
fn what_is_wrong_is_marked_at_both_ends_and_at_all_ports_of_a_node() {
    let topology = fabric("fattree:1152");
    let (a, b) = topology.links().last().unwrap();
    let end = |end, whole| end_of(&topology, end, whole);
    let page = Page {
        findings: vec![
            finding(Wrong::Degraded, end(a, false), Some(end(b, false))),
            finding(Wrong::Errors, end(a, false), None),
            finding(Wrong::Silent, end(b, true), None),
            finding(Wrong::SameName, end(a, true), None),
        ],
        ..Page::default()
    };
    let (mut board, mut reader) = (Board::default(), Reader::default());
    board.take(known(&topology, &page));
    reader.ask(&board);
    let both = marks::SLOW | marks::ERRORS;
    assert_eq!(reader.count(Kind::Marks, both), 1);
    assert_eq!(reader.count(Kind::Marks, marks::SLOW | marks::OTHER), 1);
    let ports = topology.node(b.node).unwrap().external_ports().len();
    assert_eq!(reader.count(Kind::Marks, marks::OTHER), ports - 1);
}

#[test]
fn loads_are_made_once_for_a_reading_and_a_layout() {
    let topology = fabric("one-switch:3");
    let page = Page::default();
    let mut board = Board::default();
    assert!(board.to_count().is_none(), "of nothing");
    board.take(known(&topology, &page));
    let first = board.to_count().unwrap();
    assert!(board.to_count().is_none(), "they are being made");
    board.put(Some(first.count()));
    assert!(board.to_count().is_none(), "they are there");
    board.take(known(&fabric("one-switch:4"), &page));
    let late = board.to_count().unwrap();
    board.take(known(&fabric("one-switch:5"), &page));
    board.put(Some(late.count()));
    let now = board.to_count();
    assert!(now.is_some(), "those of another layout are of no use");
    board.put(None);
    assert!(board.to_count().is_some(), "they could not be made");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whoever asks whenever has in the end what everybody has.
    #[test]
    fn readers_that_ask_at_any_time_have_the_same(steps in prop::collection::vec((0_usize..96, any::<bool>(), any::<bool>(), any::<bool>()), 1..24)) {
        let mut topology = fabric("fattree:64");
        let ends: Vec<PortRef> = topology.links().flat_map(|(a, b)| [a, b]).collect();
        let links: Vec<_> = topology.links().collect();
        let mut board = Board::default();
        let (mut often, mut seldom) = (Reader::default(), Reader::default());
        for (at, up, cut, asks) in steps {
            let end = ends[at % ends.len()];
            let state = if up { PortState::ACTIVE } else { PortState::INIT };
            set(&mut topology, end, state, PhysState::LINK_UP);
            let (a, b) = links[at % links.len()];
            match cut {
                true => drop(topology.disconnect(a)),
                false if topology.peer(a).is_none() && topology.peer(b).is_none() => topology.plug_cable(a, b),
                false => {}
            }
            board.take(known(&topology, &Page::default()));
            often.ask(&board);
            if asks {
                seldom.ask(&board);
            }
        }
        seldom.ask(&board);
        let mut fresh = Reader::default();
        fresh.ask(&board);
        prop_assert_eq!(&often.columns, &fresh.columns);
        prop_assert_eq!(&seldom.columns, &fresh.columns);
    }
}
