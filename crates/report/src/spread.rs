//! How numbers spread, as opareport computes it.

use std::fmt;

use crate::xml::XmlWriter;

/// Sum, mean, deviation, least and most of some numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spread {
    total: u64,
    mean: u64,
    deviation: u64,
    least: u64,
    most: u64,
}

impl Spread {
    /// Of numbers, of which `count` count for mean and deviation.
    pub(crate) fn of(numbers: impl Iterator<Item = u64>, count: u64) -> Self {
        let mut spread = Self {
            total: 0,
            mean: 0,
            deviation: 0,
            least: u64::MAX,
            most: 0,
        };
        let mut squares = 0_u128;
        for number in numbers {
            spread.total += number;
            spread.least = spread.least.min(number);
            spread.most = spread.most.max(number);
            squares += u128::from(number) * u128::from(number);
        }
        if count == 0 {
            spread.least = 0;
            return spread;
        }
        spread.mean = spread.total / count;
        let squared = u128::from(spread.total) * u128::from(spread.total);
        let variance = (u128::from(count) * squares).saturating_sub(squared);
        // As a single float, without its fraction.
        spread.deviation = ((variance as f64).sqrt() / count as f64) as f32 as u64;
        spread
    }

    pub(crate) fn write(self, f: &mut fmt::Formatter<'_>, pad: &str, title: &str) -> fmt::Result {
        let Self {
            total,
            mean,
            deviation,
            least,
            most,
        } = self;
        writeln!(
            f,
            "{pad}{title} Total: {total}  Avg: {mean}  StdDev: {deviation}"
        )?;
        let width = pad.len() + title.len() - 1;
        writeln!(f, "{:width$} Min: {least}  Max: {most}", "")
    }

    pub(crate) fn write_xml(self, to: &mut XmlWriter, title: &str) {
        to.value(&format!("{title}Total"), self.total);
        to.value(&format!("{title}Avg"), self.mean);
        to.value(&format!("{title}StdDev"), self.deviation);
        to.value(&format!("{title}Min"), self.least);
        to.value(&format!("{title}Max"), self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_those_of_the_numbers() {
        let spread = |numbers: &[u64], count| {
            let Spread {
                total,
                mean,
                deviation,
                least,
                most,
            } = Spread::of(numbers.iter().copied(), count);
            [total, mean, deviation, least, most]
        };
        assert_eq!(spread(&[2, 4, 4, 4, 5, 5, 7, 9], 8), [40, 5, 2, 2, 9]);
        assert_eq!(spread(&[0, 6, 6], 2), [12, 6, 0, 0, 6]);
        assert_eq!(spread(&[0], 0), [0, 0, 0, 0, 0]);
    }
}
