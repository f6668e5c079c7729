//! Traffic from files: pairs, matrices, GOAL, SimGrid's traces and Chakra's.

use std::collections::BTreeMap;

use weft_dataplane::traffic::mpi::{Operation, RankSchedule};

use super::parse_traffic::BYTES_MAX;
use super::size::RANKS_MAX;
use super::values::{Checked, Values, at_most, decimal, number, unknown};
use super::{parse_chakra, parse_goal, parse_goal_binary, parse_ti};

/// Most statements, messages or entries of a file.
pub(super) const OPERATIONS_MAX: usize = 1 << 22;
const FORMATS: &str = "goal, ti, chakra, pairs, matrix";
/// Fastest processor, flops a second.
const SPEED_MAX: f64 = 1e15;

/// What `file=NAME` and what follows it say: the name, and how to read its content.
pub(super) fn named(text: &str) -> Checked<(&str, Form)> {
    let values = Values::read(
        text.split_whitespace(),
        &["file", "format", "flops", "ranks"],
    )?;
    let file = values.get("file").unwrap_or("");
    if file.is_empty() {
        return Err("file= names no file".to_owned());
    }
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    let format = match (values.get("format"), ending) {
        (Some(format), _) => format,
        (None, "csv") => "matrix",
        (None, "bin") => "goal",
        (None, "et") => "chakra",
        (None, ending) if is_format(ending) => ending,
        (None, _) => {
            return Err(format!(
                "{file:?}: its name does not tell its form, add format=: {FORMATS}"
            ));
        }
    };
    let flops = values.get("flops").map(|text| decimal(text, SPEED_MAX));
    if format == "chakra" {
        return Ok((file, chakra(file, flops.transpose()?, values.get("ranks"))?));
    }
    if values.get("ranks").is_some() {
        return Err("ranks= has no effect but on chakra".to_owned());
    }
    let form = match (format, flops.transpose()?) {
        ("ti", Some(flops)) if flops >= 1.0 => One::Ti(flops),
        ("ti", _) => {
            return Err("ti needs flops=, those of a processor in a second: 1e9".to_owned());
        }
        (_, Some(_)) => return Err("flops= has no effect but on ti and chakra".to_owned()),
        ("goal", None) => One::Goal,
        ("pairs", None) => One::Pairs,
        ("matrix", None) => One::Matrix,
        _ => return Err(unknown("format", format, FORMATS)),
    };
    Ok((file, Form::One(form)))
}

fn chakra(file: &str, flops: Option<f64>, ranks: Option<&str>) -> Checked<Form> {
    if file.matches('*').count() != 1 {
        return Err(format!(
            "{file:?}: each rank has a file, allowed: a name with one * for its number"
        ));
    }
    let ranks = ranks.ok_or_else(|| "chakra needs ranks=, their number".to_owned())?;
    match flops {
        Some(flops) if flops < 1.0 => Err(format!("flops={flops}, allowed: 1 or more")),
        flops => Ok(Form::Chakra {
            ranks: number(ranks, 1, RANKS_MAX)? as u32,
            flops,
        }),
    }
}

fn is_format(text: &str) -> bool {
    FORMATS.split(", ").any(|known| known == text)
}

/// How files are read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Form {
    /// One file of all ranks.
    One(One),
    /// Traces of Chakra: their number, and operations of a processor in a second.
    Chakra { ranks: u32, flops: Option<f64> },
}

/// How a file of all ranks is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum One {
    /// GOAL, its text or what is compiled of it.
    Goal,
    /// A trace of SimGrid; flops of a processor in a second.
    Ti(f64),
    /// FROM TO BYTES.
    Pairs,
    /// Bytes from each rank to each.
    Matrix,
}

/// The operations of each rank. `open` returns the content of a file.
///
/// # Errors
/// The file, the first line or rank that is wrong, and what is allowed; those of `open`.
pub(super) fn read(
    form: Form,
    file: &str,
    mut open: impl FnMut(&str) -> Checked<Vec<u8>>,
) -> Checked<Vec<RankSchedule>> {
    let ranks = match form {
        Form::Chakra { ranks, flops } => {
            let open = |rank: u32| open(&file.replace('*', &rank.to_string()));
            parse_chakra::read(ranks, flops, open)
        }
        Form::One(one) => of_one(one, &open(file)?),
    };
    ranks.map_err(|what| format!("{file}: {what}"))
}

