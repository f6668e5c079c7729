//! `Sm`: subnet management and subnet administration.

use super::case::Section::{
    Applications, Default, DeviceGroups, QosGroups, Shared, Sm, VirtualFabrics,
};
use super::case::{Case, Scene, Seen};
use super::objects::{OTHER, SEVEN, THIRD};
use Seen::{Answers, Cables, Congestion, Datagrams, Refusal, Roles, Routing, Topology, Writes};

/// Three tiers of switches, eight hosts.
const THREE_TIERS: &str = "pgft:3;2,2,2;1,2,2;1,1,1";

fn case(
    element: &'static str,
    seen: Seen,
    text: &str,
    from: &'static str,
    to: &'static str,
) -> Case {
    Case::new(element, seen, (Sm, text), from, to)
}

pub(super) fn cases() -> Vec<Case> {
    [
        identity(),
        election(),
        links(),
        flapping(),
        storms(),
        admission(),
        topology(),
        registers(),
        requests(),
        administration(),
        multicast(),
        congestion(),
        adaptive(),
        routing(),
    ]
    .concat()
}

fn flapping() -> Vec<Case> {
    const TAGS: &str = "<LongTermPortQuarantine><Enable>1</Enable><Flapping><WindowSize>5</WindowSize>
        <HighThreshold>3</HighThreshold><LowThreshold>0</LowThreshold></Flapping></LongTermPortQuarantine>";
    let case = |element, from, to| case(element, Datagrams, TAGS, from, to).during(Scene::Flaps);
    vec![
        case("Sm/LongTermPortQuarantine/Enable", "<Enable>1", "<Enable>0"),
        case(
            "Sm/LongTermPortQuarantine/Flapping/WindowSize",
            ">5<",
            ">4<",
        ),
        case(
            "Sm/LongTermPortQuarantine/Flapping/HighThreshold",
            ">3<",
            ">9<",
        ),
        case(
            "Sm/LongTermPortQuarantine/Flapping/LowThreshold",
            "d>0<",
            "d>2<",
        ),
    ]
}

fn admission() -> Vec<Case> {
    const FAST_LOOPS: &str = "<LoopTestFastMode>1</LoopTestFastMode>";
    const APPLIANCES: &str = "<SmAppliances><Enable>1</Enable><Appliance01>0x0011750101000001</Appliance01>
        <Appliance02>0x0011750101000002</Appliance02><Appliance03>0x0011750101000003</Appliance03>
        <Appliance04>0x0011750101000004</Appliance04><Appliance05>0x0011750101000005</Appliance05></SmAppliances>";
    let appliance = |element, from, to| case(element, Writes, APPLIANCES, from, to);
    vec![
        appliance("Sm/SmAppliances/Enable", "<Enable>1", "<Enable>0"),
        appliance("Sm/SmAppliances/Appliance01", "0001</App", "0006</App"),
        appliance("Sm/SmAppliances/Appliance02", "0002</App", "0006</App"),
        appliance("Sm/SmAppliances/Appliance03", "0003</App", "0006</App"),
        appliance("Sm/SmAppliances/Appliance04", "0004</App", "0006</App"),
        appliance("Sm/SmAppliances/Appliance05", "0005</App", "0006</App"),
        Case::value("Sm/NeighborFWAuthenEnable", Topology, "0", "1")
            .during(Scene::UncheckedFirmware),
        Case::value("Sm/SmaSpoofingCheck", Topology, "1", "0").during(Scene::Liar),
        Case::value("Sm/ForceAttributeRewrite", Datagrams, "0", "1").during(Scene::Long),
        Case::value("Sm/SkipAttributeWrite", Writes, "0", "0x200"),
        Case::value("Sm/SwitchCascadeActivateEnable", Writes, "1", "2"),
        Case::value("Sm/LoopTestOn", Writes, "0", "1").with(Sm, FAST_LOOPS),
        Case::value("Sm/LoopTestFastMode", Writes, "0", "1").with(Sm, "<LoopTestOn>1</LoopTestOn>"),
        Case::value("Sm/LoopTestPackets", Datagrams, "1", "3")
            .with(Sm, "<LoopTestOn>1</LoopTestOn>")
            .with(Sm, FAST_LOOPS),
        Case::value("Sm/AllowMixedVLs", Topology, "0", "1")
            .with(VirtualFabrics, THIRD)
            .with(Applications, OTHER)
            .during(Scene::OneLane),
        Case::value("Sm/MaxFixedVLs", Writes, "8", "1")
            .with(VirtualFabrics, THIRD)
            .with(Applications, OTHER),
    ]
}

