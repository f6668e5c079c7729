//! The reports by name: what each shows, the options that it takes, and how it is made.

use std::fmt::Display;
use std::io;

use serde::Serialize;
use thiserror::Error;
use weft_fabric::Snapshot;
use weft_fabric::enums::NodeType;

use crate::dispersion::{Sample, dispersion, dispersion_between};
use crate::errors::{Counted, errors};
use crate::focus::Options;
use crate::links::{Which, links_of};
use crate::plain::{MakePlain, PLAIN};
use crate::point::Selection;
use crate::route::TooManyRoutes;
use crate::slow::{Slow, slow};
use crate::verify::{verifylinks, verifynodes, verifysms};
use crate::xml::Xml;
use crate::{
    bfrctrl, brcomps, brnodes, cablehealth, comps, dgmember, ious, lids, lidusage, linear,
    linkinfo, links, mcast, mcgroups, nodes, otherports, pathusage, portgroups, portusage,
    quarantinednodes, route, topology, treepathusage, validate_credit_loops, validate_mc_routes,
    validate_pgs, validate_routes, validate_vl_credit_loops, validate_vl_routes, vfinfo, vfmember,
};

/// A report that was made: text, JSON and XML.
pub trait Report: Display + Xml {
    /// Writes it as JSON, indented.
    ///
    /// # Errors
    /// Those of `to`.
    fn json(&self, to: &mut dyn io::Write) -> io::Result<()>;
}

impl<R: Display + Xml + Serialize> Report for R {
    fn json(&self, to: &mut dyn io::Write) -> io::Result<()> {
        Ok(serde_json::to_writer_pretty(to, self)?)
    }
}

/// What reports are made from.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// The fabric.
    pub snapshot: &'a Snapshot,
    /// Focus and level of detail.
    pub options: Options,
    /// Source and destination of packets.
    pub ends: Option<(Selection, Selection)>,
    /// Pairs to look at.
    pub sample: Sample,
    /// What ports have counted, and which of it is too much.
    pub counted: Option<Counted>,
}

/// Why a report cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MakeError {
    /// It is about more paths than one report walks.
    #[error(transparent)]
    Routes(#[from] TooManyRoutes),
    /// The snapshot has no device groups.
    #[error("the snapshot has no device groups: they are not in files")]
    NoDeviceGroups,
    /// The snapshot does not tell of nodes in quarantine.
    #[error("the snapshot does not tell of nodes in quarantine: they are not in files")]
    NoQuarantined,
    /// The snapshot has no memories of cables.
    #[error(
        "no cable has been read: a daemon that is master reads them unless CableInfoPolicy is None, a file has them if \
         opareport -o snapshot wrote it"
    )]
    NoCables,
    /// It needs a source and a destination.
    #[error("the report '{0}' needs a destination")]
    NoEnds(&'static str),
    /// It needs counters of ports.
    #[error("the report '{0}' needs counters of ports")]
    NoCounters(&'static str),
}

/// A group of options that reports take besides the level of detail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// A focus.
    Focus,
    /// Source and destination.
    Ends,
    /// A topology file, which it needs.
    Expected,
    /// Number of pairs and the seed of their choice.
    Sample,
    /// Thresholds of counters; it needs counters of ports.
    Counters,
}

/// A part of a snapshot that few reports need; without it they say that it is lacking, or show nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Multicast forwarding tables.
    MulticastTables,
    /// Tables of ports.
    PortTables,
    /// Multicast groups and virtual fabrics.
    Administration,
    /// Device groups.
    DeviceGroups,
    /// Nodes in quarantine.
    QuarantinedNodes,
    /// Memories of cables.
    Cables,
}

/// A report that can be asked for.
#[derive(Debug)]
pub struct Kind {
    /// Its name, opareport's where opareport has it.
    pub name: &'static str,
    /// What it shows, in one line.
    pub about: &'static str,
    /// Options that it takes.
    pub takes: &'static [Takes],
    /// Parts of the snapshot that it needs.
    pub needs: &'static [Needs],
    make: fn(&Request<'_>) -> Made,
}

type Made = Result<Box<dyn Report>, MakeError>;

fn made(report: impl Report + 'static) -> Made {
    Ok(Box::new(report))
}

impl Kind {
    /// The report of a name.
    pub fn named(name: &str) -> Option<&'static Self> {
        REPORTS.iter().find(|kind| kind.name == name)
    }

    /// What makes the table of the report for people, where there is one.
    pub fn plain(&self) -> Option<MakePlain> {
        let made = PLAIN.iter().find(|(name, _)| *name == self.name);
        made.map(|(_, make)| *make)
    }

    /// Whether it looks at forwarding tables.
    pub fn uses_routes(&self) -> bool {
        !WITHOUT_ROUTES.contains(&self.name)
    }

    /// Makes the report.
    ///
    /// # Errors
    /// [`MakeError`] where something is missing or there is too much.
    pub fn make(&self, request: &Request<'_>) -> Made {
        (self.make)(request)
    }
}

