//! The page as text.

use anstyle::{AnsiColor, Style};
use weft_api::time::{Timestamp, unix_s};
use weft_api::v1;
use weft_fabric::text::{count, for_terminal};

use super::color;
use crate::style::Styles;
use crate::time::utc_of;

const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
/// Findings that are printed of each kind, and of all kinds together, if not all are wanted.
const OF_KIND_MAX: usize = 5;
const FINDINGS_MAX: usize = 20;
/// Columns from which on a figure's name and value stand on one line.
const WIDE: usize = 60;

/// How to print.
pub(super) struct Layout {
    pub(super) styles: Styles,
    pub(super) columns: usize,
    pub(super) all: bool,
    /// Seconds since 1970.
    pub(super) now: u64,
}

impl Layout {
    pub(super) fn page(&self, page: &v1::GetHealthResponse) -> String {
        let at = self.when(page.time);
        let word = match (super::is_master(page), page.color()) {
            (false, v1::HealthColor::Green) => for_terminal(&page.role).to_uppercase(),
            (_, of) => color(of).to_uppercase(),
        };
        let head = self.painted(page.color(), &word);
        let gap = if self.columns >= WIDE { " " } else { "\n" };
        let mut text = format!("health: {head},{gap}as of {at}\n");
        if let Some(attachment) = page.attachment.filter(|attachment| !attachment.attached) {
            let since = self.when(attachment.since_time);
            text += &self.wrapped(
                "",
                0,
                &format!("the fabric is out of reach since {since}: all below is from before"),
            );
        }
        text.push('\n');
        for figure in &page.figures {
            text += &self.figure(figure);
        }
        match super::is_master(page) {
            true => text + &self.findings(page),
            false => text + "\n" + &self.wrapped("", 0, &of_another(page)),
        }
    }

    fn figure(&self, figure: &v1::HealthFigure) -> String {
        let name = format!("{:<11}", for_terminal(&figure.name));
        let word = format!("{:<6}", color(figure.color()));
        let lead = format!("  {} {name}", self.painted(figure.color(), &word));
        let mut text = match self.columns >= WIDE {
            true => self.wrapped(&format!("{lead} "), 21, &figure.value),
            false => format!("{lead}\n{}", self.wrapped("    ", 4, &figure.value)),
        };
        if self.all {
            let indent = if self.columns >= WIDE { 21 } else { 4 };
            text += &self.wrapped(&" ".repeat(indent), indent, &figure.rule);
        }
        text
    }

    fn findings(&self, page: &v1::GetHealthResponse) -> String {
        let is_shown = |one: &&v1::HealthFinding| self.all || one.color() != v1::HealthColor::Green;
        let mut shown: Vec<&v1::HealthFinding> = Vec::new();
        for one in page.findings.iter().filter(is_shown) {
            let of_kind = shown.iter().filter(|other| other.kind == one.kind).count();
            if self.all || of_kind < OF_KIND_MAX && shown.len() < FINDINGS_MAX {
                shown.push(one);
            }
        }
        let found: u32 = page.counts.iter().map(|count| count.count).sum();
        let mut text = match found {
            0 => return "\nno findings\n".to_owned(),
            found => format!("\n{}\n", count(found, "finding")),
        };
        for (number, one) in (1..).zip(&shown) {
            text += &format!("\n{}", self.finding(number, one));
        }
        let hidden = (found as usize).saturating_sub(shown.len());
        if hidden > 0 {
            let kinds = page.counts.iter();
            let kinds = kinds.map(|count| format!("{} {}", count.count, words(&count.kind)));
            let kinds = kinds.collect::<Vec<_>>().join(", ");
            let more = match self.all {
                true => format!("{hidden} more that are not listed; of each kind: {kinds}"),
                false => format!("{hidden} more with 'weft health --all'; of each kind: {kinds}"),
            };
            text += &format!("\n{}", self.wrapped("", 0, &more));
        }
        text
    }

