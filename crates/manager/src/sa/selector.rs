//! What a selector beside a rate, an MTU or a lifetime means.

/// Comparison for the value next to a selector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Selector {
    Greater,
    Less,
    Equal,
    Best,
}

impl Selector {
    pub(crate) fn of(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Greater,
            1 => Self::Less,
            2 => Self::Equal,
            _ => Self::Best,
        }
    }

    /// Whether `have` meets the request `asked`; the best available always does.
    pub(crate) fn admits(self, have: u32, asked: u32) -> bool {
        match self {
            Self::Greater => have > asked,
            Self::Less => have < asked,
            Self::Equal => have == asked,
            Self::Best => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_compare() {
        let cases = [
            (Selector::Greater, [false, false, true]),
            (Selector::Less, [true, false, false]),
        ];
        for (selector, expected) in cases {
            assert_eq!([4, 5, 6].map(|have| selector.admits(have, 5)), expected);
        }
        assert!(Selector::of(2).admits(5, 5) && !Selector::of(2).admits(4, 5));
        assert!(Selector::of(3).admits(0, 5));
    }
}
