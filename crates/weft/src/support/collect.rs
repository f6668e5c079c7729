//! Programs, files and pages, each bounded in time and size.

use std::fs::{DirBuilder, File};
use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::now_ns;
use crate::error::CliError;

/// A part: its bytes, or why there are none.
pub(super) type Collected = Result<Vec<u8>, String>;

/// Most bytes of a part; the rest is cut off.
pub(super) const PART_MAX: usize = 64 << 20;
/// Time limit of a program, and of a page.
const PATIENCE: Duration = Duration::from_secs(60);

/// A home directory for programs, which goes with it: some of them write into it.
#[derive(Debug)]
pub(super) struct Home(PathBuf);

impl Home {
    /// A directory that nobody else may enter.
    ///
    /// # Errors
    /// That of making it.
    pub(super) fn new() -> Result<Self, CliError> {
        let name = format!("weft-support-{}-{}", std::process::id(), now_ns());
        let path = std::env::temp_dir().join(name);
        let made = DirBuilder::new().mode(0o700).create(&path);
        made.map_err(|error| CliError::file(&path, error))?;
        Ok(Self(path))
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // What stays is small, and nobody else's.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a program prints; one that fails is collected as well, with its exit status.
pub(super) fn program(home: &Home, name: &str, words: &[String]) -> Collected {
    let mut command = Command::new(find(name));
    command.args(words).stdin(Stdio::null());
    command.env("HOME", &home.0).env_remove("XDG_STATE_HOME");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => "no such program on this host".to_owned(),
        _ => format!("it cannot be run: {error}"),
    })?;
    let until = Instant::now() + PATIENCE;
    let out = reading(child.stdout.take());
    let err = reading(child.stderr.take());
    let late = || format!("it did not end within {} s", PATIENCE.as_secs());
    let left = || until.saturating_duration_since(Instant::now());
    let read = (out.recv_timeout(left()), err.recv_timeout(left()));
    let (Ok(mut out), Ok(err)) = read else {
        // It may have ended meanwhile.
        let _ = child.kill();
        let _ = child.wait();
        return Err(late());
    };
    let status = child.wait().map_err(|error| error.to_string())?;
    if out.is_empty() && !status.success() {
        let said = String::from_utf8_lossy(&err);
        let first = said.lines().next().unwrap_or_default();
        return Err(format!("it failed with {status}: {first}"));
    }
    if !err.is_empty() || !status.success() {
        out.extend_from_slice(format!("\n[{status}]\n").as_bytes());
        out.extend_from_slice(&err);
    }
    Ok(out)
}

/// Reads an output to its end on a thread of its own; keeps the first bytes.
fn reading(output: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (told, answer) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        if let Some(mut output) = output {
            // The rest is read and dropped, so that the program ends.
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                let room = (PART_MAX - bytes.len()).min(count);
                bytes.extend_from_slice(&buffer[..room]);
            }
        }
        // Nobody waits any more where it took too long.
        let _ = told.send(bytes);
    });
    answer
}

/// A program: beside this one, in the path, or in the directories for administrators, which are not in everybody's path.
fn find(name: &str) -> PathBuf {
    let own = std::env::current_exe().ok();
    let beside = own.and_then(|own| Some(own.parent()?.join(name)));
    if let Some(beside) = beside.filter(|path| path.is_file()) {
        return beside;
    }
    let directories = ["/usr/sbin", "/sbin"].map(Path::new);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut all = std::env::split_paths(&path).map(|directory| directory.join(name));
    let found = all.find(|path| path.is_file());
    let more = || {
        directories
            .iter()
            .map(|directory| directory.join(name))
            .find(|path| path.is_file())
    };
    found.or_else(more).unwrap_or_else(|| name.into())
}

/// A file's first bytes. Special files are not read: they may never end.
pub(super) fn read_file(path: &Path) -> Collected {
    let meta = path.metadata().map_err(|error| error.to_string())?;
    if !meta.is_file() {
        return Err("it is no regular file".to_owned());
    }
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    let read = file.take(PART_MAX as u64).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// The page of metrics of a daemon.
pub(super) async fn metrics_page(address: &str) -> Collected {
    let page = async {
        let mut stream = TcpStream::connect(address).await?;
        let request = format!("GET /metrics HTTP/1.0\r\nHost: {address}\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        let mut stream = stream.take(PART_MAX as u64);
        stream.read_to_end(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    let answer = timeout(PATIENCE, page).await;
    let answer = answer.map_err(|_| format!("no answer within {} s", PATIENCE.as_secs()))?;
    let answer = answer.map_err(|error| error.to_string())?;
    let head = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let (Some(head), true) = (head, answer.starts_with(b"HTTP/1.")) else {
        return Err("the answer is no page".to_owned());
    };
    match answer.get(9..12) {
        Some(b"200") => Ok(answer[head + 4..].to_vec()),
        code => {
            let code = String::from_utf8_lossy(code.unwrap_or_default()).into_owned();
            Err(format!("the answer has status {code}"))
        }
    }
}
