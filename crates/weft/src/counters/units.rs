//! Numbers with units.

/// Bytes of a flit.
const FLIT: f64 = 8.0;

/// Prefixes by powers of a thousand.
const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];

/// Up to three digits and a prefix: `1.25 G`, `999`.
pub(crate) fn amount(value: f64) -> String {
    let (mut scaled, mut power) = (value, 0);
    // What rounds up to the next prefix has it.
    while scaled >= 999.5 && power + 1 < PREFIXES.len() {
        scaled /= 1000.0;
        power += 1;
    }
    let whole = power == 0 && value.fract() == 0.0;
    let digits = match scaled {
        _ if whole => 0,
        s if s < 9.995 => 2,
        s if s < 99.95 => 1,
        _ => 0,
    };
    let text = format!("{scaled:.digits$} {}", PREFIXES[power]);
    text.trim_end().to_owned()
}

/// Flits as bytes: `1.25 GB`.
pub(crate) fn bytes(flits: f64) -> String {
    bytes_of(flits * FLIT)
}

/// Bytes with a prefix: `1.25 GB`.
pub(crate) fn bytes_of(bytes: f64) -> String {
    let text = amount(bytes);
    match text.contains(' ') {
        true => text + "B",
        false => text + " B",
    }
}

/// A whole number with its thousands apart, or a rate with two digits.
pub(crate) fn exact(value: f64, rate: bool) -> String {
    match rate {
        true => format!("{value:.2}"),
        false => grouped(value as u64),
    }
}

/// `12,345,678`.
pub(crate) fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_digits_and_a_prefix() {
        for (value, expected) in [
            (0.0, "0"),
            (7.0, "7"),
            (0.25, "0.25"),
            (999.0, "999"),
            (1000.0, "1.00 k"),
            (12_345.0, "12.3 k"),
            (999_499.0, "999 k"),
            (999_500.0, "1.00 M"),
            (1.25e9, "1.25 G"),
            (1.8e19, "18.0 E"),
        ] {
            assert_eq!(amount(value), expected, "{value}");
        }
        assert_eq!(bytes(125e6), "1.00 GB");
        assert_eq!(bytes(1.0), "8 B");
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(123), "123");
        assert_eq!(exact(1.0 / 3.0, true), "0.33");
    }
}
