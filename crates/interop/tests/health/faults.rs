//! The faults, their places, and the findings that are to name them.

use weft_emulator::ErrorCounts;
use weft_emulator::io::Control;
use weft_emulator::module::Measured;
use weft_fabric::{Guid, NodeId, PortNum, PortRef, Topology};
use weft_interop::Fabric;

use crate::End;
use crate::lab::{Lab, point};
use crate::page::{Finding, Page};
use crate::vendor::Report;

/// Times that a link flaps: more than opareport's threshold.
const FLAPS: usize = 4;

/// A fault that was planted.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) name: &'static str,
    /// Ports, port 0 for a node, any of which is to be named.
    pub(crate) places: Vec<End>,
    /// The kinds that a finding may have.
    kinds: &'static [&'static str],
    /// Whether a tool of the vendor is to find it as well.
    pub(crate) is_for_vendor: bool,
}

impl Fault {
    /// The finding about it.
    pub(crate) fn found_in<'a>(&self, page: &'a Page) -> Option<&'a Finding> {
        let mut findings = page.findings.iter();
        findings.find(|finding| {
            let is_here = self.places.iter().any(|place| finding.has(*place));
            is_here && self.kinds.contains(&&*finding.kind)
        })
    }

    /// Whether a tool of the vendor names it.
    pub(crate) fn is_in(&self, report: &Report) -> bool {
        let mut places = self.places.iter();
        places.any(|place| match place.1 {
            PortNum(0) => report.ends.iter().any(|end| end.0 == place.0),
            _ => report.ends.contains(place),
        })
    }
}

/// Where faults are planted: away from the manager's switch, each at a place of its own.
#[derive(Debug)]
pub(crate) struct Places {
    /// The manager's host.
    pub(crate) own: Guid,
    /// A host that is off from the start.
    never_on: Guid,
    /// A switch without hosts.
    switch: Guid,
    /// Links between switches, by the end at a switch with hosts; neighbours in this list are at different ones.
    between: Vec<[End; 2]>,
    /// Links of hosts, from the host.
    hosts: Vec<[End; 2]>,
    /// Where the cable of the host that is off leads.
    off_at: End,
    /// A link between switches whose first end receives too little light. Modules are read when their link is new, and
    /// then every ten minutes.
    dark: [End; 2],
}

impl Places {
    pub(crate) fn choose(topology: &Topology) -> Self {
        let (own, host) = topology.hfis().next().unwrap();
        let own_switch = cables(topology, own)[0][1].0;
        let edges = topology.switches().iter().copied();
        let edges: Vec<NodeId> = edges
            .filter(|id| {
                guid(topology, *id) != own_switch && !of_kind(topology, *id, false).is_empty()
            })
            .collect();
        let bare = topology.switches().iter().copied();
        let mut bare = bare.filter(|id| of_kind(topology, *id, false).is_empty());
        let switch = guid(topology, bare.next_back().unwrap());
        let is_other = |link: &[End; 2]| link[1].0 != switch;
        let upward = edges.iter().map(|id| {
            let links = of_kind(topology, *id, true);
            links.into_iter().filter(is_other).collect()
        });
        let below = edges.iter().map(|id| {
            let links = of_kind(topology, *id, false).into_iter();
            links.map(|[here, host]| [host, here]).collect()
        });
        let mut hosts = in_turns(below.collect());
        let [never_on, off_at] = hosts.remove(0);
        let mut between = in_turns(upward.collect());
        Self {
            own: host.guid(),
            never_on: never_on.0,
            switch,
            dark: between.remove(0),
            between,
            hosts,
            off_at,
        }
    }

    /// Plants what is there from the start: a host that is off, and a module without light.
    pub(crate) fn plant_from_start(&self, fabric: &Fabric) {
        let node = self.never_on;
        fabric.control(Control::NodeDown { node });
        let (node, port) = self.dark[0];
        let measured = Measured {
            receive_power: Some(0.02),
            ..Measured::default()
        };
        fabric.control(Control::Module {
            node,
            port,
            measured,
        });
    }

    /// Ends of that.
    pub(crate) fn ends_from_start(&self) -> [End; 4] {
        let [here, there] = self.dark;
        [whole(self.never_on), self.off_at, here, there]
    }
}

fn guid(topology: &Topology, id: NodeId) -> Guid {
    topology.node(id).unwrap().guid()
}

fn whole(guid: Guid) -> End {
    (guid, PortNum(0))
}

/// Cables of a node, from there.
fn cables(topology: &Topology, id: NodeId) -> Vec<[End; 2]> {
    let ports = topology.node(id).unwrap().external_ports();
    let links = ports.filter_map(|(port, end)| {
        let peer: PortRef = end.peer?;
        Some([
            (guid(topology, id), port),
            (guid(topology, peer.node), peer.port),
        ])
    });
    links.collect()
}

/// Cables of a switch to switches, or to hosts.
fn of_kind(topology: &Topology, id: NodeId, to_switches: bool) -> Vec<[End; 2]> {
    let is_switch = |guid| {
        topology
            .switch_index(topology.find(guid).unwrap())
            .is_some()
    };
    let links = cables(topology, id).into_iter();
    links
        .filter(|link| is_switch(link[1].0) == to_switches)
        .collect()
}

/// The first of each, then the second of each, and so on.
fn in_turns(lists: Vec<Vec<[End; 2]>>) -> Vec<[End; 2]> {
    let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
    let turns = (0..longest).flat_map(|turn| lists.iter().filter_map(move |list| list.get(turn)));
    turns.copied().collect()
}

/// Takes places one after the other.
struct Planter<'a> {
    lab: &'a Lab,
    between: std::slice::Iter<'a, [End; 2]>,
    hosts: std::slice::Iter<'a, [End; 2]>,
    faults: Vec<Fault>,
}

