//! A machine for one document: a shell in an empty directory, with the programs of the workspace,
//! where nothing that is there already, such as a port in use, is in the way.
//!
//! Programs listen at free ports and sockets of their own in place of those that the document
//! takes for granted, and `/etc/opa-fm/opafm.xml` is the repository's example.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Time limit for any command.
const PATIENCE: Duration = Duration::from_secs(300);

/// Interval at which output of a command in the background is looked at.
const PAUSE: Duration = Duration::from_millis(50);

/// What ends the output of a command; the exit code follows.
const END: &str = "end of the command, exit code ";

/// Places of the document's machine and those in its directory that stand for them.
const PLACES: [(&str, &str); 2] = [
    ("/etc/opa-fm", "etc/opa-fm"),
    ("/tmp/weft-emulator.sock", "emulator.sock"),
];

/// `weftd` with free ports in place of its own, by which `weft` finds it again.
const WEFTD: &str = r#"#!/bin/bash
port=9313 config=() state=(--state-dir "$MACHINE/state") rest=()
[ -e "$MACHINE/etc/opa-fm/opafm.xml" ] && config=(--config "$MACHINE/etc/opa-fm/opafm.xml")
while (($#)); do
    case $1 in
    --listen) port=${2##*:}; shift ;;
    --metrics) shift ;;
    --peer) rest+=("$1" "$(sed -n 's/^api //p' "$MACHINE/addresses-${2##*:}")"); shift ;;
    --config | -c) config=(--config "$2"); shift ;;
    --state-dir) state=(--state-dir "$2"); shift ;;
    --emulate) state=(); rest+=("$1" "$2"); shift ;;
    *) rest+=("$1") ;;
    esac
    shift
done
exec "$WEFTD" --listen 127.0.0.1:0 --metrics 127.0.0.1:0 --opafmcmd off \
    --address-file "$MACHINE/addresses-$port" "${config[@]}" "${state[@]}" "${rest[@]}"
"#;

