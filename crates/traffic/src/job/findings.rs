//! What is unusual, in order of what it costs.

use super::waits::causes;
use super::words::{next, what};
use super::{Finding, JobLink, Kind};

/// Seconds that a lost packet costs: after so long the sender's PSM2 sends it again (PSM2_ERRCHK_TIMEOUT).
const LOST_S: f64 = 0.16;
/// Seconds that a packet costs that the link itself repeats.
const REPEATED_S: f64 = 1e-6;
/// Seconds that a link costs that trains again.
const TRAINED_S: f64 = 0.1;
/// Errors count where there are so many times the usual ones.
const UNUSUAL: f64 = 2.0;
/// Share of the rate that both ends support below which a link is slow.
const SLOW: f64 = 0.99;
/// Findings that cost less than this share of the time are left out.
const COST_MIN: f64 = 1e-6;

/// What made a job slower that used these links for `span_s` seconds, the dearest first. `times` are the beginning and
/// the end, for the commands to run next.
pub fn findings(links: &[JobLink], span_s: f64, times: (&str, &str)) -> Vec<Finding> {
    let mut found = Vec::new();
    for (link, waiting) in causes(links) {
        found.push(waited(links, link, waiting, span_s));
    }
    for (link, seen) in links.iter().enumerate() {
        let of_link = [
            (Kind::Down, seen.down_s),
            (Kind::Errors, errors_cost(seen)),
            (Kind::Slow, slow_cost(seen) * span_s),
        ];
        let of_link = of_link.into_iter().filter(|(kind, cost)| match kind {
            Kind::Down => seen.downs > 0,
            // Both directions have one cable: it is told once, where more was carried.
            Kind::Slow => *cost > 0.0 && !is_quieter(links, link),
            _ => *cost > 0.0,
        });
        found.extend(of_link.map(|(kind, cost_s)| new(kind, link, Vec::new(), cost_s)));
    }
    once_for_a_loss(links, &mut found);
    found.retain(|one| one.kind == Kind::Down || one.cost_s >= COST_MIN * span_s);
    found.sort_by(|a, b| b.cost_s.total_cmp(&a.cost_s).then(a.link.cmp(&b.link)));
    for one in &mut found {
        one.what = what(links, one);
        one.next = next(&links[one.link], one.kind, times);
    }
    found
}

fn new(kind: Kind, link: usize, waiting: Vec<usize>, cost_s: f64) -> Finding {
    Finding {
        kind,
        link,
        waiting,
        cost_s,
        what: String::new(),
        next: String::new(),
    }
}

/// Of hosts that waited the sum; where none of the job's did, the switch port that waited longest.
fn waited(links: &[JobLink], link: usize, waiting: Vec<usize>, span_s: f64) -> Finding {
    let seen = &links[link];
    let kind = match (seen.is_full(), seen.to.is_host) {
        (true, _) => Kind::Full,
        (false, true) => Kind::SlowHost,
        (false, false) => Kind::Waits,
    };
    let waits = |places: &mut dyn Iterator<Item = &usize>, add: fn(f64, f64) -> f64| {
        places.fold(0.0, |sum, place| add(sum, links[*place].unusual_wait()))
    };
    let is_host = |place: &&usize| links[**place].from.is_host;
    let hosts = waits(&mut waiting.iter().filter(is_host), |a, b| a + b);
    let share = match hosts > 0.0 {
        true => hosts,
        false => waits(&mut waiting.iter(), f64::max),
    };
    let waiting = waiting
        .into_iter()
        .filter(|place| links[*place].from.is_host);
    new(kind, link, waiting.collect(), share * span_s)
}

fn errors_cost(link: &JobLink) -> f64 {
    let unusual = link.errors.iter();
    let unusual = unusual.filter(|errors| errors.count as f64 > UNUSUAL * errors.usual);
    let cost = |counter: &str| match counter {
        "local_link_integrity_errors" => REPEATED_S,
        "link_error_recovery" => TRAINED_S,
        // Counted by the time for which it was gone.
        "link_downed" => 0.0,
        _ => LOST_S,
    };
    unusual
        .map(|errors| (errors.count as f64 - errors.usual) * cost(errors.counter))
        .sum()
}

/// The share of the time that the link's data would have saved at the full rate.
fn slow_cost(link: &JobLink) -> f64 {
    let (Some(rate), Some(full)) = (link.capacity, link.full_capacity) else {
        return 0.0;
    };
    let used = link.now.map_or(0.0, |figures| figures.used);
    match rate < full * SLOW {
        true => (1.0 - rate / full) * used,
        false => 0.0,
    }
}

