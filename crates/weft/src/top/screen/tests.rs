//! Screens from given data, without a terminal.
#![allow(clippy::unwrap_used)]

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use weft_api::time::{duration, timestamp_s};
use weft_api::v1;
use weft_fabric::text::is_hidden;

use super::*;
use crate::args::{ScreenName, SortBy};
use crate::top::columns::NARROWEST;
use crate::top::group::{Group, Members};
use crate::top::state::Screen;
use crate::top::table::tests::full;

fn screen(state: &mut State, width: u16, height: u16) -> Vec<String> {
    state.width = usize::from(width);
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| draw(state, false, 1_000, frame))
        .unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y| (0..width).map(|x| buffer[(x, y)].symbol()).collect();
    (0..height).map(line).collect()
}

fn press(state: &mut State, code: KeyCode) -> Step {
    state.press(KeyEvent::new(code, KeyModifiers::NONE))
}

fn write(state: &mut State, text: &str) {
    for key in text.chars() {
        press(state, KeyCode::Char(key));
    }
}

/// A switch's port that sends `percent` of 100 Gb/s and has `integrity`.
fn port(name: &str, number: u32, percent: f64, integrity: u32) -> v1::PortCounters {
    let end = |name: &str, number| v1::LinkEnd {
        port: Some(v1::PortId {
            node_guid: 7,
            port: number,
        }),
        node_type: v1::NodeType::Switch.into(),
        node_name: name.to_owned(),
    };
    let rates = v1::PortRates {
        xmit_data: Some(percent / 100.0 * 12.5e9 / 8.0),
        ..v1::PortRates::default()
    };
    let part = |name: &str| v1::VirtualFabricCounters {
        name: name.to_owned(),
        vls: 1,
        rates: Some(rates),
        ..v1::VirtualFabricCounters::default()
    };
    v1::PortCounters {
        virtual_fabrics: vec![part("Default"), part("Admin")],
        port: Some(end(name, number)),
        neighbor: Some(end("core1", 9)),
        reading: v1::CounterReading::Done.into(),
        rate_gbps: 100.0,
        totals: Some(v1::PortCounts {
            xmit_data: Some(1_000),
            ..v1::PortCounts::default()
        }),
        rates: Some(rates),
        categories: Some(v1::CounterCategories {
            integrity,
            ..v1::CounterCategories::default()
        }),
        lanes: vec![v1::LaneCounters {
            vl: 3,
            rates: Some(rates),
            ..v1::LaneCounters::default()
        }],
        ..v1::PortCounters::default()
    }
}

fn data() -> Data {
    let links = (1..=40).map(|link| full(&format!("edge{link}"), "core1"));
    let at = |node, port: v1::PortCounters| {
        let mut port = port;
        let end = port.port.as_mut().and_then(|end| end.port.as_mut());
        end.unwrap().node_guid = node;
        port
    };
    Data {
        loads: v1::ListBusiestLinksResponse {
            image: 7,
            time: Some(timestamp_s(988)),
            span: Some(duration(10_000_000_000)),
            links: 40,
            busiest: links.collect(),
            ..v1::ListBusiestLinksResponse::default()
        },
        ports: vec![
            at(1, port("edge1", 1, 25.0, 0)),
            at(2, port("edge2", 2, 95.0, 0)),
            port("edge3", 3, 5.0, 40),
        ],
        port: Some(port("edge3", 3, 5.0, 40)),
        fabrics: vec![v1::VirtualFabric {
            name: "Default".to_owned(),
            pkey: 0x8001,
            ..v1::VirtualFabric::default()
        }],
        links: vec![
            link((1, 5), (2, 9)),
            link((1, 6), (2, 10)),
            link((1, 7), (3, 1)),
        ],
        fabric: Some(v1::GetFabricResponse {
            role: "Master".to_owned(),
            ..v1::GetFabricResponse::default()
        }),
        groups: vec![Members {
            name: "Uplinks".to_owned(),
            ports: [(1, 1), (2, 2)].into(),
        }],
        settings: Some(v1::GetPerfConfigResponse {
            interval: Some(duration(10_000_000_000)),
            thresholds: Some(v1::CounterCategories {
                integrity: 100,
                ..v1::CounterCategories::default()
            }),
            groups: vec!["All".to_owned(), "Uplinks".to_owned()],
            ..v1::GetPerfConfigResponse::default()
        }),
    }
}

/// A port of a node with the port and node at the other end.
fn link((node, port): (u64, u32), (far_node, far_port): (u64, u32)) -> v1::Port {
    let id = |node_guid, port| Some(v1::PortId { node_guid, port });
    v1::Port {
        id: id(node, port),
        neighbor: id(far_node, far_port),
        state: v1::PortState::Active.into(),
        ..v1::Port::default()
    }
}

