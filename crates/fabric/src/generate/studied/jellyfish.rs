//! Jellyfish of Singla, Hong, Popa and Godfrey ("Jellyfish: networking data centers randomly", 2012): switches cabled at
//! random, each to the same number of others.

use std::collections::HashSet;
use std::fmt;

use super::{Described, Family, GenerateError, SWITCHES_MAX, Size, Studied, Wiring, in_range};
use crate::constants::SWITCH_PORTS;

pub(super) const FAMILY: Family = Family {
    name: "jellyfish",
    form: "jellyfish:SWITCHES,DEGREE",
    options: (&["switches", "degree", "hosts", "seed", "radix"], 2),
    read: |arguments| {
        Ok(Described::new(Jellyfish {
            switches: arguments.required("switches")?,
            degree: arguments.required("degree")?,
            hosts: arguments.number("hosts")?.unwrap_or(1),
            seed: arguments.number("seed")?.unwrap_or(0),
            radix: arguments.number("radix")?.unwrap_or(SWITCH_PORTS),
        }))
    },
};

/// Graphs that are drawn until one is connected, and exchanges of cables for each cable until one has no two alike.
const DRAWS: u64 = 64;

/// A Jellyfish.
#[derive(Debug)]
struct Jellyfish {
    /// N.
    switches: u32,
    /// r: cables of each switch to others.
    degree: u32,
    /// Hosts on each switch.
    hosts: u32,
    /// Draws the cables.
    seed: u64,
    radix: u8,
}

impl Jellyfish {
    /// A random graph without two cables between the same switches, `None` where the draw makes none or one in parts.
    fn draw(&self, random: &mut Random) -> Option<Vec<(u32, u32)>> {
        let ends = (0..self.switches).flat_map(|switch| (0..self.degree).map(move |_| switch));
        let mut ends: Vec<u32> = ends.collect();
        for last in (1..ends.len()).rev() {
            ends.swap(last, random.below(last + 1));
        }
        let pairs = ends.chunks_exact(2).map(|pair| (pair[0], pair[1]));
        let mut cables: Vec<(u32, u32)> = Vec::new();
        let (mut known, mut open) = (HashSet::new(), Vec::new());
        for (a, b) in pairs {
            match a != b && known.insert(ordered(a, b)) {
                true => cables.push((a, b)),
                false => open.push((a, b)),
            }
        }
        // A pair that cannot be cabled exchanges its ends with a cable.
        let tries = DRAWS as usize * ends.len();
        for _ in 0..tries {
            let Some((a, b)) = open.pop() else {
                return is_connected(self.switches, &cables).then_some(cables);
            };
            let place = random.below(cables.len().max(1));
            let (c, d) = *cables.get(place)?;
            let news = [ordered(a, c), ordered(b, d)];
            let fits = a != c && b != d && news[0] != news[1];
            if !fits || news.iter().any(|new| known.contains(new)) {
                open.push((a, b));
                continue;
            }
            known.remove(&ordered(c, d));
            known.extend(news);
            cables[place] = (a, c);
            cables.push((b, d));
        }
        None
    }
}

fn ordered(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

/// Whether all switches are reached from the first.
fn is_connected(switches: u32, cables: &[(u32, u32)]) -> bool {
    let mut next = vec![Vec::new(); switches as usize];
    for (a, b) in cables {
        next[*a as usize].push(*b);
        next[*b as usize].push(*a);
    }
    let mut seen = vec![false; switches as usize];
    let mut open = vec![0];
    seen[0] = true;
    let mut reached = 0;
    while let Some(switch) = open.pop() {
        reached += 1;
        for other in &next[switch as usize] {
            if !std::mem::replace(&mut seen[*other as usize], true) {
                open.push(*other);
            }
        }
    }
    reached == switches
}

/// SplitMix64 of Steele, Lea and Flood.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }
}

impl Studied for Jellyfish {
    fn wiring(&self) -> Result<Wiring, GenerateError> {
        let [n, r] = [self.switches, self.degree].map(u64::from);
        in_range("number of switches", n, 6, SWITCHES_MAX)?;
        in_range("cables of a switch to others", r, 3, n / 2)?;
        let size = Size {
            switches: n,
            hosts: self.most_hosts(),
            cables: n * r / 2,
            ports: r + u64::from(self.hosts),
        };
        let mut wiring = Wiring::new(self.radix, &size)?;
        let draw = |number: u64| self.draw(&mut Random(self.seed.wrapping_mul(DRAWS) ^ number));
        let cables = (0..DRAWS).find_map(draw);
        let cables = cables.ok_or_else(|| GenerateError::OutOfRange {
            what: "seed",
            actual: self.seed,
            allowed: "seeds that draw a connected graph".to_owned(),
        })?;
        (1..=n).for_each(|number| wiring.add(format!("switch{number}"), self.hosts));
        cables.into_iter().for_each(|(a, b)| wiring.connect(a, b));
        Ok(wiring)
    }

    fn most_hosts(&self) -> u64 {
        u64::from(self.switches).saturating_mul(self.hosts.into())
    }
}

impl fmt::Display for Jellyfish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            switches,
            degree,
            hosts,
            seed,
            radix,
        } = self;
        write!(
            f,
            "jellyfish:{switches},{degree},hosts={hosts},seed={seed},radix={radix}"
        )
    }
}
