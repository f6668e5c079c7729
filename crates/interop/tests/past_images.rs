//! What the vendor's tools show of a time that has passed: with Weft's daemon the same as with the vendor's manager, also
//! after both have been killed and started again.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use weft_emulator::ErrorCounts;
use weft_emulator::io::Control;
use weft_fabric::PortNum;
use weft_interop::vendor_sm::{SmSettings, VendorSm, images_of, turn};
use weft_interop::{Fabric, Ran, Terminal, Weftd};
use weft_peers::{VENDOR_SM, program};

const PATIENCE: Duration = Duration::from_secs(90);
const PAUSE: Duration = Duration::from_millis(300);
const HOST: &str = "node1";
/// The port at which packets are dropped.
const SWITCH: &str = "edge2";
const PORT: u8 = 5;
/// Images of one second, three of them put together; ten are in memory.
const TOGETHER: Duration = Duration::from_secs(3);
const IN_MEMORY: Duration = Duration::from_secs(10);

struct Pair {
    weft: Fabric,
    vendor: Fabric,
    managers: Option<(Weftd, VendorSm)>,
    settings: SmSettings,
    config: PathBuf,
}

impl Pair {
    fn start() -> Self {
        let settings = SmSettings {
            pm: true,
            changes: &[
                (
                    "<SweepInterval>10</SweepInterval>",
                    "<SweepInterval>1</SweepInterval>",
                ),
                ("<ImageUpdateInterval>5<", "<ImageUpdateInterval>0<"),
            ],
            ..SmSettings::default()
        };
        let spec = "fattree:32,radix=8";
        let weft = Fabric::start(spec);
        let config = weft.directory().join("opamon.conf");
        std::fs::write(&config, "XmitDiscards 1\n").unwrap();
        let mut pair = Self {
            weft,
            vendor: Fabric::start(spec),
            managers: None,
            settings,
            config,
        };
        pair.start_managers();
        pair
    }

    fn start_managers(&mut self) {
        let sm = VendorSm::start(&self.vendor, HOST, &self.settings);
        let mut weftd = Weftd::start(&self.weft, HOST, &self.settings);
        weftd.wait_until_master(PATIENCE);
        sm.swept(1, PATIENCE);
        self.managers = Some((weftd, sm));
        let links = format!("Links: {} ", self.weft.topology().links().count());
        let whole = [links.as_str(), "NoResp Nodes: 0  NoResp Ports: 0"];
        let until = Instant::now() + PATIENCE;
        while !self
            .run("opapaquery -o imageInfo -n 0")
            .iter()
            .all(|ran| whole.iter().all(|text| ran.text.contains(text)))
        {
            assert!(Instant::now() < until, "no images");
            std::thread::sleep(PAUSE);
        }
    }

    /// Kills both managers and starts them again.
    fn restart(&mut self) {
        let (mut weftd, mut sm) = self.managers.take().unwrap();
        weftd.kill();
        sm.kill();
        drop((weftd, sm));
        self.start_managers();
    }

    fn run(&self, line: &str) -> [Ran; 2] {
        [&self.weft, &self.vendor].map(|fabric| fabric.run(HOST, line))
    }

    /// Has packets dropped on both.
    fn drop_packets(&self, discards: u64) {
        for fabric in [&self.weft, &self.vendor] {
            let mut nodes = fabric.topology().nodes();
            let switch = nodes.find(|(_, node)| node.name() == SWITCH).unwrap().1;
            fabric.control(Control::CountErrors {
                node: switch.guid(),
                port: PortNum(PORT),
                errors: ErrorCounts {
                    discards,
                    ..ErrorCounts::default()
                },
            });
        }
    }

    /// A second of which both have an image, at most two away: sweeps of a busy machine leave some out.
    fn known(&self, time: u64) -> u64 {
        let near = [0, 1, 2].into_iter().map(|after| time - 1 + after);
        let known = near.clone().find(|time| {
            let line = format!("opapaquery -o imageInfo -y '{}'", date(*time));
            self.run(&line).iter().all(|ran| ran.good)
        });
        known.unwrap_or_else(|| panic!("no image about {}", date(time)))
    }

    /// What a tool prints with both, which is the same.
    fn same(&self, line: &str) -> String {
        let [weft, vendor] = self.run(line);
        assert!(weft.good && vendor.good, "{line}: {weft:?}\n{vendor:?}");
        let [ours, theirs] = [weft.text, vendor.text].map(|text| without_identity(&text));
        assert_eq!(ours, theirs, "{line}");
        ours
    }

    /// LID of the switch on each.
    fn lids(&self) -> [u32; 2] {
        [&self.weft, &self.vendor].map(|fabric| {
            let view = fabric.view();
            let guid = {
                let mut nodes = fabric.topology().nodes();
                nodes
                    .find(|(_, node)| node.name() == SWITCH)
                    .unwrap()
                    .1
                    .guid()
            };
            let node = view.nodes.iter().find(|node| node.guid == guid).unwrap();
            node.ports[0].as_ref().unwrap().lid.0
        })
    }
}