/// The operations of all ranks in one file.
fn of_one(form: One, content: &[u8]) -> Checked<Vec<RankSchedule>> {
    if form == One::Goal && parse_goal_binary::is_compiled(content) {
        return parse_goal_binary::read(content);
    }
    let text = std::str::from_utf8(content).map_err(|_| "no text in UTF-8".to_owned())?;
    match form {
        One::Goal => parse_goal::read(text),
        One::Ti(flops) => parse_ti::read(text, flops),
        One::Pairs => pairs(text),
        One::Matrix => matrix(text),
    }
}

/// FROM TO BYTES on each line; all messages at once.
fn pairs(text: &str) -> Checked<Vec<RankSchedule>> {
    let mut messages = Vec::new();
    for (line, words) in lines(text) {
        let one = match &words[..] {
            [from, to, bytes] => message(from, to, bytes),
            _ => Err(format!(
                "{:?} is not of the form FROM TO BYTES",
                words.join(" ")
            )),
        };
        messages.push(one.map_err(|what| format!("line {line}: {what}"))?);
        at_most(messages.len(), OPERATIONS_MAX, "messages")?;
    }
    if messages.is_empty() {
        return Err("no messages, allowed: lines FROM TO BYTES".to_owned());
    }
    Ok(at_once(&messages))
}

fn message(from: &str, to: &str, bytes: &str) -> Checked<(u32, u32, u64)> {
    let rank = |text| number(text, 0, RANKS_MAX - 1).map(|rank| rank as u32);
    Ok((rank(from)?, rank(to)?, number(bytes, 0, BYTES_MAX)?))
}

/// Bytes from each rank, a line, to each other, an entry of it; 0 is no message.
fn matrix(text: &str) -> Checked<Vec<RankSchedule>> {
    let rows: Vec<(usize, Vec<&str>)> = lines(text).collect();
    let (ranks, mut messages) = (rows.len(), Vec::new());
    if ranks == 0 {
        return Err("no entries, allowed: a line for each rank, an entry for each".to_owned());
    }
    at_most(ranks.saturating_mul(ranks), OPERATIONS_MAX, "entries")?;
    for (from, (line, row)) in rows.iter().enumerate() {
        if row.len() != ranks {
            return Err(format!(
                "line {line}: {} entries where there are {ranks} lines, allowed: as many",
                row.len()
            ));
        }
        for (to, text) in row.iter().enumerate() {
            let bytes =
                number(text, 0, BYTES_MAX).map_err(|what| format!("line {line}: {what}"))?;
            if bytes > 0 {
                messages.push((from as u32, to as u32, bytes));
            }
        }
    }
    let mut schedules = at_once(&messages);
    schedules.resize(ranks, RankSchedule::default());
    Ok(schedules)
}

/// Lines that say something, with their numbers and words, which spaces or commas part.
fn lines(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    text.lines().enumerate().filter_map(|(index, line)| {
        let line = line.split('#').next().unwrap_or("");
        let words = line.split([' ', '\t', ',']).filter(|word| !word.is_empty());
        let words: Vec<&str> = words.collect();
        (!words.is_empty()).then_some((index + 1, words))
    })
}

fn at_once(messages: &[(u32, u32, u64)]) -> Vec<RankSchedule> {
    let most = messages.iter().map(|(from, to, _)| (*from).max(*to));
    let count = most.max().map_or(0, |most| most as usize + 1);
    let mut ranks = vec![RankSchedule::default(); count];
    for (from, to, bytes) in messages.iter().copied() {
        ranks[from as usize].add(Operation::Send { to, bytes, tag: 0 });
        ranks[to as usize].add(Operation::Receive { from, tag: 0 });
    }
    ranks
}

/// Whether each message that is waited for is sent, and each that is sent waited for.
pub(super) fn matched(ranks: &[RankSchedule]) -> Checked<()> {
    let mut open: BTreeMap<(u32, u32, u32), i64> = BTreeMap::new();
    for (rank, schedule) in ranks.iter().enumerate() {
        let rank = rank as u32;
        for operation in &schedule.operations {
            match *operation {
                Operation::Send { to, tag, .. } => *open.entry((rank, to, tag)).or_default() += 1,
                Operation::Receive { from, tag } => {
                    *open.entry((from, rank, tag)).or_default() -= 1
                }
                Operation::Compute { .. } => {}
            }
        }
    }
    let Some(((from, to, tag), left)) = open.into_iter().find(|(_, left)| *left != 0) else {
        return Ok(());
    };
    let (many, what) = match left > 0 {
        true => (left, "are sent and not received"),
        false => (-left, "are received and not sent"),
    };
    Err(format!(
        "from rank {from} to rank {to} with tag {tag}: {many} messages {what}"
    ))
}
