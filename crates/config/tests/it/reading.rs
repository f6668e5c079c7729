//! From file to values: layers, units, references, findings.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use weft_config::sm::PreDefinedTopology;
use weft_config::{
    Checked, CoreLimit, Instance, Mtu, Percent, Rate, RoutingAlgorithm, Rule, Severity,
    TimeExponent, check,
};
use weft_wire::id::Lmc;

/// A file whose first `Fm` is switched off, so that it needs no virtual fabrics.
fn file(common: [&str; 4], fm: [&str; 4]) -> String {
    let sections = |[shared, sm, fe, pm]: [&str; 4]| {
        format!("<Shared>{shared}</Shared>\n<Sm>{sm}</Sm>\n<Fe>{fe}</Fe>\n<Pm>{pm}</Pm>")
    };
    format!(
        "<Config>\n<Common>\n{}\n</Common>\n<Fm>\n{}\n</Fm>\n</Config>",
        sections(common),
        sections(fm)
    )
}

fn instance(text: &str) -> Instance {
    let checked = check(text, "t.xml");
    let findings: Vec<_> = checked.findings.iter().map(ToString::to_string).collect();
    checked
        .config
        .unwrap_or_else(|| panic!("{findings:?}"))
        .instances
        .remove(0)
}

fn with_sm(sm: &str) -> Checked {
    check(file(["", sm, "", ""], [""; 4]), "t.xml")
}

fn sm(sm: &str) -> weft_config::Sm {
    instance(&file(["", sm, "", ""], [""; 4])).sm
}

#[test]
fn each_layer_wins_over_the_one_below() {
    let levels =
        |common: [&str; 4], fm: [&str; 4]| instance(&file(common, fm)).sm.logging.log_level;
    let level = |number: u32| format!("<LogLevel>{number}</LogLevel>");
    let (one, two, three, four) = (level(4), level(5), level(6), level(7));
    assert_eq!(levels([""; 4], [""; 4]), 1);
    assert_eq!(levels([&one, "", "", ""], [""; 4]), 4);
    assert_eq!(levels([&one, &two, "", ""], [""; 4]), 5);
    assert_eq!(levels([&one, &two, "", ""], [&three, "", "", ""]), 6);
    assert_eq!(levels([&one, &two, "", ""], [&three, &four, "", ""]), 7);
    let all = instance(&file([&one, &two, "", ""], [&three, &four, "", ""]));
    assert_eq!(
        (all.pm.logging.log_level, all.shared.logging.log_level),
        (6, 6)
    );
}

#[test]
fn a_component_wins_over_shared_wherever_that_stands() {
    let text = "<Config><Common><Sm><LogLevel>5</LogLevel></Sm><Shared><LogLevel>3</LogLevel></Shared><Fe/><Pm/></Common>
        <Fm><Shared/><Sm/><Fe/><Pm/></Fm></Config>";
    assert_eq!(instance(text).sm.logging.log_level, 5);
}

#[test]
fn fields_of_a_section_are_inherited_one_by_one() {
    let common =
        "<PreDefinedTopology><LogMessageThreshold>7</LogMessageThreshold></PreDefinedTopology>";
    let own =
        "<PreDefinedTopology><TopologyFilename>/t.xml</TopologyFilename></PreDefinedTopology>";
    let topology = instance(&file(["", common, "", ""], ["", own, "", ""]))
        .sm
        .pre_defined_topology;
    let expected = PreDefinedTopology {
        log_message_threshold: 7,
        topology_filename: Some("/t.xml".to_owned()),
        ..PreDefinedTopology::default()
    };
    assert_eq!(topology, expected);
}

