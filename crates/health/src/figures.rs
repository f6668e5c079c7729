//! The key figures and their thresholds.

use std::collections::BTreeSet;

use weft_fabric::enums::{PortState, SmState};
use weft_fabric::text::{count, count_and};

use crate::findings::is_slow;
use crate::memory::{LinkKey, link_key, mbps};
use crate::moment::Moment;
use crate::page::{Color, Figure, FigureName, Finding, Kind};

/// Seconds that a sweep may be late.
const LATE: u64 = 60;

/// All figures that can be told at a moment.
pub(crate) fn figures(moment: &Moment<'_>, findings: &[Finding]) -> Vec<Figure> {
    let mut figures = vec![attachment(moment)];
    if moment.role != SmState::MASTER || moment.last_sweep.is_none() {
        figures.push(remembered(moment));
        figures.push(sweeps(moment));
        return figures;
    }
    figures.extend([
        endpoints(moment),
        topology(moment, findings),
        redundancy(moment),
        stability(moment),
        bandwidth(moment),
        management(moment),
        sweeps(moment),
    ]);
    figures
}

/// Red from one limit on, else yellow from another on.
fn judged(value: f64, yellow: f64, red: f64) -> Color {
    match value {
        value if value >= red => Color::Red,
        value if value >= yellow => Color::Yellow,
        _ => Color::Green,
    }
}

fn attachment(moment: &Moment<'_>) -> Figure {
    let (color, value) = match (moment.attachment.attached, moment.role) {
        (false, _) => (
            Color::Red,
            "the fabric cannot be reached: its HFI, driver or emulator is gone".to_owned(),
        ),
        (true, SmState::MASTER) => (Color::Green, "attached, this manager is master".to_owned()),
        (true, role) => (
            Color::Green,
            format!("attached; this manager is {role}: ask the master"),
        ),
    };
    let (color, value) = match moment.mandate_unknown {
        Some(why) if moment.attachment.attached => (
            Color::Yellow,
            format!("{value}; etcd is out of reach: {why}"),
        ),
        _ => (color, value),
    };
    Figure {
        name: FigureName::Attachment,
        color,
        value,
        rule: "red while the fabric cannot be reached; yellow while etcd cannot",
    }
}

/// What a manager remembers that does not watch the fabric.
fn remembered(moment: &Moment<'_>) -> Figure {
    let (nodes, links) = (moment.memory.nodes(), moment.memory.links().count());
    let value = match moment.memory.looked() {
        0 => "nothing of it is known here".to_owned(),
        looked => format!(
            "{} and {} are remembered; this manager last swept {} s ago",
            count(nodes, "node"),
            count(links, "link"),
            moment.now.saturating_sub(looked)
        ),
    };
    Figure {
        name: FigureName::Topology,
        color: Color::Green,
        value,
        rule: "only the master watches the fabric",
    }
}

fn endpoints(moment: &Moment<'_>) -> Figure {
    let topology = &moment.snapshot.topology;
    let is_up = |node: &weft_fabric::Node| {
        let mut ports = node.external_ports();
        ports.any(|(_, port)| port.peer.is_some() && port.info.port_state == PortState::ACTIVE)
    };
    let up = topology.hfis().filter(|(_, node)| is_up(node)).count();
    let gone = moment.memory.gone_nodes();
    let gone = gone.filter(|(_, known)| !known.is_switch).count();
    let known = topology.hfis().count() + gone;
    let missing = known.saturating_sub(up);
    let many = (known as f64 * 0.05).max(4.0);
    let color = judged(missing as f64, 1.0, many);
    Figure {
        name: FigureName::Endpoints,
        color,
        value: format!("{up} of {known} HFIs are up"),
        rule: "yellow: one is not up; red: 5 % are not, and at least 4",
    }
}

/// Kinds of findings that make nodes or cables differ from what they should be.
const MISPLACED: [Kind; 6] = [
    Kind::MissingSwitch,
    Kind::MissingHost,
    Kind::MissingLink,
    Kind::Replaced,
    Kind::Moved,
    Kind::Unintended,
];

