//! Slurm's own commands.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

use crate::args::Daemon;
use crate::error::CliError;
use crate::time::duration;

/// How long it may take without `--timeout`: longer than its own attempts to reach slurmctld.
const LIMIT: Duration = Duration::from_secs(120);
/// Bytes that it may print.
const OUTPUT_MAX: u64 = 64 << 20;
/// How often it is looked at.
const PAUSE: Duration = Duration::from_millis(20);

/// A call of one of Slurm's commands.
pub(crate) struct Call<'a> {
    /// `scontrol` or `sacct`.
    pub(crate) program: &'a str,
    pub(crate) arguments: &'a [&'a str],
    /// A variable that it gets.
    pub(crate) variable: Option<(&'a str, &'a str)>,
    /// What to do where it is not installed.
    pub(crate) without: &'a str,
}

/// Runs a command; its output.
pub(crate) async fn run(daemon: &Daemon, call: &Call<'_>) -> Result<Vec<u8>, CliError> {
    let limit = daemon.timeout.unwrap_or(LIMIT);
    let mut command = Command::new(call.program);
    command
        .args(call.arguments)
        .envs(call.variable)
        .stdin(Stdio::null());
    let failed = |why: String| {
        let called = format!("{} {}", call.program, call.arguments.join(" "));
        CliError::Refused(format!("`{called}`: {why}"))
    };
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("{error}; {}", call.without)))?;
    let (stdout, stderr) = (all_of(child.stdout.take()), all_of(child.stderr.take()));
    let ended = wait(&mut child, limit)
        .await
        .map_err(|error| failed(error.to_string()))?;
    let Some(status) = ended else {
        let limit = duration(limit.as_nanos() as u64);
        return Err(failed(format!("no answer within {limit}")));
    };
    let text = |reader: JoinHandle<Vec<u8>>| reader.join().unwrap_or_default();
    let printed = text(stdout);
    if printed.len() as u64 > OUTPUT_MAX {
        return Err(failed(format!("it prints more than {OUTPUT_MAX} bytes")));
    }
    match status.success() {
        true => Ok(printed),
        false => {
            let said = text(stderr);
            let said = String::from_utf8_lossy(&said);
            Err(failed(said.lines().take(3).collect::<Vec<_>>().join("; ")))
        }
    }
}

/// Reads a pipe to its end, so that its writer is not kept waiting, or a little more than is allowed.
fn all_of(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
    spawn(move || {
        let mut bytes = Vec::new();
        // What came until an error is shown as it is.
        let _ = pipe.map(|pipe| pipe.take(OUTPUT_MAX + 1).read_to_end(&mut bytes));
        bytes
    })
}

/// The exit status; `None` if it had to be killed.
async fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let until = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        tokio::time::sleep(PAUSE).await;
    }
}
