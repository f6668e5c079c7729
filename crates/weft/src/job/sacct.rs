//! A job's hosts and times, from Slurm's accounting: `sacct` is asked.

use crate::args::Daemon;
use crate::error::CliError;
use crate::moment;
use crate::slurm::command::{Call, run};

/// Columns, with the one last that may have any characters.
const COLUMNS: &str = "JobID,State,NodeList,Start,End,JobName";
/// Longest text of a job that is shown as it is.
const ID_MAX: usize = 64;

/// A job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) state: String,
    /// A list of hosts.
    pub(super) nodes: String,
    /// Milliseconds since 1970.
    pub(super) start_ms: i64,
    /// None while it runs.
    pub(super) end_ms: Option<i64>,
}

/// Asks `sacct` for a job.
pub(super) async fn job(daemon: &Daemon, id: &str) -> Result<Job, CliError> {
    let is_id = |byte: u8| byte.is_ascii_digit() || b"_+".contains(&byte);
    if id.is_empty() || id.len() > ID_MAX || !id.bytes().all(is_id) {
        return Err(CliError::Usage(format!(
            "--job: '{id}' is no number of a job, such as 4711, 4711_3 of an array or 4711+1"
        )));
    }
    let arguments = ["-j", id, "-X", "-n", "-P", "-o", COLUMNS];
    let call = Call {
        program: "sacct",
        arguments: &arguments,
        // Times as seconds since 1970: no time zone is to be guessed.
        variable: Some(("SLURM_TIME_FORMAT", "%s")),
        without: "without Slurm's accounting, give hosts and times: weft job slow NODES --from TIME --to TIME",
    };
    let printed = run(daemon, &call).await?;
    read(&String::from_utf8_lossy(&printed), id).map_err(CliError::Refused)
}

/// The one job in what sacct prints.
fn read(printed: &str, id: &str) -> Result<Job, String> {
    let lines: Vec<&str> = printed
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    match lines.as_slice() {
        [] => Err(format!(
            "sacct knows no job {id}: `sacct -S now-7days` lists those that it knows"
        )),
        [line] => one(line),
        [first, ..] => {
            let first = first.split('|').next().unwrap_or_default();
            Err(format!(
                "job {id} is {} jobs for sacct: name one of them, such as --job {first}",
                lines.len()
            ))
        }
    }
}

fn one(line: &str) -> Result<Job, String> {
    let fields: Vec<&str> = line.splitn(6, '|').collect();
    let [id, state, nodes, start, end, name] = fields[..] else {
        return Err(format!(
            "sacct prints '{line}': expected {COLUMNS}, separated by '|'"
        ));
    };
    let start_ms = time(start)?.ok_or_else(|| format!("job {id} has not begun: it is {state}"))?;
    if nodes.is_empty() || nodes == "None assigned" {
        return Err(format!("job {id} had no nodes: it is {state}"));
    }
    Ok(Job {
        id: id.to_owned(),
        name: name.to_owned(),
        state: state.to_owned(),
        nodes: nodes.to_owned(),
        start_ms,
        end_ms: time(end)?,
    })
}

/// Milliseconds since 1970; none where it is not known.
fn time(text: &str) -> Result<Option<i64>, String> {
    if ["", "Unknown", "None"].contains(&text) {
        return Ok(None);
    }
    if let Ok(seconds) = text.parse::<i64>() {
        return Ok(seconds.checked_mul(1000));
    }
    // A version that does not know the format prints local time.
    moment::parse(text, moment::now_ms()).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_sacct_prints_is_read() {
        let job = read(
            "4711|COMPLETED|node[1-8]|1795618800|1795620600|a|b\n",
            "4711",
        );
        let expected = Job {
            id: "4711".to_owned(),
            name: "a|b".to_owned(),
            state: "COMPLETED".to_owned(),
            nodes: "node[1-8]".to_owned(),
            start_ms: 1_795_618_800_000,
            end_ms: Some(1_795_620_600_000),
        };
        assert_eq!(job, Ok(expected));
        let running = read("7|RUNNING|node1|1795618800|Unknown|x\n", "7");
        assert_eq!(running.map(|job| job.end_ms), Ok(None));
    }

    #[test]
    fn jobs_without_hosts_or_times_are_told() {
        for (printed, told) in [
            ("", "sacct knows no job 7"),
            ("\n\n", "sacct knows no job 7"),
            (
                "7|PENDING|None assigned|Unknown|Unknown|x\n",
                "has not begun",
            ),
            ("7|CANCELLED by 0|None assigned|17|18|x\n", "had no nodes"),
            (
                "7_1|COMPLETED|a|1|2|x\n7_2|COMPLETED|b|1|2|x\n",
                "--job 7_1",
            ),
            ("7 COMPLETED\n", "separated by '|'"),
            ("7|RUNNING|a|soon|2|x\n", "expected a time"),
        ] {
            let error = read(printed, "7").expect_err(printed);
            assert!(error.contains(told), "{printed}: {error}");
        }
    }
}
