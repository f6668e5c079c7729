//! Slim Flies of Besta and Hoefler ("Slim Fly: a cost effective low-diameter network topology", 2014) on the graphs of
//! McKay, Miller and Širáň: 2q² switches, any two at most two cables apart.

use std::fmt;

use super::galois::Field;
use super::{Described, Family, GenerateError, Size, Studied, Wiring, in_range};
use crate::constants::SWITCH_PORTS;

pub(super) const FAMILY: Family = Family {
    name: "slimfly",
    form: "slimfly:Q",
    options: (&["q", "hosts", "radix"], 1),
    read: |arguments| {
        let q: u32 = arguments.required("q")?;
        Ok(Described::new(SlimFly {
            q,
            // Half of the degree, rounded up: full bandwidth for uniform traffic.
            hosts: arguments
                .number("hosts")?
                .unwrap_or(u32::try_from(degree(q).div_ceil(2)).unwrap_or(u32::MAX)),
            radix: arguments.number("radix")?.unwrap_or(SWITCH_PORTS),
        }))
    },
};

/// Largest q: its switches have 253 cables to others.
const Q_MAX: u64 = 169;

/// A Slim Fly.
#[derive(Debug)]
struct SlimFly {
    /// A power of a prime, and 4w - 1, 4w or 4w + 1.
    q: u32,
    /// Hosts on each switch.
    hosts: u32,
    radix: u8,
}

impl SlimFly {
    /// Differences of two switches of a row that are cabled, in the first and in the second half of the graph: powers of
    /// a primitive element.
    fn generators(&self, field: &Field) -> [Vec<u32>; 2] {
        let (q, w) = (self.q, (self.q + 1) / 4);
        let powers = |exponents: Vec<u32>| {
            let powers = exponents.into_iter().map(|exponent| field.power(exponent));
            powers.collect::<Vec<_>>()
        };
        let steps = |from: u32, to: u32| (from..=to).step_by(2);
        match q % 4 {
            3 => [
                powers(
                    steps(0, 2 * w - 2)
                        .chain(steps(2 * w - 1, 4 * w - 3))
                        .collect(),
                ),
                powers(steps(1, 2 * w - 1).chain(steps(2 * w, 4 * w - 2)).collect()),
            ],
            _ => [
                powers(steps(0, q - 2).collect()),
                powers(steps(1, q - 1).collect()),
            ],
        }
    }
}

/// Cables of a switch to others.
fn degree(q: u32) -> u64 {
    let threefold = 3 * u64::from(q);
    match q % 4 {
        1 => (threefold - 1) / 2,
        3 => threefold.div_ceil(2),
        _ => threefold / 2,
    }
}

impl Studied for SlimFly {
    fn wiring(&self) -> Result<Wiring, GenerateError> {
        let q = in_range("q", self.q.into(), 3, Q_MAX)?;
        let field = Field::new(self.q).filter(|_| q % 4 != 2);
        let field = field.ok_or_else(|| GenerateError::OutOfRange {
            what: "q",
            actual: q,
            allowed: "powers of primes of the form 4w - 1, 4w and 4w + 1".to_owned(),
        })?;
        let switches = 2 * q * q;
        let mut wiring = Wiring::new(
            self.radix,
            &Size {
                switches,
                hosts: switches * u64::from(self.hosts),
                cables: switches * degree(self.q) / 2,
                ports: degree(self.q) + u64::from(self.hosts),
            },
        )?;
        let q = self.q;
        for half in ["a", "b"] {
            for (row, place) in (0..q).flat_map(|row| (0..q).map(move |place| (row, place))) {
                wiring.add(format!("{half}-{row}-{place}"), self.hosts);
            }
        }
        let switch = |half: u32, row: u32, place: u32| (half * q + row) * q + place;
        for (half, generators) in (0..).zip(self.generators(&field)) {
            for row in 0..q {
                for place in 0..q {
                    let others = generators.iter().map(|one| field.plus(place, *one));
                    for other in others.filter(|other| place < *other) {
                        wiring.connect(switch(half, row, place), switch(half, row, other));
                    }
                }
            }
        }
        for (row, other) in (0..q).flat_map(|row| (0..q).map(move |other| (row, other))) {
            for place in 0..q {
                let here = field.plus(field.times(other, row), place);
                wiring.connect(switch(0, row, here), switch(1, other, place));
            }
        }
        Ok(wiring)
    }

    fn most_hosts(&self) -> u64 {
        let q = u64::from(self.q);
        2_u64
            .saturating_mul(q.saturating_mul(q))
            .saturating_mul(self.hosts.into())
    }
}

impl fmt::Display for SlimFly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { q, hosts, radix } = self;
        write!(f, "slimfly:{q},hosts={hosts},radix={radix}")
    }
}
