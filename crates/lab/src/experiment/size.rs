//! Size limits of cases: memory needs are known before a case runs.

use super::scenario::{Case, Pairs, Traffic};
use super::values::Checked;

/// Most ranks of all hosts together.
const RANKS_MAX: u64 = 1 << 18;
/// Most ranks each of which is in a pair with each other one.
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
    let own = (&case.traffic, case.ranks, &case.pairs);
    let beside = case.beside.iter();
    let beside = beside.map(|one| (&one.traffic, one.ranks, &one.pairs));
    let (mut all_ranks, mut all_messages) = (0, 0);
    for (traffic, ranks, pairs) in std::iter::once(own).chain(beside) {
        if matches!(traffic, Traffic::Stream { .. } | Traffic::Bisection { .. }) {
            continue;
        }
        let ranks = hosts * u64::from(ranks);
        all_ranks += ranks;
        all_messages += messages(traffic, ranks, pairs);
    }
    let what = format!("ranks on {hosts} hosts, allowed{of}");
    allowed(all_ranks, most, &what)?;
    let what = "messages at once in the windows of all pairs, allowed";
    allowed(all_messages, MESSAGES_MAX, what)
}

fn allowed(count: u64, most: u64, what: &str) -> Checked<()> {
    match count <= most {
        true => Ok(()),
        false => Err(format!("{count} {what}: {most}")),
    }
}

/// Messages of windows at once.
fn messages(traffic: &Traffic, ranks: u64, pairs: &Pairs) -> u64 {
    let window = match traffic {
        Traffic::Bandwidth { window, .. } => *window,
        Traffic::Copies { load, .. } => load.at_once(),
        _ => return 0,
    };
    let pairs = match pairs {
        Pairs::Halves => ranks / 2,
        Pairs::SharedUplink(count) => u64::from(*count),
        Pairs::List(list) => list.len() as u64,
    };
    pairs * u64::from(window) * u64::from(traffic.ways())
}
