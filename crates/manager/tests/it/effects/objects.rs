//! Applications, device groups, service levels, virtual fabrics, groups of the performance manager.

use super::case::Section::{
    Applications, Default, DeviceGroups, PmPortGroups, QosGroups, Sm, VirtualFabrics,
};
use super::case::{Case, Seen};
use Seen::{Answers, Images, Refusal, Writes};

/// A virtual fabric of the application `mine`.
const OF_MINE: &str =
    "<VirtualFabric><Name>of mine</Name><Enable>1</Enable><PKey>0x0005</PKey><Security>0</Security>
    <QOS>0</QOS><Member>All</Member><Application>mine</Application></VirtualFabric>";
/// A virtual fabric of the device group `mine`.
const BY_MINE: &str =
    "<VirtualFabric><Name>by mine</Name><Enable>1</Enable><PKey>0x0005</PKey><Security>1</Security>
    <QOS>0</QOS><Member>mine</Member><Application>other</Application></VirtualFabric>";
pub(super) const OTHER: &str =
    "<Application><Name>other</Name><ServiceID>0x99</ServiceID></Application>";

fn application(element: &'static str, text: &str, from: &'static str, to: &'static str) -> Case {
    let text =
        format!("<Application><Name>mine</Name><ServiceID>0x98</ServiceID>{text}</Application>");
    Case::new(element, Answers, (Applications, &text), from, to).with(VirtualFabrics, OF_MINE)
}

fn group(element: &'static str, text: &str, from: &'static str, to: &'static str) -> Case {
    let text = format!("<DeviceGroup><Name>mine</Name>{text}</DeviceGroup>");
    Case::new(element, Writes, (DeviceGroups, &text), from, to)
        .with(Applications, OTHER)
        .with(VirtualFabrics, BY_MINE)
}

/// Two levels: of data and of everything else.
fn level(element: &'static str, text: &str, from: &'static str, to: &'static str) -> Case {
    Case::new(element, Writes, (QosGroups, &two_groups(text)), from, to)
        .with(Applications, OTHER)
        .with(VirtualFabrics, USES_FAST)
}

/// A group of the virtual fabric of all hosts, and `fast`, which has `text`.
fn two_groups(text: &str) -> String {
    format!(
        "<QOSGroup><Name>plain</Name><Enable>1</Enable><BaseSL>0</BaseSL><Bandwidth>20%</Bandwidth>
           <PreemptRank>2</PreemptRank></QOSGroup>
         <QOSGroup><Name>fast</Name><Enable>1</Enable>{text}</QOSGroup>"
    )
}

const USES_FAST: &str =
    "<VirtualFabric><Name>fast</Name><Enable>1</Enable><PKey>0x0005</PKey><Security>0</Security>
    <QOSGroup>fast</QOSGroup><Member>All</Member><Application>other</Application></VirtualFabric>";

/// A second virtual fabric, of the application `other`.
fn virtual_fabric(
    element: &'static str,
    seen: Seen,
    text: &str,
    from: &'static str,
    to: &'static str,
) -> Case {
    let text = format!(
        "<VirtualFabric><Name>second</Name>{text}<Application>other</Application></VirtualFabric>"
    );
    Case::new(element, seen, (VirtualFabrics, &text), from, to).with(Applications, OTHER)
}

const SECOND: &str =
    "<Enable>1</Enable><PKey>0x0005</PKey><Security>0</Security><QOS>0</QOS><Member>All</Member>";

pub(super) fn cases() -> Vec<Case> {
    [applications(), groups(), levels(), fabrics(), watched()].concat()
}

