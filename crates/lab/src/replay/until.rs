//! Places in a recording at which a replay stops.

use weft_fabric::Tick;
use weft_manager::{Event, Output};
use weft_replay::{Shown, Step};

use super::words::answer_words;

/// Where a replay stops.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Until {
    /// A step.
    Step(u64),
    /// The beginning of a sweep, or of the first later one.
    Sweep(u64),
    /// An event of a kind, in lower case, whose words contain a text.
    Event { kind: String, text: String },
    /// Something that subnet administration puts out, whose words contain a text.
    Answer(String),
    /// A panic.
    Panic,
    /// Seconds since the beginning.
    Seconds(f64),
}

/// Reads a place.
pub(super) fn parse(text: &str) -> Result<Until, String> {
    let wrong = || {
        format!(
            "{text:?} is no place, wanted step:N, sweep:N, event:KIND, event:KIND:TEXT, answer:TEXT, panic or seconds"
        )
    };
    match text.split_once(':') {
        Some(("step", number)) => number.parse().map(Until::Step).map_err(|_| wrong()),
        Some(("sweep", number)) => number.parse().map(Until::Sweep).map_err(|_| wrong()),
        Some(("event", event)) => {
            let (kind, text) = event.split_once(':').unwrap_or((event, ""));
            let event = Until::Event {
                kind: kind.to_lowercase(),
                text: text.to_owned(),
            };
            (!kind.is_empty()).then_some(event).ok_or_else(wrong)
        }
        Some(("answer", text)) if !text.is_empty() => Ok(Until::Answer(text.to_owned())),
        Some(_) => Err(wrong()),
        None if text == "panic" => Ok(Until::Panic),
        None => {
            let seconds = text.parse().ok().filter(|seconds: &f64| *seconds >= 0.0);
            seconds.map(Until::Seconds).ok_or_else(wrong)
        }
    }
}

impl Until {
    /// Whether a step is the last.
    pub(super) fn is_reached(&self, step: &Step, begun: Tick) -> bool {
        match self {
            Self::Step(number) => step.number >= *number,
            Self::Seconds(seconds) => step.at.since(begun).as_secs_f64() >= *seconds,
            Self::Sweep(_) | Self::Event { .. } | Self::Answer(_) | Self::Panic => {
                self.is_shown(Shown {
                    outputs: &step.outputs,
                    answers: &step.answers,
                    panic: step.panic.as_deref(),
                })
            }
        }
    }

    /// Whether what the two did shows it. Steps and times do not show.
    pub(super) fn is_shown(&self, shown: Shown<'_>) -> bool {
        let mut events = shown.outputs.iter().filter_map(|output| match output {
            Output::Event(event) => Some(event),
            _ => None,
        });
        match self {
            Self::Sweep(wanted) => events.any(
                |event| matches!(event, Event::SweepStarted { number, .. } if number >= wanted),
            ),
            Self::Event { kind, text } => events.any(|event| {
                let words = format!("{event:?}");
                event_kind(&words).to_lowercase() == *kind && words.contains(text)
            }),
            Self::Answer(text) => {
                let mut answers = shown.answers.iter().map(answer_words);
                answers.any(|words| words.contains(text))
            }
            Self::Panic => shown.panic.is_some(),
            Self::Step(_) | Self::Seconds(_) => false,
        }
    }
}

/// The event's name in [`Event`], from its words.
fn event_kind(words: &str) -> &str {
    let end = words.find(|c: char| !c.is_alphanumeric());
    &words[..end.unwrap_or(words.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read() {
        for (text, expected) in [
            ("step:7", Some(Until::Step(7))),
            ("sweep:2", Some(Until::Sweep(2))),
            (
                "event:DeviceFault",
                Some(Until::Event {
                    kind: "devicefault".to_owned(),
                    text: String::new(),
                }),
            ),
            (
                "event:NodeSilent:a:b",
                Some(Until::Event {
                    kind: "nodesilent".to_owned(),
                    text: "a:b".to_owned(),
                }),
            ),
            ("panic", Some(Until::Panic)),
            (
                "answer:status 0x0300",
                Some(Until::Answer("status 0x0300".to_owned())),
            ),
            ("answer:", None),
            ("12.5", Some(Until::Seconds(12.5))),
            ("-1", None),
            ("NaN", None),
            ("event:", None),
            ("event::x", None),
            ("sweep:x", None),
            ("day:1", None),
            ("", None),
        ] {
            assert_eq!(parse(text).ok(), expected, "{text}");
        }
    }
}
