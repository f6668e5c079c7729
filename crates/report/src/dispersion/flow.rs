//! Max-flow of unit capacities between two switches, over paths of fewest hops.

use super::view::View;

/// Not reached.
const FAR: u32 = u32::MAX;

/// Scratch memory, and the distances to the last destination.
#[derive(Debug)]
pub(super) struct Flow<'a> {
    view: &'a View,
    target: u32,
    /// Hops from each switch to the destination.
    distance: Vec<u32>,
    queue: Vec<u32>,
    /// By link, whether a path takes it.
    used: Vec<bool>,
    /// By switch, the number of paths through it.
    passing: Vec<u32>,
    touched: Vec<u32>,
    /// By vertex (two for each switch, for its ingress and its egress), the round in
    /// which it was last reached, and the step that reached it.
    seen: Vec<u32>,
    step: Vec<Step>,
    round: u32,
    stack: Vec<u32>,
}

/// A step of a search between two vertices.
#[derive(Debug, Clone, Copy)]
enum Step {
    Start,
    /// Along a link.
    Along(u32),
    /// Back over a link that a path takes, which then does not.
    Back(u32),
    /// Through a switch, from where paths come in.
    Through,
    /// Back through a switch that a path passes, which then does not.
    Undo,
}

impl<'a> Flow<'a> {
    pub(super) fn new(view: &'a View) -> Self {
        Self {
            view,
            target: FAR,
            distance: vec![FAR; view.len()],
            queue: Vec::new(),
            used: vec![false; view.links.len()],
            passing: vec![0; view.len()],
            touched: Vec::new(),
            seen: vec![0; view.len() * 2],
            step: vec![Step::Start; view.len() * 2],
            round: 0,
            stack: Vec::new(),
        }
    }

    /// The most paths from one switch to another of which no two share a link, or where `apart`
    /// is set no two share a link or a switch in between; no more than `limit`.
    pub(super) fn most(&mut self, from: u32, to: u32, apart: bool, limit: u32) -> u32 {
        self.aim(to);
        if from == to || self.distance[from as usize] == FAR {
            return 0;
        }
        let mut paths = 0;
        while paths < limit && self.augment(from, apart) {
            paths += 1;
        }
        for link in self.touched.drain(..) {
            self.used[link as usize] = false;
            self.passing[self.view.links[link as usize].to as usize] = 0;
        }
        paths
    }

    /// Finds the distance of every switch from a destination.
    fn aim(&mut self, to: u32) {
        if self.target == to {
            return;
        }
        self.target = to;
        self.distance.fill(FAR);
        self.distance[to as usize] = 0;
        self.queue.clear();
        self.queue.push(to);
        let mut next = 0;
        while let Some(&at) = self.queue.get(next) {
            next += 1;
            for link in self.view.links_of(at) {
                // Cables have both directions.
                let far = self.view.links[link as usize].to;
                if self.distance[far as usize] == FAR {
                    self.distance[far as usize] = self.distance[at as usize] + 1;
                    self.queue.push(far);
                }
            }
        }
    }

    /// Adds a path, turning others where that makes room.
    fn augment(&mut self, from: u32, apart: bool) -> bool {
        self.round += 1;
        self.stack.clear();
        self.visit(from * 2 + 1, Step::Start);
        while let Some(place) = self.stack.pop() {
            let switch = place / 2;
            if switch == self.target {
                self.turn(place);
                return true;
            }
            match place % 2 {
                0 => self.arrive(switch, apart),
                _ => self.leave(switch),
            }
        }
        false
    }

    fn visit(&mut self, place: u32, step: Step) {
        let seen = &mut self.seen[place as usize];
        if *seen != self.round {
            *seen = self.round;
            self.step[place as usize] = step;
            self.stack.push(place);
        }
    }

    /// Continues from the ingress vertex of a switch.
    fn arrive(&mut self, switch: u32, apart: bool) {
        if self.passing[switch as usize] > 0 {
            for link in self.view.links_of(switch) {
                let into = self.view.links[link as usize].back;
                if self.used.get(into as usize) == Some(&true) {
                    let before = self.view.links[into as usize].from;
                    self.visit(before * 2 + 1, Step::Back(into));
                }
            }
        }
        if !apart || self.passing[switch as usize] == 0 {
            self.visit(switch * 2 + 1, Step::Through);
        }
    }

