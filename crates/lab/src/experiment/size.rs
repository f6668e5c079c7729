//! How large a case may be: what is in memory at once is known before it runs.

use super::scenario::{Case, Pairs, Traffic};
use super::values::Checked;

/// Most ranks of all hosts together.
const RANKS_MAX: u64 = 1 << 18;
/// Most ranks each of which is in a pair with each other one.
const ALL_PAIRS_MAX: u64 = 1 << 12;
/// Most messages at once: each takes about a hundred bytes.
const MESSAGES_MAX: u64 = 1 << 20;

/// Whether a case's messages fit into memory.
pub(super) fn check(case: &Case) -> Checked<()> {
    let taking_part = case.hosts.map_or(u64::MAX, u64::from);
    let hosts = case.fabric.most_hosts().min(taking_part);
    let ranks = hosts * u64::from(case.ranks);
    let at_most = |most: u64, what: &str| match ranks <= most {
        true => Ok(()),
        false => Err(format!(
            "{ranks} ranks on {hosts} hosts, allowed{what}: {most}"
        )),
    };
    match &case.traffic {
        Traffic::Stream { .. } | Traffic::Bisection { .. } => Ok(()),
        Traffic::AllPairs { .. } => at_most(ALL_PAIRS_MAX, " in mpi_nxnlatbw"),
        Traffic::Latency { .. } | Traffic::AllToAll { .. } => at_most(RANKS_MAX, ""),
        Traffic::Bandwidth {
            window, both_ways, ..
        } => {
            at_most(RANKS_MAX, "")?;
            let pairs = match &case.pairs {
                Pairs::Halves => ranks / 2,
                Pairs::SharedUplink(count) => u64::from(*count),
                Pairs::List(list) => list.len() as u64,
            };
            messages(pairs, u64::from(*window), *both_ways)
        }
    }
}

fn messages(pairs: u64, window: u64, both_ways: bool) -> Checked<()> {
    let messages = pairs * window * (1 + u64::from(both_ways));
    if messages <= MESSAGES_MAX {
        return Ok(());
    }
    let ways = if both_ways { " both ways" } else { "" };
    Err(format!(
        "{pairs} pairs with windows of {window} messages{ways} are {messages} messages at once, \
         allowed: {MESSAGES_MAX}"
    ))
}