fn state(name: ScreenName) -> State {
    let mut state = State::new(name, SortBy::Utilization);
    state.take(Ok(data()));
    state
}

#[test]
fn every_screen_has_its_facts_at_both_sizes() {
    let screens = [
        (ScreenName::Links, "edge1:5 > core1:1"),
        (ScreenName::Summary, "SWs         3"),
        (ScreenName::Summary, "Uplinks     2"),
        (ScreenName::Summary, " 60.0  95.0"),
        (ScreenName::Summary, " 41.7  95.0"),
        (ScreenName::Summary, "integrity             1       40"),
        (ScreenName::Ports, "edge2:2"),
        (ScreenName::Fabrics, " 0 0x8001     3   15.6 GB"),
        (ScreenName::Histogram, "90-100 %      1"),
        (ScreenName::Image, "Ports read         3"),
        (ScreenName::Image, "Manager            Master"),
        (ScreenName::Settings, "Interval             10 s"),
        (ScreenName::Settings, "Integrity from       100, tell 0"),
    ];
    for (name, fact) in screens {
        for (width, height) in [(80, 24), (40, 24)] {
            let mut state = state(name);
            if name == ScreenName::Histogram {
                press(&mut state, KeyCode::End);
            }
            let lines = screen(&mut state, width, height);
            assert!(
                lines.iter().any(|line| line.contains(fact)),
                "{name:?}: {lines:#?}"
            );
            assert!(lines.last().unwrap().starts_with("12 s old"), "{lines:#?}");
        }
    }
}

#[test]
fn keys_lead_from_the_summary_to_a_lane_and_back() {
    let mut state = state(ScreenName::Summary);
    for _ in 0..5 {
        press(&mut state, KeyCode::Down);
    }
    assert_eq!(press(&mut state, KeyCode::Enter), Step::Read);
    let ports = screen(&mut state, 80, 24);
    assert!(ports[0].starts_with("3 ports by integrity"), "{ports:#?}");
    assert!(ports[2].starts_with("edge3:3"), "{ports:#?}");
    assert_eq!(press(&mut state, KeyCode::Enter), Step::Read);
    let lines = screen(&mut state, 40, 24);
    assert!(lines[1].starts_with("edge3:3 > core1:9"), "{lines:#?}");
    let lane = lines.iter().any(|line| line.starts_with("3      625 MB"));
    assert!(lane, "{lines:#?}");
    press(&mut state, KeyCode::Esc);
    press(&mut state, KeyCode::Esc);
    assert!(screen(&mut state, 80, 24)[0].starts_with("summary"));
}

#[test]
fn a_filter_leaves_its_lines_and_totals_replace_rates() {
    let mut state = state(ScreenName::Ports);
    write(&mut state, "/EDGE1");
    assert!(screen(&mut state, 80, 24)[23].starts_with("/EDGE1_"));
    press(&mut state, KeyCode::Enter);
    let lines = screen(&mut state, 80, 24);
    assert!(
        lines[2].contains("3.12 GB") || lines[2].contains("3.13 GB"),
        "{lines:#?}"
    );
    assert_eq!(lines[3].trim(), "", "{lines:#?}");
    write(&mut state, "t");
    assert!(screen(&mut state, 80, 24)[2].contains("8.00 kB"));
}

#[test]
fn a_frozen_screen_stays_and_trouble_is_told() {
    let mut state = state(ScreenName::Links);
    write(&mut state, " ");
    let mut later = data();
    later.loads.image = 8;
    state.take(Ok(later.clone()));
    assert!(screen(&mut state, 80, 24)[0].starts_with("Image 7 of"));
    write(&mut state, " ");
    state.take(Ok(later));
    assert!(screen(&mut state, 80, 24)[0].starts_with("Image 8 of"));
    state.take(Err("weftd is gone \u{1b}]0;own\u{7}".to_owned()));
    let lines = screen(&mut state, 80, 24);
    assert!(lines[0].starts_with("Image 8 of"), "{lines:#?}");
    assert!(
        lines[23].starts_with("12 s old  weftd is gone \\x1b]0;own\\x07"),
        "{lines:#?}"
    );
}