    fn finding(&self, number: usize, one: &v1::HealthFinding) -> String {
        let lead = format!("{number}. ");
        let kind = format!("{} {}", color(one.color()), words(&one.kind));
        let place = |place: &v1::HealthPlace| {
            let node = format!("{} ({:#018x})", place.node_name, place.node_guid);
            let port = match place.port {
                0 => node,
                port => format!("{node} port {port}"),
            };
            match place.cable_serial.as_str() {
                "" => port,
                serial => format!("{port}, cable {serial}"),
            }
        };
        let at = one.a.as_ref().map(place).unwrap_or_default();
        let painted = self.painted(one.color(), &kind);
        let mut text = format!("{lead}{painted}\n");
        text += &self.wrapped("   ", 3, &at);
        if let Some(far) = one.b.as_ref().map(place) {
            text += &self.wrapped("   ", 5, &format!("- {far}"));
        }
        text += &self.wrapped("   ", 3, &one.what);
        let since = match one.since_time {
            None => String::new(),
            since => format!("since {}", self.when(since)),
        };
        let parts = [since, felt(one)];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if !parts.is_empty() {
            text += &self.wrapped("   ", 3, &parts.join("; "));
        }
        if !one.advice.is_empty() {
            text += &self.wrapped("   ", 3, &one.advice);
        }
        // A command stays on one line, to be copied.
        text + &format!("   next: {}\n", for_terminal(&one.next))
    }

    fn painted(&self, color: v1::HealthColor, text: &str) -> String {
        let style = match color {
            v1::HealthColor::Red => RED,
            v1::HealthColor::Yellow => YELLOW,
            v1::HealthColor::Green => GREEN,
            v1::HealthColor::Unspecified => return text.to_owned(),
        };
        self.styles.paint(style, text)
    }

    /// A time, absolute and relative.
    fn when(&self, time: Option<Timestamp>) -> String {
        let (utc, unix_s) = (utc_of(time), unix_s(time));
        let utc = utc.split('.').next().unwrap_or_default();
        format!("{utc}Z ({} ago)", ago(self.now.saturating_sub(unix_s)))
    }

    /// Text after `lead` in lines that fit, the further ones behind `indent` spaces.
    fn wrapped(&self, lead: &str, indent: usize, text: &str) -> String {
        let text = for_terminal(text).replace('\n', " ");
        let first = indent.max(lead_columns(lead));
        let (mut out, mut at, mut is_first) = (lead.to_owned(), first, true);
        for word in text.split(' ').filter(|word| !word.is_empty()) {
            let width = word.chars().count();
            if !is_first && at + 1 + width > self.columns {
                out += "\n";
                out += &" ".repeat(indent);
                at = indent;
            } else if !is_first {
                out.push(' ');
                at += 1;
            }
            out += word;
            at += width;
            is_first = false;
        }
        out + "\n"
    }
}

/// Columns of a lead, of which only spaces count: a painted one says by its indent how wide it is.
fn lead_columns(lead: &str) -> usize {
    lead.bytes().take_while(|byte| *byte == b' ').count()
}

/// Why the page of a manager that is not the master has no findings.
fn of_another(page: &v1::GetHealthResponse) -> String {
    let master = match page.master {
        0 => "no master is known yet".to_owned(),
        guid => format!("the master is at port {guid:#018x}"),
    };
    format!(
        "This manager does not watch the fabric, so that nothing is known here of what is wrong in it: {master}. Ask the \
         daemon there: weft --address http://HOST:PORT health"
    )
}

fn words(kind: &str) -> String {
    for_terminal(kind).replace('_', " ")
}

/// Which hosts feel it.
fn felt(one: &v1::HealthFinding) -> String {
    if one.hosts == 0 {
        return String::new();
    }
    let names = one.host_names.join(", ");
    let more = match one.hosts as usize > one.host_names.len() {
        true => ", …",
        false => "",
    };
    match one.hosts {
        1 => format!("felt by {names}"),
        hosts => format!("felt by {hosts} hosts: {names}{more}"),
    }
}

