//! `weft-lab replay`: runs the manager over a recording of its inputs, and compares what it puts out.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use serde_json::{Value, json};
use weft_fabric::Tick;
use weft_manager::{Event, Output};
use weft_replay::{CORE, FileError, Header, Match, Replay, Step, VERSION, What};
use weft_wire::smp::SmpView;

/// Arguments of `weft-lab replay`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A recording of weftd: an incident, or a file of the directory recordings.N.
    file: PathBuf,
    /// Stop after this step: step:N, sweep:N when that sweep begins, event:KIND such as event:DeviceFault, or seconds
    /// since the recording's beginning, such as 12.5.
    #[arg(long, value_name = "WHERE", value_parser = parse_until)]
    until: Option<Until>,
    /// Print the steps, and what each put out; with --last only the last ones.
    #[arg(long)]
    steps: bool,
    /// Number of the last steps that --steps prints.
    #[arg(long, value_name = "N", requires = "steps")]
    last: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Steps that are kept to be printed at most.
const SHOWN_MAX: usize = 1_000_000;
/// Events of the last step in which the replay parts that are printed.
const TOLD_MAX: usize = 20;

/// Where a replay stops.
#[derive(Debug, Clone, PartialEq)]
enum Until {
    Step(u64),
    Sweep(u64),
    Event(String),
    Seconds(f64),
}

fn parse_until(text: &str) -> Result<Until, String> {
    let wrong = || format!("{text:?} is no place, wanted step:N, sweep:N, event:KIND or seconds");
    match text.split_once(':') {
        Some(("step", number)) => number.parse().map(Until::Step).map_err(|_| wrong()),
        Some(("sweep", number)) => number.parse().map(Until::Sweep).map_err(|_| wrong()),
        Some(("event", kind)) if !kind.is_empty() => Ok(Until::Event(kind.to_lowercase())),
        Some(_) => Err(wrong()),
        None => {
            let seconds = text.parse().ok().filter(|seconds: &f64| *seconds >= 0.0);
            seconds.map(Until::Seconds).ok_or_else(wrong)
        }
    }
}

impl Until {
    /// Whether a step is the last.
    fn is_reached(&self, step: &Step, begun: Tick) -> bool {
        let mut events = step.outputs.iter().filter_map(|output| match output {
            Output::Event(event) => Some(event),
            _ => None,
        });
        match self {
            Self::Step(number) => step.number >= *number,
            Self::Sweep(wanted) => events.any(
                |event| matches!(event, Event::SweepStarted { number, .. } if number >= wanted),
            ),
            Self::Event(kind) => events.any(|event| event_kind(event).to_lowercase() == *kind),
            Self::Seconds(seconds) => step.at.since(begun).as_secs_f64() >= *seconds,
        }
    }
}

/// The event's name in [`Event`].
fn event_kind(event: &Event) -> String {
    let text = format!("{event:?}");
    let end = text.find(|c: char| !c.is_alphanumeric());
    text[..end.unwrap_or(text.len())].to_owned()
}

/// What a replay found.
#[derive(Default)]
struct Found {
    begun: Tick,
    last: Tick,
    inputs: BTreeMap<&'static str, u64>,
    outputs: BTreeMap<&'static str, u64>,
    steps: u64,
    /// Steps to print, as text.
    shown: VecDeque<String>,
    parted: Option<String>,
    panic: Option<String>,
    torn_at: Option<u64>,
    damaged: Option<FileError>,
    /// The recording says that the manager did not come to the end of its last input.
    ends_open: bool,
    is_stopped: bool,
}

impl Found {
    /// Whether the manager did what was recorded, to the end of what was asked for.
    fn held(&self) -> bool {
        self.parted.is_none() && self.damaged.is_none() && self.panic.is_none()
    }
}

/// Runs it; returns whether all was as recorded, and what to print.
pub(crate) fn run(arguments: &Arguments) -> Result<(bool, String), String> {
    let name = arguments.file.display();
    let file = File::open(&arguments.file).map_err(|error| format!("{name}: {error}"))?;
    let replay = Replay::new(BufReader::new(file)).map_err(|error| format!("{name}: {error}"))?;
    let header = replay.header().clone();
    let (found, replay) = follow(replay, arguments);
    let text = match arguments.json {
        true => format!("{}\n", as_json(&header, &found, &replay)),
        false => as_text(
            &arguments.file.display().to_string(),
            &header,
            &found,
            &replay,
        ),
    };
    Ok((found.held(), text))
}

