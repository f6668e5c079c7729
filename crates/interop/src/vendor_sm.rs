//! The vendor's manager, `sm`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::fabric::Fabric;
use crate::running::Running;
use weft_peers::VENDOR_SM;

/// Path of the vendor's stock configuration. Managers of one instance share files in
/// `/var/lib/opa-fm`, so tests run one after the other: the holder of the lock on this file may run them.
/// It is installed with the manager, all users may read it, and a lock needs no more.
const STOCK: &str = "/etc/opa-fm/opafm.xml";
/// Interval at which the log is read.
const PAUSE: Duration = Duration::from_millis(50);

/// Share of each link for a virtual fabric with its own `QOS`.
#[derive(Debug, Clone, Copy)]
pub enum Share {
    /// `<Bandwidth>`, percent.
    Percent(u8),
    /// `<HighPriority>`.
    High,
}

/// Changes to the stock configuration.
#[derive(Debug, Clone)]
pub struct SmSettings {
    /// `<RoutingAlgorithm>`.
    pub routing: &'static str,
    /// `<TierCount>` of fattree.
    pub tiers: u8,
    /// `<Lmc>`.
    pub lmc: u8,
    /// Whether the performance manager runs.
    pub pm: bool,
    /// Whether adaptive routing and congestion control are on, and the virtual fabrics `Networking`
    /// and `Compute` have shares of the bandwidth.
    pub full: bool,
    /// Whether, with `full`, packets of `Compute` may interrupt those of `Networking`.
    pub ranked: bool,
    /// Toroidal dimensions of `dor`: the number of switches along each, the port that leads on, and the one
    /// that leads back.
    pub torus: &'static [(u8, u8, u8)],
    /// What stands once in the stock configuration, and what is to stand there.
    pub changes: &'static [(&'static str, &'static str)],
    /// Additional virtual fabrics of all ports; the stock ones share the rest.
    pub shares: &'static [Share],
    /// Topology file in the fabric's directory that is named in `<PreDefinedTopology>`.
    pub topology: Option<&'static str>,
    /// What its fields are checked for there: `Enabled` enforces them, `Warn` only tells.
    pub topology_check: &'static str,
    /// `<Priority>` of the instance: the higher becomes master.
    pub priority: u8,
    /// `<MasterPingInterval>`, seconds: interval at which a standby polls the master.
    pub ping_s: u8,
}

impl Default for SmSettings {
    fn default() -> Self {
        Self {
            routing: "fattree",
            tiers: 2,
            lmc: 0,
            pm: false,
            full: false,
            ranked: false,
            torus: &[],
            changes: &[],
            shares: &[],
            topology: None,
            topology_check: "Enabled",
            priority: 0,
            ping_s: 5,
        }
    }
}

/// The manager's log of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// Switches found.
    pub switches: usize,
    /// HFIs found.
    pub hfis: usize,
    /// Managers found.
    pub managers: usize,
    /// Datagrams sent.
    pub packets: usize,
    /// Datagrams sent again.
    pub retries: usize,
    /// Its duration.
    pub seconds: f64,
}

/// The right to run the vendor's manager on this machine.
#[derive(Debug)]
pub struct Turn {
    _lock: File,
}

/// Waits for the right to run the vendor's manager.
///
/// # Panics
/// When there is no lock to be had, as without the vendor's manager.
pub fn turn() -> Turn {
    let file = File::open(STOCK).unwrap();
    file.lock().unwrap();
    Turn { _lock: file }
}

/// A running manager; it is killed when this is dropped.
#[derive(Debug)]
pub struct VendorSm {
    process: Running,
    log: PathBuf,
}

