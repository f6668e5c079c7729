//! Encryption, with a certificate of its own for the client. The keys in `tests/data` were made for
//! this test and protect nothing.

use std::process::Command;

use crate::harness::{Start, data, text, weft};

fn path(name: &str) -> String {
    data(name).to_str().unwrap().to_owned()
}

#[test]
fn only_known_clients_are_let_in() {
    let [ca, cert, key] = ["ca.pem", "server.pem", "server.key"].map(path);
    let tls = [
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
        "--tls-client-ca",
        &ca,
    ];
    let daemon = Start::new("one-switch:2").args(&tls).up();
    assert!(daemon.api.starts_with("https://"), "{}", daemon.api);
    let call = |args: &[&str]| {
        let mut command = Command::new(weft());
        command
            .args(["--address", &daemon.api])
            .args(args)
            .args(["fabric", "show"]);
        command.output().unwrap()
    };
    let (client, client_key) = (path("client.pem"), path("client.key"));
    let known = call(&[
        "--tls-ca",
        &ca,
        "--tls-cert",
        &client,
        "--tls-key",
        &client_key,
    ]);
    assert!(known.status.success(), "{}", text(&known.stderr));
    assert!(text(&known.stdout).contains("2 HFIs"));
    let unknown = call(&["--tls-ca", &ca]);
    assert!(
        !unknown.status.success(),
        "a client without a certificate was let in"
    );
    let plain = Command::new(weft())
        .args([
            "--address",
            &daemon.api.replace("https", "http"),
            "fabric",
            "show",
        ])
        .output();
    assert!(
        !plain.unwrap().status.success(),
        "a client without encryption was let in"
    );
}