type FileReplay = Replay<BufReader<File>>;

fn follow(mut replay: FileReplay, arguments: &Arguments) -> (Found, FileReplay) {
    let mut found = Found::default();
    loop {
        match replay.next() {
            Ok(Some(step)) => {
                let is_last = found.take(&step, arguments);
                if is_last {
                    found.is_stopped = true;
                    break;
                }
            }
            Ok(None) => break,
            Err(error) => {
                found.damaged = Some(error);
                break;
            }
        }
    }
    found.torn_at = replay.torn_at();
    (found, replay)
}

impl Found {
    /// Counts a step; returns whether it is the last one that is wanted.
    fn take(&mut self, step: &Step, arguments: &Arguments) -> bool {
        if self.steps == 0 {
            self.begun = step.at;
        }
        self.steps = step.number;
        self.last = step.at;
        *self.inputs.entry(step.what.name()).or_default() += 1;
        for output in &step.outputs {
            *self.outputs.entry(output_kind(output)).or_default() += 1;
        }
        if step.matches == Match::Other && self.parted.is_none() {
            self.parted = Some(self.describe(step, TOLD_MAX));
        }
        self.ends_open = step.matches == Match::Unknown;
        self.panic.clone_from(&step.panic);
        if arguments.steps {
            let line = self.describe(step, usize::MAX);
            let most = arguments.last.unwrap_or(SHOWN_MAX).min(SHOWN_MAX);
            self.shown.push_back(line);
            if self.shown.len() > most {
                self.shown.pop_front();
            }
        }
        let until = arguments.until.as_ref();
        until.is_some_and(|until| until.is_reached(step, self.begun))
    }

    fn seconds(&self, at: Tick) -> f64 {
        at.since(self.begun).as_secs_f64()
    }

    /// A step in words, a line for each of at most `most` outputs.
    fn describe(&self, step: &Step, most: usize) -> String {
        let mut text = format!(
            "step {}, {:.6} s: {}\n",
            step.number,
            self.seconds(step.at),
            input_words(&step.what)
        );
        for output in step.outputs.iter().take(most) {
            let _ = writeln!(text, "    {}", output_words(output));
        }
        if let Some(more) = step
            .outputs
            .len()
            .checked_sub(most)
            .filter(|more| *more > 0)
        {
            let _ = writeln!(text, "    and {more} more");
        }
        text
    }
}

fn input_words(what: &What) -> String {
    match what {
        What::Tick => "a deadline".to_owned(),
        What::Received(packet) => format!("received {}", datagram(&packet.mad)),
        What::Planned(id) => format!("plan {id} is ready"),
        What::Call(call) => call.name().replace('-', " "),
    }
}

fn output_kind(output: &Output) -> &'static str {
    match output {
        Output::Send(_) => "datagrams",
        Output::Plan(_) => "plans",
        Output::Publish(_) => "snapshots",
        Output::Persist(_) => "states",
        Output::Event(_) => "events",
        Output::Notice(_) => "notices",
        Output::RegistrationsLost { .. } => "registrations_lost",
        Output::Reply { .. } => "replies",
    }
}

fn output_words(output: &Output) -> String {
    match output {
        Output::Send(packet) => format!("sends {}", datagram(&packet.mad)),
        Output::Plan(input) => format!("asks for plan {}", input.id()),
        Output::Publish(snapshot) => format!("publishes generation {}", snapshot.generation),
        Output::Persist(bytes) => format!("stores {} bytes", bytes.len()),
        Output::Event(event) => format!("tells {event:?}"),
        Output::Notice(bytes) => format!("passes on a notice of {} bytes", bytes.len()),
        Output::RegistrationsLost { asked } => format!("asks {asked} ports to register"),
        Output::Reply { id, result } => format!("answers order {id}: {result:?}"),
    }
}

