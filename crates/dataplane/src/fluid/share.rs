//! Max-min fair rates: no flow can get more without reducing one that has less or as much.

/// Rates closer than this are the same.
const EPSILON: f64 = 1e-9;

/// Flows over links that each carry 1.
#[derive(Debug, Clone, Default)]
pub struct Shares {
    /// Links with the part of its flow that each carries, of all flows one after the other.
    crossed: Vec<(u32, f64)>,
    /// End of each flow's links in the list.
    ends: Vec<usize>,
    links: usize,
}

impl Shares {
    /// No flows over links 0 to `links` - 1.
    pub fn new(links: usize) -> Self {
        Self {
            links,
            ..Self::default()
        }
    }

    /// Adds a flow over some links, each with the part of the flow that it carries.
    pub fn add(&mut self, links: impl IntoIterator<Item = (u32, f64)>) {
        let known = links.into_iter();
        self.crossed
            .extend(known.filter(|(link, _)| (*link as usize) < self.links));
        self.ends.push(self.crossed.len());
    }

    /// Number of flows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// A flow's links.
    pub fn links_of(&self, flow: usize) -> &[(u32, f64)] {
        let begin = flow.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.crossed[begin..self.ends[flow]]
    }

    /// The rate of each flow, in order; one that crosses no link has 1.
    pub fn rates(&self) -> Vec<f64> {
        self.rates_unless(&|| false).unwrap_or_default()
    }

    /// The same; none when `stop`, which is asked once a round, ends it.
    pub fn rates_unless(&self, stop: &dyn Fn() -> bool) -> Option<Vec<f64>> {
        let mut rates = vec![1.0; self.len()];
        let mut left = vec![1.0; self.links];
        let mut weights = vec![0.0; self.links];
        let mut counts = vec![0_u32; self.links];
        for (link, weight) in &self.crossed {
            weights[*link as usize] += weight;
            counts[*link as usize] += 1;
        }
        let mut open: Vec<usize> = (0..self.len()).collect();
        while !open.is_empty() {
            if stop() {
                return None;
            }
            let level = self.level(&left, &weights);
            let is_full = |(link, _): &(u32, f64)| {
                let link = *link as usize;
                left[link] / weights[link] <= level + EPSILON
            };
            let (ends, stay): (Vec<usize>, Vec<usize>) = open
                .into_iter()
                .partition(|flow| level >= 1.0 || self.links_of(*flow).iter().any(is_full));
            open = stay;
            for flow in ends {
                rates[flow] = level;
                for (link, weight) in self.links_of(flow) {
                    let link = *link as usize;
                    left[link] = (left[link] - level * weight).max(0.0);
                    counts[link] -= 1;
                    // Differences of large weights leave a rest where no open flow is left.
                    weights[link] = match counts[link] {
                        0 => 0.0,
                        _ => weights[link] - weight,
                    };
                }
            }
        }
        Some(rates)
    }

    /// The rate at which the next link is full when all open flows get the same.
    fn level(&self, left: &[f64], weights: &[f64]) -> f64 {
        let open = left.iter().zip(weights);
        let open = open.filter(|(_, weight)| **weight > EPSILON);
        open.map(|(left, weight)| left / weight).fold(1.0, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(links: usize, flows: &[&[(u32, f64)]]) -> Vec<f64> {
        let mut shares = Shares::new(links);
        flows
            .iter()
            .for_each(|flow| shares.add(flow.iter().copied()));
        shares.rates()
    }

    fn assert_near(rates: &[f64], wanted: &[f64]) {
        assert_eq!(rates.len(), wanted.len());
        for (rate, wanted) in rates.iter().zip(wanted) {
            assert!((rate - wanted).abs() < 1e-6, "{rates:?}");
        }
    }

    #[test]
    fn flows_share_what_others_leave() {
        // Three flows on link 0, of which one is held to a quarter by link 1.
        let one: &[(u32, f64)] = &[(0, 1.0)];
        let held: &[(u32, f64)] = &[(0, 1.0), (1, 1.0)];
        let other: &[(u32, f64)] = &[(1, 1.0)];
        assert_near(
            &rates(2, &[one, one, held, other, other, other]),
            &[0.375, 0.375, 0.25, 0.25, 0.25, 0.25],
        );
        assert_near(&rates(2, &[&[], one]), &[1.0, 1.0]);
    }

    #[test]
    fn weights_of_any_size_come_to_an_end() {
        // Their sum less each of them is not 0.
        let large = [760_000_000.1, 790_000_000.3, 170_000_000.7];
        let large = large.map(|weight| [(0, weight)]);
        let mut flows: Vec<&[(u32, f64)]> = large.iter().map(|flow| &flow[..]).collect();
        flows.push(&[(1, 0.5)]);
        let shared = rates(2, &flows);
        assert!(shared[..3].iter().all(|rate| *rate < 1e-9), "{shared:?}");
        assert_near(&shared[3..], &[1.0]);
    }

    #[test]
    fn who_stops_it_gets_nothing() {
        let mut shares = Shares::new(1);
        shares.add([(0, 1.0)]);
        assert_eq!(shares.rates_unless(&|| true), None);
    }

    #[test]
    fn a_flow_on_two_links_uses_half_of_each() {
        let both: &[(u32, f64)] = &[(0, 0.5), (1, 0.5)];
        let one: &[(u32, f64)] = &[(0, 1.0)];
        assert_near(&rates(2, &[both, one]), &[2.0 / 3.0, 2.0 / 3.0]);
    }
}