fn topology(moment: &Moment<'_>, findings: &[Finding]) -> Figure {
    let wrong = findings.iter();
    let wrong = wrong
        .filter(|finding| MISPLACED.contains(&finding.kind))
        .count();
    let by = match (moment.intended, moment.memory.gone_nodes().next()) {
        (Some(_), _) => "the topology file and what was there before",
        (None, _) => "what was there before",
    };
    let tree = || match moment.shape.clean_tiers {
        Some(tiers) => format!("; a clean tree of {}", count(tiers, "tier")),
        None => "; no clean tree".to_owned(),
    };
    let (color, value) = match wrong {
        0 => (Color::Green, format!("as {by}{}", tree())),
        wrong => {
            let differences = count(wrong, "difference");
            (Color::Yellow, format!("{differences} from {by}"))
        }
    };
    Figure {
        name: FigureName::Topology,
        color,
        value,
        rule: "yellow: a node or cable is missing, moved, or not as the topology file has it",
    }
}

fn redundancy(moment: &Moment<'_>) -> Figure {
    let (now, before) = (&moment.shape.now, &moment.shape.before);
    let undrained = moment.shape.undrained.least;
    let (color, value) = match (now.least, before.least) {
        (None, _) => (
            Color::Green,
            "no two switches with hosts, so nothing can be cut".to_owned(),
        ),
        (Some(least), before) => {
            let usual = before.unwrap_or(least);
            let color = match (least, usual) {
                (least, usual) if least >= usual => Color::Green,
                (0 | 1, _) => Color::Red,
                _ if undrained.is_none_or(|least| least >= usual) => Color::Green,
                _ => Color::Yellow,
            };
            let links = count(least, "link");
            let usual = match least < usual {
                true => format!(" ({usual} before)"),
                false => String::new(),
            };
            let at = now.weakest.first().filter(|_| !usual.is_empty());
            let at = at.and_then(|guid| {
                let topology = &moment.snapshot.topology;
                Some(topology.node(topology.find(*guid)?)?.name())
            });
            let at = at.map_or_else(String::new, |name| format!(", at {name}"));
            let idle = moment.shape.idle.words();
            let value = format!("{links} until a switch with hosts is cut off{usual}{at}{idle}");
            (color, value)
        }
    };
    Figure {
        name: FigureName::Redundancy,
        color,
        value,
        rule: "yellow: fewer than before, not only by drains; red: the next loss cuts, which was not so before",
    }
}

fn stability(moment: &Moment<'_>) -> Figure {
    let (hour, day) = (moment.losses.last_hour(), moment.losses.last_day());
    let links = moment.snapshot.topology.links().count().max(1);
    let color = match hour {
        0 => Color::Green,
        hour => judged(hour as f64, 1.0, (links as f64 / 100.0).max(10.0)),
    };
    Figure {
        name: FigureName::Stability,
        color,
        value: format!(
            "{} lost in the last hour, {day} in the last day",
            count(hour, "link")
        ),
        rule: "yellow: one in the last hour; red: 10 and 1 % of all links",
    }
}

fn bandwidth(moment: &Moment<'_>) -> Figure {
    let topology = &*moment.snapshot.topology;
    let is_switch = |guid| {
        let node = topology.find(guid).and_then(|id| topology.node(id));
        let known = moment.memory.node(guid).map(|known| known.is_switch);
        node.map(weft_fabric::Node::is_switch).or(known) == Some(true)
    };
    let between = |key: LinkKey| is_switch(key.0.0) && is_switch(key.1.0);
    let (mut whole, mut now, mut drained) = (0_u64, 0_u64, 0_u64);
    let mut used = BTreeSet::new();
    let mut slow = 0;
    for (a, b) in topology.links() {
        let Some(key) = link_key(topology, a, b).filter(|key| between(*key)) else {
            continue;
        };
        used.extend([key.0, key.1]);
        let rate = u64::from(mbps(topology, a).min(mbps(topology, b)));
        let known = moment.memory.link(key).map_or(0, |link| link.mbps.into());
        let idle = &moment.shape.idle;
        match (idle.is_drained(&key), idle.has(&key)) {
            (true, _) => drained += rate,
            (false, true) => {}
            (false, false) => {
                now += rate;
                slow += u32::from(is_slow(topology, (a, b)));
            }
        }
        whole += rate.max(known);
    }
    for (key, link) in moment.memory.gone_links() {
        let moved = used.contains(&key.0) || used.contains(&key.1);
        if between(key) && !moved {
            whole += u64::from(link.mbps);
        }
    }
    let share = |missing: u64| match whole {
        0 => 0.0,
        whole => missing as f64 / whole as f64,
    };
    let idle = moment.shape.idle.words();
    let missing = whole - now;
    let waits = moment.image.and_then(|image| waits(image));
    let color =
        judged(share(missing - drained), 0.01, 0.1).max(judged(waits.unwrap_or(0.0), 0.1, 0.3));
    let waits = waits.map_or_else(
        || "congestion is not measured".to_owned(),
        |waits| format!("{:.1} % of the time data waits", waits * 100.0),
    );
    let slow = match slow {
        0 => String::new(),
        slow => format!(", {} slow", count_and(slow, "link", ["is", "are"])),
    };
    Figure {
        name: FigureName::Bandwidth,
        color,
        value: format!(
            "{:.1} % of the bandwidth between switches is there{idle}{slow}; {waits}",
            (1.0 - share(missing)) * 100.0
        ),
        rule: "yellow: 1 % is missing, not counting drains, or data waits 10 % of the time; red: 10 %, 30 %",
    }
}

