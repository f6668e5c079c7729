//! Series from the text of the metrics.

use std::collections::BTreeMap;

use super::message::{Label, Sample, TimeSeries};

/// The name of a series is a label too.
const NAME: &str = "__name__";

/// The samples of a text in Prometheus' format, at a time in milliseconds since 1970. `labels` are added to each series that
/// does not have them. An empty label is none, as the protocol has it. An empty label is none, as the protocol has it.
pub(super) fn series(text: &str, labels: &BTreeMap<String, String>, at_ms: i64) -> Vec<TimeSeries> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let (own, value) = sample(line)?;
            let mut all = labels.clone();
            all.extend(own);
            Some(TimeSeries {
                labels: all
                    .into_iter()
                    .filter(|(_, value)| !value.is_empty())
                    .map(|(name, value)| Label { name, value })
                    .collect(),
                samples: vec![Sample {
                    value,
                    timestamp: at_ms,
                }],
            })
        })
        .collect()
}

/// Labels and value of a line.
fn sample(line: &str) -> Option<(Vec<(String, String)>, f64)> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = vec![(NAME.to_owned(), name.to_owned())];
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        loop {
            rest = rest.trim_start_matches(',');
            if let Some(after) = rest.strip_prefix('}') {
                rest = after;
                break;
            }
            let (label, after) = rest.split_once("=\"")?;
            let (value, after) = quoted(after)?;
            labels.push((label.to_owned(), value));
            rest = after;
        }
    }
    let value = rest.split_ascii_whitespace().next()?;
    Some((labels, value.parse().ok()?))
}

/// A value up to its closing quote, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(match letters.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            letter => value.push(letter),
        }
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(Vec<(String, String)>, f64)> {
        let labels = BTreeMap::from([("job".to_owned(), "weft".to_owned())]);
        let all = series(text, &labels, 7).into_iter();
        all.map(|one| {
            assert_eq!(one.samples.len(), 1);
            assert_eq!(one.samples[0].timestamp, 7);
            let labels = one.labels.into_iter();
            let labels = labels.map(|label| (label.name, label.value));
            (labels.collect(), one.samples[0].value)
        })
        .collect()
    }

    #[test]
    fn lines_become_series_with_labels_in_order_of_their_names() {
        let text = "# HELP weft_build_info Version.\n# TYPE weft_build_info gauge\n\
            weft_build_info{version=\"0.1\"} 1\nweft_links 40\n\
            weft_x{job=\"own\",port=\"a \\\"b\\\" \\\\ {c=\\\"d\\\"},\\n\",a=\"\"} 1.5e3\n\
            weft_d_bucket{le=\"+Inf\"} NaN\n";
        let own = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            let pairs = pairs.iter();
            pairs
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect()
        };
        let found = read(text);
        let labels: Vec<_> = found.iter().map(|(labels, _)| labels.clone()).collect();
        assert_eq!(
            labels,
            [
                own(&[
                    (NAME, "weft_build_info"),
                    ("job", "weft"),
                    ("version", "0.1")
                ]),
                own(&[(NAME, "weft_links"), ("job", "weft")]),
                own(&[
                    (NAME, "weft_x"),
                    ("job", "own"),
                    ("port", "a \"b\" \\ {c=\"d\"},\n"),
                ]),
                own(&[(NAME, "weft_d_bucket"), ("job", "weft"), ("le", "+Inf")]),
            ]
        );
        assert_eq!((found[1].1, found[2].1), (40.0, 1500.0));
        assert!(found[3].1.is_nan());
    }

    #[test]
    fn what_is_no_sample_is_left_out() {
        for line in [
            "",
            "weft",
            "weft_a{",
            "weft_a{b=\"c} 1",
            "weft_a{b=\"c\"}",
            "weft_a x",
        ] {
            assert_eq!(read(line), Vec::new(), "{line}");
        }
    }
}
