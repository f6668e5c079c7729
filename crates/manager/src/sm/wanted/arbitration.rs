//! Low-priority VL arbitration: shares of bandwidth as turns of equal weight.
//!
//! A turn must carry the largest packet, 160 of the 254 units that a weight can have at an MTU of
//! 10,240, so weights alone cannot tell shares apart: a lane with a larger share has more turns. How
//! many, and in which order, is as in the vendor's manager (opa-fm, `sm_qos.c`:
//! `_set_weight_multiplier`, `_fill_low_rr`), but for shares that need more turns than the table
//! has. There it makes turns of 254 units stand for two of 160, which they do for some sizes of packets
//! only: of 8 KiB either carries two. Here all turns weigh the same, and their numbers are those that
//! come nearest to the shares.

use weft_fabric::Vl;
use weft_wire::sm::VlArbElement;

/// Heaviest turn; the hardware takes 255 for "without limit".
pub(super) const WEIGHT_MAX: u8 = 254;
/// Shares are rounded to multiples of this, percent.
const STEP: u8 = 5;
/// The quantum of the only lane of a table.
const WHOLE: u8 = 100;

/// A lane and its share of the bandwidth.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    pub(super) vl: Vl,
    /// Percent, from 1.
    pub(super) percent: u8,
}

/// The turns that a lane has left in a table in the making.
#[derive(Debug, Clone, Copy)]
struct Lane {
    share: Share,
    turns: usize,
}

/// The table's entries for lanes in ascending order: at most `room` of them. `packet` is the weight
/// of the largest packet on any of the lanes.
pub(super) fn turns(shares: &[Share], packet: u8, room: usize) -> Vec<VlArbElement> {
    let mut counts = by_quantum(shares);
    if counts.iter().sum::<usize>() > room {
        counts = nearest(shares, room);
    }
    let lanes = shares.iter().zip(counts);
    let lanes = lanes.map(|(share, turns)| Lane {
        share: *share,
        turns,
    });
    let order = in_order(lanes.collect()).into_iter().take(room);
    order
        .map(|vl| VlArbElement { vl, weight: packet })
        .collect()
}

/// One turn for each quantum of a share.
fn by_quantum(shares: &[Share]) -> Vec<usize> {
    let quantum = usize::from(quantum(shares).max(1));
    let turns = |percent: usize| ((2 * percent + quantum) / (2 * quantum)).max(1);
    let percents = shares.iter().map(|share| usize::from(share.percent));
    percents.map(turns).collect()
}

/// The numbers of turns, at most `room` together, whose proportions are nearest to the shares; one
/// each where there is no room for more.
fn nearest(shares: &[Share], room: usize) -> Vec<usize> {
    let percents: Vec<usize> = shares
        .iter()
        .map(|share| usize::from(share.percent))
        .collect();
    let mut best = vec![1; percents.len()];
    for sum in percents.len() + 1..=room {
        let counts = dealt_out(&percents, sum);
        if error(&counts, &percents) * best.iter().sum::<usize>() < error(&best, &percents) * sum {
            best = counts;
        }
    }
    best
}

/// `sum` turns in proportion to the shares, at least one each.
fn dealt_out(percents: &[usize], sum: usize) -> Vec<usize> {
    let all: usize = percents.iter().sum();
    let mut counts = vec![1; percents.len()];
    for _ in percents.len()..sum {
        let lacks =
            |lane: &usize| (percents[*lane] * sum) as isize - (counts[*lane] * all) as isize;
        if let Some(lane) = (0..counts.len()).rev().max_by_key(lacks) {
            counts[lane] += 1;
        }
    }
    counts
}

/// Largest deviation of a lane from its share, times the sums of both.
fn error(counts: &[usize], percents: &[usize]) -> usize {
    let (sum, all) = (counts.iter().sum::<usize>(), percents.iter().sum::<usize>());
    let pairs = counts.iter().zip(percents);
    let errors = pairs.map(|(count, percent)| (count * all).abs_diff(percent * sum));
    errors.max().unwrap_or(0)
}

/// The part of the bandwidth that a turn stands for, percent: the smallest share where all others are
/// multiples of it, else 10 or 5.
fn quantum(shares: &[Share]) -> u8 {
    if shares.len() < 2 {
        return WHOLE;
    }
    let rounded = || shares.iter().map(|share| to_step(share.percent));
    let smallest = rounded().min().unwrap_or(WHOLE);
    let fits = rounded().all(|share| share % smallest == 0);
    let in_tens = rounded().all(|share| share % 10 == 0);
    match (fits, in_tens) {
        (true, _) => smallest,
        (false, true) => 10,
        (false, false) => STEP,
    }
}

/// The nearest multiple of [`STEP`], but not 0.
fn to_step(percent: u8) -> u8 {
    ((percent + STEP / 2) / STEP * STEP).max(STEP)
}