fn storms() -> Vec<Case> {
    vec![
        Case::value("Sm/TrapThreshold", Writes, "0", "20").during(Scene::LinkErrors),
        Case::value("Sm/TrapThresholdMinCount", Writes, "5", "60")
            .with(Sm, "<TrapThreshold>20</TrapThreshold>")
            .during(Scene::LinkErrors),
        Case::value("Sm/McDosThreshold", Writes, "0", "4").during(Scene::EndsGroups),
        Case::value("Sm/McDosInterval", Writes, "60", "2")
            .with(Sm, "<McDosThreshold>4</McDosThreshold>")
            .during(Scene::EndsGroups),
        Case::value("Sm/McDosAction", Writes, "0", "1")
            .with(Sm, "<McDosThreshold>4</McDosThreshold>")
            .during(Scene::EndsGroups),
    ]
}

fn topology() -> Vec<Case> {
    let compared = |file: &str, fields: &str| {
        format!(
            "<PreDefinedTopology><Enable>1</Enable><TopologyFilename>{file}</TopologyFilename>
             <LogMessageThreshold>9</LogMessageThreshold><FieldEnforcement>{fields}</FieldEnforcement>
             </PreDefinedTopology>"
        )
    };
    let field = |element: &'static str, file, to| {
        let tag = element.rsplit('/').next().unwrap_or_default();
        let text = compared(file, &format!("<{tag}>Disabled</{tag}>"));
        case(element, Topology, &text, ">Disabled<", to)
    };
    let desc = compared("renamed", "<NodeDesc>Enabled</NodeDesc>");
    let moved = compared("moved", "<UndefinedLink>Warn</UndefinedLink>");
    let lids = compared("lids", "") + "<LidStrategy>serial</LidStrategy>";
    let desc = |element, from, to| case(element, Topology, &desc, from, to);
    vec![
        desc("Sm/PreDefinedTopology/Enable", "e>1<", "e>0<"),
        desc(
            "Sm/PreDefinedTopology/TopologyFilename",
            ">renamed<",
            ">cabled<",
        ),
        case(
            "Sm/PreDefinedTopology/LogMessageThreshold",
            Topology,
            &moved,
            ">9<",
            ">1<",
        ),
        field(
            "Sm/PreDefinedTopology/FieldEnforcement/NodeDesc",
            "renamed",
            ">Warn<",
        ),
        field(
            "Sm/PreDefinedTopology/FieldEnforcement/NodeGUID",
            "replaced",
            ">Enabled<",
        ),
        field(
            "Sm/PreDefinedTopology/FieldEnforcement/PortGUID",
            "other port",
            ">Enabled<",
        ),
        field(
            "Sm/PreDefinedTopology/FieldEnforcement/UndefinedLink",
            "moved",
            ">Enabled<",
        ),
        case("Sm/LidStrategy", Writes, &lids, "serial", "topology"),
    ]
}

fn identity() -> Vec<Case> {
    vec![
        Case::new(
            "Shared/SubnetPrefix",
            Answers,
            (Shared, "<SubnetPrefix>0xfe80000000000000</SubnetPrefix>"),
            "0xfe80000000000000",
            "0xfe80000000000001",
        ),
        Case::value("Sm/MKey", Writes, "0x0", "0x5"),
        Case::value("Sm/Lmc", Writes, "0", "2"),
        Case::value("Sm/LmcE0", Writes, "0", "1").with(Sm, "<Lmc>1</Lmc>"),
        Case::value("Sm/LID", Writes, "0x0", "0x40"),
        Case::value("Sm/CableInfoPolicy", Cables, "ByLink", "ByPort"),
    ]
}