#[test]
fn nothing_from_outside_acts_on_the_screen() {
    let names = ["\u{1b}[2J", "\u{9b}31mred", "a\rb\tc", "\u{202e}drawkcab"];
    for name in [ScreenName::Links, ScreenName::Ports, ScreenName::Fabrics] {
        let mut data = data();
        data.loads.busiest = names.map(|name| full(name, "core1")).into();
        data.ports = names.map(|name| port(name, 1, 1.0, 0)).into();
        let fabric = |name: &str| v1::VirtualFabric {
            name: name.to_owned(),
            ..v1::VirtualFabric::default()
        };
        data.fabrics = names.map(fabric).into();
        let mut state = State::new(name, SortBy::Utilization);
        state.take(Ok(data));
        let lines = screen(&mut state, 80, 24);
        assert!(
            !lines.iter().any(|line| line.contains(is_hidden)),
            "{lines:?}"
        );
        assert!(
            lines.iter().any(|line| line.starts_with("\\x1b[2J")),
            "{lines:?}"
        );
    }
}

#[test]
fn the_last_line_can_be_chosen_and_every_key_ends_well() {
    let mut state = state(ScreenName::Links);
    press(&mut state, KeyCode::End);
    assert!(screen(&mut state, 80, 24)[22].starts_with("edge40:5"));
    press(&mut state, KeyCode::Char('?'));
    assert!(screen(&mut state, 80, 24)[0].starts_with("Keys"));
    press(&mut state, KeyCode::Esc);
    for key in "1234567ugkwcimbxro".chars() {
        assert_ne!(press(&mut state, KeyCode::Char(key)), Step::Quit);
    }
    assert_eq!(press(&mut state, KeyCode::Char('q')), Step::Quit);
}

#[test]
fn a_switchs_port_without_a_link_does_not_make_the_others_look_idle() {
    let mut own = port("edge1", 0, 0.0, 0);
    own.neighbor = None;
    let mut data = data();
    data.ports.push(own);
    let mut state = State::new(ScreenName::Summary, SortBy::Utilization);
    state.take(Ok(data));
    assert!(screen(&mut state, 40, 10)[2].contains(" 41.7  95.0"));
    press(&mut state, KeyCode::Char('5'));
    assert!(screen(&mut state, 80, 24)[2].contains("0-10  %      1"));
}

fn uplinks() -> Group {
    Group::Configured("Uplinks".to_owned())
}

/// Every screen that keys lead to, and what it has to say.
fn screens() -> Vec<(Screen, &'static str)> {
    let port = (7, 3);
    vec![
        (Screen::Help, "Enter go in   Esc back     q leave"),
        (Screen::Pair(1, 2), "5 > 9"),
        (Screen::Pair(1, 7), "there is no link between them now"),
        (Screen::Group(Group::Switches), "inside       3"),
        (
            Screen::Ports(Group::Switches),
            "3 ports of SWs by utilization",
        ),
        (Screen::Ports(Group::Hfis), "0 ports of HFIs by utilization"),
        (Screen::Group(uplinks()), "group Uplinks"),
        (
            Screen::Ports(uplinks()),
            "2 ports of Uplinks by utilization",
        ),
        (
            Screen::Named(ScreenName::Settings),
            "Group                Uplinks",
        ),
        (Screen::Fabric("Default".to_owned()), "Default: 3 ports"),
        (
            Screen::FabricPort("Default".to_owned(), port),
            "Shared with: Admin",
        ),
        (Screen::Port(port), "integrity 40"),
        (
            Screen::Port((1, 1)),
            "waiting for the counters of this port",
        ),
        (Screen::Named(ScreenName::Links), "edge1:5 > core1:1"),
        (Screen::Named(ScreenName::Ports), "edge2:2"),
        (Screen::Named(ScreenName::Image), "Ports read"),
    ]
}

#[test]
fn no_line_of_any_screen_is_wider_than_the_terminal_or_cut() {
    for (screen, fact) in screens() {
        for width in [NARROWEST, 48, 56, 64, 72, 80, 132, 200] {
            let mut state = State::at(screen.clone());
            state.width = width;
            state.take(Ok(data()));
            let page = state.page();
            let mut lines = vec![page.title, page.head];
            lines.extend(page.rows.into_iter().map(|row| row.text));
            lines.extend(last(&state, 1_000));
            let all = lines.join("\n");
            assert!(all.contains(fact), "{screen:?} at {width}: {all}");
            for line in lines {
                let length = line.chars().count();
                assert!(
                    length <= width && !line.contains('…'),
                    "{screen:?} at {width}: {all}"
                );
            }
        }
    }
}

