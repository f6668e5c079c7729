//! Encryption, with a certificate of its own for the client. The keys in `tests/data` were made for
//! this test and protect nothing.

use std::path::Path;
use std::process::Output;

use crate::harness::{Daemon, Start, data, free_address, text, weft};
use crate::process::{output, program};

fn path(name: &str) -> String {
    data(name).to_str().unwrap().to_owned()
}

/// Arguments of a daemon that lets in only clients of its authority.
pub(crate) fn closed_args() -> [String; 6] {
    let words = [
        ("--tls-cert", "server.pem"),
        ("--tls-key", "server.key"),
        ("--tls-client-ca", "ca.pem"),
    ];
    let [cert, key, ca] = words.map(|(word, file)| [word.to_owned(), path(file)]);
    [cert, key, ca].concat().try_into().unwrap()
}

/// Such a daemon.
fn closed() -> Daemon {
    let tls = closed_args();
    let tls = tls.each_ref().map(String::as_str);
    let daemon = Start::new("one-switch:2").args(&tls).up();
    assert!(daemon.api.starts_with("https://"), "{}", daemon.api);
    daemon
}

/// `weft fabric show` at an address.
fn call(address: &str, args: &[&str]) -> Output {
    let mut command = program(weft());
    command.args(["--address", address]).args(args);
    output(command.args(["fabric", "show"]))
}

/// The call fails like one without a daemon, with these words.
fn told(address: &str, args: &[&str], words: &str) {
    let output = call(address, args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{address} {args:?}: {said}");
    assert!(said.contains(words), "{address} {args:?}: {said}");
    assert!(said.contains(address), "{said}");
}

#[test]
fn only_known_clients_are_let_in() {
    let daemon = closed();
    let [ca, client, key] = ["ca.pem", "client.pem", "client.key"].map(path);
    let known = ["--tls-ca", &ca, "--tls-cert", &client, "--tls-key", &key];
    let shown = call(&daemon.api, &known);
    assert!(shown.status.success(), "{}", text(&shown.stderr));
    assert!(text(&shown.stdout).contains("2 HFIs"));
}

#[test]
fn clients_are_told_what_is_in_the_way() {
    let daemon = closed();
    let [ca, cert, client, key] = ["ca.pem", "server.pem", "client.pem", "client.key"].map(path);
    let identity = ["--tls-cert", &client, "--tls-key", &key];
    told(
        &daemon.api,
        &["--tls-ca", &ca],
        "only clients with a certificate: give --tls-cert and --tls-key",
    );
    let other = [&["--tls-ca", &cert][..], &identity].concat();
    told(
        &daemon.api,
        &other,
        "not signed by the authority in --tls-ca",
    );
    let name = [
        &["--tls-ca", &ca, "--tls-domain", "elsewhere"][..],
        &identity,
    ]
    .concat();
    told(&daemon.api, &name, "is for another name");
    let plain = daemon.api.replace("https", "http");
    told(&plain, &[], "it speaks TLS: use https://");
    let metrics = daemon.metrics.strip_suffix("/metrics").unwrap();
    told(metrics, &[], "another program answers there, not the API");
    let encrypted = metrics.replace("http", "https");
    told(&encrypted, &["--tls-ca", &ca], "it does not speak TLS");

    let open = Daemon::up("one-switch:2");
    let encrypted = open.api.replace("http", "https");
    told(&encrypted, &["--tls-ca", &ca], "it does not speak TLS");

    let nobody = format!("http://{}", free_address());
    told(&nobody, &[], "nothing listens there");
    told(
        "http://nosuchhost.invalid:9313",
        &[],
        "the host's name cannot be resolved",
    );
}

#[test]
fn certificates_that_cannot_be_used_end_the_daemon_at_the_start() {
    let [ca, cert, key, other] = ["ca.pem", "server.pem", "server.key", "client.key"].map(path);
    let no_pem = path("../e2e/tls.rs");
    let cases: [(&[&str], &str); 5] = [
        (
            &["--tls-cert", &cert, "--tls-key", &other],
            "cannot be used",
        ),
        (
            &["--tls-cert", &cert, "--tls-key", &no_pem],
            "cannot be used",
        ),
        (
            &["--tls-cert", &no_pem, "--tls-key", &key],
            "cannot be used",
        ),
        (
            &[
                "--tls-cert",
                &cert,
                "--tls-key",
                &key,
                "--tls-client-ca",
                &no_pem,
            ],
            "--tls-client-ca",
        ),
        (
            &[
                "--tls-cert",
                &cert,
                "--tls-key",
                &key,
                "--tls-client-ca",
                "/nonexistent",
            ],
            "authority /nonexistent: No such file",
        ),
    ];
    for (args, words) in cases {
        let mut command = program(Path::new(env!("CARGO_BIN_EXE_weftd")));
        command.args(["--emulate", "one-switch:2", "--listen", "127.0.0.1:0"]);
        command
            .args(["--metrics", "127.0.0.1:0", "--once"])
            .args(args);
        let ended = output(&mut command);
        let said = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
    }
    let whole = [
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
        "--tls-client-ca",
        &ca,
    ];
    let daemon = Start::new("one-switch:2").args(&whole).up();
    assert!(daemon.api.starts_with("https://"));
}
