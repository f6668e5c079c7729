//! Tables and sentences in the width of the terminal.

use weft_fabric::text::for_terminal;
use weft_report::{Mood, Plain, Row};

use crate::style::{ERROR, PLACE, Styles, WARNING};

/// Columns between two columns of a table.
const GAP: usize = 2;
/// Fewest characters that a column is cut to.
const NARROWEST: usize = 8;

/// A table as text. With a `width` in columns, long texts are cut so that lines fit.
pub(crate) fn table(plain: &Plain, width: Option<usize>, styles: Styles) -> String {
    let rows: Vec<(Vec<String>, Mood)> = plain.rows.iter().map(escaped).collect();
    let widths = widths(plain, &rows, width);
    let titles = plain.columns.iter().map(|column| column.title.to_owned());
    let mut text = String::new();
    if !rows.is_empty() {
        let line = line(plain, &titles.collect::<Vec<_>>(), &widths);
        text += &styles.paint(PLACE, &line);
        text.push('\n');
    }
    for (cells, mood) in &rows {
        let line = line(plain, cells, &widths);
        text += &match mood {
            Mood::Plain => line,
            Mood::Warning => styles.paint(WARNING, &line),
            Mood::Error => styles.paint(ERROR, &line),
        };
        text.push('\n');
    }
    if !rows.is_empty() {
        text.push('\n');
    }
    text + &for_terminal(&plain.summary) + "\n"
}

fn escaped(row: &Row) -> (Vec<String>, Mood) {
    let cells = row.cells.iter();
    let cells = cells.map(|cell| for_terminal(cell).replace('\n', "\\n"));
    (cells.collect(), row.mood)
}

/// The width of each column: the widest narrow first, until a line fits.
fn widths(plain: &Plain, rows: &[(Vec<String>, Mood)], width: Option<usize>) -> Vec<usize> {
    let widest = |(at, column): (usize, &weft_report::Column)| {
        let cells = rows.iter().filter_map(|(cells, _)| cells.get(at));
        let cells = cells.map(|cell| cell.chars().count());
        cells
            .chain([column.title.chars().count()])
            .max()
            .unwrap_or(0)
    };
    let mut widths: Vec<usize> = plain.columns.iter().enumerate().map(widest).collect();
    let Some(width) = width else {
        return widths;
    };
    let gaps = GAP * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > width {
        match widths.iter_mut().max() {
            Some(widest) if *widest > NARROWEST => *widest -= 1,
            _ => break,
        }
    }
    widths
}

fn line(plain: &Plain, cells: &[String], widths: &[usize]) -> String {
    let columns = plain.columns.iter().zip(cells).zip(widths);
    let cell = |((column, cell), width): ((&weft_report::Column, &String), &usize)| {
        let cell = cut(cell, *width);
        match column.right {
            true => format!("{cell:>width$}"),
            false => format!("{cell:<width$}"),
        }
    };
    let line: Vec<String> = columns.map(cell).collect();
    line.join(&" ".repeat(GAP)).trim_end().to_owned()
}

/// A text whose lines end between words where the terminal does; what goes on stands further to the right. A word that is
/// longer than a line stays whole.
pub(crate) fn folded(text: &str, width: usize) -> String {
    let lines = text.split_inclusive('\n');
    lines.map(|line| folded_line(line, width)).collect()
}

fn folded_line(line: &str, width: usize) -> String {
    if shown(line) <= width {
        return line.to_owned();
    }
    let lead = line
        .chars()
        .take_while(|character| *character == ' ')
        .count();
    let indent = (lead + GAP).min(width / 2);
    let mut out = String::with_capacity(line.len() + 16);
    let mut at = 0;
    for (number, word) in line.split(' ').enumerate() {
        let long = shown(word);
        if number > 0 && at + 1 + long > width && at > indent {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out += &" ".repeat(indent);
            at = indent;
        } else if number > 0 {
            out.push(' ');
            at += 1;
        }
        out += word;
        at += long;
    }
    out
}

/// Number of characters that show: without ends of lines and colours.
fn shown(text: &str) -> usize {
    let mut shown = 0;
    let mut is_color = false;
    for character in text.chars() {
        match (is_color, character) {
            (false, '\u{1b}') => is_color = true,
            (true, 'm') => is_color = false,
            (true, _) | (false, '\n') => {}
            (false, _) => shown += 1,
        }
    }
    shown
}

/// A text of at most so many characters.
fn cut(text: &str, width: usize) -> String {
    match text.chars().count() <= width {
        true => text.to_owned(),
        false => text
            .chars()
            .take(width.saturating_sub(1))
            .chain(['…'])
            .collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::args::Color;

    #[test]
    fn sentences_are_folded_between_words() {
        let text = "short\n  a switch that has no name at all\n\nnode_with_a_long_name: up\n";
        let expected =
            "short\n  a switch that has\n    no name at all\n\nnode_with_a_long_name:\n  up\n";
        assert_eq!(folded(text, 20), expected);
        assert_eq!(folded(expected, 80), expected);
        let red = "\u{1b}[31mone two\u{1b}[0m three";
        assert_eq!(folded(red, 13), red);
        assert_eq!(folded(red, 12), "\u{1b}[31mone two\u{1b}[0m\n  three");
    }

    #[test]
    fn lines_fit_and_bad_characters_are_escaped() {
        let column = |title, right| weft_report::Column { title, right };
        let row = |name: &str, mood| Row {
            cells: vec![name.to_owned(), "7".to_owned(), "x".repeat(60)],
            mood,
        };
        let plain = Plain {
            columns: vec![
                column("Node", false),
                column("Port", true),
                column("Why", false),
            ],
            rows: vec![row("edge\u{1b}[2J", Mood::Plain), row("b", Mood::Error)],
            summary: "2 links".to_owned(),
        };
        let text = table(&plain, Some(40), Styles::stdout(Color::Never));
        assert!(
            text.lines().all(|line| line.chars().count() <= 40),
            "{text}"
        );
        assert!(!text.contains('\u{1b}'), "{text}");
        assert!(
            text.contains("xxx…") && text.ends_with("\n2 links\n"),
            "{text}"
        );
        let whole = table(&plain, None, Styles::stdout(Color::Never));
        assert!(whole.contains(&"x".repeat(60)), "{whole}");
        let painted = table(&plain, None, Styles::stdout(Color::Always));
        assert_eq!(painted.matches("\u{1b}[0m").count(), 2, "{painted:?}");
    }
}
