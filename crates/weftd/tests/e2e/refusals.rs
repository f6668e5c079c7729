//! Bad input gets one clear message and its exit code.

use std::net::TcpListener;
use std::path::Path;

use crate::harness::{configure, text};
use crate::process::{output, program};

fn weftd(args: &[&str]) -> (Option<i32>, String) {
    let mut command = program(Path::new(env!("CARGO_BIN_EXE_weftd")));
    command.args(args);
    let output = output(&mut command);
    (output.status.code(), text(&output.stderr))
}

const FREE: [&str; 4] = ["--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"];

#[test]
fn what_cannot_be_run_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("empty.xml"), "").unwrap();
    std::fs::write(path("text"), "not a fabric\n\u{0}\u{1}").unwrap();
    std::fs::write(
        path("bad.xml"),
        "<Config><Common><Sm><Lmc>9</Lmc></Sm></Common><Fm></Fm></Config>",
    )
    .unwrap();
    let with_topology = |name: &str, file: &str| {
        let section = "<PreDefinedTopology>\n        <Enable>";
        let changes = [
            (&*format!("{section}0"), &*format!("{section}1")),
            ("/etc/opa/topology.0:0.xml", file),
        ];
        configure(path(name).as_ref(), &changes);
        path(name)
    };
    let compared = with_topology("compared.xml", "/nonexistent.topology");
    let malformed = with_topology("malformed.xml", &path("bad.xml"));
    let (empty, text_file, bad) = (path("empty.xml"), path("text"), path("bad.xml"));
    let state = format!("{}/below", text_file);
    let cases: Vec<(i32, Vec<&str>, &str)> = vec![
        (2, vec!["--hfi", "hfi1_0:0"], "wanted DEVICE:PORT"),
        (
            2,
            vec!["--hfi", "hfi1_0:1", "--emulate", "one-switch:2"],
            "cannot be used with",
        ),
        (
            2,
            vec!["--emulate", "one-switch:2", "--connect", "unix:/x"],
            "cannot be used with",
        ),
        (
            2,
            vec!["--emulate", "one-switch:2", "--listen", "nonsense"],
            "invalid value 'nonsense'",
        ),
        (
            2,
            vec!["--emulate", "one-switch:2", "--host", "0xzz"],
            "expected a number",
        ),
        (
            2,
            vec!["--emulate", "one-switch:2", "--log-level", "a=b=c"],
            "--log-level 'a=b=c'",
        ),
        (
            2,
            vec!["--emulate", "one-switch:2", "--listen", "0.0.0.0:0"],
            "it needs --tls-cert, --tls-key and --tls-client-ca",
        ),
        (
            2,
            vec![
                "--emulate",
                "one-switch:2",
                "--tls-cert",
                "/nonexistent",
                "--tls-key",
                "/nonexistent",
            ],
            "certificate /nonexistent: No such file",
        ),
        (
            3,
            vec!["--emulate", "one-switch:2", "--config", "/nonexistent.xml"],
            "/nonexistent.xml: No such file",
        ),
        (
            3,
            vec!["--emulate", "one-switch:2", "--config", &empty],
            "the configuration has ",
        ),
        (
            3,
            vec!["--emulate", "one-switch:2", "--config", &bad],
            "Config/Common/Sm/Lmc",
        ),
        (
            3,
            vec!["--emulate", "one-switch:2", "--config", &compared],
            "<TopologyFilename> /nonexistent.topology: No such file",
        ),
        (
            3,
            vec!["--emulate", "one-switch:2", "--config", &malformed],
            "line 1: the document is <Config>, allowed: <Topology> or <Report>",
        ),
        (4, vec!["--emulate", "nonsense"], "no kind is called"),
        (
            4,
            vec!["--emulate", "fattree:0"],
            "--emulate fattree:0: number of hosts is 0",
        ),
        (
            4,
            vec!["--emulate", "/nonexistent.dump"],
            "--emulate /nonexistent.dump: No such file",
        ),
        (4, vec!["--emulate", &text_file], "text"),
        (
            4,
            vec!["--emulate", "one-switch:2", "--host", "0x1"],
            "no node 0x0000000000000001",
        ),
        (
            6,
            vec!["--emulate", "one-switch:2", "--state-dir", &state],
            "state directory",
        ),
    ];
    for (code, args, expected) in cases {
        let listens = args.contains(&"--listen");
        let free = if listens { &FREE[2..] } else { &FREE[..] };
        let all: Vec<&str> = args.iter().chain(free).copied().collect();
        let (actual, said) = weftd(&all);
        assert_eq!(actual, Some(code), "{args:?}: {said}");
        assert!(said.contains(expected), "{args:?}: {said}");
        assert!(!said.contains("panicked"), "{args:?}: {said}");
    }
}

