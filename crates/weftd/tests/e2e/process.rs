//! Programs as children of the test, none of which can keep it waiting for ever.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use weft_interop::Running;

use crate::harness::{PATIENCE, text};

/// Interval at which a child's exit status is checked.
const PAUSE: Duration = Duration::from_millis(5);

/// Environment variables that would change the behaviour of the programs.
const SETTINGS: [&str; 13] = [
    "JOURNAL_STREAM",
    "NO_COLOR",
    "NOTIFY_SOCKET",
    "STATE_DIRECTORY",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "WEFTD_LOG",
    "WEFT_ADDRESS",
    "WEFT_TLS_CA",
    "WEFT_TLS_CERT",
    "WEFT_TLS_KEY",
    "WEFT_TIMEOUT",
    "XDG_STATE_HOME",
];

/// A program that takes no setting from the environment of the test.
pub(crate) fn program(path: &Path) -> Command {
    let mut command = Command::new(path);
    for setting in SETTINGS {
        command.env_remove(setting);
    }
    // Notes of earlier calls are kept in the home directory.
    command.env("HOME", "/nonexistent");
    command
}

/// Runs a program to its end.
///
/// # Panics
/// When it has not ended in time; it is killed before.
pub(crate) fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let stdout = read(child.stdout.take().unwrap());
    let stderr = read(child.stderr.take().unwrap());
    let ended = wait(&mut child);
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    let Some(status) = ended else {
        panic!("{command:?} did not end: {}", text(&stderr));
    };
    Output {
        status,
        stdout,
        stderr,
    }
}

/// Runs a program to its end with a standard output of its own; exit code and standard error.
///
/// # Panics
/// When it has not ended in time; it is killed before.
pub(crate) fn output_to(command: &mut Command, stdout: Stdio) -> (Option<i32>, String) {
    command.stdin(Stdio::null()).stdout(stdout);
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let stderr = read(child.stderr.take().unwrap());
    let ended = wait(&mut child);
    let said = text(&stderr.join().unwrap());
    let status = ended.unwrap_or_else(|| panic!("{command:?} did not end: {said}"));
    (status.code(), said)
}

/// Drains a pipe, so that it never blocks its writer.
fn read(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    spawn(move || {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).unwrap();
        bytes
    })
}

/// Exit status of a child; `None` if it had to be killed.
fn wait(child: &mut Child) -> Option<std::process::ExitStatus> {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if Instant::now() >= until {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        sleep(PAUSE);
    }
}

/// A running program whose lines are read as they come; it is killed when this is dropped.
pub(crate) struct Reading {
    process: Running,
    lines: Receiver<String>,
}

impl Reading {
    /// Starts a program.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut process = Running::start(command.stdout(Stdio::piped()));
        let lines = lines(process.stdout.take().unwrap());
        Self { process, lines }
    }

    /// The next line; none when the program has closed its output.
    ///
    /// # Panics
    /// When neither comes in time.
    pub(crate) fn line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("no line came"),
        }
    }

    /// Waits for the end; the exit code.
    ///
    /// # Panics
    /// When it does not end in time.
    pub(crate) fn end(&mut self) -> Option<i32> {
        wait(&mut self.process).expect("it did not end").code()
    }
}

fn lines(from: ChildStdout) -> Receiver<String> {
    let (sender, receiver) = channel();
    spawn(move || {
        let lines = BufReader::new(from).lines();
        // The receiver may have gone.
        lines
            .map_while(Result::ok)
            .try_for_each(|line| sender.send(line))
    });
    receiver
}
