//! One-time links to the page: who comes in by one, as whom, how often and for how long, with curl as the browser.

use serde_json::Value;

use crate::access::role_data;
use crate::harness::{data, text, wait_for, weft};
use crate::page::{Answer, LAYOUT, Site};
use crate::process::{output, program};
use crate::quarantine::json;
use crate::tls::closed_args;

const PAGE: &str = "weft.v1.WebService/GetPage";
const SWEEP: &str = "weft.v1.SweepService/StartSweep";
const PAUSE: &str = "weft.v1.ManagerService/PauseSweeps";
const WATCH: &str = "weft.v1.WatchService/Watch";
const MAKE: &str = "weft.v1.WebService/CreateLink";

/// A site whose daemon is at a Unix socket too, where the user of the test is known.
struct Linked {
    site: Site,
    socket: String,
    /// What curl needs to know the daemon.
    known: Vec<String>,
}

impl Linked {
    fn up(more: &[&str]) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        // The name alone has to be free: the daemon makes the socket.
        let socket = format!("unix:{}.sock", dir.path().display());
        let site = Site::up(&[&["--listen", &socket], more].concat())?;
        Some(Self {
            site,
            socket,
            known: Vec::new(),
        })
    }

    /// One that asks for certificates.
    fn closed() -> Option<Self> {
        let tls = closed_args();
        let tls = tls.each_ref().map(String::as_str);
        Self::encrypted(&tls)
    }

    fn encrypted(args: &[&str]) -> Option<Self> {
        let mut linked = Self::up(args)?;
        let ca = data("ca.pem").to_str().unwrap().to_owned();
        linked.known = vec!["--cacert".to_owned(), ca];
        Some(linked)
    }

    fn args<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let known = self.known.iter().map(String::as_str);
        known.chain(more.iter().copied()).collect()
    }

    fn get(&self, path: &str, more: &[&str]) -> Answer {
        self.site.get(path, &self.args(more))
    }

    /// Calls a method, with a cookie unless that is empty; the number that gRPC answers.
    fn call(&self, method: &str, cookie: &str) -> (Option<u32>, String) {
        let cookie = format!("Cookie: {cookie}");
        let more: &[&str] = match cookie.as_str() {
            "Cookie: " => &[],
            cookie => &["--header", cookie],
        };
        let answer = self
            .site
            .call(method, &self.args(&[more, &["--output", "-"]].concat()));
        let told = format!("{}\n{}", answer.head, answer.body);
        let code = told.split_once("grpc-status:");
        let code = code.and_then(|(_, rest)| rest.split_whitespace().next()?.parse().ok());
        (code, told)
    }

    /// Shows a token as the page does.
    fn show(&self, token: &str, more: &[&str]) -> Answer {
        let own = [
            "--data-binary",
            token,
            "--header",
            "Content-Type: application/x-weft-link",
        ];
        self.get("link", &[&own, more].concat())
    }

    /// The client at the socket.
    fn weft(&self, args: &[&str]) -> (Option<i32>, String) {
        let mut command = program(weft());
        let ended = output(command.args(["--address", &self.socket]).args(args));
        (
            ended.status.code(),
            text(&ended.stdout) + &text(&ended.stderr),
        )
    }

    /// The token of a new link.
    fn link(&self, more: &[&str]) -> String {
        let (code, said) = self.weft(&[&["web", "--link"], more].concat());
        assert_eq!(code, Some(0), "{said}");
        let (url, rest) = said.split_once('\n').unwrap();
        assert!(rest.starts_with("lets one browser in as you"), "{rest}");
        let token = url.strip_prefix(&format!("{}#link=", self.site.url));
        token.unwrap_or_else(|| panic!("{url}")).to_owned()
    }

    /// A cookie for a token.
    fn session(&self, token: &str) -> String {
        let answer = self.show(token, &[]);
        assert_eq!(answer.status, 204, "{} {}", answer.head, answer.body);
        let set = answer.head.lines();
        let set = set.filter_map(|line| line.strip_prefix("set-cookie: "));
        let set: Vec<&str> = set.collect();
        let (pair, more) = set[0].split_once("; ").unwrap();
        assert_eq!(set.len(), 1);
        assert_eq!(
            more,
            "path=/; max-age=28800; secure; httponly; samesite=strict"
        );
        let name = format!("__host-weft-{}=", self.site.port());
        let secret = pair.strip_prefix(&name).unwrap();
        assert_eq!(secret.len(), 64, "256 bits");
        assert_ne!(secret, token);
        format!("__Host-weft-{}={secret}", self.site.port())
    }

    /// What the record has of tokens that were shown.
    fn shown(&self) -> Vec<Value> {
        let (_, listed) = self.weft(&["audit", "list", "--json"]);
        let all = listed.lines().map(json);
        all.filter(|one| one["method"] == "page/UseLink").collect()
    }
}