/// A report on a part of the fabric.
macro_rules! focused {
    ($name:literal, $about:literal, $make:expr $(, [$($needs:expr),*])?) => {
        Kind {
            name: $name,
            about: $about,
            takes: &[Takes::Focus],
            needs: &[$($($needs),*)?],
            make: |request| made($make(request.snapshot, &request.options)),
        }
    };
}

/// A report on the whole fabric.
macro_rules! whole {
    ($name:literal, $about:literal, $make:expr, [$($needs:expr),*]) => {
        Kind {
            name: $name,
            about: $about,
            takes: &[],
            needs: &[$($needs),*],
            make: |request| made($make(request.snapshot, &request.options)),
        }
    };
}

/// A report on what differs from a topology file.
macro_rules! verified {
    ($name:literal, $about:literal, $make:expr) => {
        Kind {
            takes: &[Takes::Focus, Takes::Expected],
            ..focused!($name, $about, $make)
        }
    };
}

/// Reports that are the same whether forwarding tables are known or not.
const WITHOUT_ROUTES: &[&str] = &[
    "comps",
    "brcomps",
    "nodes",
    "brnodes",
    "ious",
    "links",
    "extlinks",
    "filinks",
    "islinks",
    "extislinks",
    "slowlinks",
    "slowconfiglinks",
    "slowconnlinks",
    "misconfiglinks",
    "misconnlinks",
    "errors",
    "otherports",
    "verifyfis",
    "verifysws",
    "verifysms",
    "verifylinks",
    "verifyextlinks",
    "verifyfilinks",
    "verifyislinks",
    "verifyextislinks",
    "topology",
    "lids",
    "mcgroups",
    "vfinfo",
    "bfrctrl",
    "vfmember",
    "cablehealth",
    "linkinfo",
];

/// Names for several reports.
pub const GROUPS: &[(&str, &[&str])] = &[
    ("verifynodes", &["verifyfis", "verifysws"]),
    (
        "verifyall",
        &["verifyfis", "verifysws", "verifysms", "verifylinks"],
    ),
    (
        "all",
        &[
            "comps",
            "nodes",
            "ious",
            "links",
            "extlinks",
            "slowconnlinks",
            "errors",
        ],
    ),
];