fn election() -> Vec<Case> {
    const TAGS: &str = "<Priority>1</Priority><ElevatedPriority>0</ElevatedPriority>
        <MasterPingInterval>5</MasterPingInterval><MasterPingMaxFail>3</MasterPingMaxFail><SmKey>0x0</SmKey>";
    let case = |element, from, to| Case::new(element, Roles, (Sm, TAGS), from, to);
    vec![
        case("Sm/Priority", "<Priority>1", "<Priority>5"),
        Case::new(
            "Shared/Priority",
            Roles,
            (Shared, "<Priority>1</Priority>"),
            ">1<",
            ">5<",
        ),
        case(
            "Sm/ElevatedPriority",
            "<ElevatedPriority>0",
            "<ElevatedPriority>7",
        ),
        Case::new(
            "Shared/ElevatedPriority",
            Roles,
            (Shared, "<ElevatedPriority>0</ElevatedPriority>"),
            ">0<",
            ">7<",
        ),
        case(
            "Sm/MasterPingInterval",
            "<MasterPingInterval>5",
            "<MasterPingInterval>2",
        ),
        case(
            "Sm/MasterPingMaxFail",
            "<MasterPingMaxFail>3",
            "<MasterPingMaxFail>9",
        ),
        case("Sm/SmKey", "0x0", "0x9"),
    ]
}

fn links() -> Vec<Case> {
    const WIDTH: &str = "<WidthPolicy><Enable>1</Enable><Policy>Supported</Policy></WidthPolicy>";
    let width = |element, section: &str, from, to| {
        case(
            element,
            Writes,
            &format!("<{section}>{WIDTH}</{section}>"),
            from,
            to,
        )
    };
    vec![
        width(
            "Sm/HFILinkPolicy/WidthPolicy/Enable",
            "HFILinkPolicy",
            "<Enable>1",
            "<Enable>0",
        )
        .during(Scene::NarrowHost),
        width(
            "Sm/ISLLinkPolicy/WidthPolicy/Enable",
            "ISLLinkPolicy",
            "<Enable>1",
            "<Enable>0",
        )
        .during(Scene::NarrowIsl),
        Case::value("Sm/HFILinkPolicy/MaxDroppedLanes", Writes, "1", "3")
            .during(Scene::HostLosesLanes),
        Case::value("Sm/ISLLinkPolicy/MaxDroppedLanes", Writes, "1", "3").during(Scene::LosesLanes),
    ]
}

fn registers() -> Vec<Case> {
    vec![
        Case::value("Sm/MulticastMask", Writes, "4", "5"),
        Case::value("Sm/SwitchLifetime", Writes, "33ms", "67ms"),
        Case::value("Sm/HoqLife", Writes, "8ms", "16ms"),
        Case::value("Sm/VLStallCount", Writes, "7", "5"),
        Case::value("Sm/VL15FlowControlDisable", Writes, "1", "0"),
        Case::value("Sm/VL15CreditRate", Writes, "18", "12"),
        Case::value("Sm/DedicatedVLMemMulti", Writes, "1", "3"),
        Case::value("Sm/MinSharedVLMem", Writes, "0", "95"),
        Case::value("Sm/OptimizedBufferControl", Writes, "1", "0"),
        Case::value("Sm/WireDepthOverride", Writes, "-1", "4096"),
        Case::value("Sm/ReplayDepthOverride", Writes, "-1", "128"),
        Case::value("Sm/DefaultPortErrorAction", Writes, "0x172000", "0x1"),
        preemption(
            "Sm/Preemption/SmallPacket",
            "<SmallPacket>256",
            "<SmallPacket>512",
        ),
        preemption(
            "Sm/Preemption/LargePacket",
            "<LargePacket>4096",
            "<LargePacket>2048",
        ),
        preemption(
            "Sm/Preemption/PreemptLimit",
            "<PreemptLimit>4096",
            "<PreemptLimit>8192",
        ),
    ]
}