/// Share of the time in which ports had data to send and no credits, over all links between switches and to hosts.
fn waits(image: &weft_manager::pm::Image) -> Option<f64> {
    if image.span_ns == 0 {
        return None;
    }
    let (mut sum, mut ports) = (0.0, 0_u32);
    for link in image.links() {
        for sending in link.sending {
            sum += sending.wait;
            ports += 1;
        }
    }
    (ports > 0).then(|| sum / f64::from(ports))
}

fn management(moment: &Moment<'_>) -> Figure {
    let requests = &moment.requests;
    let trip = requests.round_trip_ns.map(|ns| ns as f64 / 1e6);
    let retries = match requests.sent {
        0 => 0.0,
        sent => requests.retries as f64 / sent as f64,
    };
    let silent = moment.silent.len();
    let color = judged(trip.unwrap_or(0.0), 50.0, 500.0)
        .max(judged(retries, 0.02, 0.2))
        .max(judged(silent as f64, 1.0, 10.0));
    let trip = trip.map_or_else(String::new, |ms| format!("answers after {ms:.1} ms, "));
    let silent = match silent {
        0 => "no device is silent".to_owned(),
        silent => format!("{} silent", count_and(silent, "device", ["is", "are"])),
    };
    Figure {
        name: FigureName::Management,
        color,
        value: format!(
            "{trip}{} of {} requests sent again in the last hour, {silent}",
            requests.retries, requests.sent
        ),
        rule: "yellow: 50 ms, 2 % sent again, or a silent device; red: 500 ms, 20 %, 10 devices",
    }
}

fn sweeps(moment: &Moment<'_>) -> Figure {
    let interval = moment.sweep_interval;
    let (color, value) = match (moment.last_sweep, moment.paused_until) {
        (None, _) if moment.role == SmState::MASTER => {
            (Color::Yellow, "no sweep has ended yet".to_owned())
        }
        (None, _) => (Color::Green, "none by this manager".to_owned()),
        (Some(sweep), paused) => {
            let age = moment.now.saturating_sub(sweep.ended);
            let unfinished = sweep.unfinished.len();
            let late = |times: u64| interval > 0 && age > times * interval + LATE;
            let color = match () {
                () if paused.is_some() || unfinished > 0 => Color::Yellow,
                () if moment.role != SmState::MASTER => Color::Green,
                () if late(5) => Color::Red,
                () if late(2) => Color::Yellow,
                () => Color::Green,
            };
            let ms = sweep.elapsed_ns as f64 / 1e6;
            let unfinished = match sweep.unfinished.first() {
                None => "nothing unfinished".to_owned(),
                Some(first) => format!("{unfinished} things unfinished: {first}"),
            };
            let paused = match paused {
                Some(_) => "; sweeps are paused",
                None => "",
            };
            let value = format!("the last one {age} s ago took {ms:.0} ms, {unfinished}{paused}");
            (color, value)
        }
    };
    Figure {
        name: FigureName::Sweeps,
        color,
        value,
        rule: "yellow: something unfinished, paused, or later than two intervals; red: five",
    }
}