#[test]
fn a_link_lets_one_browser_in_once_as_who_asked_for_it_and_no_further() {
    let Some(linked) = Linked::closed() else {
        return;
    };
    assert_eq!(
        linked.get("", &[]).status,
        0,
        "nobody without a certificate"
    );
    let token = linked.link(&["--role", "operate"]);
    assert_eq!(token.len(), 64, "256 bits");
    // Now a browser gets the files, and nothing else.
    assert_eq!(linked.get("", &[]).status, 200);
    let (code, told) = linked.call(LAYOUT, "");
    assert_eq!(code, Some(16), "{told}");
    assert!(
        told.contains("weft%20web%20--link") || told.contains("weft web --link"),
        "{told}"
    );
    for wrong in ["", "0", &"0".repeat(64), &token[1..], &format!("{token}0")] {
        let answer = linked.show(wrong, &[]);
        assert_eq!(answer.status, 403, "{wrong}: {}", answer.body);
        assert!(answer.body.contains("lets nobody in"), "{}", answer.body);
        assert!(!answer.head.contains("set-cookie"), "{}", answer.head);
    }
    let cookie = linked.session(&token);
    let again = linked.show(&token, &[]);
    assert_eq!(again.status, 403, "it works once");
    assert!(again.body.contains("used already"), "{}", again.body);

    let (code, told) = linked.call(PAGE, &cookie);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("user:") && told.contains("operate"), "{told}");
    assert_eq!(linked.call(LAYOUT, &cookie).0, Some(0));
    assert_eq!(linked.call(SWEEP, &cookie).0, Some(0));
    let (code, told) = linked.call(PAUSE, &cookie);
    assert_eq!(code, Some(7), "whatever who asked for the link may: {told}");
    assert_eq!(linked.call(MAKE, &cookie).0, Some(7), "no link of a link");
    let secret = cookie.split_once('=').unwrap().1;
    for wrong in [
        format!("__Host-weft-1={secret}"),
        format!("weft={secret}"),
        cookie.replace(secret, &token),
        cookie[..cookie.len() - 1].to_owned(),
    ] {
        assert_eq!(linked.call(LAYOUT, &wrong).0, Some(16), "{wrong}");
    }

    let (code, said) = linked.weft(&["web", "--end"]);
    assert_eq!(
        (code, &*said),
        (Some(0), "ended 0 unused links and 1 session\n")
    );
    let gone = linked.get("", &["--header", &format!("Cookie: {cookie}")]);
    assert_eq!(gone.status, 0, "and the door is closed again");

    // Who and where is in the record and the log, and no secret.
    let shown = linked.shown();
    let results: Vec<&str> = shown
        .iter()
        .map(|one| one["result"].as_str().unwrap())
        .collect();
    assert_eq!(results.iter().filter(|one| **one == "ok").count(), 1);
    assert_eq!(
        results
            .iter()
            .filter(|one| **one == "unauthenticated")
            .count(),
        6
    );
    let entered = shown.iter().find(|one| one["result"] == "ok").unwrap();
    assert_eq!(entered["peer"], "127.0.0.1");
    assert!(entered["identity"].as_str().unwrap().starts_with("user:"));
    let (_, listed) = linked.weft(&["audit", "list", "--json"]);
    let made = listed.lines().map(json);
    let made = made.filter(|one| one["method"] == MAKE);
    assert_eq!(made.count(), 2, "both attempts to make a link");
    let told = listed + &linked.site.daemon.log();
    for hidden in [&token, secret] {
        assert!(!told.contains(hidden), "a secret is told");
    }
}