fn applications() -> Vec<Case> {
    let mgid = "0xff12601b80050000:0x00000001ff000009";
    vec![
        application("Applications/Application/ServiceID", "<ServiceID>0x7</ServiceID>", "0x7<", "0x6<"),
        application(
            "Applications/Application/ServiceIDRange",
            "<ServiceIDRange>0x1-0xf</ServiceIDRange>",
            "0x1-0xf",
            "0x8-0xf",
        ),
        application(
            "Applications/Application/ServiceIDMasked",
            "<ServiceIDMasked>0x1000000000000000*0xffffffff00000000</ServiceIDMasked>",
            "0x1000000000000000*",
            "0x2000000000000000*",
        ),
        application(
            "Applications/Application/MGID",
            "<MGID>0xff12601b80050000:0x00000001ff000009</MGID>",
            mgid,
            "0xff12601b80050000:0x00000001ff000008",
        ),
        application(
            "Applications/Application/MGIDRange",
            "<MGIDRange>0xff12601b80050000:0x00000001ff000000-0xff12601b80050000:0x00000001ff00000f</MGIDRange>",
            "ff000000-",
            "ff00000a-",
        ),
        application(
            "Applications/Application/MGIDMasked",
            "<MGIDMasked>0xff12601b80050000:0*0xffffffffffff0000:0</MGIDMasked>",
            "0xff12601b80050000:0*",
            "0xff12601b80060000:0*",
        ),
        Case::new(
            "Applications/Application/Select",
            Answers,
            (Applications, "<Application><Name>mine</Name><ServiceID>0x98</ServiceID><!-- more --></Application>"),
            "<!-- more -->",
            "<Select>UnmatchedServiceID</Select>",
        )
        .with(VirtualFabrics, OF_MINE),
        application(
            "Applications/Application/IncludeApplication",
            "<IncludeApplication>seven</IncludeApplication>",
            "<IncludeApplication>seven</IncludeApplication>",
            "<!-- IncludeApplication -->",
        )
        .with(Applications, SEVEN),
        Case::new(
            "Applications/Application/Name",
            Refusal,
            (Applications, "<Application><Name>mine</Name><ServiceID>0x98</ServiceID></Application>"),
            "mine",
            "yours",
        )
        .with(VirtualFabrics, OF_MINE),
    ]
}

fn groups() -> Vec<Case> {
    // GUIDs and names are those of the emulated tree.
    vec![
        group(
            "DeviceGroups/DeviceGroup/NodeGUID",
            "<NodeGUID>0x0011750101000003</NodeGUID>",
            "0x0011750101000003",
            "0x0011750101000004",
        ),
        group(
            "DeviceGroups/DeviceGroup/PortGUID",
            "<PortGUID>0x0011750101000003</PortGUID>",
            "0x0011750101000003",
            "0x0011750101000004",
        ),
        group(
            "DeviceGroups/DeviceGroup/SystemImageGUID",
            "<SystemImageGUID>0x0011750101000003</SystemImageGUID>",
            "0x0011750101000003",
            "0x0011750101000004",
        ),
        group(
            "DeviceGroups/DeviceGroup/NodeDesc",
            "<NodeDesc>node3 hfi1_0</NodeDesc>",
            "node3 ",
            "node4 ",
        ),
        group(
            "DeviceGroups/DeviceGroup/NodeType",
            "<NodeType>FI</NodeType>",
            ">FI<",
            ">SW<",
        ),
        group(
            "DeviceGroups/DeviceGroup/Select",
            "<Select>All</Select>",
            ">All<",
            ">SWE0<",
        ),
        group(
            "DeviceGroups/DeviceGroup/IncludeGroup",
            "<IncludeGroup>All</IncludeGroup>",
            ">All<",
            ">Switches<",
        ),
        Case::new(
            "DeviceGroups/DeviceGroup/Name",
            Refusal,
            (
                DeviceGroups,
                "<DeviceGroup><Name>mine</Name><Select>All</Select></DeviceGroup>",
            ),
            "mine",
            "yours",
        )
        .with(Applications, OTHER)
        .with(VirtualFabrics, BY_MINE),
    ]
}

