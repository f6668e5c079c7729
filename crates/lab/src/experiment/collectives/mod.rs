//! Collectives made of messages: what each member sends, and waits for. Each is one file, with its name in scenarios, and
//! one line of [`standard`]; a program outside of this crate adds its own to a [`Registry`](super::Registry).

mod all_gather;
mod all_reduce;
mod alltoall;
mod barrier;
mod bcast;
mod gather;
mod incast;
mod member;
mod permutation;
mod reduce;
mod reduce_scatter;
mod ring;
mod scatter;
mod sequence;
mod tree;

use std::fmt;
use std::sync::Arc;

use weft_dataplane::traffic::mpi::RankSchedule;

pub(super) use all_gather::AllGather;
pub(super) use all_reduce::AllReduce;
pub(super) use alltoall::Alltoall;
pub(super) use barrier::Barrier;
pub(super) use bcast::Bcast;
pub(super) use gather::Gather;
pub use member::{Call, Member};
pub(super) use reduce::Reduce;
pub(super) use reduce_scatter::ReduceScatter;
pub(super) use scatter::Scatter;
pub use sequence::Sequence;

use super::traffic_file::{OPERATIONS_MAX, matched};
use super::values::{Checked, at_most};

/// Tags of collectives' messages begin here, each collective has its own.
pub(super) const TAGS: u32 = 1 << 31;

/// Something that ranks do together, made of messages.
pub trait Collective: Send + Sync {
    /// Its name in scenarios: one word.
    fn name(&self) -> &'static str;

    /// What one member does.
    fn act(&self, member: Member<'_>, call: Call, sequence: &mut Sequence);

    /// Most ranks that can take part.
    fn ranks_max(&self) -> u32 {
        u32::MAX
    }

    /// Raised when it does something else than before, so that outcomes that were kept are not taken for its own.
    fn version(&self) -> u32 {
        0
    }
}

/// A collective that traffic is made of. Two are the same if name, version and whether a program added them are.
#[derive(Clone)]
pub struct Chosen {
    pub(super) of: Arc<dyn Collective>,
    /// A program added it, perhaps in place of a standard one.
    own: bool,
}

impl Chosen {
    pub(super) fn own(of: impl Collective + 'static) -> Self {
        let of = Arc::new(of);
        Self { of, own: true }
    }

    fn identity(&self) -> (bool, &'static str, u32) {
        (self.own, self.of.name(), self.of.version())
    }
}

impl fmt::Debug for Chosen {
    /// By this outcomes that are kept are told apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (own, name, version) = self.identity();
        let own = if own { "own " } else { "" };
        write!(f, "{own}{name} {version}")
    }
}

impl PartialEq for Chosen {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

/// Those that scenarios can name.
pub(super) fn standard() -> Vec<Chosen> {
    let all: Vec<Arc<dyn Collective>> = vec![
        Arc::new(AllGather),
        Arc::new(AllReduce),
        Arc::new(Alltoall),
        Arc::new(Barrier),
        Arc::new(Bcast),
        Arc::new(Gather),
        Arc::new(incast::Incast),
        Arc::new(permutation::Permutation),
        Arc::new(Reduce),
        Arc::new(ReduceScatter),
        Arc::new(Scatter),
    ];
    let chosen = |of| Chosen { of, own: false };
    all.into_iter().map(chosen).collect()
}

/// What ranks 0 to `count` - 1 do that call a collective so many times, one after the other.
///
/// # Errors
/// Too many ranks or operations; messages without their other end, or operations of one rank that wait for each other.
/// Ranks that wait for one another are not found here.
pub(super) fn schedules(
    collective: &dyn Collective,
    count: u32,
    call: Call,
    times: u32,
) -> Checked<Vec<RankSchedule>> {
    let name = collective.name();
    let told = |what: String| format!("{name}: {what}");
    at_most(count as usize, collective.ranks_max() as usize, "ranks").map_err(told)?;
    if call.root >= count {
        let root = call.root;
        return Err(format!(
            "{name}: no rank {root}, allowed: root below {count}"
        ));
    }
    let members: Vec<u32> = (0..count).collect();
    let (mut all, mut operations) = (Vec::new(), 0);
    for place in 0..count {
        let mut sequence = Sequence::default();
        for time in 0..times {
            let member = Member::new(&members, place, TAGS + time);
            collective.act(member, call, &mut sequence);
            let so_far = operations + sequence.schedule.operations.len();
            at_most(so_far, OPERATIONS_MAX, "operations").map_err(told)?;
        }
        operations += sequence.schedule.operations.len();
        all.push(sequence.schedule);
    }
    matched(&all).map_err(told)?;
    match all.iter().position(|rank| rank.circle().is_some()) {
        Some(rank) => Err(format!(
            "{name}: an operation of rank {rank} waits for itself"
        )),
        None => Ok(all),
    }
}