/// Seconds in their largest unit.
fn ago(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use weft_api::time::known_s;

    use crate::args::Color;

    fn page() -> v1::GetHealthResponse {
        let place = |name: &str, port| v1::HealthPlace {
            node_guid: 0x0011_7501_0200_0002,
            node_name: name.to_owned(),
            port,
            cable_serial: "W00117501020000025".to_owned(),
        };
        let figure = v1::HealthFigure {
            name: "management".to_owned(),
            color: v1::HealthColor::Yellow.into(),
            value: "answers after 1.2 ms, 0 of 12345 requests sent again in the last hour, 1 device is silent"
                .to_owned(),
            rule: "yellow: 50 ms, 2 % sent again, or a silent device; red: 500 ms, 20 %, 10 devices"
                .to_owned(),
        };
        let finding = v1::HealthFinding {
            kind: "missing_link".to_owned(),
            color: v1::HealthColor::Yellow.into(),
            what: "the link is gone; both ports: Offline, Local media not installed; went down: Unknown"
                .to_owned(),
            a: Some(place("edge2\u{1b}[31m of rack 17 in the second row", 5)),
            b: Some(place("core1", 2)),
            since_time: known_s(1_700_000_000),
            times: 1,
            hosts: 32,
            host_names: vec!["node1 hfi1_0".to_owned(), "node2 hfi1_0".to_owned()],
            advice: "reseat the cable at both ends, then replace it".to_owned(),
            next: "weft quarantine why nodeguid:0x0011750102000002:port:5".to_owned(),
        };
        v1::GetHealthResponse {
            time: known_s(1_700_000_100),
            color: v1::HealthColor::Yellow.into(),
            figures: vec![figure],
            findings: vec![finding; 7],
            counts: vec![v1::HealthCount {
                kind: "missing_link".to_owned(),
                count: 7,
            }],
            ..v1::GetHealthResponse::default()
        }
    }

    fn printed(columns: usize, all: bool) -> String {
        let layout = Layout {
            styles: Styles::stdout(Color::Never),
            columns,
            all,
            now: 1_700_000_160,
        };
        layout.page(&page())
    }

    #[test]
    fn the_page_fits_its_columns() {
        for columns in [40, 80] {
            for all in [false, true] {
                let text = printed(columns, all);
                let long = text.lines().filter(|line| line.chars().count() > columns);
                let long: Vec<&str> = long.filter(|line| !line.contains("next: ")).collect();
                assert_eq!(long, Vec::<&str>::new(), "{text}");
                assert!(!text.contains('\u{1b}'), "{text:?}");
            }
        }
    }

    #[test]
    fn a_standby_says_so_and_who_is_master() {
        let page = v1::GetHealthResponse {
            role: "Standby".to_owned(),
            master: 0x0011_7501_0100_0002,
            color: v1::HealthColor::Green.into(),
            ..v1::GetHealthResponse::default()
        };
        let layout = Layout {
            styles: Styles::stdout(Color::Never),
            columns: 80,
            all: false,
            now: 60,
        };
        let text = layout.page(&page);
        assert!(text.starts_with("health: STANDBY, "), "{text}");
        assert!(text.contains("0x0011750101000002"), "{text}");
        assert!(!text.contains("no findings"), "{text}");
        let lines = text.lines();
        assert!(
            lines.clone().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert_eq!(
            super::super::exit_code(&page),
            std::process::ExitCode::from(12)
        );
    }

    #[test]
    fn a_page_is_short_unless_all_is_wanted() {
        let text = printed(80, false);
        assert_eq!(text.matches(". yellow missing link\n").count(), 5, "{text}");
        assert!(text.contains("2 more with 'weft health --all'"), "{text}");
        assert_eq!(
            printed(80, true).matches(". yellow missing link\n").count(),
            7
        );
        assert!(text.contains("since 2023-11-14T22:13:20Z (2 min ago); felt by 32 hosts: node1"));
    }
}
