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
use crate::top::table::tests::full;

fn screen(state: &State, width: u16, height: u16) -> Vec<String> {
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
    v1::PortCounters {
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
            port("edge1", 1, 25.0, 0),
            port("edge2", 2, 95.0, 0),
            port("edge3", 3, 5.0, 40),
        ],
        port: Some(port("edge3", 3, 5.0, 40)),
        fabrics: vec![v1::VirtualFabric {
            name: "Default".to_owned(),
            pkey: 0x8001,
            ..v1::VirtualFabric::default()
        }],
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
        (ScreenName::Summary, " 41.7  95.0"),
        (ScreenName::Summary, "integrity             1       40"),
        (ScreenName::Ports, "edge2:2          95.0    95.0  11.9 GB"),
        (ScreenName::Fabrics, "Default           0 0x8001"),
        (ScreenName::Histogram, "90-100 %      1"),
        (ScreenName::Image, "Ports read       3"),
    ];
    for (name, fact) in screens {
        for (width, height) in [(80, 24), (40, 10)] {
            let mut state = state(name);
            if name == ScreenName::Histogram {
                press(&mut state, KeyCode::End);
            }
            let lines = screen(&state, width, height);
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
    for _ in 0..4 {
        press(&mut state, KeyCode::Down);
    }
    assert_eq!(press(&mut state, KeyCode::Enter), Step::Read);
    let ports = screen(&state, 80, 24);
    assert!(ports[0].starts_with("3 ports by integrity"), "{ports:#?}");
    assert!(ports[2].starts_with("edge3:3"), "{ports:#?}");
    assert_eq!(press(&mut state, KeyCode::Enter), Step::Read);
    let lines = screen(&state, 40, 10);
    assert!(lines[1].starts_with("edge3:3 > core1:9"), "{lines:#?}");
    let lane = lines.iter().any(|line| line.starts_with("3     625 MB"));
    assert!(lane, "{lines:#?}");
    press(&mut state, KeyCode::Esc);
    press(&mut state, KeyCode::Esc);
    assert!(screen(&state, 80, 24)[0].starts_with("summary"));
}

#[test]
fn a_filter_leaves_its_lines_and_totals_replace_rates() {
    let mut state = state(ScreenName::Ports);
    write(&mut state, "/EDGE1");
    assert!(screen(&state, 80, 24)[23].starts_with("/EDGE1_"));
    press(&mut state, KeyCode::Enter);
    let lines = screen(&state, 80, 24);
    assert!(
        lines[2].contains("3.12 GB") || lines[2].contains("3.13 GB"),
        "{lines:#?}"
    );
    assert_eq!(lines[3].trim(), "", "{lines:#?}");
    write(&mut state, "t");
    assert!(screen(&state, 80, 24)[2].contains("8.00 kB"));
}

#[test]
fn a_frozen_screen_stays_and_trouble_is_told() {
    let mut state = state(ScreenName::Links);
    write(&mut state, " ");
    let mut later = data();
    later.loads.image = 8;
    state.take(Ok(later.clone()));
    assert!(screen(&state, 80, 24)[0].starts_with("Image 7 of"));
    write(&mut state, " ");
    state.take(Ok(later));
    assert!(screen(&state, 80, 24)[0].starts_with("Image 8 of"));
    state.take(Err("weftd is gone \u{1b}]0;own\u{7}".to_owned()));
    let lines = screen(&state, 80, 24);
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
        let lines = screen(&state, 80, 24);
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
    assert!(screen(&state, 80, 24)[22].starts_with("edge40:5"));
    press(&mut state, KeyCode::Char('?'));
    assert!(screen(&state, 80, 24)[0].starts_with("Keys"));
    press(&mut state, KeyCode::Esc);
    for key in "123456ugkwcimbxro".chars() {
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
    assert!(screen(&state, 40, 10)[2].contains(" 41.7  95.0"));
    press(&mut state, KeyCode::Char('5'));
    assert!(screen(&state, 80, 24)[2].contains("0-10  %      1"));
}