/// Every report, in the order in which several of them are printed, opareport's.
pub const REPORTS: &[Kind] = &[
    focused!(
        "comps",
        "Every system (a chassis or a card) with its nodes",
        comps
    ),
    focused!("brcomps", "The same, a line for each", brcomps),
    focused!("nodes", "Every HFI, switch and subnet manager", nodes),
    focused!("brnodes", "The same, a line for each", brnodes),
    focused!("ious", "I/O units, of which Omni-Path has none", ious),
    focused!("links", "Every link", links),
    focused!(
        "extlinks",
        "Links that leave a chassis",
        |snapshot, options| { links_of(snapshot, options, Which::External) }
    ),
    focused!("filinks", "Links of HFIs", |snapshot, options| {
        links_of(snapshot, options, Which::Hfi)
    }),
    focused!("islinks", "Links between switches", |snapshot, options| {
        links_of(snapshot, options, Which::InterSwitch)
    }),
    focused!(
        "extislinks",
        "Links between switches of two chassis",
        |snapshot, options| { links_of(snapshot, options, Which::ExternalInterSwitch) }
    ),
    focused!(
        "slowlinks",
        "Links slower than both ends have enabled",
        |snapshot, options| { slow(snapshot, options, Slow::Running) }
    ),
    focused!(
        "slowconfiglinks",
        "The same, then links enabled for less than both ends can do",
        |snapshot, options| { slow(snapshot, options, Slow::Configured) }
    ),
    focused!(
        "slowconnlinks",
        "The same, then links whose ends cannot do the same",
        |snapshot, options| { slow(snapshot, options, Slow::Connected) }
    ),
    focused!(
        "misconfiglinks",
        "Links enabled for less than both ends can do",
        |snapshot, options| { slow(snapshot, options, Slow::OnlyConfigured) }
    ),
    focused!(
        "misconnlinks",
        "Links whose ends cannot do the same",
        |snapshot, options| { slow(snapshot, options, Slow::OnlyConnected) }
    ),
    Kind {
        name: "errors",
        about: "Links with counters beyond their thresholds",
        takes: &[Takes::Focus, Takes::Counters],
        needs: &[],
        make: |request| {
            let counted = request.counted.as_ref();
            let counted = counted.ok_or(MakeError::NoCounters("errors"))?;
            made(errors(request.snapshot, &request.options, counted))
        },
    },
    focused!("otherports", "Ports without a link", otherports),
    verified!(
        "verifyfis",
        "HFIs that differ from a topology file",
        |snapshot, options| { verifynodes(snapshot, options, NodeType::HFI) }
    ),
    verified!(
        "verifysws",
        "Switches that differ from a topology file",
        |snapshot, options| { verifynodes(snapshot, options, NodeType::SWITCH) }
    ),
    verified!(
        "verifysms",
        "Subnet managers that differ from a topology file",
        verifysms
    ),
    verified!(
        "verifylinks",
        "Links that differ from a topology file",
        |snapshot, options| { verifylinks(snapshot, options, Which::All) }
    ),
    verified!(
        "verifyextlinks",
        "The same, links that leave a chassis",
        |snapshot, options| { verifylinks(snapshot, options, Which::External) }
    ),
    verified!(
        "verifyfilinks",
        "The same, links of HFIs",
        |snapshot, options| { verifylinks(snapshot, options, Which::Hfi) }
    ),
    verified!(
        "verifyislinks",
        "The same, links between switches",
        |snapshot, options| { verifylinks(snapshot, options, Which::InterSwitch) }
    ),
    verified!(
        "verifyextislinks",
        "The same, links between switches of two chassis",
        |snapshot, options| verifylinks(snapshot, options, Which::ExternalInterSwitch)
    ),
    focused!(
        "topology",
        "Nodes and links as a topology file (XML)",
        topology
    ),
    Kind {
        name: "route",
        about: "The path from one point to another, hop by hop",
        takes: &[Takes::Ends],
        needs: &[],
        make: |request| {
            let (from, to) = request.ends.as_ref().ok_or(MakeError::NoEnds("route"))?;
            made(route(request.snapshot, from, to, &request.options)?)
        },
    },
    focused!("lids", "The port that answers to each LID", lids),
    focused!(
        "linear",
        "The linear forwarding table of every switch",
        linear
    ),
    focused!(
        "mcast",
        "The multicast forwarding table of every switch",
        mcast,
        [Needs::MulticastTables]
    ),
    whole!(
        "mcgroups",
        "Every multicast group with its members",
        mcgroups,
        [Needs::Administration]
    ),
    focused!(
        "portusage",
        "How many LIDs each port of a switch leads to",
        portusage
    ),
    focused!(
        "pathusage",
        "How many paths between HFIs use each link",
        pathusage
    ),
    focused!(
        "treepathusage",
        "The same upward and downward in a tree",
        treepathusage
    ),
    whole!(
        "validateroutes",
        "Whether packets from every port arrive at every LID",
        validate_routes,
        []
    ),
    whole!(
        "validatevlroutes",
        "The same at each service level, with channels and lanes",
        validate_vl_routes,
        [Needs::PortTables, Needs::Administration]
    ),
    whole!(
        "validatecreditloops",
        "Whether links wait for each other in a circle",
        validate_credit_loops,
        []
    ),
    whole!(
        "validatevlcreditloops",
        "The same with each channel of a link by itself",
        validate_vl_credit_loops,
        [Needs::PortTables, Needs::Administration]
    ),
    whole!(
        "validatemcroutes",
        "Whether multicast trees reach members, each once",
        validate_mc_routes,
        [Needs::MulticastTables, Needs::Administration]
    ),
    focused!(
        "vfinfo",
        "Every virtual fabric; with -d 3 its members",
        vfinfo,
        [Needs::PortTables, Needs::Administration]
    ),
    focused!(
        "portgroups",
        "The adaptive-routing groups of every switch",
        portgroups
    ),
    whole!(
        "validatepgs",
        "Whether groups of ports lead to LIDs in as many hops",
        validate_pgs,
        []
    ),
    focused!("lidusage", "How many switches forward each LID", lidusage),
    focused!(
        "bfrctrl",
        "How much of a buffer each lane of a port may use",
        bfrctrl,
        [Needs::PortTables]
    ),
    focused!(
        "vfmember",
        "The virtual fabrics of every port, with lanes",
        vfmember,
        [Needs::PortTables, Needs::Administration]
    ),
    Kind {
        name: "dgmember",
        about: "The ports in every device group; from a daemon only",
        takes: &[],
        needs: &[Needs::DeviceGroups],
        make: |request| made(dgmember(request.snapshot).ok_or(MakeError::NoDeviceGroups)?),
    },
    Kind {
        name: "quarantinednodes",
        about: "Nodes that no data reaches, and why; from a daemon only",
        takes: &[Takes::Focus],
        needs: &[Needs::QuarantinedNodes],
        make: |request| {
            let report = quarantinednodes(request.snapshot, &request.options);
            made(report.ok_or(MakeError::NoQuarantined)?)
        },
    },
    Kind {
        name: "cablehealth",
        about: "Every cable, and what the modules at its ends measure",
        takes: &[Takes::Focus],
        needs: &[Needs::Cables],
        make: |request| match request.snapshot.lacking.cables {
            true => Err(MakeError::NoCables),
            false => made(cablehealth(request.snapshot, &request.options)),
        },
    },
    focused!("linkinfo", "The links of each node, with LIDs", linkinfo),
    Kind {
        name: "dispersion",
        about: "Disjoint paths among the LIDs of each host",
        takes: &[Takes::Ends, Takes::Sample],
        needs: &[],
        make: |request| {
            let (snapshot, detail) = (request.snapshot, request.options.detail);
            match &request.ends {
                Some((from, to)) => made(dispersion_between(snapshot, from, to, detail)?),
                None => made(dispersion(snapshot, request.sample, detail)),
            }
        },
    },
];