fn preemption(element: &'static str, from: &'static str, to: &'static str) -> Case {
    let text = "<Preemption><SmallPacket>256</SmallPacket><LargePacket>4096</LargePacket>
        <PreemptLimit>4096</PreemptLimit></Preemption>";
    case(element, Writes, text, from, to)
        .with(Applications, OTHER)
        .with(
            VirtualFabrics,
            &THIRD
                .replace("third", "second")
                .replace("0x0006", "0x0005")
                .replace("Rank>2", "Rank>5")
                .replace("SL>3", "SL>2"),
        )
        .with(VirtualFabrics, THIRD)
        .interleaving()
}

fn requests() -> Vec<Case> {
    vec![
        Case::value("Sm/SmaBatchSize", Datagrams, "1", "2")
            .on("pgft:2;36,2;1,2;1,1")
            .with(
                Sm,
                "<LftMultiblock>1</LftMultiblock><UseAggregateMADs>0</UseAggregateMADs>",
            ),
        Case::value("Sm/MaxParallelReqs", Datagrams, "3", "1"),
        Case::value("Sm/LftMultiblock", Datagrams, "29", "1").on("pgft:2;36,2;1,2;1,1"),
        Case::value("Sm/UseAggregateMADs", Datagrams, "1", "0"),
        Case::value("Sm/SweepInterval", Datagrams, "300", "100").during(Scene::Long),
        Case::value("Sm/IgnoreTraps", Datagrams, "0", "1").during(Scene::Flap),
        Case::value("Sm/TrapHoldDown", Datagrams, "1", "4").during(Scene::Flap),
        Case::value("Sm/MaxAttempts", Datagrams, "3", "6").during(Scene::Silent),
        Case::value("Sm/RespTimeout", Datagrams, "250", "500").during(Scene::Silent),
        Case::value("Sm/MinRespTimeout", Datagrams, "35", "70").during(Scene::Lossy),
        Case::value("Sm/NonRespTimeout", Datagrams, "600", "90")
            .during(Scene::Silent)
            .with(Sm, "<NonRespMaxCount>99</NonRespMaxCount>"),
        Case::value("Sm/NonRespMaxCount", Datagrams, "3", "1").during(Scene::Silent),
        Case::value("Sm/CumulativeTimeoutLimit", Datagrams, "300", "1")
            .during(Scene::Silent)
            .with(Sm, "<MaxAttempts>9</MaxAttempts>"),
        Case::value("Sm/SweepErrorsThreshold", Datagrams, "0", "4")
            .during(Scene::SweepOfSilentHosts),
        Case::value("Sm/SweepAbandonThreshold", Datagrams, "1", "3")
            .during(Scene::SweepOfSilentHosts)
            .with(Sm, "<SweepErrorsThreshold>4</SweepErrorsThreshold>"),
        Case::value("Sm/CheckMftResponses", Datagrams, "1", "0").during(Scene::RefusesMulticast),
    ]
}

