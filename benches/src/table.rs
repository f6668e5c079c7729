//! Markdown tables.

use std::fmt;

/// A table; numbers are set right.
#[derive(Debug, Clone, Default)]
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new<const N: usize>(head: [&str; N]) -> Self {
        Self {
            head: head.map(str::to_owned).to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.to_vec());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |cells: &[String]| writeln!(f, "| {} |", cells.join(" | "));
        line(&self.head)?;
        line(&vec!["---:".to_owned(); self.head.len()])?;
        self.rows.iter().try_for_each(|row| line(row))
    }
}

/// Milliseconds with a meaningful number of digits.
pub fn millis(seconds: f64) -> String {
    let millis = seconds * 1e3;
    if millis < 10.0 {
        format!("{millis:.2}")
    } else if millis < 100.0 {
        format!("{millis:.1}")
    } else {
        format!("{millis:.0}")
    }
}