#[test]
fn a_link_is_not_used_up_where_it_is_not_needed_or_not_the_page_that_shows_it() {
    let Some(linked) = Linked::closed() else {
        return;
    };
    let token = linked.link(&[]);
    let path = |name: &str| data(name).to_str().unwrap().to_owned();
    let [own, own_key] = ["client.pem", "client.key"].map(path);
    let certificate = ["--cert", &own, "--key", &own_key];
    let needless = linked.show(&token, &certificate);
    assert_eq!(needless.status, 409, "{}", needless.body);
    assert!(
        needless.body.contains("no link is needed"),
        "{}",
        needless.body
    );
    let foreign = ["--header", "Origin: https://evil.example"];
    assert_eq!(linked.show(&token, &foreign).status, 403);
    assert_eq!(
        linked
            .show(&token, &["--header", "Sec-Fetch-Site: cross-site"])
            .status,
        403
    );
    let form = [
        "--data-binary",
        &token,
        "--header",
        "Content-Type: text/plain",
    ];
    assert_eq!(linked.get("link", &form).status, 415);
    assert_eq!(
        linked.get("link", &[]).status,
        404,
        "a link that is only looked at is not used"
    );
    let cookie = linked.session(&token);
    assert_eq!(linked.call(LAYOUT, &cookie).0, Some(0));
    assert_eq!(
        linked.call(SWEEP, &cookie).0,
        Some(7),
        "to look, where nothing else was asked for"
    );
    let results: Vec<Value> = linked
        .shown()
        .iter()
        .map(|one| one["result"].clone())
        .collect();
    assert!(
        results.contains(&"failed_precondition".into()),
        "{results:?}"
    );
}