fn administration() -> Vec<Case> {
    const STATIC: &str = "<DynamicPacketLifetime><Enable>0</Enable></DynamicPacketLifetime>";
    const HALF: &str = "<VirtualFabric><Name>half</Name><Enable>1</Enable><PKey>0x0001</PKey><Security>0</Security>
        <QOS>0</QOS><Member>Managers</Member><Application>seven</Application></VirtualFabric>";
    let mut cases = vec![
        Case::value("Sm/SaRespTime", Answers, "1s", "2s"),
        Case::value("Sm/PacketLifetime", Answers, "1s", "2s").with(Sm, STATIC),
        Case::value("Sm/PathSelection", Answers, "Minimal", "SrcDstAll").with(Sm, "<Lmc>1</Lmc>"),
        Case::value("Sm/QueryValidation", Answers, "0", "1"),
        Case::value("Sm/NoReplyIfBusy", Answers, "0", "1"),
        Case::value("Sm/EnforceVFPathRecord", Answers, "1", "0")
            .with(VirtualFabrics, HALF)
            .with(Applications, SEVEN),
        case(
            "Sm/DynamicPacketLifetime/Enable",
            Answers,
            "<DynamicPacketLifetime><Enable>1</Enable><Hops01>67ms</Hops01></DynamicPacketLifetime>",
            ">1<",
            ">0<",
        ),
    ];
    // As many switches in a row as hops.
    let hops = [
        "Sm/DynamicPacketLifetime/Hops01",
        "Sm/DynamicPacketLifetime/Hops02",
        "Sm/DynamicPacketLifetime/Hops03",
        "Sm/DynamicPacketLifetime/Hops04",
        "Sm/DynamicPacketLifetime/Hops05",
        "Sm/DynamicPacketLifetime/Hops06",
        "Sm/DynamicPacketLifetime/Hops07",
        "Sm/DynamicPacketLifetime/Hops08",
        "Sm/DynamicPacketLifetime/Hops09",
    ];
    cases.extend(hops.map(|tag| Case::value(tag, Answers, "67ms", "536ms").on("mesh:10,hosts=2")));
    cases
}

fn multicast() -> Vec<Case> {
    const SHARE: &str = "<Multicast><MLIDShare><Enable>1</Enable><MGIDMask>0xffffffff0000ffff:0xffffffffff000000</MGIDMask>
        <MGIDValue>0xff12601b00000000:0x00000001ff000000</MGIDValue><MaxMLIDs>3</MaxMLIDs><MaxMLIDsPerPKey>0</MaxMLIDsPerPKey>
        </MLIDShare></Multicast>";
    const GROUP: &str = "<Multicast><MulticastGroup><Create>1</Create><MTU>2048</MTU><Rate>25g</Rate>
        <QKey>0x0</QKey><FlowLabel>0</FlowLabel><TClass>0</TClass><MGID>0xff12401bffff0000:0xffffffff</MGID>
        </MulticastGroup></Multicast>";
    let share = |element, from, to| case(element, Answers, SHARE, from, to);
    let group = |element, from, to| case(element, Answers, GROUP, from, to);
    vec![
        Case::value("Sm/Multicast/DisableStrictCheck", Answers, "0", "1")
            .during(Scene::NarrowIsl)
            .with(Sm, "<ISLLinkPolicy><WidthPolicy><Enable>0</Enable></WidthPolicy></ISLLinkPolicy>"),
        Case::value("Sm/Multicast/EnablePruning", Writes, "0", "1").on(THREE_TIERS),
        Case::value("Sm/Multicast/MLIDTableCap", Answers, "1024", "5"),
        Case::value("Sm/Multicast/RootSelectionAlgorithm", Writes, "LeastTotalCost", "SMNeighbor")
        .on(THREE_TIERS),
        Case::value("Sm/Multicast/MinCostImprovement", Writes, "50%", "1%")
            .on("mesh:2x7,hosts=1")
            .during(Scene::Grows),
        share("Sm/Multicast/MLIDShare/Enable", "<Enable>1", "<Enable>0"),
        share(
            "Sm/Multicast/MLIDShare/MGIDMask",
            "0xffffffff0000ffff:0xffffffffff000000",
            "0xffffffff0000ffff:0xffffffffffffffff",
        ),
        share(
            "Sm/Multicast/MLIDShare/MGIDValue",
            "0xff12601b00000000:0x00000001ff000000",
            "0xff12601b00000000:0x00000001fe000000",
        ),
        share(
            "Sm/Multicast/MLIDShare/MaxMLIDs",
            "<MaxMLIDs>3",
            "<MaxMLIDs>5",
        ),
        share(
            "Sm/Multicast/MLIDShare/MaxMLIDsPerPKey",
            "<MaxMLIDsPerPKey>0",
            "<MaxMLIDsPerPKey>2",
        ),
        group(
            "Sm/Multicast/MulticastGroup/Create",
            "<Create>1",
            "<Create>0",
        ),
        group("Sm/Multicast/MulticastGroup/MTU", "<MTU>2048", "<MTU>4096"),
        group("Sm/Multicast/MulticastGroup/Rate", "<Rate>25g", "<Rate>50g"),
        case(
            "Sm/Multicast/MulticastGroup/SL",
            Refusal,
            &GROUP.replace("<Create>", "<SL>1</SL><Create>"),
            "<SL>1",
            "<SL>2",
        )
        .with(
            Default,
            "<VirtualFabric><Name>Default</Name><Enable>1</Enable><PKey>0x0001</PKey><Security>0</Security><QOS>1</QOS>
               <BaseSL>1</BaseSL><Member>All</Member><Application>Rest</Application></VirtualFabric>",
        ),
        group("Sm/Multicast/MulticastGroup/QKey", "<QKey>0x0", "<QKey>0x5"),
        group(
            "Sm/Multicast/MulticastGroup/FlowLabel",
            "<FlowLabel>0",
            "<FlowLabel>5",
        ),
        group(
            "Sm/Multicast/MulticastGroup/TClass",
            "<TClass>0",
            "<TClass>5",
        ),
        group(
            "Sm/Multicast/MulticastGroup/MGID",
            ":0xffffffff",
            ":0xfffffffe",
        ),
        case(
            "Sm/Multicast/MulticastGroup/VirtualFabric",
            Refusal,
            &GROUP.replace("<Create>", "<VirtualFabric>Default</VirtualFabric><Create>"),
            ">Default<",
            ">Admin<",
        ),
        case(
            "Sm/Multicast/MulticastGroup/PKey",
            Refusal,
            &GROUP.replace("<Create>", "<PKey>0x0001</PKey><Create>"),
            "<PKey>0x0001",
            "<PKey>0x7fff",
        ),
    ]
}