    /// Continues from the egress vertex of a switch.
    fn leave(&mut self, switch: u32) {
        if self.passing[switch as usize] > 0 {
            self.visit(switch * 2, Step::Undo);
        }
        for link in self.view.links_of(switch) {
            let to = self.view.links[link as usize].to;
            let nearer = self.distance[to as usize].checked_add(1);
            if nearer == Some(self.distance[switch as usize]) && !self.used[link as usize] {
                self.visit(to * 2, Step::Along(link));
            }
        }
    }

    /// Applies the augmenting path that the search has found, from its end backwards.
    fn turn(&mut self, mut place: u32) {
        loop {
            place = match self.step[place as usize] {
                Step::Start => return,
                Step::Along(link) => {
                    self.used[link as usize] = true;
                    self.passing[self.view.links[link as usize].to as usize] += 1;
                    self.touched.push(link);
                    self.view.links[link as usize].from * 2 + 1
                }
                Step::Back(link) => {
                    self.used[link as usize] = false;
                    self.passing[self.view.links[link as usize].to as usize] -= 1;
                    self.view.links[link as usize].to * 2
                }
                Step::Through | Step::Undo => place ^ 1,
            };
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use weft_fabric::FabricSpec;

    use super::*;

    /// Most disjoint paths by trying all of them, one after the other.
    fn by_trial(paths: &[Vec<u32>], view: &View, apart: bool, taken: &[u32]) -> u32 {
        let Some((path, rest)) = paths.split_first() else {
            return 0;
        };
        let clashes = |link: &u32| {
            let to = |link: &u32| view.links[*link as usize].to;
            let inner = path.last() != Some(link);
            taken.contains(link)
                || apart && inner && taken.iter().any(|other| to(other) == to(link))
        };
        let without = by_trial(rest, view, apart, taken);
        if path.iter().any(clashes) {
            return without;
        }
        without.max(1 + by_trial(rest, view, apart, &[taken, path].concat()))
    }

    fn all_paths(flow: &Flow<'_>, at: u32, path: &mut Vec<u32>, all: &mut Vec<Vec<u32>>) {
        if at == flow.target {
            return all.push(path.clone());
        }
        for link in flow.view.links_of(at) {
            let to = flow.view.links[link as usize].to;
            if flow.distance[to as usize] + 1 == flow.distance[at as usize] {
                path.push(link);
                all_paths(flow, to, path, all);
                path.pop();
            }
        }
    }

    #[test]
    fn it_finds_what_trying_all_paths_finds() {
        for (spec, most) in [
            ("torus:3x3", 2),
            ("mesh:3x3,links=2", 4),
            ("hypercube:3", 3),
            ("pgft:2;2,3;1,2;1,2;radix=8", 6),
        ] {
            let spec: FabricSpec = spec.parse().unwrap();
            let mut topology = spec.generate().unwrap();
            for lost in 0..6 {
                let view = View::new(&topology);
                let mut flow = Flow::new(&view);
                let mut found = 0;
                for from in 0..view.len() as u32 {
                    for to in (0..view.len() as u32).filter(|to| *to != from) {
                        flow.aim(to);
                        let mut all = Vec::new();
                        if flow.distance[from as usize] != FAR {
                            all_paths(&flow, from, &mut Vec::new(), &mut all);
                        }
                        for apart in [false, true] {
                            let own = flow.most(from, to, apart, 99);
                            assert_eq!(
                                own,
                                by_trial(&all, &view, apart, &[]),
                                "{from} {to} {apart}"
                            );
                            assert_eq!(flow.most(from, to, apart, 1), own.min(1));
                            found = found.max(own);
                        }
                    }
                }
                assert!(lost > 0 || found == most, "{found}");
                let links: Vec<_> = topology.links().map(|(a, _)| a).collect();
                topology.disconnect(links[(lost * 5 + 2) % links.len()]);
            }
        }
    }
}