#[test]
fn instances_take_the_same_common_and_keep_apart() {
    let fm = |name: &str| format!("<Fm><Shared><Name>{name}</Name></Shared><Sm/><Fe/><Pm/></Fm>");
    let common = "<Common><Shared/><Sm><Lmc>2</Lmc></Sm><Fe/><Pm/></Common>";
    let file = |count: usize| {
        let all: String = (0..count).map(|at| fm(&format!("n{at}"))).collect();
        check(format!("<Config>{common}{all}</Config>"), "t.xml")
    };
    let config = file(8).config.unwrap();
    let names: Vec<_> = config
        .instances
        .iter()
        .map(|instance| instance.shared.name.as_str())
        .collect();
    assert_eq!(names, ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"]);
    assert!(
        config
            .instances
            .iter()
            .all(|instance| instance.sm.lmc == Lmc(2))
    );
    let nine = file(9);
    assert!(nine.config.is_none());
    assert_eq!(nine.findings[0].path, "Config/Fm[8]");
}

#[test]
fn times_become_exponents_that_are_long_enough() {
    for (text, exponent) in [
        ("8ms", 11),
        ("33ms", 13),
        ("67ms", 14),
        ("134ms", 15),
        ("268ms", 16),
        ("536ms", 17),
        ("1s", 18),
        ("2s", 19),
        ("4us", 0),
        ("5us", 1),
        ("1ns", 0),
        (" 8 MS ", 11),
        ("0x8ms", 11),
    ] {
        let sm = sm(&format!(
            "<PacketLifetime>{text}</PacketLifetime><HoqLife>{text}</HoqLife>"
        ));
        assert_eq!(
            (sm.packet_lifetime, sm.hoq_life),
            (TimeExponent(exponent), TimeExponent(exponent)),
            "{text}"
        );
    }
    assert_eq!(
        sm("<PacketLifetime>9h</PacketLifetime>").packet_lifetime,
        TimeExponent(31)
    );
    assert_eq!(sm("<HoqLife>infinite</HoqLife>").hoq_life, TimeExponent(19));
    assert_eq!(
        sm("<HoqLife_Int>12</HoqLife_Int>").hoq_life,
        TimeExponent(12)
    );
    assert_eq!(
        TimeExponent(13).duration(),
        Duration::from_nanos(4096 << 13)
    );
}

#[test]
fn values_have_their_units() {
    let sm = sm("<SweepInterval>60</SweepInterval><RespTimeout>0x10</RespTimeout><DbSyncInterval>2</DbSyncInterval>
        <RoutingAlgorithm>FatTree</RoutingAlgorithm>
        <FatTreeTopology><TierCount>2</TierCount><FIsOnSameTier>1</FIsOnSameTier></FatTreeTopology>
        <Multicast><MinCostImprovement>70%</MinCostImprovement>
        <MulticastGroup><MTU>8192</MTU><Rate_Int>16</Rate_Int></MulticastGroup></Multicast>
        <WireDepthOverride>-1</WireDepthOverride><Preemption><PreemptLimit>INF</PreemptLimit></Preemption>");
    assert_eq!(sm.sweep_interval, Duration::from_secs(60));
    assert_eq!(sm.resp_timeout, Duration::from_millis(16));
    assert_eq!(sm.db_sync_interval, Duration::from_secs(120));
    assert_eq!(sm.routing_algorithm, RoutingAlgorithm::FatTree);
    assert_eq!(sm.fat_tree.tier_count, 2);
    assert_eq!(sm.multicast.min_cost_improvement, Percent(70));
    let group = &sm.multicast.multicast_groups[0];
    assert_eq!((group.mtu, group.rate), (Mtu::B8192, Rate::G100));
    assert_eq!(
        (sm.wire_depth_override_bytes, sm.preemption.preempt_limit),
        (-1, 65_280)
    );
}

#[test]
fn sizes_of_core_files() {
    for (text, bytes) in [
        ("10G", 10 << 30),
        ("512M", 512 << 20),
        ("8K", 8 << 10),
        ("100", 100 << 20),
        ("9000", 9000),
    ] {
        let shared = instance(&file(
            [
                &format!("<CoreDumpLimit>{text}</CoreDumpLimit>"),
                "",
                "",
                "",
            ],
            [""; 4],
        ))
        .shared;
        assert_eq!(
            shared.core_dump.core_dump_limit,
            CoreLimit::Bytes(bytes),
            "{text}"
        );
    }
}

#[test]
fn all_findings_come_at_once_with_line_and_path() {
    let text = file(
        [
            "<Priority>16</Priority>",
            "<Lmc>8</Lmc>\n<Sweep>1</Sweep>\n<HoqLife>8</HoqLife>",
            "",
            "",
        ],
        [""; 4],
    );
    let found: Vec<_> = check(&text, "t.xml")
        .findings
        .iter()
        .map(ToString::to_string)
        .collect();
    let expected = [
        "t.xml:3: error: Config/Common/Shared/Priority: 16 is out of range (allowed: 0 to 15)",
        "t.xml:4: error: Config/Common/Sm/Lmc: 8 is out of range (allowed: 0 to 7)",
        "t.xml:5: warning: Config/Common/Sm/Sweep: this element is not known here and is ignored",
        "t.xml:6: error: Config/Common/Sm/HoqLife: `8` has no unit (allowed: a number with ns, us, ms, s, m or h up to 2s, \
         or infinite; rounded up to 4.096 µs times a power of two)",
    ];
    assert_eq!(found, expected);
}

#[test]
fn misspelt_tags_get_a_suggestion() {
    let checked = with_sm("<SweepIntervall>60</SweepIntervall>");
    assert_eq!(checked.findings[0].allowed, "perhaps `SweepInterval`");
    assert_eq!(
        (checked.findings[0].severity, checked.findings[0].rule),
        (Severity::Warning, Rule::UnknownElement)
    );
    assert!(checked.config.is_some());
}

/// Rules violated by the `Sm` section of a file.
fn rules(sm: &str) -> Vec<Rule> {
    with_sm(sm)
        .findings
        .iter()
        .map(|finding| finding.rule)
        .collect()
}

#[test]
fn what_the_vendor_lets_pass_is_an_error() {
    let cases = [
        (
            "<RoutingAlgorithm>foo</RoutingAlgorithm>",
            Rule::StrictRouting,
        ),
        (
            "<RoutingAlgorithm>fattree</RoutingAlgorithm><FatTreeTopology><FIsOnSameTier>1</FIsOnSameTier></FatTreeTopology>",
            Rule::StrictRouting,
        ),
        (
            "<RoutingAlgorithm>fattree</RoutingAlgorithm><FatTreeTopology><TierCount>3</TierCount></FatTreeTopology>",
            Rule::StrictRouting,
        ),
        (
            "<RoutingAlgorithm>dor</RoutingAlgorithm>",
            Rule::StrictRouting,
        ),
        ("<Lmc>8</Lmc>", Rule::StrictRange),
        ("<TrapThreshold>101</TrapThreshold>", Rule::StrictRange),
        (
            "<Multicast><MLIDTableCap>0</MLIDTableCap></Multicast>",
            Rule::StrictRange,
        ),
        (
            "<Multicast><MinCostImprovement>150%</MinCostImprovement></Multicast>",
            Rule::StrictRange,
        ),
        (
            "<Multicast><RootSelectionAlgorithm>foo</RootSelectionAlgorithm></Multicast>",
            Rule::StrictRange,
        ),
    ];
    for (text, rule) in cases {
        assert_eq!(rules(text), [rule], "{text}");
        assert!(with_sm(text).config.is_none(), "{text}");
    }
}

#[test]
fn values_that_are_changed_are_warned_about() {
    let cases = [
        "<LmcE0>1</LmcE0>",
        "<SmaBatchSize>0</SmaBatchSize>",
        "<LftMultiblock>30</LftMultiblock>",
        "<Preemption><SmallPacket>100</SmallPacket></Preemption>",
        "<HoqLife>3s</HoqLife>",
        "<TrapHoldDown>1000</TrapHoldDown>",
        "<IgnoreTraps>2</IgnoreTraps>",
    ];
    for text in cases {
        assert_eq!(rules(text), [Rule::Adjusted], "{text}");
        assert!(with_sm(text).config.is_some(), "{text}");
    }
    assert_eq!(
        rules("<SubnetSize>64001</SubnetSize>"),
        [Rule::Adjusted, Rule::Ignored]
    );
    assert_eq!(
        sm("<SubnetSize>64001</SubnetSize>").startup.subnet_size,
        64_000
    );
    assert_eq!(sm("<LmcE0>1</LmcE0>").lmc_e0, Lmc(0));
    assert!(sm("<TrapHoldDown>1000</TrapHoldDown>").ignore_traps);
}

#[test]
fn groups_must_be_defined_above_their_use() {
    let group = "<DeviceGroups><DeviceGroup><Name>core</Name><Select>All</Select></DeviceGroup></DeviceGroups>";
    let used = "<Shared/><Sm><FatTreeTopology><CoreSwitches>core</CoreSwitches></FatTreeTopology></Sm><Fe/><Pm/>";
    let fm = "<Fm><Shared/><Sm/><Fe/><Pm/></Fm>";
    let above = format!("<Config><Common>{group}{used}</Common>{fm}</Config>");
    let below = format!("<Config><Common>{used}{group}</Common>{fm}</Config>");
    assert!(check(above, "t.xml").config.is_some());
    let checked = check(below, "t.xml");
    assert_eq!(checked.findings.len(), 1);
    assert_eq!(checked.findings[0].rule, Rule::Undefined);
    assert_eq!(
        checked.findings[0].path,
        "Config/Common/Sm/FatTreeTopology/CoreSwitches"
    );
}

#[test]
fn the_last_of_two_counts_with_a_warning() {
    let checked = with_sm("<Lmc>1</Lmc><Lmc>2</Lmc>");
    assert_eq!(checked.findings[0].rule, Rule::Duplicate);
    assert_eq!(checked.config.unwrap().instances[0].sm.lmc, Lmc(2));
}

#[test]
fn json_gives_the_same_configuration_again() {
    let own = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../config/opafm.xml"
    ))
    .unwrap();
    let checked = check(own, "config/opafm.xml");
    assert_eq!(checked.findings, []);
    let config = checked.config.unwrap();
    let json = serde_json::to_string(&config).unwrap();
    assert_eq!(
        serde_json::from_str::<weft_config::Config>(&json).unwrap(),
        config
    );
    assert!(json.contains("\"routing_algorithm\":\"auto\""));
    let again = check(config.effective_xml(), "effective.xml");
    assert_only_ignored(&again);
    assert_eq!(again.config, Some(config));
}