fn levels() -> Vec<Case> {
    let fast = |text: &'static str| format!("<BaseSL>2</BaseSL><Bandwidth>30%</Bandwidth>{text}");
    vec![
        level(
            "QOSGroups/QOSGroup/BaseSL",
            "<BaseSL>2</BaseSL><Bandwidth>30%</Bandwidth>",
            "<BaseSL>2",
            "<BaseSL>3",
        ),
        level(
            "QOSGroups/QOSGroup/MulticastSL",
            &fast("<MulticastSL>4</MulticastSL>"),
            ">4<",
            ">2<",
        ),
        level(
            "QOSGroups/QOSGroup/FlowControlDisable",
            &fast("<FlowControlDisable>0</FlowControlDisable>"),
            ">0</FlowControlDisable>",
            ">1</FlowControlDisable>",
        ),
        level("QOSGroups/QOSGroup/Bandwidth", &fast(""), "30%", "60%"),
        level(
            "QOSGroups/QOSGroup/HighPriority",
            "<BaseSL>2</BaseSL><HighPriority>0</HighPriority>",
            "<HighPriority>0",
            "<HighPriority>1",
        ),
        Case::new(
            "Sm/TimerScalingEnable",
            Writes,
            (Sm, "<TimerScalingEnable>0</TimerScalingEnable>"),
            "0",
            "1",
        )
        .with(QosGroups, &two_groups(&fast("")))
        .with(Applications, OTHER)
        .with(VirtualFabrics, USES_FAST),
        level(
            "QOSGroups/QOSGroup/HoqLife",
            &fast("<HoqLife>8ms</HoqLife>"),
            "8ms",
            "16ms",
        ),
        level(
            "QOSGroups/QOSGroup/PreemptRank",
            &fast("<PreemptRank>0</PreemptRank>"),
            "<PreemptRank>0",
            "<PreemptRank>5",
        )
        .interleaving(),
        Case::new(
            "QOSGroups/QOSGroup/Enable",
            Refusal,
            (
                QosGroups,
                "<QOSGroup><Name>plain</Name><Enable>1</Enable><BaseSL>0</BaseSL></QOSGroup>",
            ),
            "<Enable>1",
            "<Enable>0",
        ),
        Case::new(
            "QOSGroups/QOSGroup/Name",
            Refusal,
            (
                QosGroups,
                "<QOSGroup><Name>plain</Name><Enable>1</Enable><BaseSL>0</BaseSL></QOSGroup>",
            ),
            "plain",
            "other",
        ),
        Case::new(
            "QOSGroups/QOSGroup/PktLifeTimeMult",
            Answers,
            (
                QosGroups,
                "<QOSGroup><Name>plain</Name><Enable>1</Enable><BaseSL>0</BaseSL>
                 <PktLifeTimeMult>1</PktLifeTimeMult></QOSGroup>",
            ),
            "<PktLifeTimeMult>1",
            "<PktLifeTimeMult>4",
        ),
    ]
}

/// Both kinds of members, one of each kind.
const LIMITED: &str = "<Enable>1</Enable><PKey>0x0005</PKey><Security>1</Security><QOS>0</QOS>
    <Member>Managers</Member><LimitedMember>All</LimitedMember>";
/// A service level of its own.
const OWN_LEVEL: &str =
    "<Enable>1</Enable><PKey>0x0005</PKey><Security>0</Security><Member>All</Member>
    <QOS>1</QOS><BaseSL>2</BaseSL>";
/// A third virtual fabric, of a middle rank.
pub(super) const THIRD: &str = "<VirtualFabric><Name>third</Name><Enable>1</Enable><PKey>0x0006</PKey><Security>0</Security>
    <QOS>1</QOS><BaseSL>3</BaseSL><Bandwidth>30%</Bandwidth><PreemptRank>2</PreemptRank><Member>All</Member>
    <Application>other</Application></VirtualFabric>";
pub(super) const SEVEN: &str =
    "<Application><Name>seven</Name><ServiceID>0x7</ServiceID></Application>";
const TWO_LEVELS: &str =
    "<QOSGroup><Name>plain</Name><Enable>1</Enable><BaseSL>0</BaseSL></QOSGroup>
    <QOSGroup><Name>fast</Name><Enable>1</Enable><BaseSL>2</BaseSL></QOSGroup>";
const OF_FAST: &str =
    "<VirtualFabric><Name>second</Name><Enable>1</Enable><PKey>0x0005</PKey><Security>0</Security>
    <QOSGroup>fast</QOSGroup><Member>All</Member><Application>other</Application></VirtualFabric>";

/// A tag of the second virtual fabric.
macro_rules! second {
    ($tag:literal, $seen:expr, $text:expr, $from:literal, $to:literal) => {
        virtual_fabric(
            concat!("VirtualFabrics/VirtualFabric/", $tag),
            $seen,
            $text,
            $from,
            $to,
        )
    };
}

