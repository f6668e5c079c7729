//! How large a case may be: what is in memory at once is known before it runs.

use weft_fabric::FabricSpec;
use weft_fabric::generate::{Chassis, HOSTS_MAX};

use super::scenario::{Case, Pairs, Traffic};
use super::values::Checked;

/// Most ranks of all hosts together.
const RANKS_MAX: u64 = 1 << 18;
/// Most ranks each of which is in a pair with each other one.
const ALL_PAIRS_MAX: u64 = 1 << 12;
/// Most messages at once: a few hundred bytes each.
const MESSAGES_MAX: u64 = 1 << 20;

/// Whether a case's messages fit into memory.
pub(super) fn check(case: &Case) -> Checked<()> {
    let hosts = most_hosts(&case.fabric).min(case.hosts.map_or(u64::MAX, u64::from));
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

/// At least as many hosts as a fabric has.
fn most_hosts(fabric: &FabricSpec) -> u64 {
    let product =
        |values: &[u32]| (values.iter()).fold(1, |all: u64, one| all.saturating_mul((*one).into()));
    let hosts = match fabric {
        FabricSpec::OneSwitch(spec) => spec.hosts,
        FabricSpec::BackToBack => 2,
        FabricSpec::FatTree(spec) => spec.hosts,
        FabricSpec::Pgft(spec) => spec.hosts.unwrap_or_else(|| product(&spec.children)),
        FabricSpec::Grid(spec) => product(&spec.dimensions).saturating_mul(spec.hosts.into()),
        FabricSpec::Director(spec) => u64::from(spec.hosts) * leaf_chips(spec.chassis),
        FabricSpec::File(_) => HOSTS_MAX,
    };
    // A larger one cannot be made.
    hosts.min(HOSTS_MAX)
}

fn leaf_chips(chassis: Chassis) -> u64 {
    match chassis {
        Chassis::Swd06 => 12,
        Chassis::Swd24 => 48,
    }
}
