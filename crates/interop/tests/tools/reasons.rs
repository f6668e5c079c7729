//! What may differ between the two managers, and why.

use crate::compare::Reason;
use crate::compare::Rule::{self, Line, Lines, Rare, Record, Records, Rest, Value};

const ALL: &[&str] = &[""];
const SNAPSHOT: &[&str] = &["opareport -q -o snapshot"];
/// What prints PortInfo.
const PORTS: &[&str] = &[
    "opareport -q -o snapshot",
    "opareport -q -o nodes -d 5",
    "opasaquery -o portinfo",
    "opaportinfo -l",
];
const NODES: &[&str] = &["opasaquery -o node"];
const BUFFERS: &[&str] = &[
    "opareport -q -o snapshot -s",
    "opareport -q -o bfrctrl",
    "opasaquery -o bfrctrl",
];
const WAYS: &[&str] = &["opareport -q -o linear", "opasaquery -o linfdb"];
const COUNTERS: &[&str] = &[
    "opapaquery -o portCounters",
    "opapaquery -o vfPortCounters",
    "opareport -q -o snapshot -s",
    "opainfo",
];
const SERVICES: &[&str] = &["opasaquery -o service", "opasaquery -I -o service"];
/// Lists with an item a line.
const LISTS: &[&str] = &[
    "opasaquery -o systemguid",
    "opasaquery -o nodeguid",
    "opasaquery -o portguid",
    "opasaquery -o lid",
    "opasaquery -o desc",
];

const fn always(tools: &'static [&'static str], rule: Rule, why: &'static str) -> Reason {
    Reason {
        tools,
        rule,
        why,
        chance: false,
    }
}

const fn chance(tools: &'static [&'static str], rule: Rule, why: &'static str) -> Reason {
    Reason {
        tools,
        rule,
        why,
        chance: true,
    }
}

const LOCAL_PORT: &str = "the vendor's manager tells by which port it came to a switch; Weft tells \
     each port's own number, 0 for the switch";
const VL15: &str = "Weft leaves the flow control of lane 15 as it is";
const ACTIVE_OPTIMIZE: &str = "Weft activates both ends of a link itself";
const BUFFER: &str =
    "Weft leaves lane 15 what its neighbour keeps for it, and no share of the rest";
const CHANNELS: &str = "Weft leads channels that no virtual fabric uses to lane 15, which drops; \
     the vendor's manager leaves tables of received and credited lanes as they were switched on";
const KEYS: &str = "Weft writes keys only to ports that check them, and lets limited members pass";
const MANAGING: &str =
    "the vendor's manager counts the ports of switches among those that may manage";
const COUNTED: &str = "what has passed so far";
const ROUTE: &str = "the way to switches: Weft spreads it over the spines; validateroutes and \
     pathusage judge the ways";

