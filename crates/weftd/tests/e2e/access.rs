//! Who may do what: every method called by every role, users of this host at the Unix socket, names of certificates.
//! The keys in `tests/data/roles` were made for these tests and protect nothing.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use prost::Message;
use prost_types::FileDescriptorSet;
use serde_json::Value;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;
use tonic_types::StatusExt;

use crate::harness::{Daemon, Start, data, text, wait_for, weft};
use crate::process::{output, program};
use crate::quarantine::json;

/// The rules as docs/security.md has them.
const DOCUMENT: &str = include_str!("../../../../docs/security.md");
pub(crate) const NOBODY: u32 = 65_534;

pub(crate) fn role_data(name: &str) -> String {
    let path = data("roles").join(name);
    path.to_str().unwrap().to_owned()
}

/// Writes rules and has the daemon read them.
pub(crate) fn rule(daemon: &Daemon, rules: &str) {
    let count = || daemon.log().matches("who may do what: ").count();
    let before = count();
    std::fs::write(rules_of(daemon.dir.path()), rules).unwrap();
    daemon.signal("HUP");
    wait_for(|| (count() > before).then_some(()));
}

pub(crate) fn rules_of(dir: &Path) -> PathBuf {
    dir.join("access.toml")
}

/// A daemon with a file of rules, at loopback and at the Unix socket `api.sock` in its directory.
pub(crate) fn start(more: &[&str]) -> Daemon {
    let start = Start::new("one-switch:3");
    let dir = start.dir.path().to_owned();
    std::fs::write(rules_of(&dir), "").unwrap();
    let (rules, socket) = (rules_of(&dir), socket_of(&dir));
    let own = ["--access", rules.to_str().unwrap(), "--listen", &socket];
    start.args(&own).args(more).up()
}

pub(crate) fn socket_of(dir: &Path) -> String {
    format!("unix:{}", dir.join("api.sock").display())
}

/// Paths of all methods that the daemon serves.
fn paths() -> Vec<String> {
    let mut paths = Vec::new();
    for descriptors in [
        weft_api::DESCRIPTORS,
        tonic_health::pb::FILE_DESCRIPTOR_SET,
        tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET,
    ] {
        for file in FileDescriptorSet::decode(descriptors).unwrap().file {
            for service in &file.service {
                for method in &service.method {
                    let service = format!("{}.{}", file.package(), service.name());
                    paths.push(format!("/{service}/{}", method.name()));
                }
            }
        }
    }
    paths
}

/// The role that a method needs by the document: it names those that need more than `view`.
fn documented() -> BTreeMap<&'static str, u8> {
    let mut needed = BTreeMap::new();
    for (role, rank) in [("| `operate` |", 2), ("| `administer` |", 3)] {
        let row = DOCUMENT.lines().find(|line| line.starts_with(role));
        let row = row.unwrap_or_else(|| panic!("docs/security.md has a row {role}"));
        for name in row[role.len()..].split('`').skip(1).step_by(2) {
            needed.insert(name, rank);
        }
    }
    needed
}

