//! The dependencies of links in one lane, kept free of cycles while they grow.
//!
//! Links have an order in which each waits only for later ones; a new pair that fits the order
//! costs nothing, another one moves the links in between (Pearce and Kelly, *A Dynamic Topological
//! Sort Algorithm for Directed Acyclic Graphs*, 2006).

/// The waiting links of one lane.
#[derive(Debug, Clone)]
pub(crate) struct Waits {
    place: Vec<u32>,
    next: Vec<Vec<u32>>,
    before: Vec<Vec<u32>>,
    /// Pairs in the order in which they were added.
    added: Vec<(u32, u32)>,
    seen: Vec<bool>,
}

impl Waits {
    /// Without dependencies, for `links` links.
    pub(crate) fn new(links: usize) -> Self {
        Self {
            place: (0..links as u32).collect(),
            next: vec![Vec::new(); links],
            before: vec![Vec::new(); links],
            added: Vec::new(),
            seen: vec![false; links],
        }
    }

    /// The dependencies: a waiting link and the link that it waits for.
    pub(crate) fn pairs(&self) -> &[(u32, u32)] {
        &self.added
    }

    /// A point to come back to by [`Self::undo`].
    pub(crate) fn mark(&self) -> usize {
        self.added.len()
    }

    /// Removes all later additions.
    pub(crate) fn undo(&mut self, mark: usize) {
        for (link, next) in self.added.drain(mark..).rev() {
            self.next[link as usize].pop();
            self.before[next as usize].pop();
        }
    }

    /// Lets a link wait for another one, unless that closes a cycle; returns whether it did not.
    pub(crate) fn add(&mut self, link: u32, next: u32) -> bool {
        if self.next[link as usize].contains(&next) {
            return true;
        }
        if link == next || !self.make_room(link, next) {
            return false;
        }
        self.next[link as usize].push(next);
        self.before[next as usize].push(link);
        self.added.push((link, next));
        true
    }

    /// Moves links so that `next` comes after `link`; false when it leads back to it.
    fn make_room(&mut self, link: u32, next: u32) -> bool {
        let (low, high) = (self.place[next as usize], self.place[link as usize]);
        if high < low {
            return true;
        }
        let Some(after) = self.after(next, link) else {
            return false;
        };
        let ahead = self.ahead(link, low);
        let mut moved = ahead;
        moved.extend(after);
        let mut places: Vec<u32> = moved.iter().map(|at| self.place[*at as usize]).collect();
        places.sort_unstable();
        for (at, place) in moved.into_iter().zip(places) {
            self.place[at as usize] = place;
        }
        true
    }

    /// Successors of `start`, no later than `end`, by place; `None` if `end` is among them.
    fn after(&mut self, start: u32, end: u32) -> Option<Vec<u32>> {
        let last = self.place[end as usize];
        let mut found = vec![start];
        self.seen[start as usize] = true;
        let mut index = 0;
        let mut is_cycle = false;
        while index < found.len() && !is_cycle {
            for &to in &self.next[found[index] as usize] {
                is_cycle |= to == end;
                if self.place[to as usize] <= last && !self.seen[to as usize] {
                    self.seen[to as usize] = true;
                    found.push(to);
                }
            }
            index += 1;
        }
        self.by_place(&mut found);
        (!is_cycle).then_some(found)
    }

    /// Predecessors of `start`, no earlier than place `first`, by place.
    fn ahead(&mut self, start: u32, first: u32) -> Vec<u32> {
        let mut found = vec![start];
        self.seen[start as usize] = true;
        let mut index = 0;
        while index < found.len() {
            for &from in &self.before[found[index] as usize] {
                if self.place[from as usize] >= first && !self.seen[from as usize] {
                    self.seen[from as usize] = true;
                    found.push(from);
                }
            }
            index += 1;
        }
        self.by_place(&mut found);
        found
    }

    fn by_place(&mut self, found: &mut [u32]) {
        found.iter().for_each(|at| self.seen[*at as usize] = false);
        found.sort_unstable_by_key(|at| self.place[*at as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether `from` leads to `to`, by plain search.
    fn leads(pairs: &[(u32, u32)], from: u32, to: u32) -> bool {
        let mut found = vec![from];
        let mut index = 0;
        while index < found.len() {
            let at = found[index];
            let next = pairs.iter().filter(|pair| pair.0 == at).map(|pair| pair.1);
            let fresh: Vec<u32> = next.filter(|to| !found.contains(to)).collect();
            found.extend(fresh);
            index += 1;
        }
        found.contains(&to)
    }

    #[test]
    fn it_refuses_just_the_pairs_that_close_a_cycle() {
        let mut state = 7u64;
        let mut waits = Waits::new(12);
        let mut pairs = Vec::new();
        let mut refused = 0;
        for step in 0..400 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (a, b) = ((state >> 33) as u32 % 12, (state >> 45) as u32 % 12);
            let closes = leads(&pairs, b, a);
            assert_eq!(waits.add(a, b), !closes, "{pairs:?} {a} {b}");
            if closes {
                refused += 1;
            } else if !pairs.contains(&(a, b)) {
                pairs.push((a, b));
            }
            if step % 50 == 49 {
                let keep = waits.mark() / 2;
                waits.undo(keep);
                pairs.truncate(keep);
            }
        }
        assert!(refused > 20, "{refused}");
    }
}