impl VendorSm {
    /// Starts it on a host. Take a [`turn`] first.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(fabric: &Fabric, host: &str, settings: &SmSettings) -> Self {
        let log = log_of(fabric, host);
        let config = write_config(fabric, host, settings);
        let mut command = fabric.command(host, VENDOR_SM);
        command.args(["-e", "sm_0", "-X"]).arg(&config);
        println!("{host}: sm -e sm_0 with {settings:?}");
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let process = Running::start(&mut command);
        Self { process, log }
    }

    /// The log so far.
    pub fn log(&self) -> String {
        let bytes = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Waits until its log has `count` lines with `text`.
    ///
    /// # Panics
    /// When that takes longer than `patience`.
    pub fn wait_for(&self, text: &str, count: usize, patience: Duration) {
        let until = Instant::now() + patience;
        while self
            .log()
            .lines()
            .filter(|line| line.contains(text))
            .count()
            < count
        {
            let complaints = self.complaints().join("\n");
            assert!(Instant::now() < until, "no {text:?} in time; {complaints}");
            std::thread::sleep(PAUSE);
        }
    }

    /// Waits for the end of a number of sweeps and returns the log of the last of them.
    ///
    /// # Panics
    /// When that takes longer than `patience`.
    pub fn swept(&self, count: usize, patience: Duration) -> Sweep {
        self.wait_for(SWEEP_END, count, patience);
        let sweeps = self.sweeps();
        sweeps.into_iter().nth(count - 1).unwrap()
    }

    /// The sweeps that it has ended.
    pub fn sweeps(&self) -> Vec<Sweep> {
        let log = self.log();
        let ends = log.lines().filter_map(|line| line.split_once(SWEEP_END));
        ends.filter_map(|(_, rest)| sweep(rest)).collect()
    }

    /// The warnings and errors that it has logged.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.log();
        let bad = |line: &&str| {
            [" WARN ", " ERROR", " FATAL"]
                .iter()
                .any(|bad| line.contains(bad))
        };
        log.lines().filter(bad).map(str::to_owned).collect()
    }

    /// Ends it without a clean exit, as by `kill -9`.
    ///
    /// # Panics
    /// When it cannot be killed.
    pub fn kill(&mut self) {
        self.process.kill();
    }
}

const SWEEP_END: &str = "DISCOVERY CYCLE END.";

/// Reads ` 1 SWs, 4 HFIs, 4 end ports, 9 total ports, 1 SM(s), 102 packets, 0 retries, 0.143 sec
/// sweep`.
fn sweep(text: &str) -> Option<Sweep> {
    let number = |unit: &str| {
        let part = text
            .split(", ")
            .find(|part| part.trim_end().ends_with(unit))?;
        part.trim().split(' ').next()?.parse::<f64>().ok()
    };
    Some(Sweep {
        switches: number("SWs")? as usize,
        hfis: number("HFIs")? as usize,
        managers: number("SM(s)")? as usize,
        packets: number("packets")? as usize,
        retries: number("retries")? as usize,
        seconds: number("sec sweep")?,
    })
}

/// Log file of a manager on a host.
fn log_of(fabric: &Fabric, host: &str) -> PathBuf {
    fabric.directory().join(format!("sm-{host}.log"))
}

/// Directory of the images that the performance manager on a host keeps.
pub fn images_of(fabric: &Fabric, host: &str) -> PathBuf {
    fabric.directory().join(format!("images-{host}"))
}

/// Writes the stock configuration with the settings put in, for a manager on a host.
///
/// # Panics
/// When there is none, or it cannot be written.
pub fn write_config(fabric: &Fabric, host: &str, settings: &SmSettings) -> PathBuf {
    let config = fabric.directory().join(format!("opafm-{host}.xml"));
    let stock = std::fs::read_to_string(STOCK).unwrap();
    let log = log_of(fabric, host);
    let images = images_of(fabric, host);
    let edited = edit(
        &stock,
        settings,
        &log.to_string_lossy(),
        &images.to_string_lossy(),
    );
    let edited = match settings.topology {
        Some(file) => {
            let file = fabric.directory().join(file);
            name_topology(&edited, &file, settings.topology_check)
        }
        None => edited,
    };
    std::fs::write(&config, edited).unwrap();
    config
}

/// The stock configuration with the settings put in.
fn edit(stock: &str, settings: &SmSettings, log: &str, images: &str) -> String {
    let pm = u8::from(settings.pm);
    let edits = [
        (
            "<!-- <LogFile>/var/log/fm.log</LogFile> -->",
            format!("<LogFile>{log}</LogFile>"),
        ),
        (
            "<RoutingAlgorithm>shortestpath<",
            format!("<RoutingAlgorithm>{}<", settings.routing),
        ),
        ("<TierCount>3<", format!("<TierCount>{}<", settings.tiers)),
        ("<Lmc>0<", format!("<Lmc>{}<", settings.lmc)),
        (
            "<Start>1</Start> <!-- default PM startup for all instances -->",
            format!("<Start>{pm}</Start>"),
        ),
        (
            "<Priority>0</Priority>",
            format!("<Priority>{}</Priority>", settings.priority),
        ),
        // Managers of other tests left theirs there.
        ("/var/lib/opa-fm/pm0_pahistory", images.to_owned()),
        (
            "<MasterPingInterval>5<",
            format!("<MasterPingInterval>{}<", settings.ping_s),
        ),
    ];
    let edits = edits.iter().map(|(from, to)| (*from, to.as_str()));
    let edits = edits.chain(settings.changes.iter().copied());
    let edited = edits.fold(stock.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "the stock configuration has no {from}");
        text.replacen(from, to, 1)
    });
    let sections: &[&str] = if settings.full { &OPTIONAL } else { &[] };
    let edited = sections
        .iter()
        .fold(edited, |text, start| switch_on(&text, start));
    let edited = add_torus(&edited, settings.torus);
    let edited = add_shares(&edited, settings.shares);
    let ranks: &[(&str, u8)] = if settings.ranked { &RANKS } else { &[] };
    ranks
        .iter()
        .fold(edited, |text, (start, rank)| give_rank(&text, start, *rank))
}

