//! Reports on forwarding, multicast and virtual fabrics against opareport, on whole fabrics and on faults.

use crate::opareport::{Judged, committed};

/// The committed snapshot with the LIDs of switches at all their ports, as a manager tells them.
fn snapshot() -> String {
    const UNKNOWN: &str = "<EndPortLID>0x00000000<";
    let text = committed();
    let nodes = text.split_inclusive("</Node>").map(|node| {
        let mut lids = node.lines().filter(|line| line.starts_with("<EndPortLID>"));
        let lid = lids.find(|line| !line.starts_with(UNKNOWN));
        let lid = lid.and_then(|line| line.strip_suffix("/EndPortLID>"));
        node.replace(UNKNOWN, lid.unwrap_or(UNKNOWN))
    });
    nodes.collect()
}

/// The snapshot with the first of a text after another one replaced.
fn changed(after: &str, from: &str, to: &str) -> String {
    let text = snapshot();
    let start = text.find(after).unwrap_or_else(|| panic!("{after}"));
    let at = start + text[start..].find(from).unwrap_or_else(|| panic!("{from}"));
    text[..at].to_owned() + to + &text[at + from.len()..]
}

/// Judges reports at levels of detail.
fn judge(text: &str, names: &[&str], details: &'static [u8]) {
    let judged = Judged::new(text, details);
    for name in names {
        if judged.judge(name, &[]).is_none() {
            return;
        }
    }
}

const TABLES: &[&str] = &["mcast", "portgroups", "portusage", "bfrctrl"];

const USAGE: &[&str] = &["pathusage", "treepathusage"];

const VALIDATIONS: &[&str] = &[
    "validateroutes",
    "validatevlroutes",
    "validatecreditloops",
    "validatevlcreditloops",
];

#[test]
fn a_fabric_without_fault() {
    let text = snapshot();
    judge(&text, &["mcgroups", "vfinfo", "vfmember"], &[0, 1, 2, 3, 4]);
    judge(&text, VALIDATIONS, &[0, 1, 2]);
    judge(&text, &VALIDATIONS[..2], &[3]);
    judge(&text, TABLES, &[0, 1, 2, 3]);
    judge(&text, &["validatemcroutes"], &[0, 1, 2, 3]);
    judge(&text, USAGE, &[0, 1, 2]);
    let usage = Judged::new(&text, &[1, 2]);
    for point in ["nodepat:edge*", "nodepat:node*", "nodepat:node[13]*"] {
        for name in USAGE {
            if usage.judge(name, &["-F", point]).is_none() {
                return;
            }
        }
    }
    let focused = Judged::new(&text, &[2, 3]);
    for point in ["lid:3", "nodepat:edge*", "node:node1 hfi1_0:port:1"] {
        for name in ["vfinfo", "vfmember"].iter().chain(TABLES) {
            if focused.judge(name, &["-F", point]).is_none() {
                return;
            }
        }
    }
}

#[test]
fn members_of_groups() {
    for (from, to) in [
        ("<Membership_Int>1<", "<Membership_Int>2<"),
        ("<Membership_Int>1<", "<Membership_Int>4<"),
        ("<Membership_Int>1<", "<Membership_Int>7<"),
        (
            "<GID>0xfe80000000000000:0x0011750101000012",
            "<GID>0xfe80000000000000:0x0011750101000099",
        ),
        ("<Mtu>256<", "<Mtu>10240<"),
        ("<Rate_Int>2<", "<Rate_Int>9<"),
        ("<PktLifeTime_Int>16<", "<PktLifeTime_Int>23<"),
        ("<FlowLabel>0x0<", "<FlowLabel>0x12345<"),
        ("<HopLimit>0x0<", "<HopLimit>0xff<"),
    ] {
        judge(&changed("<McMembers>", from, to), &["mcgroups"], &[2]);
    }
    // A group that only the configuration keeps is not listed.
    let text = snapshot();
    let start = text.find("<MulticastGroup").unwrap();
    let end = text.find("</McMembers>").unwrap();
    let group = &text[start..end];
    let empty = group.find("<PortGID").unwrap();
    let gid = "0x0000000000000000:0x0000000000000000";
    let empty = format!(
        "{}<PortGID id=\"{gid}\">\n<GID>{gid}</GID>\n<Membership_Int>1</Membership_Int>\n</PortGID>\n</MulticastGroup>\n",
        &group[..empty]
    );
    judge(
        &(text[..end].to_owned() + &empty + &text[end..]),
        &["mcgroups"],
        &[0, 1, 2],
    );
}

