//! Allowed differences between the two managers, with reasons.

use crate::compare::Rule::{self, Line, Lines, Rare, Record, Records, Rest, Value};
use crate::compare::{Predicate, Reason};
use crate::predicates::{
    drops_unused, has_all_hosts, is_a_key, is_a_sum, is_amount, is_checksums, is_compared,
    is_count, is_date_of_report, is_managers_service, is_no_preemption, is_port, is_quality,
    is_start_of_sweep, is_time, is_unused, leads_used, nothing, number, of_port_0, of_switch,
    of_switch_port,
};

const ALL: &[&str] = &[""];
const SNAPSHOT: &[&str] = &["opareport -q -o snapshot"];
/// Tools that print PortInfo.
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
const LINEAR: &[&str] = &["opareport -q -o linear"];
const RECORDS_OF_LINEAR: &[&str] = &["opasaquery -o linfdb"];
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

const fn always(
    tools: &'static [&'static str],
    rule: Rule,
    may: [Predicate; 2],
    excuses: usize,
    (why, source): (&'static str, &'static str),
) -> Reason {
    Reason {
        tools,
        rule,
        why,
        source,
        may,
        excuses: Some(excuses),
    }
}

/// Values that depend on time, or on the traffic so far: of one form on both sides.
const fn chance(
    tools: &'static [&'static str],
    rule: Rule,
    form: Predicate,
    why: &'static str,
) -> Reason {
    Reason {
        tools,
        rule,
        why,
        source: "any two runs of the vendor's manager",
        may: [form, form],
        excuses: None,
    }
}

const LOCAL_PORT: (&str, &str) = (
    "the vendor's manager tells by which port it came to a switch; Weft tells each port's own \
     number, 0 for the switch",
    "sm_discovery.c, sa_NodeRecord.c: sa_IbNodeRecord_Set",
);
const VL15: (&str, &str) = (
    "Weft leaves the flow control of lane 15 as it is",
    "sm_utility.c: sm_initialize_port, vl15FlowControlDisable",
);
const NO_LINK: (&str, &str) = (
    "Weft leaves port 0, which has no link, without a reason for it",
    "sm_utility.c: sm_initialize_port, LinkInitReason",
);
const BUFFER: (&str, &str) = (
    "Weft leaves lane 15 what its neighbour keeps for it, and no share of the rest",
    "sm_buffer_control_tables.c: _setup_buffer_control",
);
const CHANNELS: (&str, &str) = (
    "Weft leads channels that no virtual fabric uses to lane 15, which drops",
    "sm_qos.c: _initialize_Switch_SCVLMaps",
);
const NOT_OF_PORT_0: (&str, &str) = (
    "Weft tells what port 0 of a switch has",
    "sa_SCVLTableRecord.c: sa_SCVLTableRecord_GetTable",
);
const NO_RECEIVED_LANES: (&str, &str) = (
    "the vendor's manager does not tell of tables of received lanes",
    "sa_SCVLTableRecord.c: sa_SCVLTableRecord_GetTable",
);
const NO_PREEMPTION: (&str, &str) = (
    "no lane preempts another, and Weft tells no table that it has not written",
    "sa_VLArbitrationRecord.c",
);
const KEYS: (&str, &str) = (
    "Weft writes keys only to ports that check them, and lets limited members pass",
    "sm_partMgr.c: SM_Set_PKeyTable_Dispatch for every port of a switch",
);
const MANAGING: (&str, &str) = (
    "the vendor's manager counts the ports of switches among those that may manage",
    "sm_partMgr.c: smEvaluatePortDG, select_all_mgmt_allowed",
);
const MEMORY: (&str, &str) = (
    "Weft keeps less in memory",
    "pa_server.c: pa_getPmConfigResp, memoryFootprint",
);
const CAPABILITIES: (&str, &str) = (
    "Weft names two more of its capabilities: switch costs and members that only send",
    "sa_main.c, CapMask2",
);
const SERVICE: (&str, &str) = (
    "by this service the vendor's managers find each other",
    "if3.h: SM_SERVICE_NAME",
);
const SERVICE_KEY: (&str, &str) = (
    "the key with which the administration is asked",
    "pm.c, the record that it registers",
);
const VERSIONS: (&str, &str) = ("versions of the vendor's manager", "pm.c, ServiceData8");
const CHECKSUMS: (&str, &str) = (
    "checksums by which the vendor's managers compare",
    "pm.c, ServiceData32",
);
const COUNTED: &str = "what has passed so far";
const ROUTE: (&str, &str) = (
    "the way to switches: Weft spreads it over the spines; validateroutes and pathusage judge the \
     ways",
    "sm_routing_funcs.c, sm_routing.c: sm_balance_base_lids",
);
const NO_IMAGE: (&str, &str) = (
    "the vendor's manager does not say of which image this is",
    "pa_server.c, answers to focus queries without a time",
);
const ORDER: (&str, &str) = (
    "the order of a list",
    "sm_topology.c, nodes in the order in which they were found",
);

