//! Attacks 12 and 13 of docs/security.md, carried out against a running daemon: a user of the management node without
//! rights, and a program with an operator's certificate. The fabric's registers and the state directory judge them.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::access::{
    NOBODY, as_nobody, at_socket, is_root, role_data, rule, rules_of, socket_of, with,
};
use crate::harness::{Daemon, stock_config, text, wait_for};
use crate::keys::{M_KEY, SM_KEY, has_no_key};
use crate::process::output;
use crate::quarantine::json;
use crate::registrations::Site;

const PAGE: &str = include_str!("../../../../docs/security.md");

/// Orders of each kind, with the role that each needs.
const ORDERS: [(&[&str], &str); 14] = [
    (&["port", "disable", "node:edge1:port:5"], "operate"),
    (&["port", "bounce", "node:edge1:port:5"], "operate"),
    (&["drain", "node:core2"], "operate"),
    (&["route", "plan", "--engine", "shortestpath"], "operate"),
    (&["route", "rollback"], "operate"),
    (
        &["quarantine", "add", "node:edge1:port:5", "--reason", "x"],
        "operate",
    ),
    (&["sweep"], "operate"),
    (&["baseline", "save", "mine"], "operate"),
    (&["incident", "save", "--reason", "x"], "operate"),
    (&["audit", "list"], "operate"),
    (&["fm", "pause", "--for", "10m"], "administer"),
    (&["fm", "log-level", "debug"], "administer"),
    (&["config", "reload"], "administer"),
    (&["fm", "counters", "--reset"], "administer"),
];

/// A daemon with keys on a fabric, whose directory everybody may enter.
struct Target {
    site: Site,
    daemon: Daemon,
}

/// What must stay as it is.
#[derive(Debug, PartialEq)]
struct Still {
    sets: u64,
    state: Vec<u8>,
}

impl Target {
    fn new(rules: &str, more: &[&str]) -> Self {
        let site = Site::new("fattree:16,radix=8");
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        let config = dir.path().join("opafm.xml");
        let text = fs::read_to_string(stock_config()).unwrap();
        let keys = format!("<Sm><SmKey>{SM_KEY:#x}</SmKey><MKey>{M_KEY:#x}</MKey>");
        assert!(text.contains("<Sm>"));
        fs::write(&config, text.replacen("<Sm>", &keys, 1)).unwrap();
        fs::set_permissions(&config, Permissions::from_mode(0o600)).unwrap();
        fs::write(rules_of(dir.path()), rules).unwrap();
        let (access, socket) = (rules_of(dir.path()), socket_of(dir.path()));
        let own = ["--access", access.to_str().unwrap(), "--listen", &socket];
        let start = site.start(dir, 0).args(&own).args(more);
        let daemon = start.up();
        let stored = daemon.dir.path().join("state/state.0");
        wait_for(|| stored.exists().then_some(()));
        let target = Self { site, daemon };
        // Ports that came up have sent traps, and a sweep after the first one rearms their switches.
        target.asks(&["sweep"]);
        target
    }

    /// The output of a command of root's.
    fn asks(&self, command: &[&str]) -> String {
        let output = output(&mut at_socket(&self.daemon, command));
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }

    fn still(&self) -> Still {
        let sets = |emulator: &weft_emulator::Emulator| emulator.stats().sets_total();
        Still {
            sets: self.site.fabric.inspect(sets),
            state: fs::read(self.daemon.dir.path().join("state/state.0")).unwrap(),
        }
    }

    /// The record of changes.
    fn records(&self) -> Vec<Value> {
        let listed = self.asks(&["audit", "list", "--json"]);
        listed.lines().map(json).collect()
    }

    /// Refused calls of somebody in the record.
    fn refused(&self, identity: &str, result: &str) -> usize {
        let all = self.records();
        let his = |one: &&Value| one["identity"] == identity && one["result"] == result;
        all.iter().filter(his).count()
    }
}

/// What the page says of an attack: what comes of it, and who is told.
fn row(number: u8) -> (String, String) {
    let begin = format!("| {number} |");
    let line = PAGE.lines().find(|line| line.starts_with(&begin));
    let line = line.unwrap_or_else(|| panic!("docs/security.md lacks a row {begin}"));
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    (cells[3].to_owned(), cells[4].to_owned())
}

/// A program of another user of this host.
fn another(program: &str, args: &[&Path]) -> Output {
    let mut command = Command::new(program);
    command.args(args).uid(NOBODY).gid(NOBODY);
    output(&mut command)
}

/// All files below a directory.
fn files(dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).unwrap().map(Result::unwrap) {
        match entry.file_type().unwrap().is_dir() {
            true => found.extend(files(&entry.path())),
            false => found.push(entry.path()),
        }
    }
    found
}

