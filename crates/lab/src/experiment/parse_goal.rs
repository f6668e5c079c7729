//! GOAL, the language of LogGOPSim for operations of ranks: `send`, `recv` and `calc` with dependencies
//! (Hoefler, Siebert, Lumsdaine: Group Operation Assembly Language, ICPP 2009).

use std::collections::BTreeMap;

use weft_dataplane::packets::NANO;
use weft_dataplane::traffic::mpi::{Operation, RankSchedule};

use super::parse_traffic::BYTES_MAX;
use super::size::RANKS_MAX;
use super::traffic_file::{OPERATIONS_MAX, matched};
use super::values::{Checked, at_most, number, unknown};

/// Longest computation, nanoseconds: an hour.
pub(super) const COMPUTE_MAX: u64 = 3_600_000_000_000;
const FORM: &str = "LABEL: send BYTESb to RANK, LABEL: recv BYTESb from RANK, LABEL: calc NANOSECONDS, \
    each with tag N, cpu N or nic N behind it; LABEL requires LABEL, LABEL irequires LABEL";

/// A rank whose statements are being read.
struct Open {
    rank: usize,
    line: usize,
    schedule: RankSchedule,
    labels: BTreeMap<String, u32>,
    /// Dependencies with their lines: who waits, for whom, and whether for its beginning alone.
    waits: Vec<(usize, String, String, bool)>,
}

/// The operations of each rank.
///
/// # Errors
/// The first line that is wrong, and what is allowed.
pub(super) fn read(text: &str) -> Checked<Vec<RankSchedule>> {
    let mut goal = Goal::default();
    for (index, line) in text.lines().enumerate() {
        let line = line.split("//").next().unwrap_or("");
        let line = line.split('#').next().unwrap_or("").trim();
        let told = goal.line(index + 1, line.trim_end_matches(';').trim_end());
        told.map_err(|what| format!("line {}: {what}", index + 1))?;
    }
    goal.finish()
}

#[derive(Default)]
struct Goal {
    ranks: Vec<Option<RankSchedule>>,
    open: Option<Open>,
    operations: usize,
}

impl Goal {
    fn line(&mut self, line: usize, text: &str) -> Checked<()> {
        let words: Vec<&str> = text.split_whitespace().collect();
        match (&words[..], &mut self.open) {
            ([], _) => Ok(()),
            (["num_ranks", count], None) if self.ranks.is_empty() => {
                let count = number(count, 1, RANKS_MAX)? as usize;
                self.ranks = vec![None; count];
                Ok(())
            }
            (["rank", rank, "{"], None) => self.begin(line, rank),
            (["}"], Some(_)) => self.end(),
            (words, Some(open)) => {
                self.operations += 1;
                at_most(self.operations, OPERATIONS_MAX, "statements")?;
                open.statement(line, words, self.ranks.len())
            }
            _ if self.ranks.is_empty() => Err(format!(
                "{text:?} before num_ranks, allowed: num_ranks COUNT"
            )),
            _ => Err(unknown("statement", text, "rank NUMBER {")),
        }
    }

    fn begin(&mut self, line: usize, rank: &str) -> Checked<()> {
        if self.ranks.is_empty() {
            return Err("a rank before num_ranks, allowed: num_ranks COUNT".to_owned());
        }
        let rank = number(rank, 0, self.ranks.len() as u64 - 1)? as usize;
        if self.ranks[rank].is_some() {
            return Err(format!("rank {rank} is there twice"));
        }
        self.open = Some(Open {
            rank,
            line,
            schedule: RankSchedule::default(),
            labels: BTreeMap::new(),
            waits: Vec::new(),
        });
        Ok(())
    }

    fn end(&mut self) -> Checked<()> {
        if let Some(open) = self.open.take() {
            let rank = open.rank;
            self.ranks[rank] = Some(open.finish()?);
        }
        Ok(())
    }

