//! Forms of texts that a reason may excuse.

use crate::compare::Known;

/// Ports of a switch at most.
const PORTS_OF_SWITCH: u32 = 48;

/// For rules that excuse an order only: the texts themselves are compared after that.
pub(crate) fn is_compared(_: &Known, _: &str) -> bool {
    true
}

pub(crate) fn nothing(_: &Known, _: &str) -> bool {
    false
}

/// A number of a port of the fabric.
pub(crate) fn is_port(_: &Known, text: &str) -> bool {
    number(text, "").is_some_and(|port| port <= PORTS_OF_SWITCH)
}

/// A number, decimal or hexadecimal.
pub(crate) fn is_count(_: &Known, text: &str) -> bool {
    match text.strip_prefix("0x") {
        Some(text) => is_hex(text),
        None => !text.is_empty() && digits(text, 10) == text,
    }
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && digits(text, 16) == text
}

/// Numbers with the names of their units.
pub(crate) fn is_amount(_: &Known, text: &str) -> bool {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let mut words = words.filter(|word| !word.is_empty()).peekable();
    let is_unit = |word: &str| ["MB", "Flits", "Pkts"].contains(&word);
    words.peek().is_some() && words.all(|word| is_unit(word) || digits(word, 10) == word)
}

/// A moment such as `Mon Nov 23 18:08:26 2026`.
pub(crate) fn is_time(_: &Known, text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [weekday, month, day, time, year] = words[..] else {
        return false;
    };
    let is_number = |text: &str, len: usize| text.len() == len && digits(text, 10) == text;
    let is_name = |text: &str| text.len() == 3 && text.chars().all(char::is_alphabetic);
    let parts: Vec<&str> = time.split(':').collect();
    is_name(weekday)
        && is_name(month)
        && day.parse().is_ok_and(|day: u32| (1..=31).contains(&day))
        && parts.len() == 3
        && parts.iter().all(|part| is_number(part, 2))
        && is_number(year, 4)
}

/// The first line of a report in XML.
pub(crate) fn is_date_of_report(known: &Known, text: &str) -> bool {
    let text = text.trim();
    let inner = ["<Snapshot date=\"", "<Report date=\""]
        .iter()
        .find_map(|head| text.strip_prefix(head));
    let parts = inner.and_then(|inner| inner.split_once("\" unixtime=\""));
    parts.is_some_and(|(date, rest)| is_time(known, date) && rest.contains(" options=\"-q "))
}

/// When an image was taken, within a second.
pub(crate) fn is_start_of_sweep(known: &Known, text: &str) -> bool {
    let inner = text.trim().strip_prefix("ImageSweepStart: ");
    let parts = inner.and_then(|inner| inner.split_once("  Duration: 0."));
    parts.is_some_and(|(date, rest)| {
        let fraction = rest.strip_suffix(" Seconds");
        is_time(known, date) && fraction.is_some_and(|fraction| is_count(known, fraction))
    })
}

/// A quality of a link, or none yet.
pub(crate) fn is_quality(_: &Known, text: &str) -> bool {
    number(text, "").is_some_and(|quality| quality <= 5)
}

/// Four words, of which checksums are the first ones.
pub(crate) fn is_checksums(_: &Known, text: &str) -> bool {
    let words: Vec<&str> = text.split_whitespace().take(4).collect();
    words.len() == 4
        && words.iter().all(|word| word.len() == 8 && is_hex(word))
        && words[0] != "00000000"
}

/// A table of preemption without an entry.
pub(crate) fn is_no_preemption(_: &Known, text: &str) -> bool {
    text.ends_with("Preemption Table\nIndx VL Weight")
        || text.ends_with("Preemption Matrix\nVL | Preemptable VL's")
}

/// The service by which the vendor's managers find each other.
pub(crate) fn is_managers_service(_: &Known, text: &str) -> bool {
    text.starts_with("SID: 0x1100d03c34822222 ")
}

/// Ports of all hosts in a group, and of no more than these where `alone`.
pub(crate) fn has_all_hosts(text: &str, alone: bool) -> bool {
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("NodeDesc: "))
        .collect();
    let hosts = names.iter().filter(|name| name.starts_with("node")).count();
    let switches = names.iter().filter(|name| name.starts_with("edge")).count();
    hosts == 32 && hosts + switches == names.len() && alone == (switches == 0)
}

