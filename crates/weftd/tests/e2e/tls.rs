//! Encryption, with a certificate of its own for the client. The keys in `tests/data` were made for
//! this test and protect nothing.

use crate::harness::{Start, data, text, weft};
use crate::process::{output, program};

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
        let mut command = program(weft());
        command
            .args(["--address", &daemon.api])
            .args(args)
            .args(["fabric", "show"]);
        output(&mut command)
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
    let mut plain = program(weft());
    let plain_address = daemon.api.replace("https", "http");
    plain.args(["--address", &plain_address, "fabric", "show"]);
    assert!(
        !output(&mut plain).status.success(),
        "a client without encryption was let in"
    );
}