fn congestion() -> Vec<Case> {
    const ON: &str = "<CongestionControl><Enable>1</Enable>
        <Switch><Threshold>8</Threshold><PacketSize>0</PacketSize><MarkingRate>0</MarkingRate>
        <VictimMarkingEnable>0</VictimMarkingEnable></Switch>
        <Fi><Basis>qp</Basis><Increase>5</Increase><Timer>10</Timer><Threshold>9</Threshold><Min>0</Min>
        <Limit>127</Limit><DesiredMaxDelay>8000</DesiredMaxDelay></Fi></CongestionControl>";
    let case = |element, from, to| case(element, Congestion, ON, from, to);
    vec![
        case("Sm/CongestionControl/Enable", "<Enable>1", "<Enable>0"),
        case(
            "Sm/CongestionControl/Switch/Threshold",
            "<Threshold>8",
            "<Threshold>12",
        ),
        case(
            "Sm/CongestionControl/Switch/PacketSize",
            "<PacketSize>0",
            "<PacketSize>5",
        ),
        case(
            "Sm/CongestionControl/Switch/MarkingRate",
            "<MarkingRate>0",
            "<MarkingRate>5",
        ),
        case(
            "Sm/CongestionControl/Switch/VictimMarkingEnable",
            "<VictimMarkingEnable>0",
            "<VictimMarkingEnable>1",
        ),
        case("Sm/CongestionControl/Fi/Basis", ">qp<", ">sl<"),
        case(
            "Sm/CongestionControl/Fi/Increase",
            "<Increase>5",
            "<Increase>6",
        ),
        case("Sm/CongestionControl/Fi/Timer", "<Timer>10", "<Timer>20"),
        case(
            "Sm/CongestionControl/Fi/Threshold",
            "<Threshold>9",
            "<Threshold>4",
        ),
        case("Sm/CongestionControl/Fi/Min", "<Min>0", "<Min>2"),
        case("Sm/CongestionControl/Fi/Limit", "<Limit>127", "<Limit>60"),
        case(
            "Sm/CongestionControl/Fi/DesiredMaxDelay",
            "<DesiredMaxDelay>8000",
            "<DesiredMaxDelay>4000",
        ),
    ]
}

