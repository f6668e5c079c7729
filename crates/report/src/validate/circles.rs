//! Circles among dependencies.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weft_fabric::PortRef;

/// A direction of a link, by the port that sends, with the channel of packets on it.
pub(super) type Channel = (PortRef, u8);

/// Channels that wait for each other: each for the next, the last for the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Circle(pub(super) Vec<Channel>);

type Next = BTreeMap<Channel, BTreeSet<Channel>>;

/// A shortest circle through each channel that is in one, but for channels that an earlier circle has; empty if there is
/// none.
pub(super) fn circles(next: &Next) -> Vec<Circle> {
    let cyclic = cyclic(next);
    let mut done: BTreeSet<Channel> = BTreeSet::new();
    let mut circles = Vec::new();
    for channel in &cyclic {
        if done.contains(channel) {
            continue;
        }
        if let Some(circle) = shortest(next, &cyclic, *channel) {
            done.extend(&circle.0);
            circles.push(circle);
        }
    }
    circles
}

/// What is left when channels that wait for none, or that none waits for, are taken away again and again.
fn cyclic(next: &Next) -> BTreeSet<Channel> {
    let mut before: Next = BTreeMap::new();
    for (channel, others) in next {
        for other in others {
            before.entry(*other).or_default().insert(*channel);
        }
    }
    let all = next.keys().chain(before.keys()).copied();
    let left: BTreeSet<Channel> = all.collect();
    let left = peeled(left, next, &before);
    peeled(left, &before, next)
}

/// Takes away what has nothing after it.
fn peeled(mut left: BTreeSet<Channel>, after: &Next, before: &Next) -> BTreeSet<Channel> {
    let count = |channel: &Channel| {
        let others = after.get(channel).into_iter().flatten();
        others.filter(|other| left.contains(other)).count()
    };
    let mut counts: BTreeMap<Channel, usize> = left.iter().map(|one| (*one, count(one))).collect();
    let mut ends: Vec<Channel> = counts
        .iter()
        .filter(|(_, count)| **count == 0)
        .map(|(one, _)| *one)
        .collect();
    while let Some(end) = ends.pop() {
        left.remove(&end);
        for other in before
            .get(&end)
            .into_iter()
            .flatten()
            .filter(|other| left.contains(other))
        {
            if let Some(count) = counts.get_mut(other) {
                *count -= 1;
                if *count == 0 {
                    ends.push(*other);
                }
            }
        }
    }
    left
}

/// A shortest way from a channel back to it.
fn shortest(next: &Next, within: &BTreeSet<Channel>, start: Channel) -> Option<Circle> {
    let mut from: BTreeMap<Channel, Channel> = BTreeMap::new();
    let mut queue = VecDeque::from([start]);
    while let Some(channel) = queue.pop_front() {
        let others = next.get(&channel).into_iter().flatten();
        for other in others.filter(|other| within.contains(other)) {
            if *other == start {
                return Some(back(&from, start, channel));
            }
            from.entry(*other).or_insert_with(|| {
                queue.push_back(*other);
                channel
            });
        }
    }
    None
}

fn back(from: &BTreeMap<Channel, Channel>, start: Channel, last: Channel) -> Circle {
    let mut circle = vec![last];
    let mut channel = last;
    while channel != start {
        match from.get(&channel) {
            Some(before) => channel = *before,
            None => break,
        }
        circle.push(channel);
    }
    circle.reverse();
    Circle(circle)
}

#[cfg(test)]
mod tests {
    use weft_fabric::{NodeId, PortNum, PortRef};

    use super::*;

    fn channel(number: u32) -> Channel {
        let at = PortRef {
            node: NodeId(number),
            port: PortNum(1),
        };
        (at, 0)
    }

    fn found(pairs: &[(u32, u32)]) -> Vec<Vec<u32>> {
        let mut next = Next::new();
        for (a, b) in pairs {
            next.entry(channel(*a)).or_default().insert(channel(*b));
        }
        let circles = circles(&next).into_iter();
        let numbers = circles.map(|Circle(all)| all.iter().map(|(at, _)| at.node.0).collect());
        numbers.collect()
    }

    #[test]
    fn circles_are_found_and_only_they() {
        assert!(found(&[(1, 2), (2, 3), (1, 3)]).is_empty());
        assert_eq!(
            found(&[(0, 1), (1, 2), (2, 3), (3, 1), (3, 9)]),
            [[1, 2, 3]]
        );
        // Two circles that share nothing, one with a detour, and a link between them.
        let two = [(1, 2), (2, 1), (2, 4), (4, 5), (5, 6), (6, 4), (4, 6)];
        assert_eq!(found(&two), [vec![1, 2], vec![4, 6], vec![5, 6, 4]]);
    }
}