    fn finish(self) -> Checked<Vec<RankSchedule>> {
        if let Some(open) = self.open {
            return Err(format!("line {}: the rank has no }} at its end", open.line));
        }
        if self.ranks.is_empty() {
            return Err("no num_ranks COUNT at the beginning".to_owned());
        }
        let ranks: Vec<RankSchedule> = self
            .ranks
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect();
        matched(&ranks)?;
        Ok(ranks)
    }
}

impl Open {
    fn statement(&mut self, line: usize, words: &[&str], ranks: usize) -> Checked<()> {
        if let [one, word @ ("requires" | "irequires"), other] = words {
            let wait = (
                line,
                (*one).to_owned(),
                (*other).to_owned(),
                *word == "irequires",
            );
            self.waits.push(wait);
            return Ok(());
        }
        let (label, words) = match words {
            [label, rest @ ..] if label.ends_with(':') => (label.strip_suffix(':'), rest),
            _ => (None, words),
        };
        let operation = operation(words, ranks)?;
        let number = self.schedule.add(operation);
        let Some(label) = label else { return Ok(()) };
        match self.labels.insert(label.to_owned(), number) {
            Some(_) => Err(format!("label {label:?} is there twice in this rank")),
            None => Ok(()),
        }
    }

    fn finish(mut self) -> Checked<RankSchedule> {
        for (line, one, other, begun) in &self.waits {
            let find = |label: &String| {
                let found = self.labels.get(label).copied();
                found.ok_or_else(|| {
                    format!(
                        "line {line}: no label {label:?} in rank {}, allowed: those of its own",
                        self.rank
                    )
                })
            };
            let (one, other) = (find(one)?, find(other)?);
            let waiting = if *begun {
                &mut self.schedule.begun
            } else {
                &mut self.schedule.ended
            };
            waiting[other as usize].push(one);
        }
        let Some(stuck) = self.schedule.circle() else {
            return Ok(self.schedule);
        };
        let label = self.labels.iter().find(|(_, number)| **number == stuck);
        let label = label.map_or("", |(label, _)| label);
        Err(format!(
            "{label:?} in rank {} waits for itself, through what it requires",
            self.rank
        ))
    }
}

fn operation(words: &[&str], ranks: usize) -> Checked<Operation> {
    let wrong = || unknown("statement", &words.join(" "), FORM);
    let rank = |text: &str| number(text, 0, ranks as u64 - 1).map(|rank| rank as u32);
    match words {
        ["send", bytes, "to", to, options @ ..] => Ok(Operation::Send {
            to: rank(to)?,
            bytes: size(bytes)?,
            tag: options_of(options)?.0,
        }),
        ["recv", bytes, "from", from, options @ ..] => {
            size(bytes)?;
            Ok(Operation::Receive {
                from: rank(from)?,
                tag: options_of(options)?.0,
            })
        }
        ["calc", span, options @ ..] => Ok(Operation::Compute {
            span: number(span, 0, COMPUTE_MAX)? * NANO,
            processor: options_of(options)?.1,
        }),
        _ => Err(wrong()),
    }
}

fn size(text: &str) -> Checked<u64> {
    let digits = text.strip_suffix('b');
    let digits = digits.ok_or_else(|| format!("{text:?} is no size such as 8b"))?;
    number(digits, 0, BYTES_MAX)
}

/// Tag and processor.
fn options_of(words: &[&str]) -> Checked<(u32, u32)> {
    let (mut tag, mut processor) = (0, 0);
    for pair in words.chunks(2) {
        match pair {
            ["tag", value] => tag = number(value, 0, u64::from(u32::MAX))? as u32,
            ["cpu", value] => processor = number(value, 0, u64::from(u32::MAX))? as u32,
            // Hosts have one HFI.
            ["nic", value] => number(value, 0, 0).map(|_| ())?,
            _ => return Err(unknown("option", &pair.join(" "), "tag N, cpu N, nic 0")),
        }
    }
    Ok((tag, processor))
}
