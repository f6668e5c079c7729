//! Rules for links with errors: values, their units, and what is refused.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use proptest::prelude::*;
use weft_config::link_rules::{Action, BitErrorRate, Hosts, LinkRules, Minute, check_link_rules};
use weft_config::{Rule, Severity};

fn rules(content: &str) -> LinkRules {
    let checked = check_link_rules(format!("<LinkRules>{content}</LinkRules>"), "r.xml");
    let found: Vec<_> = checked.findings.iter().map(ToString::to_string).collect();
    checked
        .rules
        .unwrap_or_else(|| panic!("{content}: {found:?}"))
}

#[test]
fn an_empty_file_applies_no_rule() {
    let empty = rules("");
    assert_eq!(empty, LinkRules::default());
    assert!(!empty.is_on());
    assert!(rules("<Discards><Action>dry-run</Action></Discards>").is_on());
}

#[test]
fn the_shipped_file_has_the_defaults_and_only_tells() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/link-rules.xml");
    let text = std::fs::read_to_string(file).unwrap();
    let checked = check_link_rules(&text, file);
    assert_eq!(checked.findings, []);
    let mut expected = LinkRules::default();
    expected.symbol_errors.action = Action::DryRun;
    expected.discards.action = Action::DryRun;
    expected.link_quality.action = Action::DryRun;
    assert_eq!(checked.rules, Some(expected));
    let tags = text
        .split('<')
        .filter(|tag| tag.starts_with(char::is_uppercase));
    // All 16 values, in five sections under one root: a new one is to be in the file too.
    assert_eq!(tags.count(), 22);
}

#[test]
fn values_are_read_with_their_units() {
    let bounds = "<MostPerHour>0</MostPerHour><MostAtOnce>7</MostAtOnce><Hosts>22:30-05:00</Hosts>";
    let hold = "<First>90s</First><Most>12h</Most>";
    let symbol = "<Action>quarantine</Action><ShortWindow>5min</ShortWindow><ShortLimit>2.5e-11</ShortLimit>";
    let all = rules(&format!(
        "<Bounds>{bounds}</Bounds><Hold>{hold}</Hold><SymbolErrors>{symbol}</SymbolErrors>"
    ));
    assert_eq!((all.bounds.most_per_hour, all.bounds.most_at_once), (0, 7));
    let daily = Hosts::Daily {
        from: Minute(22 * 60 + 30),
        to: Minute(5 * 60),
    };
    assert_eq!(all.bounds.hosts, daily);
    assert_eq!(all.hold.first, Duration::from_secs(90));
    assert_eq!(all.hold.most, Duration::from_secs(43_200));
    assert_eq!(all.symbol_errors.action, Action::Quarantine);
    assert_eq!(all.symbol_errors.short_window, Duration::from_secs(300));
    assert_eq!(all.symbol_errors.short_limit, BitErrorRate(25_000_000));
    assert_eq!(all.symbol_errors.long_limit, BitErrorRate(1_000_000));
}