#[test]
fn settings_of_virtual_fabrics() {
    for (from, to) in [
        ("<SelectFlags>0<", "<SelectFlags>3<"),
        ("<SelectFlags>0<", "<SelectFlags>1<"),
        ("<MulticastSL>0</MulticastSL>\n", ""),
        ("<MulticastSL>0<", "<MulticastSL>1<"),
        (
            "<MTUSpecified>0</MTUSpecified>\n<MTU>7<",
            "<MTUSpecified>1</MTUSpecified>\n<MTU>4<",
        ),
        (
            "<RateSpecified>0</RateSpecified>\n<Rate>16<",
            "<RateSpecified>1</RateSpecified>\n<Rate>7<",
        ),
        (
            "<PacketLifeSpecified>0</PacketLifeSpecified>\n<PacketLifeTimeInc>0<",
            "<PacketLifeSpecified>1</PacketLifeSpecified>\n<PacketLifeTimeInc>3<",
        ),
        (
            "<BandwidthPercent>",
            "<OptionFlags>0x2</OptionFlags>\n<BandwidthPercent>",
        ),
        (
            "<BandwidthPercent>",
            "<OptionFlags>0x7</OptionFlags>\n<BandwidthPercent>",
        ),
        (
            "<BandwidthPercent>100</BandwidthPercent>\n<SLResponse>0</SLResponse>\n<Priority>0<",
            "<OptionFlags>0x2</OptionFlags>\n<SLResponse>0</SLResponse>\n<Priority>1<",
        ),
        ("<HOQLife>0<", "<HOQLife>9<"),
        ("<PKey>1<", "<PKey>5<"),
        ("<PreemptionRank>0<", "<PreemptionRank>9<"),
    ] {
        let text = changed("<VirtualFabrics>", from, to);
        judge(&text, &["vfinfo", "vfmember"], &[0, 1, 2, 3]);
    }
}

/// At the highest level opareport looks at lanes and buffers. Its XML of findings is not well-formed.
#[test]
fn lanes_and_buffers_that_do_not_fit() {
    for (after, from, to) in [
        ("<SCtoVLtMap>", "<VLt SC=\"0\">0<", "<VLt SC=\"0\">15<"),
        ("<SCtoVLtMap>", "<VLt SC=\"0\">0<", "<VLt SC=\"0\">3<"),
        ("<SLtoSCMap>", "<SC SL=\"0\">0<", "<SC SL=\"0\">15<"),
        (
            "<VLLimit VL=\"0\">",
            "<TxDedicatedLimit>128</TxDedicatedLimit>\n<TxSharedLimit>1024<",
            "<TxDedicatedLimit>0</TxDedicatedLimit>\n<TxSharedLimit>0<",
        ),
        (
            "<VLLimit VL=\"5\">",
            "<TxDedicatedLimit>0<",
            "<TxDedicatedLimit>7<",
        ),
    ] {
        let judged = Judged::new(&changed(after, from, to), &[4]);
        if judged.judge_text("vfmember", &[]).is_none() {
            return;
        }
    }
}

