//! What a replay found, and how it is told.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::fs::File;
use std::io::BufReader;

use serde_json::{Value, json};
use weft_fabric::Tick;
use weft_manager::{Manager, Sa};
use weft_replay::{CORE, FileError, Header, Match, Replay, SaWhat, Step, VERSION, What};

use super::Arguments;
use super::words::{answer_kind, answer_words, input_words, output_kind, output_words};

/// Steps that are kept to be printed at most.
const SHOWN_MAX: usize = 1_000_000;
/// Why a recording of other code may part.
const OTHER_CODE: &str = "  the code that recorded put out something else there, or the same with other fields: an event that has one more is another one\n";
/// Events of the last step in which the replay parts that are printed.
const TOLD_MAX: usize = 20;

/// What a replay found.
#[derive(Default)]
pub(super) struct Found {
    pub(super) begun: Tick,
    pub(super) last: Tick,
    inputs: BTreeMap<&'static str, u64>,
    outputs: BTreeMap<&'static str, u64>,
    pub(super) steps: u64,
    /// Steps to print, as text.
    shown: VecDeque<String>,
    parted: Option<String>,
    pub(super) panic: Option<String>,
    torn_at: Option<u64>,
    damaged: Option<FileError>,
    /// The recording says that the manager did not come to the end of its last input.
    ends_open: bool,
    pub(super) is_stopped: bool,
    /// Times at which the recording of subnet administration rests.
    sa_rests: u64,
}

impl Found {
    /// Whether there is no whole input, and no damage that says why.
    pub(super) fn is_empty(&self) -> bool {
        self.steps == 0 && self.damaged.is_none()
    }

    /// Whether the manager did what was recorded, to the end of what was asked for.
    pub(super) fn held(&self) -> bool {
        self.parted.is_none() && self.damaged.is_none() && self.panic.is_none()
    }
}

pub(super) type FileReplay = Replay<BufReader<File>>;

/// Replays to the place where it is to stop.
pub(super) fn follow(mut replay: FileReplay, arguments: &Arguments) -> (Found, FileReplay) {
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
        self.last = self.last.max(step.at);
        if matches!(step.what, What::Sa(SaWhat::Rests(_))) {
            self.sa_rests += 1;
        }
        *self.inputs.entry(step.what.name()).or_default() += 1;
        for output in &step.outputs {
            *self.outputs.entry(output_kind(output)).or_default() += 1;
        }
        for answer in &step.answers {
            *self.outputs.entry(answer_kind(answer)).or_default() += 1;
        }
        if step.matches == Match::Other && self.parted.is_none() {
            self.parted = Some(self.describe(step, TOLD_MAX));
        }
        self.ends_open |= step.matches == Match::Unknown;
        if step.panic.is_some() {
            self.panic.clone_from(&step.panic);
        }
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

    pub(super) fn seconds(&self, at: Tick) -> f64 {
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
        let outputs = step.outputs.iter().map(output_words);
        let all = outputs.chain(step.answers.iter().map(answer_words));
        for words in all.take(most) {
            let _ = writeln!(text, "    {words}");
        }
        let more = (step.outputs.len() + step.answers.len()).saturating_sub(most);
        if more > 0 {
            let _ = writeln!(text, "    and {more} more");
        }
        text
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
    if found.steps == 0 {
        return format!("no input is in it{end}");
    }
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

pub(super) fn as_text(name: &str, header: &Header, found: &Found, replay: &FileReplay) -> String {
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
            "  this is weft {VERSION}, code {CORE}: not the code that recorded; subnet administration is left out"
        );
    }
    let seconds = found.seconds(found.last);
    let _ = writeln!(text, "  {} steps over {seconds:.3} s", found.steps);
    let _ = writeln!(text, "  in: {}", counted(&found.inputs));
    let _ = writeln!(text, "  out: {}", counted(&found.outputs));
    if let Some(manager) = replay.manager() {
        text += &state_words(manager);
    }
    if let Some(sa) = replay.sa() {
        text += &sa_words(sa);
    }
    if found.sa_rests > 0 {
        text += "  subnet administration is not recorded for a time, see --steps\n";
    }
    let _ = writeln!(text, "  result: {}", result(found).trim_end());
    if found.parted.is_some() && !header.is_of_this_program() {
        text += OTHER_CODE;
    }
    text
}

pub(super) fn as_json(header: &Header, found: &Found, replay: &FileReplay) -> Value {
    json!({
        "recorded_by": header,
        "same_code": header.is_of_this_program(),
        "steps": found.steps,
        "seconds": found.seconds(found.last),
        "inputs": found.inputs,
        "outputs": found.outputs,
        "state": replay.manager().map(state_json),
        "sa": replay.sa().map(sa_json),
        "sa_rests": found.sa_rests,
        "same": found.held(),
        "parted": found.parted,
        "panic": found.panic,
        "damaged": found.damaged.as_ref().map(ToString::to_string),
        "torn_at": found.torn_at,
        "stopped": found.is_stopped,
        "shown": found.shown,
    })
}

/// What subnet administration holds, a line.
pub(super) fn sa_words(sa: &Sa) -> String {
    let registered = sa.registered();
    format!(
        "  subnet administration: {} services, {} subscriptions, {} transfers\n",
        registered.services, registered.subscriptions, registered.transfers
    )
}

/// The same as JSON.
pub(super) fn sa_json(sa: &Sa) -> Value {
    let registered = sa.registered();
    json!({
        "services": registered.services,
        "subscriptions": registered.subscriptions,
        "transfers": registered.transfers,
    })
}

/// The manager's state and its fabric, two lines.
pub(super) fn state_words(manager: &Manager) -> String {
    let (status, snapshot) = (manager.status(), manager.snapshot());
    let phase = status.phase.map(|phase| format!("{phase:?}"));
    let phase = phase.unwrap_or_else(|| "between sweeps".to_owned());
    format!(
        "  state: {}, sweep {}, {phase}, {} requests open\n  fabric: generation {}, {} nodes, {} links, routes by {:?}\n",
        status.role,
        status.sweep,
        status.outstanding,
        snapshot.generation,
        snapshot.topology.len(),
        snapshot.topology.links().count(),
        status.engine
    )
}

/// The same as JSON.
pub(super) fn state_json(manager: &Manager) -> Value {
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
}