/// The table, in the order in which it is applied.
pub(crate) const REASONS: &[Reason] = &[
    chance(ALL, Line("<Snapshot date="), "when it was taken"),
    chance(
        ALL,
        Value("ImageNumber:"),
        "images are named by their manager",
    ),
    chance(ALL, Rest("ImageTime:"), "when the image was taken"),
    chance(
        ALL,
        Line("ImageSweepStart:"),
        "when the image was taken, and how long that took",
    ),
    chance(ALL, Value("ActCount:"), "how much a manager has done"),
    chance(ALL, Value("<ActCount>"), "how much a manager has done"),
    chance(COUNTERS, Rest("Xmit Data"), COUNTED),
    chance(COUNTERS, Rest("Rcv Data"), COUNTED),
    chance(COUNTERS, Rest("Recv Data"), COUNTED),
    chance(COUNTERS, Rest("Xmit Pkts"), COUNTED),
    chance(COUNTERS, Rest("Rcv Pkts"), COUNTED),
    chance(
        &["opapaquery -o portCounters -l 2 -P 1 -d 1"],
        Rest("Link Quality Ind"),
        "the vendor's manager tells no quality before its second image",
    ),
    chance(COUNTERS, Value("<XmitData>"), COUNTED),
    chance(COUNTERS, Value("<RcvData>"), COUNTED),
    chance(COUNTERS, Value("<XmitPkts>"), COUNTED),
    chance(COUNTERS, Value("<RcvPkts>"), COUNTED),
    chance(
        &["opasaquery -o sminfo"],
        Value("Elapsed Time:"),
        "how long a manager has run",
    ),
    always(
        &["opapaquery -o pmConfig"],
        Rest("PM Memory Size:"),
        "Weft keeps less in memory",
    ),
    always(
        &["opasaquery -o classportinfo"],
        Rest("Capability2:"),
        "Weft names two more of its capabilities: switch costs and members that only send",
    ),
    always(PORTS, Value("LocalPort:"), LOCAL_PORT),
    always(PORTS, Line("<LocalPortNum>"), LOCAL_PORT),
    always(NODES, Value("PortNum:"), LOCAL_PORT),
    always(PORTS, Value("VLFlowControlDisabledMask:"), VL15),
    always(PORTS, Line("<VLFlowControlDisabledMask>"), VL15),
    always(PORTS, Line("PortMode ActiveOptimize:"), ACTIVE_OPTIMIZE),
    always(PORTS, Line("<PortMode>"), ACTIVE_OPTIMIZE),
    always(
        SNAPSHOT,
        Line("<InitReason_Int>"),
        "Weft leaves port 0, which has no link, without a reason for it",
    ),
    always(BUFFERS, Rest("TxOverallSharedLimit"), BUFFER),
    always(BUFFERS, Rest("Global Shared(AU):"), BUFFER),
    always(BUFFERS, Rest(" 0 |"), BUFFER),
    always(BUFFERS, Rest(" 15 |"), BUFFER),
    always(BUFFERS, Rest("VL 0 :"), BUFFER),
    always(BUFFERS, Rest("VL15 :"), BUFFER),
    always(BUFFERS, Line("<TxDedicatedLimit>"), BUFFER),
    always(BUFFERS, Line("<TxSharedLimit>"), BUFFER),
    always(SNAPSHOT, Line("<VLt SC="), CHANNELS),
    always(SNAPSHOT, Line("<VLnt SC="), CHANNELS),
    always(&["opasaquery -o scvlt"], Rest("VLT:"), CHANNELS),
    always(&["opasaquery -o scvlnt"], Rest("VLNT:"), CHANNELS),
    always(
        &["opasaquery -o scvlnt"],
        Rare,
        "Weft tells what port 0 of a switch has",
    ),
    always(
        &["opasaquery -o scvlr"],
        Rare,
        "the vendor's manager writes these tables and does not tell of them",
    ),
    always(
        &["opasaquery -o vlarb"],
        Record("Table Type: Preemption"),
        "no lane preempts another, and Weft tells no table that it has not written",
    ),
    always(SNAPSHOT, Line("<PKey>"), KEYS),
    always(&["opasaquery -o pkey"], Rare, KEYS),
    always(&["opasaquery -o pkey"], Rest("      0-   7:  0x8001"), KEYS),
    always(
        SERVICES,
        Record("Primary Intel OmniPath Subnet Manager"),
        "by this service the vendor's managers find each other",
    ),
    always(
        SERVICES,
        Rest("PKey:"),
        "the key with which the administration is asked",
    ),
    always(
        SERVICES,
        Rest("Lease:"),
        "Weft's own services do not end while it is master",
    ),
    always(SERVICES, Rest("Data8:"), "versions of the vendor's manager"),
    always(
        SERVICES,
        Rest("Data32:"),
        "checksums by which the vendor's managers compare",
    ),
    always(WAYS, Rest("    0x"), ROUTE),
    always(WAYS, Rest(" -> Port"), ROUTE),
    always(SNAPSHOT, Line("<Value LID="), ROUTE),
    always(&["opareport -q -o portusage"], Line("  "), ROUTE),
    always(
        &["opasaquery -o dgmember"],
        Line("AllMgmtAllowed"),
        MANAGING,
    ),
    always(
        &["opareport -q -o dgmember"],
        Record("Device Group: AllMgmtAllowed"),
        MANAGING,
    ),
    always(
        &["opapaquery -o focusPorts -g All -Q"],
        Line("ImageTime:"),
        "the vendor's manager does not say of which image this is",
    ),
    always(LISTS, Lines, "the order of a list"),
    always(&["opashowmc"], Lines, "the order of groups"),
    always(SNAPSHOT, Lines, "the order of groups"),
    always(ALL, Records, "the order of records"),
];