/// The configuration with a topology file in its first instance, and what all its fields are checked for.
fn name_topology(text: &str, file: &Path, check: &str) -> String {
    const SECTION: &str = "<PreDefinedTopology>\n";
    const END: &str = "</PreDefinedTopology>";
    let mut parts = text.splitn(3, SECTION);
    let mut part = || parts.next().unwrap();
    let check = format!(">{check}<");
    let (before, common, instance) = (part(), part().replace(">Warn<", &check), part());
    let (_, after) = instance.split_once(END).unwrap();
    let file = file.display();
    let named = format!("<Enable>1</Enable><TopologyFilename>{file}</TopologyFilename>");
    format!("{before}{SECTION}{common}{SECTION}{named}{END}{after}")
}

/// The configuration with the dimensions of a torus in place of the example.
fn add_torus(text: &str, torus: &[(u8, u8, u8)]) -> String {
    const EXAMPLE: &str = "<!-- <MeshTorusTopology> -->";
    if torus.is_empty() {
        return text.to_owned();
    }
    assert!(
        text.contains(EXAMPLE),
        "the stock configuration has no {EXAMPLE}"
    );
    let dimension = |(length, up, down): &(u8, u8, u8)| {
        format!(
            "<Dimension><PortPair>{up},{down}</PortPair><Toroidal>1</Toroidal>\
             <Length>{length}</Length></Dimension>"
        )
    };
    let dimensions: String = torus.iter().map(dimension).collect();
    let section = format!("<MeshTorusTopology>{dimensions}</MeshTorusTopology>{EXAMPLE}");
    text.replacen(EXAMPLE, &section, 1)
}

/// The configuration with a virtual fabric for each share, and an application for each of these.
fn add_shares(text: &str, shares: &[Share]) -> String {
    let (mut applications, mut fabrics) = (String::new(), String::new());
    for (number, share) in shares.iter().enumerate() {
        let name = format!("Share{number}");
        applications += &format!(
            "<Application><Name>{name}</Name><ServiceID>0x77{number:02}</ServiceID></Application>\n"
        );
        let share = match share {
            Share::Percent(percent) => format!("<Bandwidth>{percent}%</Bandwidth>"),
            Share::High => "<HighPriority>1</HighPriority>".to_owned(),
        };
        fabrics += &format!(
            "<VirtualFabric><Name>{name}</Name><Enable>1</Enable><PKey>0x00{number}7</PKey>\
             <Security>0</Security><QOS>1</QOS>{share}<Member>All</Member>\
             <Application>{name}</Application></VirtualFabric>\n"
        );
    }
    let ends = [
        ("</Applications>", applications),
        ("</VirtualFabrics>", fabrics),
    ];
    ends.iter().fold(text.to_owned(), |text, (end, added)| {
        text.replacen(end, &format!("{added}{end}"), 1)
    })
}

/// Ranks of preemption of virtual fabrics, by how they start.
const RANKS: [(&str, u8); 2] = [
    ("<Name>Networking</Name>\n      <Enable>", 1),
    ("<Name>Compute</Name>\n      <Enable>", 127),
];

/// The configuration with a rank next to the first `<QOS>1` after `start`.
fn give_rank(text: &str, start: &str, rank: u8) -> String {
    let (before, after) = text.split_once(start).unwrap();
    let ranked = format!("<PreemptRank>{rank}</PreemptRank><QOS>1<");
    let after = after.replacen("<QOS>1<", &ranked, 1);
    format!("{before}{start}{after}")
}

/// Elements that [`SmSettings::full`] enables, by their start.
const OPTIONAL: [&str; 4] = [
    "<AdaptiveRouting>",
    "<CongestionControl>",
    "<Name>Networking</Name>\n      <Enable>",
    "<Name>Compute</Name>\n      <Enable>",
];

/// The configuration with the first `<Enable>0` after `start` as 1.
fn switch_on(text: &str, start: &str) -> String {
    let (before, after) = text.split_once(start).unwrap();
    let at = if start.ends_with("<Enable>") {
        after.replacen('0', "1", 1)
    } else {
        after.replacen("<Enable>0", "<Enable>1", 1)
    };
    format!("{before}{start}{at}")
}
