//! Tables whose columns depend on the width of the terminal alone, so that they stay where they are from one reading
//! to the next.

use super::page::{Row, cut};

/// The narrowest terminal in which no table is cut.
#[cfg(test)]
pub(super) const NARROWEST: usize = 40;

/// A column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    title: &'static str,
    kind: Kind,
    /// Characters; the fewest of a name and of bars.
    width: usize,
    /// It is left out in narrower terminals.
    from: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// To the left; takes what others leave.
    Name,
    /// To the right.
    Number,
    /// To the left.
    Text,
    /// The end of a text, in what is left of a line.
    Bars,
}

pub(super) const fn name(title: &'static str, width: usize) -> Column {
    Column::new(title, Kind::Name, width)
}

pub(super) const fn number(title: &'static str, width: usize) -> Column {
    Column::new(title, Kind::Number, width)
}

pub(super) const fn text(title: &'static str, width: usize) -> Column {
    Column::new(title, Kind::Text, width)
}

pub(super) const fn bars(title: &'static str, width: usize) -> Column {
    Column::new(title, Kind::Bars, width)
}

/// Widest name, while there is another column that takes what is left.
const NAME_BEFORE_BARS: usize = 24;

impl Column {
    const fn new(title: &'static str, kind: Kind, width: usize) -> Self {
        Self {
            title,
            kind,
            width,
            from: 0,
        }
    }

    /// Only in terminals that have so many columns.
    pub(super) const fn from(self, from: usize) -> Self {
        Self { from, ..self }
    }

    /// With a title of the moment.
    pub(super) const fn titled(self, title: &'static str) -> Self {
        Self { title, ..self }
    }

    fn cell(&self, text: &str, width: usize) -> String {
        match self.kind {
            Kind::Name | Kind::Text => format!("{:<width$}", cut(text, width)),
            Kind::Number => format!("{:>width$}", cut(text, width)),
            Kind::Bars => {
                let skipped = text.chars().count().saturating_sub(width);
                text.chars().skip(skipped).collect()
            }
        }
    }
}

/// Columns in a terminal.
#[derive(Debug)]
pub(super) struct Table {
    /// Column and width; none where it is left out.
    columns: Vec<(Column, Option<usize>)>,
}

impl Table {
    pub(super) fn new(columns: &[Column], width: usize) -> Self {
        let shown: Vec<&Column> = columns.iter().filter(|one| one.from <= width).collect();
        let fixed: usize = shown.iter().map(|column| column.width).sum();
        let mut left = width.saturating_sub(fixed + shown.len().saturating_sub(1));
        let has_bars = shown.iter().any(|column| column.kind == Kind::Bars);
        let mut names = shown.iter().filter(|one| one.kind == Kind::Name).count();
        let mut wide = |column: &Column| {
            let more = match column.kind {
                Kind::Name if has_bars => {
                    (left / names.max(1)).min(NAME_BEFORE_BARS.saturating_sub(column.width))
                }
                Kind::Name => left.div_ceil(names.max(1)),
                Kind::Bars => left,
                Kind::Number | Kind::Text => 0,
            };
            names = names.saturating_sub(usize::from(column.kind == Kind::Name));
            left -= more;
            column.width + more
        };
        let columns = columns.iter();
        let columns = columns.map(|one| (*one, (one.from <= width).then(|| wide(one))));
        Self {
            columns: columns.collect(),
        }
    }

    /// Column headings.
    pub(super) fn head(&self) -> String {
        let titles = self
            .columns
            .iter()
            .map(|(column, _)| column.title.to_owned());
        self.line(&titles.collect::<Vec<_>>())
    }

    /// A row with these cells, which a filter finds as a whole also where they are cut or left out.
    pub(super) fn row(&self, cells: &[String]) -> Row {
        Row {
            text: self.line(cells),
            whole: cells.join(" "),
            ..Row::default()
        }
    }

    fn line(&self, cells: &[String]) -> String {
        let cells = self.columns.iter().zip(cells);
        let cells = cells.filter_map(|((column, width), cell)| Some(column.cell(cell, (*width)?)));
        let line = cells.collect::<Vec<_>>().join(" ");
        line.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] = [
        name("LINK", 8),
        number("%", 5),
        text("STATE", 6).from(50),
        bars("USE", 10).from(60),
    ];

    #[test]
    fn lines_are_as_wide_as_the_terminal_and_the_newest_bars_stay() {
        let cells = [
            "a".repeat(90),
            "7".to_owned(),
            "active".to_owned(),
            "x".repeat(299) + "▁",
        ];
        for width in [NARROWEST, 50, 60, 80, 200] {
            let table = Table::new(&COLUMNS, width);
            let row = table.row(&cells);
            assert_eq!(row.text.chars().count(), width, "{}", row.text);
            assert_eq!(row.text.contains("active"), width >= 50, "{}", row.text);
            assert_eq!(row.text.ends_with('▁'), width >= 60, "{}", row.text);
            assert!(row.whole.contains(&cells[0]) && row.whole.contains("active"));
            assert!(table.head().starts_with("LINK "), "{}", table.head());
        }
    }
}