/// What another user reads of files that are not for him.
fn read_by_another(target: &Target) -> Vec<PathBuf> {
    let dir = target.daemon.dir.path();
    let mut secret = files(&dir.join("state"));
    assert!(secret.len() >= 2, "{secret:?}");
    secret.push(dir.join("opafm.xml"));
    secret.push(dir.join("state"));
    let of_process = PathBuf::from(format!("/proc/{}", target.daemon.pid()));
    let names = [
        "mem", "environ", "maps", "auxv", "stack", "fd", "cwd/.", "root/.",
    ];
    secret.extend(names.map(|name| of_process.join(name)));
    let is_read = |file: &PathBuf| {
        let program = if file.is_dir() { "ls" } else { "cat" };
        // Of the memory, from the first page that there may be.
        let read = another(program, &[file]);
        read.status.success() && !read.stdout.is_empty()
    };
    secret.into_iter().filter(is_read).collect()
}

#[test]
fn a_user_of_the_host_without_rights_changes_nothing_and_learns_no_key() {
    if !is_root() {
        println!("not run: only root becomes another user");
        return;
    }
    let target = Target::new("", &[]);
    let socket = socket_of(target.daemon.dir.path());
    let before = target.still();
    for (order, needs) in ORDERS {
        let refused = as_nobody(&socket, order);
        let said = text(&refused.stderr);
        assert!(!refused.status.success(), "{order:?}");
        let words = format!("needs the role {needs}, and user:nobody has view");
        assert!(said.contains(&words), "{order:?}: {said}");
    }
    assert_eq!(read_by_another(&target), Vec::<PathBuf>::new());
    let line = another(
        "cat",
        &[&PathBuf::from(format!(
            "/proc/{}/cmdline",
            target.daemon.pid()
        ))],
    );
    has_no_key("the command line", &line.stdout);
    for read in [
        &["fabric", "show", "--json"][..],
        &["config", "show", "--effective"],
        &["report", "nodes", "-d", "9"],
        &["log", "--json"],
    ] {
        let shown = as_nobody(&socket, read);
        assert!(shown.status.success(), "{read:?}: {}", text(&shown.stderr));
        has_no_key(&format!("{read:?}"), &shown.stdout);
    }
    // He ends nothing, and puts nothing in the socket's place.
    let pid = target.daemon.pid().to_string();
    let kill = another("kill", &[Path::new("-9"), Path::new(&pid)]);
    assert!(!kill.status.success());
    let file = Path::new(socket.trim_start_matches("unix:"));
    assert!(!another("rm", &[Path::new("-f"), file]).status.success());
    assert_eq!(target.still(), before);
    let refused = target.refused("user:nobody", "permission_denied");
    assert_eq!(refused, ORDERS.len(), "each is in the record, with who");
    assert_eq!(row(12), ("stopped".to_owned(), "who and where".to_owned()));
}

/// What a CI job with an operator's certificate tries beyond its work; each is refused with these words.
const BEYOND: [(&[&str], &str); 7] = [
    (
        &["fm", "pause", "--for", "10m"],
        "needs the role administer",
    ),
    (&["fm", "log-level", "debug"], "needs the role administer"),
    (&["config", "reload"], "needs the role administer"),
    (&["route", "plan", "--engine", "shortestpath"], "administer"),
    (&["drain", "node:core2"], "somebody else has to apply it"),
    (&["baseline", "save", "../../opafm"], "baseline"),
    (&["web", "--link", "--role", "administer"], "administer"),
];

/// What it may ask for, without an effect.
const TRIED: [&[&str]; 3] = [
    &["drain", "-n", "node:core2"],
    &["port", "disable", "-n", "node:edge1:port:5"],
    &["port", "bounce", "-n", "node:edge1:port:5"],
];

#[test]
fn an_operators_certificate_in_a_ci_job_does_an_operators_work_and_no_more() {
    let rules = "[operate]\ncertificates = [\"cn:ci\"]\n[plans]\ntwo_persons = \"all\"\n";
    let (cert, key, ca) = (
        role_data("server.pem"),
        role_data("server.key"),
        role_data("ca.pem"),
    );
    let tls = [
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
        "--tls-client-ca",
        &ca,
    ];
    let target = Target::new(rules, &tls);
    let daemon = &target.daemon;
    let identity = "uri:spiffe://example.org/ci";
    let before = target.still();
    for order in TRIED {
        let tried = with(daemon, "ci", order);
        assert!(tried.status.success(), "{order:?}: {}", text(&tried.stderr));
    }
    for (order, words) in BEYOND {
        let refused = with(daemon, "ci", order);
        let said = text(&refused.stderr);
        assert!(!refused.status.success(), "{order:?}");
        assert!(said.contains(words), "{order:?}: {said}");
    }
    assert_eq!(target.still(), before, "nothing has come of all that");
    assert!(target.refused(identity, "permission_denied") >= 4);
    // Its own work it does, in its own name, whatever it calls itself.
    let mut own = with(
        daemon,
        "ci",
        &[
            "port",
            "disable",
            "--reason",
            "of root",
            "node:edge1:port:5",
        ],
    );
    assert!(own.status.success(), "{}", text(&own.stderr));
    let all = target.records();
    let last = all.iter().find(|one| one["reason"] == "of root").unwrap();
    assert_eq!(last["identity"], identity);
    // Once the rules take its role away, the same program may do nothing more.
    rule(daemon, "");
    own = with(daemon, "ci", &["port", "enable", "node:edge1:port:5"]);
    assert!(text(&own.stderr).contains("needs the role operate"));
    assert_eq!(row(13), ("bounded".to_owned(), "who and where".to_owned()));
}