fn adaptive() -> Vec<Case> {
    const ON: &str = "<AdaptiveRouting><Enable>1</Enable><LostRouteOnly>0</LostRouteOnly><Algorithm>2</Algorithm>
        <ARFrequency>4</ARFrequency><Threshold>3</Threshold></AdaptiveRouting>";
    let case = |element, from, to| case(element, Writes, ON, from, to);
    vec![
        case("Sm/AdaptiveRouting/Enable", "<Enable>1", "<Enable>0"),
        case(
            "Sm/AdaptiveRouting/LostRouteOnly",
            "<LostRouteOnly>0",
            "<LostRouteOnly>1",
        ),
        case(
            "Sm/AdaptiveRouting/Algorithm",
            "<Algorithm>2",
            "<Algorithm>0",
        ),
        case(
            "Sm/AdaptiveRouting/ARFrequency",
            "<ARFrequency>4",
            "<ARFrequency>1",
        ),
        case(
            "Sm/AdaptiveRouting/Threshold",
            "<Threshold>3",
            "<Threshold>5",
        ),
    ]
}

fn routing() -> Vec<Case> {
    const TREE: &str =
        "<RoutingAlgorithm>fattree</RoutingAlgorithm><FatTreeTopology><TierCount>3</TierCount>
        <FIsOnSameTier>1</FIsOnSameTier><CoreSwitches>tops</CoreSwitches><RouteLast>some</RouteLast>
        <PassThrough>0</PassThrough><Converge>0</Converge></FatTreeTopology>";
    const MESH: &str = "<RoutingAlgorithm>dor</RoutingAlgorithm><MeshTorusTopology><Dimension><Length>4</Length>
        <Toroidal>1</Toroidal><PortPair>3,4</PortPair></Dimension><RouteLast>some</RouteLast></MeshTorusTopology>";
    const GRID: &str = "<RoutingAlgorithm>dor</RoutingAlgorithm><MeshTorusTopology>
        <Dimension><Length>4</Length><PortPair>2,3</PortPair></Dimension>
        <Dimension><Length>4</Length><PortPair>4,5</PortPair></Dimension>
        <UseFaultRegions>1</UseFaultRegions></MeshTorusTopology>";
    const CUBE: &str = "<RoutingAlgorithm>hypercube</RoutingAlgorithm><HypercubeTopology><RouteLast>some</RouteLast>
        <EnhancedRoutingCtrl><Switches>one</Switches><PortData><pPort>3</pPort><vPort>3</vPort><Cost>1</Cost></PortData>
        <PortData><pPort>4</pPort><vPort>4</vPort><Cost>1</Cost></PortData></EnhancedRoutingCtrl></HypercubeTopology>";
    let groups = |case: Case| {
        case.with(
            DeviceGroups,
            "<DeviceGroup><Name>tops</Name><NodeType>SW</NodeType></DeviceGroup>
             <DeviceGroup><Name>some</Name><NodeDesc>node3 hfi1_0</NodeDesc></DeviceGroup>
             <DeviceGroup><Name>cores</Name><NodeDesc>core[1-9]</NodeDesc></DeviceGroup>
             <DeviceGroup><Name>spines</Name><NodeDesc>spine[1-9]</NodeDesc></DeviceGroup>
             <DeviceGroup><Name>one</Name><NodeDesc>switch-0-0-0</NodeDesc></DeviceGroup>
             <DeviceGroup><Name>others</Name><NodeDesc>node2 hfi1_0</NodeDesc></DeviceGroup>",
        )
    };
    let tree = |element, from, to| groups(case(element, Writes, TREE, from, to)).on(THREE_TIERS);
    let mesh =
        |element, from, to| groups(case(element, Writes, MESH, from, to)).on("torus:4,hosts=2");
    let cube =
        |element, from, to| groups(case(element, Writes, CUBE, from, to)).on("hypercube:3,hosts=2");
    vec![
        Case::value("Sm/RoutingAlgorithm", Writes, "shortestpath", "dmodc"),
        Case::value("Sm/SpineFirstRouting", Writes, "1", "0")
            .with(Sm, "<RoutingAlgorithm>shortestpath</RoutingAlgorithm>")
            .during(Scene::Chassis),
        groups(case(
            "Sm/DGShortestPathTopology/RoutingOrder/DeviceGroup",
            Writes,
            "<RoutingAlgorithm>dgshortestpath</RoutingAlgorithm><DGShortestPathTopology><RoutingOrder>
             <DeviceGroup>some</DeviceGroup></RoutingOrder></DGShortestPathTopology>",
            ">some<",
            ">others<",
        ))
        .on("fattree:32,radix=8"),
        tree("Sm/FatTreeTopology/TierCount", "<TierCount>3", "<TierCount>2"),
        tree("Sm/FatTreeTopology/FIsOnSameTier", "<FIsOnSameTier>1", "<FIsOnSameTier>0"),
        groups(case(
            "Sm/FatTreeTopology/CoreSwitches",
            Writes,
            &TREE
                .replace("<FIsOnSameTier>1", "<FIsOnSameTier>0")
                .replace(">tops<", ">cores<"),
            ">cores<",
            ">spines<",
        ))
        .on(THREE_TIERS),
        tree("Sm/FatTreeTopology/RouteLast", ">some<", ">others<"),
        tree("Sm/FatTreeTopology/PassThrough", "<PassThrough>0", "<PassThrough>1"),
        tree("Sm/FatTreeTopology/Converge", "<Converge>0", "<Converge>1"),
        mesh("Sm/MeshTorusTopology/Dimension/Toroidal", "<Toroidal>1", "<Toroidal>0"),
        mesh("Sm/MeshTorusTopology/Dimension/Length", "<Length>4", "<Length>3"),
        mesh("Sm/MeshTorusTopology/Dimension/PortPair", ">3,4<", ">3,5<"),
        mesh("Sm/MeshTorusTopology/RouteLast", ">some<", ">others<"),
        groups(case(
            "Sm/MeshTorusTopology/WarnThreshold",
            Routing,
            &MESH.replace(">3,4<", ">3,5<"),
            "</RouteLast>",
            "</RouteLast><WarnThreshold>1</WarnThreshold>",
        ))
        .on("torus:4,hosts=2,links=2"),
        case("Sm/MeshTorusTopology/UseFaultRegions", Writes, GRID, "<UseFaultRegions>1", "<UseFaultRegions>0")
            .on("mesh:4x4")
            .during(Scene::Holes),
        mesh(
            "Sm/MeshTorusTopology/OverlayMulticast",
            "</RouteLast>",
            "</RouteLast><OverlayMulticast>1</OverlayMulticast>",
        )
        .with(
            QosGroups,
            "<QOSGroup><Name>plain</Name><Enable>1</Enable><BaseSL>0</BaseSL><MulticastSL>4</MulticastSL></QOSGroup>",
        ),
        mesh("Sm/MeshTorusTopology/UseEscapeVLs", "</RouteLast>", "</RouteLast><UseEscapeVLs>0</UseEscapeVLs>"),
        cube("Sm/HypercubeTopology/RouteLast", ">some<", ">others<").on("mesh:2x2x2,hosts=2,links=2"),
        cube("Sm/HypercubeTopology/EnhancedRoutingCtrl/Switches", ">one<", ">some<"),
        cube("Sm/HypercubeTopology/EnhancedRoutingCtrl/PortData/pPort", "<pPort>4", "<pPort>5"),
        cube("Sm/HypercubeTopology/EnhancedRoutingCtrl/PortData/vPort", "<vPort>4", "<vPort>2"),
        cube("Sm/HypercubeTopology/EnhancedRoutingCtrl/PortData/Cost", "4</vPort><Cost>1", "4</vPort><Cost>300"),
        Case::value("Sm/DsapInUse", Refusal, "0", "1"),
    ]
}
