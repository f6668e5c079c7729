//! `weft support`: what is in the archive, and that no key is.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use flate2::read::GzDecoder;

use crate::harness::{Start, configure, text, weft};
use crate::process::{output, program};

/// The key that is planted, as it is written in the file, and its digits in other forms.
const KEY: u64 = 0x5EC2_E7CA_FE12_3457;

/// The parts of an archive by their names without its directory.
fn parts(file: &Path) -> BTreeMap<String, Vec<u8>> {
    let opened = std::fs::File::open(file).unwrap();
    let mut archive = tar::Archive::new(GzDecoder::new(opened));
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let (_, name) = path.split_once('/').unwrap();
        let name = name.to_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        (name, bytes)
    });
    entries.collect()
}

fn has(bytes: &[u8], what: &str) -> bool {
    let lower = bytes.to_ascii_lowercase();
    let what = what.to_ascii_lowercase();
    lower
        .windows(what.len())
        .any(|window| window == what.as_bytes())
}

#[test]
fn the_archive_has_what_the_daemon_knows_and_no_key() {
    let start = Start::new("fattree:16");
    let key = format!("<Sm><MKey>{KEY:#018x}</MKey>");
    configure(&start.dir.path().join("opafm.xml"), &[("<Sm>", &key)]);
    let daemon = start.up();
    daemon.weft_ok(&[
        "port",
        "disable",
        "--reason",
        "a bad cable",
        "node:edge1:port:3",
    ]);
    let file = daemon.dir.path().join("support.tar.gz");
    let metrics = daemon.metrics.trim_start_matches("http://");
    let metrics = metrics.split('/').next().unwrap();
    let path = file.display().to_string();
    let said = daemon.weft_ok(&["support", "-o", &path, "--metrics", metrics]);
    assert!(said.starts_with(&format!("wrote {path}: ")), "{said}");
    let mode = file.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "nobody else may read it");
    let parts = parts(&file);
    for (name, expected) in [
        ("daemon/health.txt", "weftd: SERVING"),
        ("daemon/state.json", "\"sweeps\""),
        ("daemon/sweeps.json", "\"start\""),
        ("daemon/disabled-ports.json", "a bad cable"),
        ("daemon/virtual-fabrics.json", "\"name\""),
        ("daemon/metrics.txt", "weft_"),
        ("daemon/snapshot.xml", "edge1"),
        ("daemon/topology.xml", "edge1"),
        ("daemon/effective.xml", "<Sm>"),
        ("daemon/drains.json", "["),
        ("daemon/quarantine.json", "["),
        ("host/opafm.xml", "<MKey>(a key, left out)</MKey>"),
        ("host/uname", "Linux"),
        ("host/proc/meminfo", "MemTotal"),
        ("MANIFEST", "daemon/state.json (weft fm dump -)"),
        ("MANIFEST", "missing  core dumps"),
    ] {
        let part = parts.get(name).unwrap_or_else(|| {
            panic!("{name} is missing: {}", text(&parts["MANIFEST"]));
        });
        assert!(
            has(part, expected),
            "{name} lacks {expected}: {}",
            text(part)
        );
    }
    let forms = [format!("{KEY:x}"), KEY.to_string()];
    for (name, bytes) in &parts {
        for form in &forms {
            assert!(!has(bytes, form), "{name} has the key");
        }
    }
    // The daemon's own file has it: the search finds what it looks for.
    let own = std::fs::read(daemon.dir.path().join("opafm.xml")).unwrap();
    assert!(has(&own, &forms[0]));
}

#[test]
fn without_a_daemon_the_host_is_collected() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("support.tar.gz");
    let mut command = program(weft());
    command.args([
        "--address",
        "http://127.0.0.1:1",
        "support",
        "--metrics",
        "127.0.0.1:1",
    ]);
    let ended = output(command.arg("-o").arg(&file));
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    let home = Path::new("/nonexistent");
    assert!(!home.exists(), "nothing is written into the home directory");
    let parts = parts(&file);
    let manifest = text(&parts["MANIFEST"]);
    assert!(
        manifest.contains("missing  daemon (weftd): no weftd at http://127.0.0.1:1"),
        "{manifest}"
    );
    assert!(
        manifest.contains("missing  daemon/metrics.txt"),
        "{manifest}"
    );
    assert!(has(&parts["host/uname"], "Linux"));

    let mut command = program(weft());
    command.args([
        "--address",
        "http://127.0.0.1:1",
        "support",
        "-o",
        "/dev/null/a",
    ]);
    let ended = output(&mut command);
    assert_eq!(ended.status.code(), Some(4));
    assert!(
        text(&ended.stderr).contains("/dev/null/a.partial: "),
        "{}",
        text(&ended.stderr)
    );
}