/// Without the lines that name an image: its number, and a time that is that of the manager's sweeps.
fn without_identity(text: &str) -> String {
    let kept = text.lines().filter(|line| {
        !["Image", "image", "ImgNum", "ImageTime"]
            .iter()
            .any(|word| line.contains(word))
    });
    kept.collect::<Vec<&str>>().join("\n")
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

/// A time as the tools read it.
fn date(unix: u64) -> String {
    let mut command = Command::new("date");
    let at = format!("@{unix}");
    let ran = command.args(["-d", &at, "+%Y-%m-%d %H:%M:%S"]).output();
    String::from_utf8(ran.unwrap().stdout)
        .unwrap()
        .trim()
        .to_owned()
}

/// Packets dropped in the counters that opapaquery prints.
fn discards(text: &str) -> u64 {
    let line = text.lines().find(|line| line.contains("Xmit Discards"));
    let number = line.and_then(|line| line.split_whitespace().last()?.parse().ok());
    number.unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn tools_look_back_as_with_the_vendors_manager() {
    if program(VENDOR_SM).is_none() || program("opareport").is_none() {
        return;
    }
    let _turn = turn();
    let mut pair = Pair::start();
    pair.drop_packets(40);
    std::thread::sleep(3 * TOGETHER);
    let begin = now();
    std::thread::sleep(2 * TOGETHER);
    let dropped = now();
    pair.drop_packets(7);
    std::thread::sleep(3 * TOGETHER);
    let end = now();
    std::thread::sleep(IN_MEMORY + 2 * TOGETHER);
    let [begin, end] = [begin, end].map(|time| pair.known(time));
    let kept = std::fs::read_dir(images_of(&pair.weft, HOST)).unwrap();
    assert!(
        kept.count() > 5,
        "images are kept where StorageLocation says"
    );
    look_back(&pair, [begin, dropped, end]);
    pair.restart();
    look_back(&pair, [begin, dropped, end]);
    rewind(&pair, begin);
}

fn look_back(pair: &Pair, [begin, dropped, end]: [u64; 3]) {
    let config = pair.config.display();
    let [from, to] = [begin, end].map(date);
    // What was counted in between.
    let report = format!("opareport -q -o errors -c {config}");
    let between = pair.same(&format!("{report} -b '{from}' -e '{to}'"));
    assert!(
        between.contains("XmitDiscards: 7 Exceeds Threshold: 1"),
        "{between}"
    );
    // What counters said then.
    for (time, counted) in [(&from, 40), (&to, 47)] {
        let then = pair.same(&format!("{report} -e '{time}'"));
        let line = format!("XmitDiscards: {counted} Exceeds Threshold: 1");
        assert!(then.contains(&line), "{then}");
    }
    // An image of three sweeps that began at most so much before.
    for ran in pair.run(&format!("opapaquery -o imageInfo -y '{from}'")) {
        assert!(ran.good && ran.text.contains("Interval: 3"), "{}", ran.text);
    }
    for line in [
        "groupConfig -g SWs",
        "groupNodeInfo -g All",
        "vfConfig -V Default",
        "groupList",
    ] {
        pair.same(&format!("opapaquery -o {line} -y '{from}'"));
    }
    // In one image, all seven; in those around it, none.
    for (fabric, lid) in [&pair.weft, &pair.vendor].into_iter().zip(pair.lids()) {
        let mut counted = BTreeSet::new();
        for time in dropped - 3..dropped + 6 {
            let time = date(time);
            let line = format!("opapaquery -o portCounters -l {lid} -P {PORT} -d 1 -q '{time}'");
            let ran = fabric.run(HOST, &line);
            counted.extend(ran.good.then(|| discards(&ran.text)));
        }
        assert_eq!(counted, BTreeSet::from([0, 7]));
    }
    // What nobody has any more.
    for ran in pair.run("opapaquery -o imageInfo -y '3 days ago'") {
        assert!(!ran.good, "{}", ran.text);
    }
}

/// opatop goes to a time, back from there and from the present, forward, and to the present again.
fn rewind(pair: &Pair, time: u64) {
    if program("tmux").is_none() || program("opatop").is_none() {
        return;
    }
    for fabric in [&pair.weft, &pair.vendor] {
        let opatop = Terminal::start(fabric, HOST, "opatop");
        shown(&opatop, "Live", |_| true);
        opatop.type_text(&format!("t{}", date(time)));
        opatop.press("Enter");
        let then = shown(&opatop, "Hist", |start| start <= time && time < start + 6);
        opatop.press("r");
        let before = shown(&opatop, "Hist", |start| start < then);
        assert!(then - before <= 6, "one image back: {then}, {before}");
        opatop.press("f");
        shown(&opatop, "Hist", |start| start == then);
        opatop.press("L");
        let live = shown(&opatop, "Live", |_| true);
        // Five images at a time, of which memory has ten.
        let mut last = live;
        for _ in 0..3 {
            opatop.press("R");
            last = shown(&opatop, "Hist", |start| start < last);
        }
        assert!(live - last > IN_MEMORY.as_secs(), "{live}, {last}");
        opatop.press("L");
        shown(&opatop, "Live", |start| start >= live);
        opatop.press("q");
    }
}

/// When the image began that opatop shows, once it is of this kind and holds.
fn shown(opatop: &Terminal, kind: &str, holds: impl Fn(u64) -> bool) -> u64 {
    let until = Instant::now() + PATIENCE;
    loop {
        let text = opatop.text();
        // "opatop: Img: 3s @ Fri Nov 27 08:18:46 2026, Hist Now:…"
        let line = text.lines().find(|line| line.starts_with("opatop: Img:"));
        let line = line.filter(|line| line.contains(&format!(", {kind}")));
        let start = line.and_then(|line| line.split_once("@ ")?.1.split(',').next());
        if let Some(start) = start.map(unix)
            && holds(start)
        {
            return start;
        }
        assert!(
            Instant::now() < until,
            "opatop does not show {kind}: {text}"
        );
        std::thread::sleep(PAUSE);
        // Does nothing, but for a key that came while opatop was busy.
        opatop.press("Enter");
    }
}

/// Seconds since 1970 of a date.
fn unix(date: &str) -> u64 {
    let ran = Command::new("date").args(["-d", date, "+%s"]).output();
    let said = String::from_utf8(ran.unwrap().stdout).unwrap();
    said.trim().parse().unwrap()
}