/// `<Start>` of either section, and of a second instance.
#[test]
fn an_instance_with_start_0_does_not_run() {
    let stock = std::fs::read_to_string(crate::harness::stock_config()).unwrap();
    let (common, fm) = stock.split_once("<Fm>").unwrap();
    let start = |from: &str, to: &str| format!("{common}<Fm>{}", fm.replacen(from, to, 1));
    let (on, off) = ("<Start>1</Start>", "<Start>0</Start>");
    let dir = tempfile::tempdir().unwrap();
    let run = |text: &str, instance: &str| {
        let file = dir.path().join("opafm.xml");
        std::fs::write(&file, text).unwrap();
        let file = file.to_str().unwrap();
        let args = ["--emulate", "one-switch:2", "--once", "--config", file];
        let more = ["--instance", instance];
        weftd(&[&args[..], &more, &FREE].concat())
    };
    let (code, said) = run(&start(on, on), "0");
    assert_eq!(code, Some(0), "{said}");
    let second = start(
        "</Fm>",
        "</Fm><Fm><Shared><Name>fm1</Name></Shared><Sm/><Fe/><Pm/></Fm>",
    );
    for (text, instance, expected) in [
        (
            start(on, off),
            "0",
            "instance 0 (fm0) is not to run: <Start> of its <Shared> is 0",
        ),
        (
            start("<Sm/>", &format!("<Sm>{off}</Sm>")),
            "0",
            "(fm0) is not to run: <Start> of its <Sm> is 0",
        ),
        (
            second,
            "1",
            "instance 1 (fm1) is not to run: <Start> of its <Shared> is 0",
        ),
    ] {
        let (code, said) = run(&text, instance);
        assert_eq!(code, Some(7), "{said}");
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_fabric_that_is_not_there_is_told() {
    let stock = crate::harness::stock_config();
    let stock = stock.to_str().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().to_str().unwrap();
    let absent = format!("unix:{state}/absent");
    for (address, expected) in [
        (absent.as_str(), "cannot be reached"),
        ("tcp:127.0.0.1:1", "cannot be reached"),
        ("nonsense", "allowed: unix:PATH or tcp:HOST:PORT"),
    ] {
        let args = [
            "--connect",
            address,
            "--config",
            stock,
            "--state-dir",
            state,
        ];
        let all: Vec<&str> = args.iter().chain(&FREE).copied().collect();
        let (code, said) = weftd(&all);
        assert_eq!(code, Some(4), "{address}: {said}");
        assert!(said.contains(expected), "{address}: {said}");
    }
}

#[test]
fn an_hfi_that_is_not_there_is_told() {
    let stock = crate::harness::stock_config();
    let dir = tempfile::tempdir().unwrap();
    let args = [
        "--hfi",
        "nosuch:1",
        "--config",
        stock.to_str().unwrap(),
        "--state-dir",
        dir.path().to_str().unwrap(),
    ];
    let all: Vec<&str> = args.iter().chain(&FREE).copied().collect();
    let (code, said) = weftd(&all);
    assert_eq!(code, Some(4), "{said}");
    // Without the library the message names its package instead.
    let told = said.contains("no such HFI port") || said.contains("libibumad3");
    assert!(told, "{said}");
}

#[test]
fn the_port_that_the_configuration_names_is_the_one_that_is_opened() {
    let stock = std::fs::read_to_string(crate::harness::stock_config()).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("opafm.xml");
    for (from, to, expected) in [
        ("<Hfi>1<", "<Hfi>7<", "HFI 7 port 1"),
        ("<Port>1<", "<Port>3<", "HFI 1 port 3"),
        (
            "<Hfi>1</Hfi>",
            "<PortGUID>0x0011750101000009</PortGUID>",
            "the port with GUID 0x0011750101000009",
        ),
    ] {
        std::fs::write(&file, stock.replacen(from, to, 1)).unwrap();
        let args = ["--config", file.to_str().unwrap(), "--state-dir"];
        let state = dir.path().to_str().unwrap();
        let (code, said) = weftd(&[&args[..], &[state], &FREE].concat());
        assert_eq!(code, Some(4), "{said}");
        let told = said.contains(expected) || said.contains("libibumad3");
        assert!(told, "{said}");
    }
}

#[test]
fn a_port_that_is_taken_is_told() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (option, other) in [("--listen", "--metrics"), ("--metrics", "--listen")] {
        let args = [
            "--emulate",
            "one-switch:2",
            option,
            &address,
            other,
            "127.0.0.1:0",
        ];
        let (code, said) = weftd(&args);
        assert_eq!(code, Some(5), "{said}");
        assert!(
            said.contains("cannot listen on") && said.contains("in use"),
            "{said}"
        );
        assert!(said.contains(&format!("({option})")), "{said}");
    }
}