fn fabrics() -> Vec<Case> {
    let own = |text: &str| format!("{OWN_LEVEL}<Bandwidth>30%</Bandwidth>{text}");
    let standby = format!("{SECOND}<Standby>0</Standby>");
    let uncontrolled = own("<FlowControlDisable>0</FlowControlDisable>");
    let high = format!("{OWN_LEVEL}<HighPriority>0</HighPriority>");
    vec![
        second!("Name", Answers, SECOND, "second", "third"),
        second!("Enable", Writes, SECOND, "<Enable>1", "<Enable>0"),
        second!("Standby", Writes, &standby, "<Standby>0", "<Standby>1"),
        second!("PKey", Writes, SECOND, "0x0005", "0x0006"),
        second!("Security", Writes, LIMITED, "<Security>1", "<Security>0"),
        second!("Member", Writes, SECOND, ">All<", ">Switches<"),
        second!("LimitedMember", Writes, LIMITED, ">All<", ">Switches<"),
        second!("QOS", Writes, SECOND, "<QOS>0", "<QOS>1"),
        second!("BaseSL", Writes, &own(""), "<BaseSL>2", "<BaseSL>3"),
        second!(
            "MulticastSL",
            Writes,
            &own("<MulticastSL>4</MulticastSL>"),
            ">4<",
            ">2<"
        ),
        second!(
            "FlowControlDisable",
            Writes,
            &uncontrolled,
            "Disable>0",
            "Disable>1"
        ),
        second!("Bandwidth", Writes, &own(""), "30%", "60%"),
        second!("HighPriority", Writes, &high, "Priority>0", "Priority>1"),
        second!(
            "HoqLife",
            Writes,
            &own("<HoqLife>8ms</HoqLife>"),
            "8ms",
            "16ms"
        ),
        second!(
            "PreemptRank",
            Writes,
            &own("<PreemptRank>0</PreemptRank>"),
            "Rank>0",
            "Rank>5"
        )
        .with(VirtualFabrics, THIRD)
        .interleaving(),
    ]
    .into_iter()
    .chain(other_fabrics())
    .collect()
}

fn other_fabrics() -> Vec<Case> {
    let multiplied = DEFAULT.replace(
        "<QOS>0</QOS>",
        "<QOS>1</QOS><BaseSL>1</BaseSL><PktLifeTimeMult>1</PktLifeTimeMult>",
    );
    let of_other = OF_MINE.replace(">mine<", ">other<");
    vec![
        Case::new(
            "VirtualFabrics/VirtualFabric/Application",
            Answers,
            (VirtualFabrics, &of_other),
            ">other<",
            ">seven<",
        )
        .with(Applications, OTHER)
        .with(Applications, SEVEN),
        Case::new(
            "VirtualFabrics/VirtualFabric/MaxMTU",
            Answers,
            (Default, DEFAULT),
            ">8192<",
            ">2048<",
        ),
        Case::new(
            "VirtualFabrics/VirtualFabric/MaxRate",
            Answers,
            (Default, DEFAULT),
            ">100g<",
            ">25g<",
        ),
        Case::new(
            "VirtualFabrics/VirtualFabric/PktLifeTimeMult",
            Answers,
            (Default, &multiplied),
            "Mult>1",
            "Mult>4",
        ),
        Case::new(
            "VirtualFabrics/VirtualFabric/QOSGroup",
            Writes,
            (VirtualFabrics, OF_FAST),
            ">fast<",
            ">plain<",
        )
        .with(Applications, OTHER)
        .with(QosGroups, TWO_LEVELS),
    ]
}

const DEFAULT: &str = "<VirtualFabric><Name>Default</Name><Enable>1</Enable><PKey>0x0001</PKey><Security>0</Security>
    <QOS>0</QOS><MaxMTU>8192</MaxMTU><MaxRate>100g</MaxRate><Member>All</Member><Application>Rest</Application>
    </VirtualFabric>";

fn watched() -> Vec<Case> {
    const MINE: &str =
        "<PmPortGroup><Name>mine</Name><Enable>1</Enable><Monitor>All</Monitor></PmPortGroup>";
    vec![
        Case::new(
            "PmPortGroups/PmPortGroup/Name",
            Images,
            (PmPortGroups, MINE),
            "mine",
            "yours",
        ),
        Case::new(
            "PmPortGroups/PmPortGroup/Enable",
            Images,
            (PmPortGroups, MINE),
            "<Enable>1",
            "<Enable>0",
        ),
        Case::new(
            "PmPortGroups/PmPortGroup/Monitor",
            Images,
            (PmPortGroups, MINE),
            ">All<",
            ">Switches<",
        ),
    ]
}
