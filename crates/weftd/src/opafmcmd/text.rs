//! Counts as the text that `opafmcmd` prints.

use crate::counters::Counted;

/// One count a line after its name, a heading for each group. The client prints the time itself, before it.
pub(super) fn counters(counted: &Counted, now_unix_ns: u64) -> String {
    let seconds = now_unix_ns.saturating_sub(counted.since_unix_ns) / 1_000_000_000;
    let mut text = format!("{:>40}: {seconds:>14}\n", "Seconds since the last reset");
    let mut group = "";
    for count in &counted.counts {
        if count.group != group {
            group = count.group;
            text += &format!("{:->40}\n", format!(" {group}"));
        }
        text += &format!("{:>40}: {:>14}\n", count.name, count.value);
    }
    text
}

#[cfg(test)]
mod tests {
    use weft_manager::sm::Status;

    use super::*;
    use crate::counters::{Counters, Scope};

    #[test]
    fn counts_stand_under_their_group() {
        let counted = Counters::new().read(&Status::default(), Scope::Performance);
        let text = counters(&counted, counted.since_unix_ns + 7_500_000_000);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0].trim_start(),
            "Seconds since the last reset:              7"
        );
        assert!(lines[1].ends_with("- performance management"), "{text}");
        assert!(lines.iter().all(|line| line.is_ascii()), "{text}");
    }
}
