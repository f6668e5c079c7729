//! Tables of Markdown as they are read on a terminal: columns in line, those without content left out.

const RED: &str = "\x1b[31m";
const PLAIN: &str = "\x1b[0m";

/// The text with each of its tables aligned, and marks of what did not come out in red where `color` is set.
pub(super) fn aligned(text: &str, color: bool) -> String {
    let mut out = String::new();
    let mut table: Vec<&str> = Vec::new();
    for line in text.lines() {
        if line.starts_with('|') {
            table.push(line);
            continue;
        }
        write_table(&mut out, &std::mem::take(&mut table));
        out += line.trim_start_matches("## ");
        out.push('\n');
    }
    write_table(&mut out, &table);
    match color {
        true => out.replace('✗', &format!("{RED}✗{PLAIN}")),
        false => out,
    }
}

/// Cells of a row; a bar with a backslash before it is part of a cell.
fn cells(line: &str) -> Vec<String> {
    let inner = line.trim().trim_matches('|').replace("\\|", "\0");
    inner
        .split('|')
        .map(|cell| cell.trim().replace('\0', "|"))
        .collect()
}

fn write_table(out: &mut String, lines: &[&str]) {
    let [head, rule, rows @ ..] = lines else {
        return;
    };
    let (head, rule) = (cells(head), cells(rule));
    let rows: Vec<Vec<String>> = rows.iter().map(|row| cells(row)).collect();
    let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
    let columns: Vec<usize> = (0..head.len())
        .filter(|column| rows.is_empty() || rows.iter().any(|row| !cell(row, *column).is_empty()))
        .collect();
    let all = || std::iter::once(&head).chain(&rows);
    let width = |column: usize| {
        let widths = all().map(|row| cell(row, column).chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = columns.iter().map(|column| width(*column)).collect();
    for row in all() {
        let parts = columns.iter().zip(&widths).map(|(column, width)| {
            let text = cell(row, *column);
            match cell(&rule, *column).ends_with(':') {
                true => format!("{text:>width$}"),
                false => format!("{text:<width$}"),
            }
        });
        let line = parts.collect::<Vec<_>>().join("  ");
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_in_line_and_empty_ones_left_out() {
        let markdown = "## A title\n\n| case | metric | measured | published |\n| --- | --- | ---: | ---: |\n\
            | a \\| b | rate | 12.5 GB/s |  |\n| c | latency | 7 µs ✗ |  |\n\nafter\n";
        let expected = "A title\n\ncase   metric    measured\na | b  rate     12.5 GB/s\n\
            c      latency     7 µs ✗\n\nafter\n";
        assert_eq!(aligned(markdown, false), expected);
        assert!(aligned(markdown, true).contains("\u{1b}[31m✗\u{1b}[0m"));
    }
}