/// A datagram in a few words.
fn datagram(mad: &[u8]) -> String {
    match SmpView::parse(mad) {
        Ok(view) => {
            let route = view.directed.map(|route| {
                let hops = usize::from(view.header.hop_count);
                let path = route.initial_path.iter().skip(1).take(hops);
                let ports: Vec<String> = path.map(ToString::to_string).collect();
                format!(" by ports [{}]", ports.join(" "))
            });
            format!(
                "{:?} method {:#04x} modifier {:#010x} status {:#06x}{}",
                view.attribute(),
                view.header.method,
                view.header.attribute_modifier,
                view.status(),
                route.unwrap_or_default()
            )
        }
        Err(error) => format!("{} bytes ({error})", mad.len()),
    }
}

fn counted(counts: &BTreeMap<&str, u64>) -> String {
    let each = counts.iter().map(|(kind, count)| format!("{count} {kind}"));
    each.collect::<Vec<_>>().join(", ")
}

fn result(found: &Found) -> String {
    let end = match (&found.damaged, found.torn_at) {
        (Some(error), _) => format!("; then {error}"),
        (None, Some(at)) => format!("; what follows byte {at} of the file was not written whole"),
        (None, None) => String::new(),
    };
    match (&found.parted, &found.panic, found.ends_open) {
        (_, Some(words), true) => format!("the same up to the end, where it panics: {words}{end}"),
        (_, Some(words), false) => format!("it panics, as it did not when recorded: {words}{end}"),
        (Some(step), ..) => format!("it parts from the recording at {step}{end}"),
        (None, None, true) => {
            format!("the same, but the last input, which did not come to its end then{end}")
        }
        (None, None, false) => format!("the same to the last byte{end}"),
    }
}

fn as_text(name: &str, header: &Header, found: &Found, replay: &FileReplay) -> String {
    let mut text: String = found.shown.iter().map(String::as_str).collect();
    let _ = writeln!(text, "{name}");
    let (version, core) = (&header.version, &header.core);
    let _ = writeln!(
        text,
        "  recorded by weft {version}, code {core}: {}",
        header.source
    );
    if !header.is_of_this_program() {
        let _ = writeln!(
            text,
            "  this is weft {VERSION}, code {CORE}: not the code that recorded"
        );
    }
    let seconds = found.seconds(found.last);
    let _ = writeln!(text, "  {} steps over {seconds:.3} s", found.steps);
    let _ = writeln!(text, "  in: {}", counted(&found.inputs));
    let _ = writeln!(text, "  out: {}", counted(&found.outputs));
    if let Some(manager) = replay.manager() {
        let (status, snapshot) = (manager.status(), manager.snapshot());
        let phase = status.phase.map(|phase| format!("{phase:?}"));
        let phase = phase.unwrap_or_else(|| "between sweeps".to_owned());
        let _ = writeln!(
            text,
            "  state: {}, sweep {}, {phase}, {} requests open\n  fabric: generation {}, {} nodes, {} links, routes by {:?}",
            status.role,
            status.sweep,
            status.outstanding,
            snapshot.generation,
            snapshot.topology.len(),
            snapshot.topology.links().count(),
            status.engine
        );
    }
    let _ = writeln!(text, "  result: {}", result(found).trim_end());
    text
}

fn as_json(header: &Header, found: &Found, replay: &FileReplay) -> Value {
    let state = replay.manager().map(|manager| {
        let (status, snapshot) = (manager.status(), manager.snapshot());
        json!({
            "role": status.role.to_string(),
            "sweep": status.sweep,
            "phase": status.phase,
            "requests_open": status.outstanding,
            "engine": status.engine,
            "generation": snapshot.generation,
            "nodes": snapshot.topology.len(),
            "links": snapshot.topology.links().count(),
        })
    });
    json!({
        "recorded_by": header,
        "same_code": header.is_of_this_program(),
        "steps": found.steps,
        "seconds": found.seconds(found.last),
        "inputs": found.inputs,
        "outputs": found.outputs,
        "state": state,
        "same": found.held(),
        "parted": found.parted,
        "panic": found.panic,
        "damaged": found.damaged.as_ref().map(ToString::to_string),
        "torn_at": found.torn_at,
        "stopped": found.is_stopped,
        "shown": found.shown,
    })
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
                Some(Until::Event("devicefault".to_owned())),
            ),
            ("12.5", Some(Until::Seconds(12.5))),
            ("-1", None),
            ("NaN", None),
            ("event:", None),
            ("sweep:x", None),
            ("day:1", None),
            ("", None),
        ] {
            assert_eq!(parse_until(text).ok(), expected, "{text}");
        }
    }
}