/// `weft` that finds the daemon of a port.
const WEFT: &str = r#"#!/bin/bash
port=9313 rest=()
while (($#)); do
    case $1 in
    --address) port=${2##*:}; shift ;;
    *) rest+=("$1") ;;
    esac
    shift
done
WEFT_ADDRESS=$(sed -n 's/^api //p' "$MACHINE/addresses-$port" 2>/dev/null)
export WEFT_ADDRESS=${WEFT_ADDRESS:-http://127.0.0.1:$port}
exec "$WEFT" "${rest[@]}"
"#;

/// `weft-emulator` at a socket of its own.
const EMULATOR: &str = r#"#!/bin/bash
option=--listen
[ "$1" = ctl ] && { option=--connect; shift; set -- ctl "$option" "unix:$MACHINE/emulator.sock" "$@"; }
[ "$1" = ctl ] || set -- "$option" "unix:$MACHINE/emulator.sock" "$@"
exec "$EMULATOR" "$@"
"#;

/// `cargo` on the workspace, with what has been built for this test.
const CARGO: &str = r#"#!/bin/bash
PATH=${CARGO%/*}:$PATH
cd "$WORKSPACE" && exec "$CARGO" "$1" --quiet --profile test --target-dir "$TARGET" "${@:2}"
"#;

/// Directories of the workspace that a document finds in its own.
const SHARED: [&str; 2] = ["config", "examples"];

/// A machine for one document; what runs on it is killed when it is dropped.
pub(crate) struct Machine {
    dir: TempDir,
    shell: Child,
    typed: ChildStdin,
    printed: Receiver<String>,
    background: usize,
}

impl Machine {
    pub(crate) fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for place in ["bin", "home", "etc/opa-fm"] {
            fs::create_dir_all(dir.path().join(place)).unwrap();
        }
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let workspace = workspace.canonicalize().unwrap();
        let config = workspace.join("config/opafm.xml");
        fs::copy(config, dir.path().join("etc/opa-fm/opafm.xml")).unwrap();
        for shared in SHARED {
            symlink(workspace.join(shared), dir.path().join("home").join(shared)).unwrap();
        }
        let weftd = Path::new(env!("CARGO_BIN_EXE_weftd"));
        let mut shell = Command::new("bash");
        for (name, variable, script) in [
            ("weftd", "WEFTD", WEFTD),
            ("weft", "WEFT", WEFT),
            ("weft-emulator", "EMULATOR", EMULATOR),
            ("cargo", "CARGO", CARGO),
        ] {
            let program = match name {
                "weftd" => weftd.to_owned(),
                "cargo" => env!("CARGO").into(),
                _ => weft_interop::built(name, weftd),
            };
            shell.env(variable, program);
            let file = dir.path().join("bin").join(name);
            fs::write(&file, script).unwrap();
            fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let path = format!("{}/bin:/usr/local/bin:/usr/bin:/bin", dir.path().display());
        let home = dir.path().join("home");
        shell.args(["--noprofile", "--norc"]).current_dir(&home);
        for kept in [
            "NO_COLOR",
            "WEFTD_LOG",
            "WEFT_ADDRESS",
            "WEFT_INSTANCE",
            "WEFT_TIMEOUT",
        ] {
            shell.env_remove(kept);
        }
        shell.env("MACHINE", dir.path()).env("PATH", path);
        let target = weftd.parent().and_then(Path::parent).unwrap();
        shell.env("WORKSPACE", &workspace).env("TARGET", target);
        shell.env("HOME", &home).env_remove("XDG_STATE_HOME");
        shell
            .env("COLUMNS", "80")
            .env("LINES", "24")
            .env("LC_ALL", "C.UTF-8");
        shell.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = shell.process_group(0).spawn().unwrap();
        let (sender, printed) = channel();
        let stdout = BufReader::new(shell.stdout.take().unwrap());
        spawn(move || {
            for line in stdout.split(b'\n').map_while(Result::ok) {
                let _ended = sender.send(String::from_utf8_lossy(&line).into_owned());
            }
        });
        let typed = shell.stdin.take().unwrap();
        Self {
            dir,
            shell,
            typed,
            printed,
            background: 0,
        }
    }

    /// Runs a command; what it prints, and its exit code.
    ///
    /// # Panics
    /// When it does not end in time.
    pub(crate) fn run(&mut self, command: &str) -> (Vec<String>, i32) {
        let command = self.placed(command);
        writeln!(
            self.typed,
            "{{ {command}\n}} 2>&1 </dev/null; printf '\\n{END}%d\\n' $?"
        )
        .unwrap();
        let until = Instant::now() + PATIENCE;
        let mut lines = Vec::new();
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(line) = self.printed.recv_timeout(left) else {
                panic!("{command}: it does not end; so far: {}", lines.join("\n"));
            };
            let Some(code) = line.strip_prefix(END) else {
                lines.push(self.named(&line));
                continue;
            };
            // The line before the end is there because output may lack its last line end.
            if lines.last().is_some_and(String::is_empty) {
                lines.pop();
            }
            return (lines, code.parse().unwrap());
        }
    }

    /// Starts a command in the background and waits until `is_enough` of what it has printed.
    ///
    /// # Panics
    /// When that does not become true in time.
    pub(crate) fn start_in_background(
        &mut self,
        command: &str,
        is_enough: impl Fn(&[String]) -> bool,
    ) {
        self.background += 1;
        let log = self
            .dir
            .path()
            .join(format!("background-{}", self.background));
        let command = self.placed(command);
        let command = command.trim_end_matches('&');
        let log_to = log.display();
        writeln!(self.typed, "(exec {command}) >{log_to} 2>&1 </dev/null &").unwrap();
        let until = Instant::now() + PATIENCE;
        loop {
            let text = fs::read_to_string(&log).unwrap_or_default();
            let lines: Vec<String> = text.lines().map(|line| self.named(line)).collect();
            if is_enough(&lines) {
                return;
            }
            assert!(Instant::now() < until, "{command}: not as shown: {text}");
            sleep(PAUSE);
        }
    }

    /// A command with the places that stand for those of the document.
    fn placed(&self, command: &str) -> String {
        let mut command = command.to_owned();
        for (named, place) in PLACES {
            let place = self.dir.path().join(place);
            command = command.replace(named, &place.display().to_string());
        }
        command
    }

    /// A line of output with the places of the document.
    fn named(&self, line: &str) -> String {
        let mut line = line.trim_end().to_owned();
        for (named, place) in PLACES {
            let place = self.dir.path().join(place);
            line = line.replace(&place.display().to_string(), named);
        }
        let home = self.dir.path().join("home").display().to_string();
        line.replace(&home, "~")
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let group = format!("-{}", self.shell.id());
        let _killed = Command::new("kill").args(["-9", "--", &group]).status();
        let _status = self.shell.wait();
    }
}
