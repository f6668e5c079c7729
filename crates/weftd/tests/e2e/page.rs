//! The page in a browser, as an HTTP client sees it: its files and headers, which requests are refused, and the API behind it.

use std::path::PathBuf;
use std::time::Duration;

use weft_api::client::Calls;
use weft_api::v1;
use weft_api::v1::web_service_client::WebServiceClient;
use weft_fabric::Guid;

use crate::emulator::Emulator;
use crate::harness::{Daemon, READ_OFTEN, Start, configure, data, text};
use crate::process::{output, program};
use crate::tls::closed_args;

/// A daemon with a page, and curl.
pub(crate) struct Site {
    pub(crate) daemon: Daemon,
    curl: PathBuf,
    pub(crate) url: String,
}

/// What curl got.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// In lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Site {
    /// None where there is no curl.
    pub(crate) fn up(more: &[&str]) -> Option<Self> {
        let curl = weft_peers::program("curl")?;
        let start = Start::new("one-switch:3");
        let daemon = start.args(&["--web", "127.0.0.1:0"]).args(more).up();
        let addresses = daemon.dir.path().join("addresses");
        let addresses = std::fs::read_to_string(addresses).unwrap();
        let line = addresses
            .lines()
            .find_map(|line| line.strip_prefix("page "));
        let url = line.unwrap().to_owned();
        Some(Self { daemon, curl, url })
    }

    pub(crate) fn get(&self, path: &str, args: &[&str]) -> Answer {
        let url = format!("{}{path}", self.url);
        let mut command = program(&self.curl);
        command.args(["--silent", "--include", "--max-time", "30"]);
        let got = output(command.args(args).arg(url));
        let got = text(&got.stdout);
        let (head, body) = got.split_once("\r\n\r\n").unwrap_or((&got, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Answer {
            status: status.unwrap_or(0),
            head: head.to_lowercase(),
            body: body.to_owned(),
        }
    }

    /// Calls a method with an empty request as a browser does.
    pub(crate) fn call(&self, method: &str, args: &[&str]) -> Answer {
        let frame = self.daemon.dir.path().join("frame");
        std::fs::write(&frame, [0; 5]).unwrap();
        let frame = format!("@{}", frame.display());
        let own = [
            "--data-binary",
            &frame,
            "--header",
            "Content-Type: application/grpc-web+proto",
        ];
        self.get(method, &[&own, args].concat())
    }

    pub(crate) fn port(&self) -> &str {
        let (_, port) = self.url.trim_end_matches('/').rsplit_once(':').unwrap();
        port
    }
}

pub(crate) const LAYOUT: &str = "weft.v1.WebService/GetLayout";

/// What every answer has, refusals too.
const HEADERS: [&str; 8] = [
    "content-security-policy: default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     object-src 'none'; require-trusted-types-for 'script'",
    "x-content-type-options: nosniff",
    "x-frame-options: deny",
    "referrer-policy: no-referrer",
    "cross-origin-opener-policy: same-origin",
    "cross-origin-resource-policy: same-origin",
    "cross-origin-embedder-policy: require-corp",
    "permissions-policy: camera=()",
];

#[test]
fn files_have_their_types_and_every_answer_has_the_strict_headers() {
    let Some(site) = Site::up(&[]) else { return };
    for (path, media) in [
        ("", "text/html; charset=utf-8"),
        ("page.js", "text/javascript; charset=utf-8"),
        ("page.css", "text/css; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
        ("licenses.txt", "text/plain; charset=utf-8"),
    ] {
        let got = site.get(path, &[]);
        assert_eq!(got.status, 200, "{path}");
        let kind = format!("content-type: {media}");
        assert!(got.head.contains(&kind), "{path}: {}", got.head);
        assert!(got.body.len() > 100, "{path}");
    }
    // All scripts: those that a script imports, now or later, and those that the page loads before.
    let page = site.get("", &[]).body;
    let mut scripts = vec!["page.js".to_owned()];
    scripts.extend(named(&page));
    let mut at = 0;
    while let Some(name) = scripts.get(at).cloned() {
        let got = site.get(&name, &[]);
        assert_eq!(got.status, 200, "{name}");
        let kind = "content-type: text/javascript; charset=utf-8";
        assert!(got.head.contains(kind), "{name}: {}", got.head);
        let more = named(&got.body)
            .into_iter()
            .filter(|name| !scripts.contains(name));
        let more: Vec<String> = more.collect();
        scripts.extend(more);
        at += 1;
    }
    for part in ["page", "chunk", "views", "view"] {
        let is_part = |name: &String| name.split(['-', '.']).next() == Some(part);
        assert!(scripts.iter().any(is_part), "{part} in {scripts:?}");
    }
    for forbidden in [
        "<style", "style=", "onload", "http://", "https://", "<script>",
    ] {
        assert!(!page.contains(forbidden), "{forbidden} in {page}");
    }
    let foreign = ["--header", "Host: evil.example"];
    for answer in [
        site.get("", &[]),
        site.get("page.js", &[]),
        site.get("nothing", &[]),
        site.get("../Cargo.toml", &["--path-as-is"]),
        site.get("", &foreign),
        site.get("", &["--request", "PUT"]),
        site.call(LAYOUT, &[]),
        site.call("weft.v1.WebService/Nothing", &[]),
    ] {
        for header in HEADERS {
            assert!(answer.head.contains(header), "{header} in {}", answer.head);
        }
    }
    assert_eq!(site.get("nothing", &[]).status, 404);
    assert_eq!(site.get("../Cargo.toml", &["--path-as-is"]).status, 404);
}

/// Scripts that a file of the page names beside itself.
fn named(text: &str) -> Vec<String> {
    let quoted = text.split('"');
    let scripts = quoted.filter_map(|word| {
        let name = word.strip_prefix("./").or(word.strip_prefix('/'))?;
        name.ends_with(".js").then(|| name.to_owned())
    });
    let mut all: Vec<String> = scripts.collect();
    all.sort();
    all.dedup();
    all
}

#[test]
fn a_file_is_sent_compressed_where_that_is_welcome_and_once() {
    let Some(site) = Site::up(&[]) else { return };
    let plain = site.get("page.js", &[]);
    let packed = site.get("page.js", &["--compressed"]);
    assert!(
        packed.head.contains("content-encoding: gzip"),
        "{}",
        packed.head
    );
    assert_eq!(packed.body, plain.body);
    let tag = plain
        .head
        .lines()
        .find_map(|line| line.strip_prefix("etag: "));
    let known = format!("If-None-Match: {}", tag.unwrap());
    let again = site.get("page.js", &["--header", &known]);
    assert_eq!((again.status, &*again.body), (304, ""));
    let other = site.get("page.js", &["--header", "If-None-Match: \"0\""]);
    assert_eq!(other.status, 200);
}

#[test]
fn only_names_of_this_host_are_answered() {
    let Some(site) = Site::up(&[]) else { return };
    let port = site.port();
    for host in [
        format!("127.0.0.1:{port}"),
        format!("localhost:{port}"),
        format!("LOCALHOST:{port}"),
        "localhost:9000".to_owned(),
        "[::1]:9000".to_owned(),
        "127.0.0.1".to_owned(),
    ] {
        let header = format!("Host: {host}");
        assert_eq!(site.get("", &["--header", &header]).status, 200, "{host}");
    }
    for host in [
        "evil.example",
        "evil.example:9317",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "192.0.2.1",
        "localhost@evil.example",
        "[::2]",
        "127.0.0.1, evil.example",
        "",
    ] {
        let header = format!("Host: {host}");
        let header = if host.is_empty() { "Host;" } else { &header };
        let file = site.get("", &["--header", header]);
        let call = site.call(LAYOUT, &["--header", header]);
        for answer in [file, call] {
            assert!(
                matches!(answer.status, 400 | 421),
                "{host}: {}",
                answer.head
            );
            assert!(!answer.body.contains("evil"), "nothing of it is repeated");
        }
    }
    let twice = ["--header", "Host: localhost", "--header", "host: localhost"];
    assert!(matches!(site.get("", &twice).status, 200 | 400));
}

#[test]
fn requests_of_other_sites_are_refused() {
    let Some(site) = Site::up(&[]) else { return };
    let port = site.port();
    let own = format!("Origin: http://127.0.0.1:{port}");
    assert_eq!(site.call(LAYOUT, &["--header", &own]).status, 200);
    for origin in [
        "http://evil.example".to_owned(),
        "null".to_owned(),
        format!("https://127.0.0.1:{port}"),
        "http://127.0.0.1:1".to_owned(),
        format!("http://localhost:{port}"),
        String::new(),
    ] {
        let header = format!("Origin: {origin}");
        let header = if origin.is_empty() {
            "Origin;"
        } else {
            &header
        };
        let answer = site.call(LAYOUT, &["--header", header]);
        assert_eq!(answer.status, 403, "{origin}");
        assert!(!answer.head.contains("access-control"), "{}", answer.head);
    }
    for from in ["cross-site", "same-site", "whatever"] {
        let header = format!("Sec-Fetch-Site: {from}");
        assert_eq!(
            site.call(LAYOUT, &["--header", &header]).status,
            403,
            "{from}"
        );
        assert_eq!(
            site.get("page.js", &["--header", &header]).status,
            403,
            "{from}"
        );
        // A link may lead here, but nothing else.
        let link = ["--header", &header, "--header", "Sec-Fetch-Mode: navigate"];
        assert_eq!(site.get("", &link).status, 200, "{from}");
        assert_eq!(site.call(LAYOUT, &link).status, 403, "{from}");
    }
    let asks_before = [
        "--request",
        "OPTIONS",
        "--header",
        "Origin: http://evil.example",
    ];
    let answer = site.get(LAYOUT, &asks_before);
    assert_eq!(answer.status, 403);
    assert!(!answer.head.contains("access-control"), "{}", answer.head);
    // What a form or a script without leave can send is no call.
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/json",
    ] {
        let header = format!("Content-Type: {kind}");
        let answer = site.get(LAYOUT, &["--data-binary", "x", "--header", &header]);
        assert_eq!(answer.status, 415, "{kind}");
    }
}

#[test]
fn the_page_calls_the_api_with_the_roles_of_everybody() {
    let Some(site) = Site::up(&[]) else { return };
    let layout = site.call(LAYOUT, &["--output", "-"]);
    assert_eq!(layout.status, 200);
    assert!(
        layout
            .head
            .contains("content-type: application/grpc-web+proto"),
        "{}",
        layout.head
    );
    assert!(layout.body.contains("grpc-status:0"), "{:?}", layout.body);
    let dir = site.daemon.dir.path().to_owned();
    let rules = dir.join("access.toml");
    std::fs::write(&rules, "loopback = \"view\"\n").unwrap();
    let Some(site) = Site::up(&["--access", rules.to_str().unwrap()]) else {
        return;
    };
    let sweep = site.call("weft.v1.SweepService/StartSweep", &[]);
    let told = format!("{}{}", sweep.head, sweep.body);
    assert!(
        told.contains("grpc-status: 7") || told.contains("grpc-status:7"),
        "{told}"
    );
    assert!(site.call(LAYOUT, &[]).head.contains("200 ok"));
}

#[test]
fn the_address_of_the_page_is_told_and_without_one_how_to_get_it() {
    let Some(site) = Site::up(&[]) else { return };
    assert_eq!(site.daemon.weft_ok(&["web"]).trim(), site.url);
    let told: serde_json::Value =
        serde_json::from_str(&site.daemon.weft_ok(&["web", "--json"])).unwrap();
    assert_eq!(told["url"], site.url);
    site.daemon.logs(&format!("page at {}", site.url));
    let without = Daemon::up("one-switch:2");
    let why = without.weft_fails(1, &["web"]);
    assert!(why.contains("--web 127.0.0.1:9317"), "{why}");
    let told: serde_json::Value =
        serde_json::from_str(&without.weft_ok(&["web", "--json"])).unwrap();
    assert_eq!(told["url"], "");
}

#[tokio::test(flavor = "multi_thread")]
async fn layout_and_columns_are_those_of_the_fabric() {
    let start = Start::new("one-switch:3");
    configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
    let daemon = start.up();
    let client = weft_api::client::Client::connect(&daemon.api, None)
        .await
        .unwrap();
    let snapshot = client.snapshot().await.unwrap();
    let mut web = client.web();
    let layout = web
        .get_layout(v1::GetLayoutRequest {})
        .await
        .unwrap()
        .into_inner();
    let word = |bytes: &[u8]| Guid(u64::from_le_bytes(bytes.try_into().unwrap()));
    let guids: Vec<Guid> = layout.guids.chunks(8).map(word).collect();
    assert_eq!(guids.len(), snapshot.topology.len());
    for (place, guid) in guids.iter().enumerate() {
        let node = snapshot.topology.find(*guid).unwrap();
        let node = snapshot.topology.node(node).unwrap();
        assert_eq!(layout.names[place], node.name());
        assert_eq!(
            usize::from(layout.ports[place]),
            node.external_ports().len()
        );
        let (_, end) = node.end_ports().next().unwrap();
        let lid = &layout.lids[4 * place..4 * place + 4];
        assert_eq!(lid, end.info.lid.0.to_le_bytes());
    }
    let mut asked = v1::GetColumnsRequest::default();
    let first = web.get_columns(asked.clone()).await.unwrap().into_inner();
    assert_eq!(first.layout, layout.layout);
    assert!(first.columns.is_empty(), "the layout comes first");
    asked.layout = layout.layout.clone();
    let first = web.get_columns(asked.clone()).await.unwrap().into_inner();
    assert_eq!(first.columns.len(), 5);
    let state = &first.columns[0];
    assert_eq!(state.kind(), v1::ColumnKind::State);
    assert_eq!(4 * state.values.len(), layout.peers.len());
    let active = state.values.iter().filter(|state| **state == 1).count();
    assert_eq!(active, 6, "both ends of three links");
    assert_eq!(first.generation, snapshot.generation);
    // Loads are counted after the rest: an answer names a reading when it has the loads of that. The first has none.
    let mut read = first;
    while read.image < 2 {
        let unknown = read.columns[2].values.iter().all(|load| *load == u8::MAX);
        assert!(unknown, "loads without two readings");
        tokio::time::sleep(Duration::from_millis(20)).await;
        read = web.get_columns(asked.clone()).await.unwrap().into_inner();
    }
    assert_eq!(read.columns[2].kind(), v1::ColumnKind::Load);
    assert!(read.columns[2].values.iter().any(|load| *load != u8::MAX));
    let errors = &read.columns[4];
    assert_eq!(errors.kind(), v1::ColumnKind::Errors);
    let without = errors.values.iter().filter(|rate| **rate == 0).count();
    assert_eq!(without, 6, "both ends of three links");
    asked.version = "0000000000000001-1".to_owned();
    let other_run = web.get_columns(asked).await.unwrap().into_inner();
    assert_eq!(
        other_run.columns.len(),
        5,
        "of another run of the daemon nothing is known"
    );
}

#[test]
fn an_address_that_others_reach_needs_certificates() {
    let mut start = Start::new("one-switch:2").args(&["--web", "0.0.0.0:0"]);
    let ended = output(&mut start.command);
    let why = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{why}");
    assert!(
        why.contains("--web 0.0.0.0:0 can be reached from other machines"),
        "{why}"
    );
}

type Web = WebServiceClient<Calls>;

/// Layout, and the columns of states and marks, of now.
async fn shown(web: &mut Web) -> (v1::GetLayoutResponse, Vec<v1::Column>) {
    loop {
        let layout = web.get_layout(v1::GetLayoutRequest {}).await.unwrap();
        let layout = layout.into_inner();
        let asked = v1::GetColumnsRequest {
            layout: layout.layout.clone(),
            version: String::new(),
        };
        let columns = web.get_columns(asked).await.unwrap().into_inner();
        if columns.layout == layout.layout {
            let layout = v1::GetLayoutResponse {
                layout: String::new(),
                ..layout
            };
            return (layout, columns.columns.into_iter().take(2).collect());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moment_of_the_past_is_shown_as_it_was_shown_then() {
    let dir = tempfile::tempdir().unwrap();
    let emulator = Emulator::start("pgft:2;2,2;1,2;1,1;radix=8", &dir.path().join("fabric"));
    let start = Start::connected(&emulator.socket());
    configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
    let daemon = start.up();
    let client = weft_api::client::Client::connect(&daemon.api, None).await;
    let mut web = client.unwrap().web();
    let mut seen = Vec::new();
    for fault in [None, Some("link-down"), Some("link-up")] {
        if let Some(fault) = fault {
            emulator.change(&[fault, "edge1:3"]);
        }
        // A link is missed when it was up for a while or is named as lost; then everything of it is recorded.
        tokio::time::sleep(Duration::from_secs(4)).await;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let at = weft_api::time::timestamp(now.unwrap().as_nanos() as u64);
        seen.push((at, shown(&mut web).await));
        tokio::time::sleep(Duration::from_secs(4)).await;
    }
    let lost = |columns: &[v1::Column]| {
        columns[0]
            .values
            .iter()
            .filter(|state| **state == 3)
            .count()
    };
    assert_eq!(lost(&seen[1].1.1), 2, "both ends of the link");
    assert_eq!(lost(&seen[2].1.1), 0);
    for (at, (layout, columns)) in &seen {
        let at = v1::Moment {
            moment: Some(v1::moment::Moment::Time(*at)),
        };
        let asked = v1::GetPastRequest {
            at: Some(at),
            from: None,
        };
        let past = web.get_past(asked).await.unwrap().into_inner();
        assert_eq!(past.layout.as_ref(), Some(layout));
        assert_eq!(past.columns[..2], columns[..]);
        assert_eq!(past.columns.len(), 5);
        assert!(past.moment.is_some());
        assert!(
            past.counted_time.is_some(),
            "counters were read each second"
        );
        let known = past.columns[2].values.iter().any(|load| *load != u8::MAX);
        assert!(known, "loads of then");
    }
    // Over the time between two moments, up to the last one.
    let (from, to) = (seen[0].0, seen[2].0);
    let mut asked = v1::GetPastRequest {
        at: Some(v1::Moment {
            moment: Some(v1::moment::Moment::Time(to)),
        }),
        from: Some(from),
    };
    let over = web.get_past(asked).await.unwrap().into_inner();
    assert_eq!(over.layout.as_ref(), Some(&seen[2].1.0));
    let span = weft_api::time::ns(over.counted_span).cast_signed() / 1_000_000;
    let asked_ms = weft_api::time::unix_ms(Some(to)) - weft_api::time::unix_ms(Some(from));
    assert!(
        (span - asked_ms).abs() <= 2_000,
        "{span} ms of some {asked_ms}"
    );
    assert!(over.columns[4].values.iter().any(|rate| *rate != u8::MAX));
    asked.from = Some(to);
    let refused = web.get_past(asked).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::InvalidArgument, "{refused}");
    let future = v1::GetPastRequest::default();
    let refused = web.get_past(future).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::InvalidArgument, "{refused}");
}

#[test]
fn with_certificates_the_page_is_encrypted_and_only_its_own_origin_is_answered() {
    let path = |name: &str| data(name).to_str().unwrap().to_owned();
    let tls = closed_args();
    let tls = tls.each_ref().map(String::as_str);
    let Some(site) = Site::up(&tls) else { return };
    assert!(site.url.starts_with("https://"), "{}", site.url);
    let [ca, own, own_key] = ["ca.pem", "client.pem", "client.key"].map(path);
    let known = ["--cacert", &ca, "--cert", &own, "--key", &own_key];
    let asks = |more: &[&str]| site.get("", &[&known, more].concat()).status;
    assert_eq!(asks(&[]), 200);
    let nobody = site.get("", &["--cacert", &ca]);
    assert_eq!(
        nobody.status, 0,
        "without a certificate there is no connection"
    );
    // The browser checks the name by the certificate, so any name is taken here, but no other origin.
    assert_eq!(asks(&["--header", "Host: fm.example"]), 200);
    let origin = |scheme: &str, host: &str| format!("Origin: {scheme}://{host}");
    let port = site.port();
    let host = site
        .url
        .trim_start_matches("https://")
        .trim_end_matches('/');
    for (header, status) in [
        (origin("https", host), 200),
        (origin("http", host), 403),
        (origin("https", &format!("evil.example:{port}")), 403),
    ] {
        let called = site.call(LAYOUT, &[&known[..], &["--header", &header]].concat());
        assert_eq!(called.status, status, "{header}");
    }
}