/// Calls a method with an empty request; whether it was let in, or how it was refused.
async fn call(channel: &Channel, path: &str) -> Result<(), Status> {
    let mut client = tonic::client::Grpc::new(channel.clone());
    client.ready().await.unwrap();
    let codec = ProstCodec::<(), ()>::default();
    let path = path.parse().unwrap();
    let calling = client.server_streaming(Request::new(()), path, codec);
    let called = tokio::time::timeout(Duration::from_secs(30), calling).await;
    match called.unwrap() {
        Err(status)
            if matches!(
                status.code(),
                Code::PermissionDenied | Code::Unauthenticated
            ) =>
        {
            Err(status)
        }
        _ => Ok(()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_method_is_open_to_the_roles_of_the_document_and_to_no_other() {
    let daemon = start(&[]);
    let needed = documented();
    let paths = paths();
    for name in needed.keys() {
        let known = paths.iter().any(|path| path.ends_with(&format!("/{name}")));
        assert!(known, "there is no {name}");
    }
    let server = Channel::from_shared(daemon.api.clone()).unwrap();
    for (role, rank) in [("none", 0), ("view", 1), ("operate", 2), ("administer", 3)] {
        rule(&daemon, &format!("loopback = \"{role}\"\n"));
        // A connection that is there already is judged by the new rules too.
        let channel = server.connect().await.unwrap();
        for path in &paths {
            let (_, name) = path.rsplit_once('/').unwrap();
            let needs = needed.get(name).copied().unwrap_or(1);
            let called = call(&channel, path).await;
            assert_eq!(
                called.is_ok(),
                rank >= needs,
                "{role} calls {path}: {called:?}"
            );
            let Err(status) = called else { continue };
            let (code, reason) = match role {
                "none" => (Code::Unauthenticated, "NO_IDENTITY"),
                _ => (Code::PermissionDenied, "NOT_PERMITTED"),
            };
            assert_eq!(status.code(), code, "{path}: {status:?}");
            let info = status.get_details_error_info().unwrap();
            assert_eq!(info.reason, reason);
            assert_eq!(info.metadata["method"], name);
            let word = if needs == 3 { "administer" } else { "operate" };
            if rank > 0 {
                assert_eq!(info.metadata["role_needed"], word);
                assert_eq!(info.metadata["role"], role);
                assert_eq!(info.metadata["identity"], "loopback");
            }
        }
    }
}

/// The client at an address, as another user.
/// A command at a daemon's Unix socket.
pub(crate) fn at_socket(daemon: &Daemon, args: &[&str]) -> Command {
    let mut command = program(weft());
    command.args(["--address", &socket_of(daemon.dir.path())]);
    command.args(args);
    command
}

pub(crate) fn as_nobody(address: &str, args: &[&str]) -> Output {
    let mut command = program(weft());
    command.args(["--address", address]).args(args);
    command.uid(NOBODY).gid(NOBODY);
    output(&mut command)
}

pub(crate) fn is_root() -> bool {
    let own = std::fs::metadata("/proc/self").unwrap();
    std::os::unix::fs::MetadataExt::uid(&own) == 0
}

fn records(daemon: &Daemon) -> Vec<Value> {
    let listed = daemon.weft_ok(&["audit", "list", "--json"]);
    listed.lines().map(json).collect()
}

#[test]
fn the_daemons_user_administers_at_the_unix_socket_and_is_named_in_the_record() {
    let daemon = start(&[]);
    let mut command = program(weft());
    let socket = socket_of(daemon.dir.path());
    command.args(["--address", &socket, "sweep", "--wait"]);
    let swept = output(&mut command);
    assert!(swept.status.success(), "{}", text(&swept.stderr));
    let all = records(&daemon);
    let identity = all[0]["identity"].as_str().unwrap();
    assert!(identity.starts_with("user:"), "{}", all[0]);
    assert_eq!(all[0]["peer"], identity["user:".len()..]);
    assert_eq!(all[0]["result"], "ok");
}

#[test]
fn another_user_reads_and_what_he_is_refused_is_recorded() {
    if !is_root() {
        println!("not run: only root becomes another user");
        return;
    }
    let daemon = start(&[]);
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(daemon.dir.path(), open).unwrap();
    let socket = socket_of(daemon.dir.path());
    let shown = as_nobody(&socket, &["fabric", "show"]);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    let refused = as_nobody(&socket, &["sweep"]);
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    for words in [
        "StartSweep needs the role operate, and user:nobody has view",
        "access.toml",
    ] {
        assert!(said.contains(words), "{said}");
    }
    let refused = as_nobody(&socket, &["audit", "list"]);
    assert!(!refused.status.success(), "a refused read");
    rule(
        &daemon,
        "[operate]\nusers = [\"nobody\", \"no such user\"]\n",
    );
    daemon.logs("user no such user is not known on this host");
    let swept = as_nobody(&socket, &["sweep", "--wait"]);
    assert!(swept.status.success(), "{}", text(&swept.stderr));
    // Rules that cannot be read leave those before in force.
    std::fs::write(rules_of(daemon.dir.path()), "[operat]").unwrap();
    daemon.signal("HUP");
    daemon.logs("unknown field `operat`");
    assert!(as_nobody(&socket, &["sweep"]).status.success());
    let asked: Vec<Value> = records(&daemon)
        .into_iter()
        .filter(|one| one["identity"] == "user:nobody")
        .collect();
    let told: Vec<(&str, &str)> = asked
        .iter()
        .map(|one| {
            (
                one["method"].as_str().unwrap(),
                one["result"].as_str().unwrap(),
            )
        })
        .collect();
    let sweep = "weft.v1.SweepService/StartSweep";
    assert_eq!(
        told,
        [
            (sweep, "permission_denied"),
            ("weft.v1.AuditService/ListAuditRecords", "permission_denied"),
            (sweep, "ok"),
            (sweep, "ok"),
        ]
    );
}

/// A daemon that knows clients by their certificates, with a directory of its own for them.
pub(crate) fn with_certificates(more: &[&str]) -> Daemon {
    let start = Start::new("one-switch:2");
    let dir = start.dir.path().to_owned();
    for name in ["server.pem", "server.key", "ca.pem"] {
        std::fs::copy(role_data(name), dir.join(name)).unwrap();
    }
    std::fs::copy(role_data("crl-empty.pem"), dir.join("crl.pem")).unwrap();
    std::fs::write(rules_of(&dir), "").unwrap();
    let at = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (rules, cert, key, ca) = (
        at("access.toml"),
        at("server.pem"),
        at("server.key"),
        at("ca.pem"),
    );
    let tls = [
        "--access",
        &rules,
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
        "--tls-client-ca",
        &ca,
    ];
    start.args(&tls).args(more).up()
}

pub(crate) fn with(daemon: &Daemon, name: &str, args: &[&str]) -> Output {
    let (ca, cert) = (role_data("ca.pem"), role_data(&format!("{name}.pem")));
    let key = role_data(&format!("{name}.key"));
    let mut command = program(weft());
    command.args(["--address", &daemon.api.replace("127.0.0.1", "localhost")]);
    command.args(["--tls-ca", &ca, "--tls-cert", &cert, "--tls-key", &key]);
    output(command.args(args))
}

#[test]
fn certificates_have_the_roles_of_their_names() {
    let daemon = with_certificates(&[]);
    let refused = with(&daemon, "ci", &["sweep"]);
    let said = text(&refused.stderr);
    assert!(
        said.contains("uri:spiffe://example.org/ci has view"),
        "{said}"
    );
    for name in ["uri:spiffe://example.org/ci", "dns:ci.example.org", "cn:ci"] {
        rule(
            &daemon,
            &format!("[operate]\ncertificates = [\"{name}\"]\n"),
        );
        let swept = with(&daemon, "ci", &["sweep"]);
        assert!(swept.status.success(), "{name}: {}", text(&swept.stderr));
        assert!(!with(&daemon, "gone", &["sweep"]).status.success());
    }
    let listed = with(&daemon, "ci", &["audit", "list", "--json"]);
    let listed = text(&listed.stdout);
    let first = json(listed.lines().next().unwrap());
    assert_eq!(first["identity"], "uri:spiffe://example.org/ci");
    assert_eq!(first["result"], "permission_denied");
    rule(&daemon, "certificates = \"none\"\n");
    let refused = with(&daemon, "ci", &["fabric", "show"]);
    assert!(text(&refused.stderr).contains("has none"), "{refused:?}");
}

#[test]
fn certificates_and_revocation_lists_are_read_again_when_they_change() {
    let start = tempfile::tempdir().unwrap();
    let list = start.path().join("crl.pem");
    std::fs::copy(role_data("crl-empty.pem"), &list).unwrap();
    let daemon = with_certificates(&["--tls-crl", list.to_str().unwrap()]);
    let show = |name| with(&daemon, name, &["fabric", "show"]);
    assert!(show("gone").status.success(), "not revoked yet");
    let end = || {
        let page = daemon.scrape();
        let line = page.lines().find(|line| {
            line.starts_with("weft_certificate_end_timestamp_seconds{certificate=\"api\"}")
        });
        line.unwrap().rsplit_once(' ').unwrap().1.to_owned()
    };
    let before = end();
    std::fs::copy(role_data("crl.pem"), &list).unwrap();
    wait_for(|| (!show("gone").status.success()).then_some(()));
    daemon.logs("is not let in");
    assert!(show("ci").status.success(), "others are let in");
    // A certificate without its key is not taken; with it, it is.
    let dir = daemon.dir.path();
    std::fs::copy(role_data("server-next.pem"), dir.join("server.pem")).unwrap();
    daemon.signal("HUP");
    daemon.logs("those that were read before stay in force");
    assert!(show("ci").status.success());
    assert_eq!(end(), before);
    std::fs::copy(role_data("server-next.key"), dir.join("server.key")).unwrap();
    wait_for(|| (end() != before).then_some(()));
    assert!(show("ci").status.success());
    let no_list = role_data("ca.pem");
    std::fs::copy(no_list, &list).unwrap();
    daemon.signal("HUP");
    daemon.logs("it has no revocation list");
    assert!(!show("gone").status.success(), "the list before stays");
}

#[test]
fn an_expired_certificate_opens_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let authorities = dir.path().join("authorities.pem");
    let both = ["ca.pem", "expired-ca.pem"].map(|name| std::fs::read(role_data(name)).unwrap());
    std::fs::write(&authorities, both.concat()).unwrap();
    let daemon = with_certificates(&[]);
    let show = |name| with(&daemon, name, &["fabric", "show"]);
    std::fs::copy(&authorities, daemon.dir.path().join("ca.pem")).unwrap();
    daemon.signal("HUP");
    wait_for(|| {
        assert!(!show("expired").status.success());
        daemon.log().contains("expired").then_some(())
    });
    assert!(show("ci").status.success(), "others are let in");
}

#[test]
fn who_calls_too_often_is_refused_and_told_when_to_try_again() {
    let daemon = start(&[]);
    rule(
        &daemon,
        "loopback = \"administer\"\n[limits]\ncalls_per_second = 1\n",
    );
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let status = runtime.block_on(async {
        let client = weft_api::client::Client::connect(&daemon.api, None).await;
        let client = client.unwrap();
        for _ in 0..20 {
            let mut fabric = client.fabric();
            let asked = fabric.get_fabric(weft_api::v1::GetFabricRequest::default());
            if let Err(status) = asked.await {
                return status;
            }
        }
        panic!("all were let in");
    });
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    let info = status.get_details_error_info().unwrap();
    assert_eq!(
        (&*info.reason, &*info.metadata["limit"]),
        ("TOO_OFTEN", "1")
    );
    let wait = status
        .get_details_retry_info()
        .unwrap()
        .retry_delay
        .unwrap();
    assert!(wait <= Duration::from_secs(1), "{wait:?}");
    daemon.logs("loopback makes more than 1 call in a second");
    // Others have a limit of their own.
    let mut command = program(weft());
    command.args(["--address", &socket_of(daemon.dir.path()), "fabric", "show"]);
    assert!(output(&mut command).status.success());
}

#[test]
fn a_plan_is_applied_by_somebody_else_than_who_made_it_where_the_rules_say_so() {
    let dir = tempfile::tempdir().unwrap();
    let socket = socket_of(dir.path());
    let daemon = with_certificates(&["--listen", &socket]);
    let rules = |two_persons: &str| {
        format!(
            "[administer]\ncertificates = [\"cn:ci\"]\n[plans]\ntwo_persons = \"{two_persons}\"\n"
        )
    };
    let at_socket = |args: &[&str]| {
        let mut command = program(weft());
        output(command.args(["--address", &socket]).args(args))
    };
    let plan = || {
        let args = ["route", "plan", "--engine", "shortestpath", "--json"];
        let made = with(&daemon, "ci", &args);
        assert!(made.status.success(), "{}", text(&made.stderr));
        json(&text(&made.stdout))["plan_id"].to_string()
    };
    rule(&daemon, &rules("settings"));
    let first = plan();
    let refused = with(&daemon, "ci", &["route", "apply", &first]);
    let told = text(&refused.stderr);
    assert!(!refused.status.success(), "{told}");
    assert!(told.contains("somebody else has to apply it"), "{told}");
    // The daemon's own user is somebody else; who applied it takes it back alone.
    for args in [&["route", "apply", &first][..], &["route", "rollback"]] {
        let done = at_socket(args);
        assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
    }
    rule(&daemon, &rules("none"));
    let applied = with(&daemon, "ci", &["route", "apply", &plan()]);
    assert!(applied.status.success(), "{}", text(&applied.stderr));
}

#[test]
fn metrics_are_encrypted_and_for_who_has_the_token() {
    let Some(curl) = weft_peers::program("curl") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let token = dir.path().join("token");
    std::fs::write(&token, "first\n").unwrap();
    let daemon = with_certificates(&["--metrics-tls", "--metrics-token", token.to_str().unwrap()]);
    assert!(daemon.metrics.starts_with("https://"), "{}", daemon.metrics);
    let get = |header: &str| {
        let mut command = program(&curl);
        command.args([
            "--silent",
            "--cacert",
            &role_data("ca.pem"),
            "--header",
            header,
        ]);
        command.args(["--write-out", "\n%{http_code}", &daemon.metrics]);
        text(&output(&mut command).stdout)
    };
    let page = get("Authorization: Bearer first");
    assert!(
        page.ends_with("\n200") && page.contains("weft_master 1"),
        "{page}"
    );
    for wrong in [
        "Authorization: Bearer second",
        "Authorization: first",
        "Accept: */*",
    ] {
        let page = get(wrong);
        assert!(
            page.ends_with("\n401") && !page.contains("weft_master"),
            "{wrong}: {page}"
        );
    }
    std::fs::write(&token, "second").unwrap();
    assert!(get("Authorization: Bearer second").ends_with("\n200"));
    std::fs::write(&token, " \n").unwrap();
    assert!(
        get("Authorization: Bearer ").ends_with("\n500"),
        "an empty token is none"
    );
    daemon.logs("it is empty");
    let plain = daemon.metrics.replace("https", "http");
    let mut command = program(&curl);
    assert!(!output(command.args(["--silent", &plain])).status.success());
}