/// Plants one fault of each kind, and returns them.
pub(crate) fn plant(lab: &Lab, places: &Places) -> Vec<Fault> {
    let mut planter = Planter {
        lab,
        between: places.between.iter(),
        hosts: places.hosts.iter(),
        faults: Vec::new(),
    };
    let never_on = [whole(places.never_on), places.off_at];
    planter.add("never seen", &never_on, &["unintended", "down"], true);
    planter.add("dark module", &[places.dark[0]], &["module"], false);
    planter.by_orders();
    planter.of_links();
    planter.of_counters();
    planter.of_hosts();
    let node = places.switch;
    lab.fabric.control(Control::NodeDown { node });
    planter.add("missing switch", &[whole(node)], &["missing_switch"], true);
    planter.faults
}

impl Planter<'_> {
    fn add(
        &mut self,
        name: &'static str,
        places: &[End],
        kinds: &'static [&'static str],
        is_for_vendor: bool,
    ) {
        self.faults.push(Fault {
            name,
            places: places.to_vec(),
            kinds,
            is_for_vendor,
        });
    }

    fn between(&mut self) -> [End; 2] {
        *self.between.next().expect("a link between switches")
    }

    fn host(&mut self) -> [End; 2] {
        *self.hosts.next().expect("a host")
    }

    fn control(&self, control: Control) {
        self.lab.fabric.control(control);
    }

    /// What operators order.
    fn by_orders(&mut self) {
        let link = self.between();
        self.lab.weft(&["quarantine", "add", &point(link[0])]);
        self.add("quarantined", &link, &["quarantined"], false);
        let link = self.between();
        self.lab.weft(&["drain", &point(link[0])]);
        self.add("drained", &link, &["drained"], false);
        let [host, at] = self.host();
        self.lab.weft(&["port", "disable", "--force", &point(at)]);
        self.add("port disabled", &[host, at], &["disabled"], true);
        let link = self.between();
        self.lab
            .weft(&["port", "link", "--width", "2x", &point(link[0])]);
        self.add("less enabled", &link, &["unused"], true);
    }

    fn of_links(&mut self) {
        let link = self.between();
        let (node, port) = link[0];
        self.control(Control::LinkDown { node, port });
        self.add("link down", &link, &["missing_link"], true);
        let link = self.between();
        let (node, port) = link[0];
        for _ in 0..FLAPS {
            self.control(Control::LinkDown { node, port });
            self.control(Control::LinkUp { node, port });
        }
        self.add("flapping", &link, &["flapping"], true);
        let link = self.between();
        // The stock configuration lets a link go on with three lanes; one with fewer trains again, and is refused.
        let ((node, port), lanes) = (link[0], 3);
        self.control(Control::LinkLanes { node, port, lanes });
        self.add("three lanes", &link, &["degraded"], true);
        let link = self.between();
        let (node, port) = link[0];
        self.control(Control::LinkLanesOut { node, port, lanes });
        self.add("three lanes one way", &link, &["asymmetric"], true);
        let link = self.between();
        let ((node, port), lanes) = (link[0], 1);
        self.control(Control::LinkLanes { node, port, lanes });
        self.add("one lane", &link, &["unused"], true);
        let link = self.between();
        let ((node, port), slow) = (link[0], true);
        self.control(Control::LinkSlow { node, port, slow });
        self.add("half the speed", &link, &["degraded"], true);
        let (one, other) = (self.between(), self.between());
        let ports = [one[0], other[0]];
        self.control(Control::ExchangeCables { ports });
        let ends = [one, other].concat();
        self.add("cables exchanged", &ends, &["moved", "unintended"], true);
    }

    fn of_counters(&mut self) {
        let link = self.between();
        let (node, port) = link[0];
        let errors = ErrorCounts {
            receive_errors: 40,
            ..ErrorCounts::default()
        };
        self.control(Control::CountErrors { node, port, errors });
        self.add("errors one way", &[link[0]], &["errors"], true);
        let link = self.between();
        let errors = ErrorCounts {
            symbol_errors: 900,
            buffer_overruns: 3,
            uncorrectable: 2,
            fm_config: 2,
            ..errors
        };
        for (node, port) in link {
            self.control(Control::CountErrors { node, port, errors });
        }
        self.add("errors both ways", &link, &["errors"], true);
        let link = self.between();
        let (node, port) = link[0];
        let errors = ErrorCounts {
            receive_errors: 1,
            ..ErrorCounts::default()
        };
        self.control(Control::CountErrors { node, port, errors });
        self.add("a single error", &[link[0]], &["past_errors"], true);
        let link = self.host();
        let ((node, port), quality) = (link[0], 2);
        self.control(Control::LinkQuality {
            node,
            port,
            quality,
        });
        self.add("poor quality", &[link[0]], &["quality"], true);
    }

    fn of_hosts(&mut self) {
        let [host, at] = self.host();
        self.control(Control::NodeDown { node: host.0 });
        self.add(
            "missing host",
            &[whole(host.0), at],
            &["missing_host"],
            true,
        );
        let [host, _] = self.host();
        self.control(Control::Silence {
            node: host.0,
            silent: true,
        });
        self.add("silent", &[whole(host.0)], &["silent"], false);
        let [host, at] = self.host();
        let new = Guid(host.0.0 ^ 0x00F0_0000);
        self.control(Control::Replace { node: host.0, new });
        self.add("replaced", &[whole(host.0), at], &["replaced"], true);
        let (one, other) = (self.host(), self.host());
        let ports = [one[1], other[1]];
        self.control(Control::ExchangeCables { ports });
        let ends = [one, other].concat();
        self.add("hosts exchanged", &ends, &["moved", "unintended"], true);
    }
}