/// Whether nothing was found but values without effect.
fn assert_only_ignored(checked: &weft_config::Checked) {
    let mut found = checked.findings.iter();
    assert!(
        found.all(|one| one.rule == Rule::Ignored),
        "{:?}",
        checked.findings
    );
}

#[test]
fn keys_are_in_neither_findings_nor_the_masked_text() {
    let keyed = with_sm("<SmKey>0x5ec2e70ddba11001</SmKey><MKey>0xfeedfacecafebee5</MKey>");
    let config = keyed.config.unwrap();
    let whole = config.effective_xml();
    let masked = config.effective_xml_without_keys();
    for key in ["5ec2e70ddba11001", "feedfacecafebee5"] {
        assert!(whole.contains(key), "{whole}");
        assert!(!masked.contains(key), "{masked}");
    }
    let again = check(masked, "masked.xml");
    assert_only_ignored(&again);
    assert_eq!(again.config.unwrap().instances[0].sm.mkey, 0);

    for wrong in [
        "0xfeedfacecafebee5f",
        "feedfacecafebee5",
        "-18446744073709551615",
    ] {
        let checked = with_sm(&format!("<MKey>{wrong}</MKey>"));
        let found = checked.errors().next().expect(wrong).to_string();
        assert!(
            found.contains("/MKey: ") && !found.contains(wrong),
            "{found}"
        );
    }
}