#[test]
fn what_is_wrong_is_refused_with_its_line_and_what_is_allowed() {
    let in_section = |section: &str, inner: &str| format!("<{section}>\n{inner}\n</{section}>");
    for (section, inner, rule, told) in [
        (
            "Hold",
            "<Frist>1h</Frist>",
            Rule::UnknownElement,
            "First, Most",
        ),
        (
            "Hold",
            "<First>1</First>",
            Rule::Form,
            "`1` has no unit (allowed: 1s to 720h",
        ),
        (
            "Hold",
            "<First>1d</First>",
            Rule::Form,
            "`d` is no unit of time here",
        ),
        (
            "Hold",
            "<First>1.5h</First>",
            Rule::Form,
            "`.5h` is no unit",
        ),
        (
            "Hold",
            "<First>h</First>",
            Rule::Form,
            "begins with no number",
        ),
        ("Hold", "<First>0s</First>", Rule::Range, "out of range"),
        (
            "Hold",
            "<First>99999999999999999999h</First>",
            Rule::Form,
            "begins with no number",
        ),
        ("Hold", "<First>721h</First>", Rule::Range, "out of range"),
        (
            "Hold",
            "<First>48h</First>",
            Rule::Conflict,
            "Most is shorter than First",
        ),
        (
            "Bounds",
            "<MostPerHour>-1</MostPerHour>",
            Rule::StrictForm,
            "has a sign",
        ),
        (
            "Bounds",
            "<MostPerHour>1001</MostPerHour>",
            Rule::Range,
            "0 to 1000",
        ),
        (
            "Bounds",
            "<Hosts>24:00-05:00</Hosts>",
            Rule::Form,
            "never, always, HH:MM-HH:MM",
        ),
        (
            "Bounds",
            "<Hosts>5:00-6:00</Hosts>",
            Rule::Form,
            "no time of each day",
        ),
        (
            "Bounds",
            "<Hosts>05:00-05:00</Hosts>",
            Rule::Form,
            "ends when it begins",
        ),
        (
            "SymbolErrors",
            "<Action>on</Action>",
            Rule::Form,
            "off, dry-run, quarantine",
        ),
        (
            "SymbolErrors",
            "<ShortLimit>0.01</ShortLimit>",
            Rule::Form,
            "no bit error rate",
        ),
        (
            "SymbolErrors",
            "<ShortLimit>1e-17</ShortLimit>",
            Rule::Range,
            "1e-16 to 1e-6",
        ),
        (
            "SymbolErrors",
            "<ShortLimit>1e-5</ShortLimit>",
            Rule::Range,
            "out of range",
        ),
        (
            "SymbolErrors",
            "<ShortWindow>2h\n</ShortWindow><LongWindow>120min</LongWindow>",
            Rule::Conflict,
            "no longer",
        ),
        ("LinkQuality", "<AtMost>5</AtMost>", Rule::Range, "1 to 4"),
        ("LinkQuality", "<AtMost></AtMost>", Rule::Form, "empty"),
        (
            "LinkQuality",
            "<AtMost>1</AtMost><AtMost>2</AtMost>",
            Rule::Duplicate,
            "repeated",
        ),
        (
            "Discards",
            "<Action unit='s'>off</Action>",
            Rule::StrictXml,
            "attribute",
        ),
    ] {
        let text = format!("<LinkRules>\n{}\n</LinkRules>", in_section(section, inner));
        let checked = check_link_rules(&text, "r.xml");
        assert_eq!(checked.rules, None, "{inner}");
        let [found] = &checked.findings[..] else {
            panic!("{inner}: {:?}", checked.findings);
        };
        let shown = found.to_string();
        assert_eq!(
            (found.severity, found.rule),
            (Severity::Error, rule),
            "{shown}"
        );
        assert!(shown.contains(told), "{inner}: {shown}");
        assert!(
            shown.starts_with("r.xml:3: ") || rule == Rule::Conflict,
            "{shown}"
        );
    }
    let other = check_link_rules("<Config/>", "r.xml");
    assert!(
        other.findings[0]
            .to_string()
            .contains("(allowed: LinkRules)")
    );
    let broken = check_link_rules("<LinkRules>\n<Hold>", "r.xml");
    assert_eq!(broken.findings[0].rule, Rule::Xml);
}

#[test]
fn a_time_of_each_day_may_span_midnight() {
    let at = |text: &str, hour: u64, minute: u64| {
        let rules = rules(&format!("<Bounds><Hosts>{text}</Hosts></Bounds>"));
        // 2023-11-14T00:00:00Z.
        rules
            .bounds
            .hosts
            .may(1_699_920_000 + hour * 3600 + minute * 60)
    };
    for (text, inside, outside) in [
        (
            "08:00-10:30",
            &[(8, 0), (10, 29)][..],
            &[(7, 59), (10, 30)][..],
        ),
        (
            "22:30-05:00",
            &[(22, 30), (23, 59), (0, 0), (4, 59)],
            &[(22, 29), (5, 0)],
        ),
        ("always", &[(0, 0), (12, 0)], &[]),
        ("never", &[], &[(0, 0), (12, 0)]),
    ] {
        assert!(
            inside.iter().all(|(hour, minute)| at(text, *hour, *minute)),
            "{text}"
        );
        assert!(
            !outside
                .iter()
                .any(|(hour, minute)| at(text, *hour, *minute)),
            "{text}"
        );
    }
}

#[test]
fn a_rate_is_errors_among_bits() {
    // 100 Gb/s for 12 minutes are 7.2e13 bits, of which one in 10^12 is 72.
    let bits = 72_000_000_000_000;
    assert_eq!(BitErrorRate(1_000_000).errors(bits), 72);
    assert_eq!(BitErrorRate::of(72, bits).to_string(), "1e-12");
    assert_eq!(BitErrorRate::of(90, bits).to_string(), "1.25e-12");
    assert_eq!(BitErrorRate::of(0, bits).to_string(), "0");
    assert_eq!(BitErrorRate::of(1, 0), BitErrorRate(u64::MAX));
}

proptest! {
    #[test]
    fn any_bytes_are_rules_or_findings(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let checked = check_link_rules(bytes, "r.xml");
        prop_assert!(checked.rules.is_some() == checked.findings.is_empty());
    }

    #[test]
    fn a_rate_is_printed_as_it_is_read(whole in 1_u64..10, fraction in 0_u64..1000, exponent in 7_u32..15) {
        let text = format!("{whole}.{fraction:03}e-{exponent}");
        let limit = rules(&format!("<SymbolErrors><ShortLimit>{text}</ShortLimit></SymbolErrors>"))
            .symbol_errors.short_limit;
        let again = rules(&format!("<SymbolErrors><ShortLimit>{limit}</ShortLimit></SymbolErrors>"))
            .symbol_errors.short_limit;
        prop_assert_eq!(limit, again);
        let expected = (whole * 1000 + fraction) * 10_u64.pow(15 - exponent);
        prop_assert_eq!(limit.0, expected);
    }
}