/// Whether the other direction of the link carried more.
fn is_quieter(links: &[JobLink], link: usize) -> bool {
    let seen = &links[link];
    let back = links
        .iter()
        .position(|other| other.from == seen.to && other.to == seen.from);
    back.is_some_and(|back| {
        let (own, other) = (slow_cost(seen), slow_cost(&links[back]));
        other > own || (other == own && back < link)
    })
}

/// A link is lost in both directions at once.
fn once_for_a_loss(links: &[JobLink], found: &mut Vec<Finding>) {
    let mut told: Vec<usize> = Vec::new();
    found.retain(|one| {
        let seen = &links[one.link];
        let is_back =
            |place: &usize| links[*place].from == seen.to && links[*place].to == seen.from;
        let is_again = one.kind == Kind::Down && told.iter().any(is_back);
        if one.kind == Kind::Down {
            told.push(one.link);
        }
        !is_again
    });
}

#[cfg(test)]
mod tests {
    use super::super::{End, Errors, Figures};
    use super::*;

    fn end(name: &str, port: u8) -> End {
        End {
            guid: name.bytes().fold(7, |sum, byte| sum * 31 + u64::from(byte)),
            port,
            name: name.to_owned(),
            is_host: name.starts_with("node"),
        }
    }

    fn link(from: (&str, u8), to: (&str, u8), used: f64, wait: f64) -> JobLink {
        JobLink {
            from: end(from.0, from.1),
            to: end(to.0, to.1),
            destinations: 1,
            capacity: Some(12.5e9),
            full_capacity: Some(12.5e9),
            now: Some(Figures { used, wait }),
            usual: Some(Figures {
                used: 0.1,
                wait: 0.0,
            }),
            ..JobLink::default()
        }
    }

    /// Two hosts at one edge switch send over one full link to a core switch; a third link is quiet.
    fn job() -> Vec<JobLink> {
        vec![
            link(("node1", 1), ("edge1", 1), 0.5, 0.5),
            link(("node2", 1), ("edge1", 2), 0.5, 0.4),
            link(("edge1", 5), ("core1", 1), 1.0, 0.0),
            link(("edge1", 6), ("core2", 1), 0.2, 0.0),
            link(("core1", 1), ("edge1", 5), 0.1, 0.0),
        ]
    }

    #[test]
    fn hosts_wait_for_the_full_link_and_nothing_else_is_accused() {
        let found = findings(&job(), 100.0, ("A", "B"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].kind, found[0].link), (Kind::Full, 2));
        assert_eq!(found[0].waiting, [0, 1]);
        assert!((found[0].cost_s - 90.0).abs() < 1e-6);
    }

    #[test]
    fn waits_are_followed_over_a_switch() {
        let links = [
            link(("node1", 1), ("edge1", 1), 0.3, 0.7),
            link(("edge1", 5), ("core1", 1), 0.3, 0.7),
            link(("core1", 2), ("edge2", 5), 0.3, 0.7),
            link(("edge2", 1), ("node9", 1), 0.3, 0.7),
        ];
        let found = findings(&links, 10.0, ("A", "B"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].kind, found[0].link), (Kind::SlowHost, 3));
        assert_eq!(found[0].waiting, [0]);
    }

    #[test]
    fn what_is_as_usual_is_not_told() {
        let mut links = job();
        for link in &mut links {
            link.usual = link.now;
        }
        assert_eq!(findings(&links, 100.0, ("A", "B")), []);
        links[3].errors = vec![Errors {
            counter: "rcv_errors",
            count: 100,
            usual: 90.0,
        }];
        assert_eq!(findings(&links, 100.0, ("A", "B")), []);
        links[3].errors[0].usual = 1.0;
        let found = findings(&links, 100.0, ("A", "B"));
        assert_eq!((found[0].kind, found[0].link), (Kind::Errors, 3));
    }

    #[test]
    fn the_dearest_comes_first() {
        let mut links = job();
        for place in [3, 4] {
            links[place].downs = 1;
            links[place].down_s = 95.0;
        }
        links.push(link(("core2", 1), ("edge1", 6), 0.0, 0.0));
        links[5].downs = 1;
        links[5].down_s = 95.0;
        links[2].capacity = Some(6.25e9);
        let found = findings(&links, 100.0, ("A", "B"));
        let kinds: Vec<(Kind, usize)> = found.iter().map(|one| (one.kind, one.link)).collect();
        assert_eq!(
            kinds,
            [
                (Kind::Down, 3),
                (Kind::Down, 4),
                (Kind::Full, 2),
                (Kind::Slow, 2)
            ]
        );
    }
}
