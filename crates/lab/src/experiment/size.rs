//! Size limits of cases: memory needs are known before a case runs.

use weft_dataplane::traffic::mpi::{ExchangeOrder, Operation};

use super::scenario::{Case, Pairs, Traffic};
use super::values::Checked;

/// Most ranks of all hosts together, or of a file.
pub(super) const RANKS_MAX: u64 = 1 << 18;
/// Most ranks each of which has a list of all others.
const ALL_PAIRS_MAX: u64 = 1 << 12;
/// Most messages at once: each takes about a hundred bytes.
const MESSAGES_MAX: u64 = 1 << 20;

/// Checks that a case's messages, and those of its jobs, fit into memory.
pub(super) fn check(case: &Case) -> Checked<()> {
    let taking_part = case.hosts.map_or(u64::MAX, u64::from);
    let hosts = case.fabric.most_hosts().min(taking_part);
    let (most, of) = match case.traffic {
        Traffic::AllPairs { .. } => (ALL_PAIRS_MAX, " in mpi_nxnlatbw"),
        _ => (RANKS_MAX, ""),
    };
    let own = (&case.traffic, case.placement, case.ranks, &case.pairs);
    let beside = case.beside.iter();
    let beside = beside.map(|one| (&one.traffic, one.placement, one.ranks, &one.pairs));
    let (mut all_ranks, mut listed, mut all_messages) = (0, 0, 0);
    for (traffic, placement, ranks, pairs) in std::iter::once(own).chain(beside) {
        if matches!(traffic, Traffic::Stream { .. } | Traffic::Bisection { .. }) {
            continue;
        }
        let placed = placement.and_then(|placement| placement.hosts);
        let hosts = placed.map_or(hosts, |placed| hosts.min(u64::from(placed)));
        let ranks = hosts * u64::from(ranks);
        all_ranks += ranks;
        listed += if has_lists(traffic) { ranks } else { 0 };
        all_messages += messages(traffic, ranks, pairs);
    }
    let what = |of: &str| format!("ranks on {hosts} hosts, allowed{of}");
    allowed(all_ranks, most, &what(of))?;
    allowed(listed, ALL_PAIRS_MAX, &what(" with order=random"))?;
    let of = match case.traffic.has_pairs() {
        true => " in the windows of all pairs",
        false => "",
    };
    let what = format!("messages at once{of}, allowed");
    allowed(all_messages, MESSAGES_MAX, &what)
}

/// Whether each rank has a list of all others, in an order of its own.
fn has_lists(traffic: &Traffic) -> bool {
    let Traffic::AllToAll { order, .. } = traffic else {
        return false;
    };
    *order == ExchangeOrder::Random
}

fn allowed(count: u64, most: u64, what: &str) -> Checked<()> {
    match count <= most {
        true => Ok(()),
        false => Err(format!("{count} {what}: {most}")),
    }
}

/// Messages at once: those of windows or of steps that overlap, and all of a file.
fn messages(traffic: &Traffic, ranks: u64, pairs: &Pairs) -> u64 {
    let window = match traffic {
        Traffic::Bandwidth { window, .. } => *window,
        Traffic::Copies { load, .. } => load.at_once(),
        Traffic::AllToAll { overlap, .. } => {
            return ranks * u64::from(*overlap).min(ranks.saturating_sub(1));
        }
        Traffic::Collective { .. } => return ranks,
        Traffic::File { ranks, .. } => {
            let all = ranks.iter().flat_map(|rank| &rank.operations);
            return all
                .filter(|one| matches!(one, Operation::Send { .. }))
                .count() as u64;
        }
        _ => return 0,
    };
    let pairs = match pairs {
        Pairs::Halves => ranks / 2,
        Pairs::SharedUplink(count) => u64::from(*count),
        Pairs::List(list) => list.len() as u64,
    };
    pairs * u64::from(window) * u64::from(traffic.ways())
}