#[test]
fn parallel_links_are_shown_together_from_the_links() {
    let mut state = state(ScreenName::Links);
    assert_eq!(press(&mut state, KeyCode::Enter), Step::Read);
    assert_eq!(state.screen(), &Screen::Pair(1, 1));
    let mut state = State::at(Screen::Pair(1, 2));
    let mut data = data();
    for (at, (node, number, sent)) in [(1, 5, 40.0), (1, 6, 20.0), (2, 9, 10.0)]
        .into_iter()
        .enumerate()
    {
        data.ports[at] = port(["edge1", "edge1", "core1"][at], number, sent, 0);
        data.ports[at]
            .port
            .as_mut()
            .unwrap()
            .port
            .as_mut()
            .unwrap()
            .node_guid = node;
    }
    data.ports[2].totals.as_mut().unwrap().link_downed = Some(3);
    data.links.push(v1::Port {
        state: v1::PortState::Armed.into(),
        ..link((2, 10), (1, 6))
    });
    state.take(Ok(data));
    write(&mut state, "t");
    let lines = screen(&mut state, 80, 24);
    assert!(
        lines[0].starts_with("edge1 and core1: 2 links"),
        "{lines:#?}"
    );
    let words = |line: &str| {
        line.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        words(&lines[2])[..6],
        ["all", "30.0", "7.50", "GB", "5.0", "1.25"]
    );
    assert_eq!(
        words(&lines[3])[..5],
        ["5", ">", "9", "40.0", "5.00"],
        "{lines:#?}"
    );
    assert!(lines[3].contains("      3 active"), "{lines:#?}");
    assert!(lines[4].contains("      0 armed"), "{lines:#?}");
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Enter);
    assert_eq!(state.screen(), &Screen::Port((1, 5)));
}

#[test]
fn a_group_limits_the_ports_and_the_lowest_can_come_first() {
    let mut state = state(ScreenName::Summary);
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Enter);
    assert_eq!(state.screen(), &Screen::Group(Group::Hfis));
    press(&mut state, KeyCode::Esc);
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Enter);
    press(&mut state, KeyCode::Enter);
    let lines = screen(&mut state, 80, 24);
    assert!(
        lines[0].starts_with("3 ports of SWs by utilization;"),
        "{lines:#?}"
    );
    assert!(lines[2].starts_with("edge2:2"), "{lines:#?}");
    write(&mut state, "v");
    let lines = screen(&mut state, 80, 24);
    assert!(
        lines[0].starts_with("3 ports of SWs by utilization, lowest;"),
        "{lines:#?}"
    );
    assert!(lines[2].starts_with("edge3:3"), "{lines:#?}");
}

#[test]
fn a_group_of_the_configuration_has_its_ports_and_no_others() {
    let mut state = state(ScreenName::Summary);
    write(&mut state, "/uplinks");
    press(&mut state, KeyCode::Enter);
    assert_eq!(press(&mut state, KeyCode::Enter), Step::Read);
    assert_eq!(state.screen(), &Screen::Group(uplinks()));
    // Neighbours are not in it: everything goes out or in.
    let lines = screen(&mut state, 80, 24);
    assert!(lines[2].starts_with("out          2  60.0"), "{lines:#?}");
    press(&mut state, KeyCode::Enter);
    let lines = screen(&mut state, 80, 24);
    assert!(
        lines[2].starts_with("edge2:2") && lines[3].starts_with("edge1:1"),
        "{lines:#?}"
    );
    assert_eq!(lines[4].trim(), "", "{lines:#?}");
    // It has gone with a reload.
    let mut later = data();
    later.groups.clear();
    state.take(Ok(later));
    let lines = screen(&mut state, 80, 24);
    assert!(lines[0].starts_with("0 ports of Uplinks"), "{lines:#?}");
}

#[test]
fn a_virtual_fabric_leads_to_its_ports_and_their_counters() {
    let mut state = state(ScreenName::Fabrics);
    press(&mut state, KeyCode::Enter);
    let lines = screen(&mut state, 80, 24);
    assert!(lines[0].starts_with("Default: 3 ports;"), "{lines:#?}");
    assert!(
        lines[2].starts_with("edge2:2") && lines[2].contains("11.9 GB"),
        "{lines:#?}"
    );
    write(&mut state, "/edge3");
    press(&mut state, KeyCode::Enter);
    assert_eq!(press(&mut state, KeyCode::Enter), Step::Read);
    let lines = screen(&mut state, 40, 24);
    assert!(lines[0].starts_with("Default at edge3:3"), "{lines:#?}");
    assert!(
        lines.iter().any(|line| line.starts_with("xmit_data ")),
        "{lines:#?}"
    );
    press(&mut state, KeyCode::Esc);
    assert_eq!(state.filter(), "edge3");
}