#[test]
fn a_value_without_effect_is_told_once_with_its_line_and_reason() {
    let told = |text: &str| {
        let checked = with_sm(text);
        assert!(checked.config.is_some(), "{text}");
        let found = checked.findings.into_iter();
        let found = found.filter(|one| one.rule == Rule::Ignored);
        found
            .map(|one| (one.line, one.path, one.message))
            .collect::<Vec<_>>()
    };
    let found = told("<TerminateAfter>3</TerminateAfter>");
    let [(line, path, message)] = &found[..] else {
        panic!("{found:?}");
    };
    assert!(*line > 0);
    assert_eq!(path, "Config/Common/Sm/TerminateAfter");
    assert!(message.starts_with("no effect here: for development of the vendor's manager"));
    // Values by which Weft acts, those that another finding tells of, and those with an effect.
    for quiet in [
        "<TerminateAfter>0</TerminateAfter>",
        "<SweepAbandonThreshold>5</SweepAbandonThreshold>",
        "<McDosThreshold>10</McDosThreshold>",
        "<TrapThreshold>20</TrapThreshold>",
        "<CheckMftResponses>0</CheckMftResponses>",
        "<LoopbackMode>1</LoopbackMode>",
        "<LongTermPortQuarantine><Enable>0</Enable></LongTermPortQuarantine>",
        "<HoqLife>4ms</HoqLife>",
    ] {
        assert_eq!(told(quiet), [], "{quiet}");
    }
    for loud in [
        "<LoopbackMode>0</LoopbackMode>",
        "<MAI_LogMask>0x1</MAI_LogMask>",
        "<PsThreads>2</PsThreads>",
    ] {
        assert_eq!(told(loud).len(), 1, "{loud}");
    }
}

#[test]
fn priorities_count_in_the_election_but_not_for_the_pm() {
    let text = |shared: &str, pm: &str| {
        format!(
            "<Config><Common><Shared>{shared}</Shared><Sm/><Fe/><Pm>{pm}</Pm></Common>\n\
             <Fm><Shared/><Sm/><Fe/><Pm/></Fm></Config>"
        )
    };
    let priority = "<Priority>8</Priority>";
    assert_eq!(check(text(priority, ""), "t.xml").findings, []);
    let found = check(text("", priority), "t.xml").findings;
    let found: Vec<_> = found.iter().map(|one| (one.rule, &*one.path)).collect();
    assert_eq!(found, [(Rule::Ignored, "Config/Common/Pm/Priority")]);
}

#[test]
fn a_fabric_executive_is_refused_only_where_it_would_run() {
    let text = |shared: &str, fe: &str| {
        format!(
            "<Config><Common><Shared/><Sm/><Fe>{fe}</Fe><Pm/></Common>\n\
             <Fm><Shared>{shared}</Shared><Sm><Start>0</Start></Sm><Fe/><Pm/></Fm></Config>"
        )
    };
    let start = "<Start>1</Start>";
    assert!(check(text("", start), "t.xml").config.is_some());
    assert!(check(text(start, ""), "t.xml").config.is_some());
    let refused = check(text(start, start), "t.xml");
    assert!(refused.config.is_none());
    let errors: Vec<_> = refused.errors().collect();
    assert_eq!(errors[0].rule, Rule::StrictSupport);
    assert_eq!(errors[0].path, "Config/Common/Fe/Start");
    assert!(errors[0].message.contains("gRPC"));
}