/// The table, in the order in which it is applied.
pub(crate) const REASONS: &[Reason] = &[
    chance(
        ALL,
        Line("<Snapshot date="),
        is_date_of_report,
        "when it was taken",
    ),
    chance(
        ALL,
        Line("<Report date="),
        is_date_of_report,
        "when it was made",
    ),
    chance(
        ALL,
        Value("ImageNumber:"),
        is_count,
        "images are named by their manager",
    ),
    chance(ALL, Rest("ImageTime:"), is_time, "when the image was taken"),
    chance(
        ALL,
        Line("ImageSweepStart:"),
        is_start_of_sweep,
        "when the image was taken, and how long that took",
    ),
    chance(
        ALL,
        Value("ActCount:"),
        is_count,
        "how much a manager has done",
    ),
    chance(
        ALL,
        Value("<ActCount>"),
        is_count,
        "how much a manager has done",
    ),
    chance(COUNTERS, Rest("Xmit Data"), is_amount, COUNTED),
    chance(COUNTERS, Rest("Rcv Data"), is_amount, COUNTED),
    chance(COUNTERS, Rest("Recv Data"), is_amount, COUNTED),
    chance(COUNTERS, Rest("Xmit Pkts"), is_amount, COUNTED),
    chance(COUNTERS, Rest("Rcv Pkts"), is_amount, COUNTED),
    chance(
        &["opapaquery -o portCounters -l 2 -P 1 -d 1"],
        Rest("Link Quality Ind"),
        is_quality,
        "the vendor's manager tells no quality before its second image",
    ),
    chance(COUNTERS, Value("<XmitData>"), is_count, COUNTED),
    chance(COUNTERS, Value("<RcvData>"), is_count, COUNTED),
    chance(COUNTERS, Value("<XmitPkts>"), is_count, COUNTED),
    chance(COUNTERS, Value("<RcvPkts>"), is_count, COUNTED),
    chance(
        &["opasaquery -o sminfo"],
        Value("Elapsed Time:"),
        is_count,
        "how long a manager has run",
    ),
    always(
        &["opapaquery -o pmConfig"],
        Rest("PM Memory Size:"),
        [
            |_, text| number(text, "").is_some_and(|size| size < 100),
            |_, text| number(text, "").is_some_and(|size| size >= 100),
        ],
        1,
        MEMORY,
    ),
    always(
        &["opasaquery -o classportinfo"],
        Rest("Capability2:"),
        [
            |_, text| text.starts_with("0x30010ca:"),
            |_, text| text.starts_with("0x10000ca:"),
        ],
        1,
        CAPABILITIES,
    ),
    always(
        PORTS,
        Value("LocalPort:"),
        [is_port, is_port],
        176,
        LOCAL_PORT,
    ),
    always(
        PORTS,
        Line("<LocalPortNum>"),
        [
            |known, text| is_port(known, text.trim().trim_start_matches("<LocalPortNum>")),
            |known, text| is_port(known, text.trim().trim_start_matches("<LocalPortNum>")),
        ],
        168,
        LOCAL_PORT,
    ),
    always(
        NODES,
        Value("PortNum:"),
        [|_, text| text == "0", is_port],
        24,
        LOCAL_PORT,
    ),
    always(
        PORTS,
        Value("VLFlowControlDisabledMask:"),
        [
            |_, text| text == "0x00000000",
            |_, text| text == "0x00008000",
        ],
        201,
        VL15,
    ),
    always(
        PORTS,
        Line("<VLFlowControlDisabledMask>"),
        [
            |_, text| text.contains(">0x00000000<"),
            |_, text| text.contains(">0x00008000<"),
        ],
        192,
        VL15,
    ),
    always(
        SNAPSHOT,
        Line("<InitReason_Int>"),
        [
            |_, text| text.contains(">0<"),
            |_, text| text.contains(">1<"),
        ],
        24,
        NO_LINK,
    ),
    always(
        BUFFERS,
        Rest("TxOverallSharedLimit"),
        [
            |_, text| text.contains("1578"),
            |_, text| text.contains("1618"),
        ],
        256,
        BUFFER,
    ),
    always(
        BUFFERS,
        Rest("Global Shared(AU):"),
        [|_, text| text == "1578", |_, text| text == "1618"],
        128,
        BUFFER,
    ),
    always(
        BUFFERS,
        Rest(" 0 |"),
        [
            |_, text| text.contains(" 1578 "),
            |_, text| text.contains(" 1618 "),
        ],
        128,
        BUFFER,
    ),
    always(
        BUFFERS,
        Rest(" 15 |"),
        [
            |_, text| text.starts_with("272 "),
            |_, text| text.starts_with("232 "),
        ],
        128,
        BUFFER,
    ),
    always(
        BUFFERS,
        Rest("VL 0 :"),
        [
            |_, text| text.ends_with("S:     1578"),
            |_, text| text.ends_with("S:     1618"),
        ],
        128,
        BUFFER,
    ),
    always(
        BUFFERS,
        Rest("VL15 :"),
        [
            |_, text| text == "D:      272, S:        0",
            |_, text| text == "D:      232, S:     1618",
        ],
        128,
        BUFFER,
    ),
    always(
        BUFFERS,
        Line("<TxDedicatedLimit>"),
        [
            |_, text| text.contains(">272<"),
            |_, text| text.contains(">232<"),
        ],
        128,
        BUFFER,
    ),
    always(
        BUFFERS,
        Line("<TxSharedLimit>"),
        [
            |_, text| text.contains(">1578<") || text.contains(">0<"),
            |_, text| text.contains(">1618<"),
        ],
        256,
        BUFFER,
    ),
    always(
        SNAPSHOT,
        Line("<VLt SC="),
        [
            |_, text| is_unused(text) && text.contains(">15<"),
            |_, text| is_unused(text),
        ],
        4200,
        CHANNELS,
    ),
    always(
        SNAPSHOT,
        Line("<VLnt SC="),
        [
            |_, text| is_unused(text) && text.contains(">15<"),
            |_, text| is_unused(text),
        ],
        3840,
        CHANNELS,
    ),
    always(
        &["opasaquery -o scvlt"],
        Rest("VLT:"),
        [drops_unused, leads_used],
        140,
        CHANNELS,
    ),
    always(
        &["opasaquery -o scvlnt"],
        Rest("VLNT:"),
        [drops_unused, leads_used],
        140,
        CHANNELS,
    ),
    always(
        &["opasaquery -o scvlnt"],
        Rare,
        [of_port_0, nothing],
        12,
        NOT_OF_PORT_0,
    ),
    always(
        &["opasaquery -o scvlr"],
        Rare,
        [
            |_, text| text.contains(" VLR: 00 15 "),
            |_, text| text == "No Records Returned",
        ],
        140,
        NO_RECEIVED_LANES,
    ),
    always(
        &["opasaquery -o vlarb"],
        Record("Table Type: Preemption"),
        [nothing, is_no_preemption],
        256,
        NO_PREEMPTION,
    ),
    always(SNAPSHOT, Line("<PKey>"), [is_a_key, is_a_key], 96, KEYS),
    always(
        &["opasaquery -o pkey"],
        Rare,
        [nothing, of_switch_port],
        64,
        KEYS,
    ),
    always(
        &["opasaquery -o pkey"],
        Rest("      0-   7:  0x8001"),
        [
            |_, text| text.starts_with("0x7fff  0xffff  0x0000"),
            |_, text| text.starts_with("0x0000  0xffff  0x0000"),
        ],
        32,
        KEYS,
    ),
    always(
        SERVICES,
        Record("Primary Intel OmniPath Subnet Manager"),
        [nothing, is_managers_service],
        2,
        SERVICE,
    ),
    always(
        SERVICES,
        Rest("PKey:"),
        [|_, text| text == "0xffff", |_, text| text == "0x0000"],
        2,
        SERVICE_KEY,
    ),
    chance(
        SERVICES,
        Rest("Lease:"),
        |_, text| text.contains(" s  Name: Primary Intel OmniPath Performance"),
        "Weft's own services are told as just renewed",
    ),
    always(
        SERVICES,
        Rest("Data8:"),
        [
            |_, text| text.starts_with("01 01 00 00 "),
            |_, text| text.starts_with("01 01 02 "),
        ],
        2,
        VERSIONS,
    ),
    always(
        SERVICES,
        Rest("Data32:"),
        [
            |_, text| text.starts_with("00000000 00000000 "),
            is_checksums,
        ],
        2,
        CHECKSUMS,
    ),
    always(LINEAR, Rest("    0x"), [of_switch, of_switch], 51, ROUTE),
    always(
        RECORDS_OF_LINEAR,
        Line(" -> Port"),
        [of_switch, of_switch],
        51,
        ROUTE,
    ),
    always(
        SNAPSHOT,
        Line("<Value LID="),
        [of_switch, of_switch],
        51,
        ROUTE,
    ),
    always(
        &["opareport -q -o portusage"],
        Line("  "),
        [is_a_sum, is_a_sum],
        45,
        ROUTE,
    ),
    always(
        &["opasaquery -o dgmember"],
        Line("AllMgmtAllowed"),
        [nothing, of_switch],
        32,
        MANAGING,
    ),
    always(
        &["opareport -q -o dgmember"],
        Record("Device Group: AllMgmtAllowed"),
        [
            |_, text| has_all_hosts(text, true),
            |_, text| has_all_hosts(text, false),
        ],
        1,
        MANAGING,
    ),
    always(
        &["opapaquery -o focusPorts -g All -Q"],
        Line("ImageTime:"),
        [|_, text| text.trim() == "ImageTime: …", nothing],
        1,
        NO_IMAGE,
    ),
    always(LISTS, Lines, [is_compared, is_compared], 215, ORDER),
    always(&["opashowmc"], Lines, [is_compared, is_compared], 16, ORDER),
    always(SNAPSHOT, Lines, [is_compared, is_compared], 48, ORDER),
    always(ALL, Records, [is_compared, is_compared], 59, ORDER),
];
