//! A fabric with faults that a manager watches.

use std::path::PathBuf;
use std::time::Instant;

use weft_emulator::Options;
use weft_fabric::{Guid, PortNum, PortRef, Topology};
use weft_interop::vendor_sm::SmSettings;
use weft_interop::{Fabric, Weftd, topology_file};

use crate::faults::Places;
use crate::page::Page;
use crate::{End, PATIENCE, PAUSE};

/// The topology file, in the fabric's directory.
const FILE: &str = "fabric.topology";
/// Counters are read more often than by default.
const READINGS: &[(&str, &str)] = &[
    (
        "<SweepInterval>10</SweepInterval>",
        "<SweepInterval>2</SweepInterval>",
    ),
    (
        "<ImageUpdateInterval>5</ImageUpdateInterval>",
        "<ImageUpdateInterval>1</ImageUpdateInterval>",
    ),
];

pub(crate) struct Lab {
    pub(crate) fabric: Fabric,
    /// Nodes and cables as they are meant.
    pub(crate) topology: Topology,
    /// The host that manager and tools run on.
    pub(crate) host: String,
    weftd: Weftd,
}

impl Lab {
    /// A fabric without faults but those that are there from the start; its topology file is not enforced.
    pub(crate) fn start(topology: Topology, places: &Places, settings: SmSettings) -> Self {
        let fabric = Fabric::of(topology.clone(), Options::default());
        let host = places.own.to_string();
        let file = fabric.directory().join(FILE);
        std::fs::write(file, topology_file(&topology)).unwrap();
        places.plant_from_start(&fabric);
        let settings = SmSettings {
            pm: true,
            topology: Some(FILE),
            topology_check: "Warn",
            changes: READINGS,
            ..settings
        };
        let mut weftd = Weftd::start(&fabric, &host, &settings);
        weftd.wait_until_master(PATIENCE);
        Self {
            fabric,
            topology,
            host,
            weftd,
        }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.fabric.directory().join(FILE)
    }

    pub(crate) fn log(&self) -> String {
        self.weftd.log()
    }

    /// What the client prints. `health` ends with the colour of its page, a sweep with what is unfinished; orders have
    /// to be carried out.
    pub(crate) fn weft(&self, arguments: &[&str]) -> String {
        let ran = self.weftd.client(arguments);
        let wrong = String::from_utf8_lossy(&ran.stderr).into_owned();
        let is_order = !["health", "sweep"].contains(&arguments[0]);
        assert!(!is_order || ran.status.success(), "{arguments:?}: {wrong}");
        String::from_utf8(ran.stdout).unwrap()
    }

    pub(crate) fn page(&self) -> Page {
        Page::read(&self.weft(&["health", "--json"]))
    }

    pub(crate) fn sweep(&self) {
        self.weft(&["sweep", "--wait"]);
    }

    /// Waits for a page of which each finding is about one of these ends.
    pub(crate) fn has_only(&self, ends: &[End]) {
        let until = Instant::now() + PATIENCE;
        let ends = ends.iter().copied().collect();
        loop {
            let page = self.page();
            let faults = page.findings.iter().filter(|finding| !finding.is_note());
            let mut faults = faults.peekable();
            if faults.peek().is_some() && faults.all(|finding| finding.touches(&ends, self)) {
                return;
            }
            assert!(Instant::now() < until, "{page:#?}");
            std::thread::sleep(PAUSE);
        }
    }

    /// A port's far end by the cables as they are meant.
    pub(crate) fn peer(&self, (guid, port): End) -> Option<End> {
        let node = self.topology.find(guid)?;
        let peer = self.topology.peer(PortRef { node, port })?;
        Some((self.topology.node(peer.node)?.guid(), peer.port))
    }

    /// Nodes of a name.
    pub(crate) fn named(&self, name: &str) -> Vec<Guid> {
        let nodes = self.topology.nodes();
        let named = nodes.filter(|(_, node)| node.name() == name);
        named.map(|(_, node)| node.guid()).collect()
    }

    /// An end as people call it.
    pub(crate) fn called(&self, (guid, port): End) -> String {
        let node = self
            .topology
            .find(guid)
            .and_then(|id| self.topology.node(id));
        let name = node.map_or_else(|| guid.to_string(), weft_fabric::Node::name);
        match port {
            PortNum(0) => name,
            port => format!("{name}:{port}"),
        }
    }
}

/// An end as a point of the client.
pub(crate) fn point((guid, port): End) -> String {
    format!("nodeguid:{guid}:port:{port}")
}