/// Faults in what the switch `core2` holds for LID 3, and in maps of channels.
#[test]
fn packets_that_do_not_arrive() {
    let entry = "<Value LID=\"0x3\">2</Value>";
    for to in [
        "",
        // Back to where packets come from: a loop of two switches.
        "<Value LID=\"0x3\">1</Value>",
        "<Value LID=\"0x3\">0</Value>",
        // A port without a link.
        "<Value LID=\"0x3\">9</Value>",
    ] {
        let text = changed("<NodeDesc>core2</NodeDesc>", entry, to);
        judge(&text, VALIDATIONS, &[0, 1, 2]);
        judge(&text, USAGE, &[2]);
    }
    // The switch of node3 sends its packets to node4.
    let text = changed(
        "<NodeDesc>edge2</NodeDesc>",
        "<Value LID=\"0x3\">1<",
        "<Value LID=\"0x3\">2<",
    );
    judge(&text, VALIDATIONS, &[1, 2]);
    for (after, from, to) in [
        ("<SLtoSCMap>", "<SC SL=\"0\">0<", "<SC SL=\"0\">15<"),
        ("<SCtoVLtMap>", "<VLt SC=\"0\">0<", "<VLt SC=\"0\">15<"),
        ("<SCtoSCMap>", "<SC SC=\"0\">0<", "<SC SC=\"0\">15<"),
        ("<SCtoSCMap>", "<SC SC=\"0\">0<", "<SC SC=\"0\">4<"),
    ] {
        let text = changed(after, from, to);
        judge(&text, &VALIDATIONS[..2], &[1, 2]);
        // With details opareport shows the path with its channels, the report on routes without.
        judge(&text, VALIDATIONS, &[0]);
    }
}

/// Groups that lead elsewhere, twice the same, and into a loop; XML of faults is not well-formed at opareport.
#[test]
fn groups_that_do_not_fit() {
    if Judged::new(&snapshot(), &[0, 1, 2, 3])
        .judge_text("validatepgs", &[])
        .is_none()
    {
        return;
    }
    let group = "<Value PortGroupNumber=\"0\">0xc00000000000<";
    for to in [
        "<Value PortGroupNumber=\"0\">0xc00000000000<",
        "<Value PortGroupNumber=\"0\">0x800000000000<",
        "<Value PortGroupNumber=\"0\">0xc00000000002<",
    ] {
        let judged = Judged::new(&changed("<NodeDesc>edge1<", group, to), &[2, 3]);
        if judged.judge_text("validatepgs", &[]).is_none() {
            return;
        }
    }
    for (after, from, to) in [
        (
            "<NodeDesc>core2<",
            "<Value LID=\"0x3\">2<",
            "<Value LID=\"0x3\">1<",
        ),
        ("<NodeDesc>core2<", "<Value LID=\"0x3\">2</Value>\n", ""),
        (
            "<NodeDesc>edge1<",
            "<Value LID=\"0x5\">0<",
            "<Value LID=\"0x5\">47<",
        ),
    ] {
        let judged = Judged::new(&changed(after, from, to), &[2]);
        if judged.judge_text("validatepgs", &[]).is_none() {
            return;
        }
    }
}

/// Multicast trees with a hole, a loop, a port without a link and one that is no member's.
#[test]
fn trees_with_faults() {
    for (after, from, to) in [
        (
            "<NodeDesc>edge1<",
            "LID=\"0xf0000000\">0x",
            "LID=\"0xf0000001\">0x",
        ),
        (
            "<NodeDesc>edge1<",
            "LID=\"0xf0000000\">0x8",
            "LID=\"0xf0000000\">0x18",
        ),
        (
            "<NodeDesc>core1<",
            "LID=\"0xf0000000\">0x6<",
            "LID=\"0xf0000000\">0x2<",
        ),
        (
            "<NodeDesc>core1<",
            "LID=\"0xf0000000\">0x6<",
            "LID=\"0xf0000000\">0x7<",
        ),
        (
            "<NodeDesc>core1<",
            "LID=\"0xf0000000\">0x6<",
            "LID=\"0xf0000000\">0x106<",
        ),
        (
            "<McMembers>",
            "<GID>0xfe80000000000000:0x0011750101000013",
            "<GID>0xfe80000000000000:0x0011750101000099",
        ),
        (
            "<NodeDesc>edge1<",
            "<MulticastFDBTop>4026531842<",
            "<MulticastFDBTop>0<",
        ),
    ] {
        let text = changed(after, from, to);
        judge(&text, &["validatemcroutes", "mcast"], &[0, 1, 2]);
    }
}

/// Parts that a file lacks.
#[test]
fn what_a_file_does_not_have() {
    let text = snapshot();
    judge(
        &text.replace("routes=\"1\"", "routes=\"0\""),
        VALIDATIONS,
        &[2],
    );
    judge(
        &text.replace("qosdata=\"1\"", "qosdata=\"0\""),
        &["vfmember"],
        &[2],
    );
}