/// The number after `before` in a text, hexadecimal if it has that prefix.
pub(crate) fn number(text: &str, before: &str) -> Option<u32> {
    let rest = text.split_once(before)?.1.trim_start();
    match rest.strip_prefix("0x") {
        Some(rest) => u32::from_str_radix(digits(rest, 16), 16).ok(),
        None => digits(rest, 10).parse().ok(),
    }
}

fn digits(text: &str, radix: u32) -> &str {
    let end = text.find(|digit: char| !digit.is_digit(radix));
    &text[..end.unwrap_or(text.len())]
}

/// Channels that no virtual fabric uses: all but 0, which the default one has, and management's 15.
pub(crate) fn is_unused(text: &str) -> bool {
    number(text, "SC=\"").is_some_and(|channel| channel != 0 && channel != 15)
}

/// A whole map in a line, led to lane 15 but for channel 0.
pub(crate) fn drops_unused(_: &Known, text: &str) -> bool {
    let mut lanes = text.split_whitespace();
    lanes.next() == Some("00") && lanes.all(|lane| lane == "15")
}

/// A whole map in a line that leads the channels in use, 0 and 15, to their lanes.
pub(crate) fn leads_used(_: &Known, text: &str) -> bool {
    let lanes: Vec<&str> = text.split_whitespace().collect();
    lanes.len() == 32 && lanes[0] == "00" && lanes[15] == "15"
}

/// A port of a switch by its LID, other than 0.
pub(crate) fn of_switch_port(known: &Known, text: &str) -> bool {
    of_switch(known, text) && number(text, "Port:") != Some(0)
}

/// Port 0 of a switch, by its LID.
pub(crate) fn of_port_0(known: &Known, text: &str) -> bool {
    of_switch(known, text) && number(text, "Port:") == Some(0)
}

/// The first LID in a text is a switch's.
pub(crate) fn of_switch(known: &Known, text: &str) -> bool {
    let lid = number(text, "LID=\"").or_else(|| number(text, "LID:"));
    let lid = lid.or_else(|| number(text, "LID "));
    // Where nothing names it, the line begins with it.
    let lid = lid.or_else(|| number(&format!("0x{}", text.trim_start()), ""));
    lid.is_some_and(|lid| known.switch_lids.contains(&lid))
}

/// LIDs by port: all of them are those of hosts and those of switches.
pub(crate) fn is_a_sum(_: &Known, text: &str) -> bool {
    let columns: Option<Vec<u32>> = text
        .split_whitespace()
        .map(|column| column.parse().ok())
        .collect();
    matches!(columns.as_deref(), Some([_, all, hosts, _, switches]) if *all == hosts + switches)
}

/// A key of the partitions of the default configuration, or none.
pub(crate) fn is_a_key(_: &Known, text: &str) -> bool {
    ["0x7fff", "0xffff", "0x8001", "0x0000"]
        .iter()
        .any(|key| text.contains(key))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn forms_admit_nothing_else() {
        let known = Known {
            switch_lids: BTreeSet::new(),
        };
        let cases: [(crate::compare::Predicate, &[&str], &[&str]); 6] = [
            (
                is_count,
                &["0", "484", "0x00000111"],
                &["", "0x", "-1", "1.5", "many"],
            ),
            (
                is_amount,
                &["779", "0 MB (49224 Flits)", ":  0 MB Pkts:   834"],
                &["", "0 GB", "failed"],
            ),
            (
                is_time,
                &["Mon Nov 23 18:08:26 2026", "Tue Nov  3 18:08:26 2026"],
                &["", "Mon Nov 23 2026", "0"],
            ),
            (is_quality, &["0", "5"], &["6", "good"]),
            (
                is_start_of_sweep,
                &["ImageSweepStart: Mon Nov 23 18:08:26 2026  Duration: 0.001 Seconds"],
                &["ImageSweepStart: Mon Nov 23 18:08:26 2026  Duration: 5.001 Seconds"],
            ),
            (
                is_date_of_report,
                &[
                    "<Report date=\"Wed Nov 25 11:00:58 2026\" unixtime=\"1795604458\" options=\"-q -o comps -x\" >",
                    "<Snapshot date=\"Mon Nov 23 18:08:22 2026\" unixtime=\"1795457302\" options=\"-q -o snapshot\">",
                ],
                &["<Snapshot date=\"\" unixtime=\"1795457302\" options=\"-q -o snapshot\">"],
            ),
        ];
        for (form, admitted, refused) in cases {
            for text in admitted {
                assert!(form(&known, text), "{text:?}");
            }
            for text in refused {
                assert!(!form(&known, text), "{text:?}");
            }
        }
    }
}