/// All turns: those of the lanes with the largest share, and between them those of the others in
/// turn, spread so that both end together.
fn in_order(lanes: Vec<Lane>) -> Vec<Vl> {
    let most = lanes.iter().map(|lane| lane.share.percent).max();
    let (mut large, small): (Vec<Lane>, Vec<Lane>) = lanes
        .into_iter()
        .partition(|lane| Some(lane.share.percent) == most);
    let mut small = Others {
        lanes: small,
        at: 0,
    };
    let mut order = Vec::new();
    while !large.is_empty() {
        let mut between = 0;
        for at in 0..large.len() {
            if between == 0 {
                between = turns_between(&large, at, count(&small.lanes));
            }
            large[at].turns -= 1;
            order.push(large[at].share.vl);
        }
        large.retain(|lane| lane.turns > 0);
        order.extend(small.by_ref().take(between));
    }
    order.extend(small);
    order
}

/// Number of turns of other lanes between two of the lane at `at`, while `others` are left.
fn turns_between(large: &[Lane], at: usize, others: usize) -> usize {
    let own = large[at].turns;
    let open = large.iter().filter(|lane| lane.turns > 0).count();
    (count(large) + others).saturating_sub(open * own) / own
}

fn count(lanes: &[Lane]) -> usize {
    lanes.iter().map(|lane| lane.turns).sum()
}

/// Lanes that take turns until none has any left.
struct Others {
    lanes: Vec<Lane>,
    at: usize,
}

impl Iterator for Others {
    type Item = Vl;

    fn next(&mut self) -> Option<Vl> {
        let lane = self.lanes.get_mut(self.at)?;
        let vl = lane.share.vl;
        lane.turns -= 1;
        if lane.turns == 0 {
            self.lanes.remove(self.at);
        } else {
            self.at += 1;
        }
        if self.at >= self.lanes.len() {
            self.at = 0;
        }
        Some(vl)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lanes of a table's turns, which weigh 160 each.
    fn order(percents: &[u8], room: usize) -> String {
        let shares = (0..).zip(percents);
        let shares: Vec<Share> = shares
            .map(|(vl, percent)| Share {
                vl: Vl(vl),
                percent: *percent,
            })
            .collect();
        let turns = turns(&shares, 160, room);
        assert!(turns.iter().all(|turn| turn.weight == 160));
        turns.iter().map(|turn| turn.vl.0.to_string()).collect()
    }

    /// Distribution as by `_fill_low_rr`.
    #[test]
    fn shares_become_turns() {
        for (percents, expected) in [
            (&[][..], ""),
            (&[100], "0"),
            (&[25, 25, 50], "2021"),
            (&[50, 20, 30], "0102010202"),
            (&[30, 70], "1111101010"),
            (&[40, 60], "1110101010"),
        ] {
            assert_eq!(order(percents, 16), expected, "{percents:?}");
        }
    }

    /// Sixteen turns cannot be 5 % each: the nearest that they can be.
    #[test]
    fn shares_that_need_more_turns_get_the_nearest() {
        for (percents, room, expected) in [
            (&[50, 15, 35][..], 16, "01020102020202"),
            (&[33, 67], 16, "110"),
            (&[85, 5, 5, 5], 16, "0000000000010203"),
            (&[93, 1, 1, 1, 1, 1, 1, 1], 16, "0001020304050607"),
            (&[20, 30, 50], 4, "2021"),
            (&[20, 30, 50], 3, "201"),
            (&[20, 30, 50], 2, "20"),
            (&[95, 5], 32, "00000000000000000001"),
        ] {
            assert_eq!(order(percents, room), expected, "{percents:?}");
        }
    }

    /// Two to four levels of whole 5 % are within 3 points, except for 85 % with three of 5 %.
    #[test]
    fn no_share_is_far_off() {
        let fives = || (5_u8..=95).step_by(5);
        let pairs = fives().flat_map(|a| fives().map(move |b| (a, b)));
        let triples = pairs.flat_map(|(a, b)| (0_u8..=95).step_by(5).map(move |c| [a, b, c]));
        for [a, b, c] in triples {
            let rest = 100 - i32::from(a) - i32::from(b) - i32::from(c);
            let mut shares = vec![a, b, c, rest.max(0) as u8];
            shares.retain(|share| *share > 0);
            if rest < 0 || shares.contains(&85) && shares.len() == 4 {
                continue;
            }
            let order = order(&shares, 16);
            for (vl, share) in (0..).zip(&shares) {
                let lane = char::from_digit(vl, 10);
                let turns = order.chars().filter(|turn| Some(*turn) == lane).count();
                let part = 100.0 * turns as f64 / order.len() as f64;
                let off = (part - f64::from(*share)).abs();
                assert!(off < 3.0, "{shares:?}: {order}");
            }
        }
    }
}
