//! Finite fields of few elements.

/// The field of q elements. An element is a number whose digits to the base p are the coefficients of a polynomial; q is a
/// power of the prime p.
pub(super) struct Field {
    p: u32,
    q: u32,
    /// Powers of a primitive element, from its 0th to its (q - 2)th.
    powers: Vec<u32>,
    /// The exponent of each element but 0.
    logarithms: Vec<u32>,
}

impl Field {
    /// `None` where q is no power of a prime.
    pub(super) fn new(q: u32) -> Option<Self> {
        let p = (2..=q).find(|divisor| q.is_multiple_of(*divisor))?;
        let mut degree = 1;
        while p.pow(degree) < q {
            degree += 1;
        }
        if p.pow(degree) != q {
            return None;
        }
        // A polynomial x^degree = rest under which x has all elements but 0 as powers makes a field.
        let powers = (1..q).find_map(|rest| powers(p, q, rest))?;
        let mut logarithms = vec![0; q as usize];
        for (exponent, power) in powers.iter().enumerate() {
            logarithms[*power as usize] = exponent as u32;
        }
        Some(Self {
            p,
            q,
            powers,
            logarithms,
        })
    }

    /// A power of the primitive element.
    pub(super) fn power(&self, exponent: u32) -> u32 {
        self.powers[(exponent % (self.q - 1)) as usize]
    }

    pub(super) fn times(&self, a: u32, b: u32) -> u32 {
        if a == 0 || b == 0 {
            return 0;
        }
        self.power(self.logarithms[a as usize] + self.logarithms[b as usize])
    }

    pub(super) fn plus(&self, a: u32, b: u32) -> u32 {
        sum(self.p, a, b)
    }
}

/// Sum of two elements: digit by digit, modulo p.
fn sum(p: u32, mut a: u32, mut b: u32) -> u32 {
    let (mut all, mut place) = (0, 1);
    while a > 0 || b > 0 {
        all += (a % p + b % p) % p * place;
        (a, b, place) = (a / p, b / p, place * p);
    }
    all
}

/// The powers of x where x^degree is `rest`, if they are all elements but 0.
fn powers(p: u32, q: u32, rest: u32) -> Option<Vec<u32>> {
    let mut powers = vec![1];
    loop {
        let last = powers[powers.len() - 1];
        // The digit that x lifts out of the field comes back as so many times the rest.
        let (lifted, shifted) = (last / (q / p), last % (q / p) * p);
        let next = (0..lifted).fold(shifted, |all, _| sum(p, all, rest));
        if next == 1 {
            return (powers.len() as u32 == q - 1).then_some(powers);
        }
        if next == 0 || powers.len() as u32 >= q - 1 {
            return None;
        }
        powers.push(next);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_laws_of_a_field_hold() {
        for q in [2, 3, 4, 5, 7, 8, 9, 11, 16, 25, 27] {
            let field = Field::new(q).unwrap();
            for a in 0..q {
                let opposites = (0..q).filter(|b| field.plus(a, *b) == 0).count();
                let inverses = (0..q).filter(|b| field.times(a, *b) == 1).count();
                assert_eq!((opposites, inverses), (1, usize::from(a != 0)), "{q}: {a}");
                for (b, c) in (0..q).flat_map(|b| (0..q).map(move |c| (b, c))) {
                    let apart = field.plus(field.times(a, b), field.times(a, c));
                    assert_eq!(field.times(a, field.plus(b, c)), apart, "{q}: {a} {b} {c}");
                }
            }
        }
        for none in [0, 1, 6, 10, 12, 15, 36] {
            assert!(Field::new(none).is_none(), "{none}");
        }
    }
}