#[test]
fn at_a_loopback_address_a_link_gives_what_the_address_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let rules = dir.path().join("access.toml");
    std::fs::write(&rules, "loopback = \"view\"\n").unwrap();
    let Some(linked) = Linked::up(&["--access", rules.to_str().unwrap()]) else {
        return;
    };
    let (code, said) = linked.weft(&["web", "--link"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("has the role view here: no link is needed"),
        "{said}"
    );
    let cookie = linked.session(&linked.link(&["--role", "administer"]));
    assert_eq!(linked.call(SWEEP, "").0, Some(7));
    assert_eq!(linked.call(SWEEP, &cookie).0, Some(0));
    // A pause without a duration is refused for that alone.
    assert_eq!(linked.call(PAUSE, &cookie).0, Some(3));
    // Somebody at a loopback address gives nobody more than he has, and ends nobody's sessions but his own.
    let refused = linked
        .site
        .daemon
        .weft_fails(1, &["web", "--link", "--role", "operate"]);
    assert!(
        refused.contains("needs the role operate, and loopback has view"),
        "{refused}"
    );
    let ended = linked.site.daemon.weft_ok(&["web", "--end"]);
    assert_eq!(ended, "ended 0 unused links and 0 sessions\n");
    let refused = linked
        .site
        .daemon
        .weft_fails(1, &["web", "--end", "--everybody"]);
    assert!(refused.contains("needs the role administer"), "{refused}");
    assert_eq!(linked.call(SWEEP, &cookie).0, Some(0));
    let (_, said) = linked.weft(&["web", "--end", "--everybody", "--json"]);
    assert_eq!(json(&said), json(r#"{"links":0,"sessions":1}"#));
    assert_eq!(linked.call(SWEEP, &cookie).0, Some(7));
}

#[test]
fn a_page_that_is_encrypted_and_asks_for_no_certificate_needs_links_as_one_without_tls_does() {
    let dir = tempfile::tempdir().unwrap();
    let rules = dir.path().join("access.toml");
    std::fs::write(&rules, "loopback = \"view\"\n").unwrap();
    let tls = closed_args();
    let tls = tls.each_ref().map(String::as_str);
    // Without the authority of clients.
    let args = [&tls[..4], &["--access", rules.to_str().unwrap()]].concat();
    let Some(linked) = Linked::encrypted(&args) else {
        return;
    };
    assert!(linked.site.url.starts_with("https:"), "{}", linked.site.url);
    assert_eq!(linked.call(LAYOUT, "").0, Some(0));
    let (code, said) = linked.weft(&["web", "--link"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("has the role view here: no link is needed"),
        "{said}"
    );
    let cookie = linked.session(&linked.link(&["--role", "operate"]));
    assert_eq!(linked.call(SWEEP, "").0, Some(7));
    assert_eq!(linked.call(SWEEP, &cookie).0, Some(0));
}

#[test]
fn wrong_tokens_are_refused_without_a_record_after_some() {
    let Some(linked) = Linked::closed() else {
        return;
    };
    let token = linked.link(&[]);
    let statuses: Vec<u16> = (0..14).map(|_| linked.show("guess", &[]).status).collect();
    assert_eq!(statuses, [[403; 10].as_slice(), &[429; 4]].concat());
    assert_eq!(linked.shown().len(), 10);
    linked.session(&token);
    let open: Vec<String> = (0..8).map(|_| linked.link(&[])).collect();
    let (code, said) = linked.weft(&["web", "--link"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("8 links of user:"), "{said}");
    assert_eq!(open.len(), 8);
}

#[test]
fn what_came_by_a_certificate_ends_when_others_are_revoked_and_what_came_by_the_socket_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("crl.pem");
    std::fs::copy(role_data("crl-empty.pem"), &list).unwrap();
    let [cert, key, ca, own, own_key] =
        ["server.pem", "server.key", "ca.pem", "gone.pem", "gone.key"].map(role_data);
    let Some(mut linked) = Linked::up(&[
        "--tls-cert",
        &cert,
        "--tls-key",
        &key,
        "--tls-client-ca",
        &ca,
        "--tls-crl",
        list.to_str().unwrap(),
    ]) else {
        return;
    };
    linked.known = vec!["--insecure".to_owned()];
    let by_certificate = || {
        let api = &linked.site.daemon.api;
        let mut command = program(weft());
        command.args(["--address", &api.replace("127.0.0.1", "localhost")]);
        command.args(["--tls-ca", &ca, "--tls-cert", &own, "--tls-key", &own_key]);
        let made = output(command.args(["web", "--link"]));
        let made = text(&made.stdout);
        let (_, token) = made.lines().next().unwrap().split_once('=').unwrap();
        token.to_owned()
    };
    let his = linked.session(&by_certificate());
    let unused = by_certificate();
    let mine = linked.session(&linked.link(&[]));
    assert!(linked.call(PAGE, &his).1.contains("dns:gone.example.org"));
    // The same files again end nothing.
    linked.site.daemon.signal("HUP");
    linked.site.daemon.logs("have been read again");
    assert_eq!(linked.call(LAYOUT, &his).0, Some(0));
    std::fs::copy(role_data("crl.pem"), &list).unwrap();
    wait_for(|| (linked.call(LAYOUT, &his).0 == Some(16)).then_some(()));
    assert_eq!(linked.show(&unused, &[]).status, 403);
    assert_eq!(linked.call(LAYOUT, &mine).0, Some(0));
}

#[test]
fn a_browser_with_a_session_takes_another_link_of_the_same_identity_and_of_no_other() {
    let [ca, own, own_key] =
        ["ca.pem", "client.pem", "client.key"].map(|name| data(name).to_str().unwrap().to_owned());
    let Some(linked) = Linked::closed() else {
        return;
    };
    let mine = linked.session(&linked.link(&[]));
    let cookie = format!("Cookie: {mine}");
    let has = ["--header", &cookie];
    let api = linked.site.daemon.api.replace("127.0.0.1", "localhost");
    let mut command = program(weft());
    command.args(["--address", &api, "--tls-ca", &ca]);
    command.args(["--tls-cert", &own, "--tls-key", &own_key]);
    let made = output(command.args(["web", "--link"]));
    let made = text(&made.stdout);
    let (_, of_another) = made.lines().next().unwrap().split_once('=').unwrap();
    let refused = linked.show(of_another, &has);
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert!(
        refused.body.contains("has a session of user:"),
        "{}",
        refused.body
    );
    assert_eq!(linked.call(LAYOUT, &mine).0, Some(0));
    let another = linked.session(of_another);
    assert_eq!(linked.call(LAYOUT, &another).0, Some(0), "not used up");
    let again = linked.show(&linked.link(&["--role", "operate"]), &has);
    assert_eq!(again.status, 204, "{}", again.body);
    assert_eq!(linked.call(LAYOUT, &mine).0, Some(16), "it was replaced");
    let (_, said) = linked.weft(&["web", "--end"]);
    assert_eq!(said, "ended 0 unused links and 1 session\n");
}

#[test]
fn a_stream_of_a_browser_ends_with_its_session() {
    let Some(linked) = Linked::closed() else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let read = dir.path().join("read");
    let mine = linked.session(&linked.link(&[]));
    let cookie = format!("Cookie: {mine}");
    let got = || text(&std::fs::read(&read).unwrap_or_default());
    let more = ["--no-buffer", "--output", read.to_str().unwrap()];
    let more = [&more[..], &["--header", &cookie]].concat();
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| linked.site.call(WATCH, &linked.args(&more)));
        // The first message of a stream comes at once.
        wait_for(|| got().contains("\r\n\r\n").then_some(()));
        assert!(!reading.is_finished());
        assert!(!got().contains("grpc-status"), "{}", got());
        let (_, said) = linked.weft(&["web", "--end"]);
        assert_eq!(said, "ended 0 unused links and 1 session\n");
        wait_for(|| reading.is_finished().then_some(()));
    });
    let got = got();
    assert!(got.contains("grpc-status:16"), "{got}");
    assert!(
        got.contains("has%20ended") || got.contains("has ended"),
        "{got}"
    );
}
