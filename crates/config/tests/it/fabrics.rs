//! Virtual fabrics as the managers use them, and the ports that are in them.

#![allow(clippy::unwrap_used)]

use weft_config::vf::MANAGEMENT;
use weft_config::{
    Config, DeviceGroups, Instance, Membership, Mgid, NodeFacts, NodeType, ResolvedFabrics, check,
};
use weft_wire::id::{Guid, PKey, PortNum, Sl};

fn own() -> String {
    std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../config/opafm.xml"
    ))
    .unwrap()
}

/// Our own file with elements put before the end of the first section of their kind.
fn with(insertions: &[(&str, &str)]) -> String {
    insertions.iter().fold(own(), |text, (section, insert)| {
        let end = format!("</{section}>");
        text.replacen(&end, &format!("{insert}{end}"), 1)
    })
}

fn config(text: &str) -> Config {
    let checked = check(text, "t.xml");
    let found: Vec<_> = checked.findings.iter().map(ToString::to_string).collect();
    checked.config.unwrap_or_else(|| panic!("{found:?}"))
}

fn resolved(fabrics: &str) -> ResolvedFabrics {
    config(&with(&[("VirtualFabrics", fabrics)])).instances[0]
        .resolve_fabrics()
        .unwrap()
}

fn errors(insertions: &[(&str, &str)]) -> Vec<String> {
    check(with(insertions), "t.xml")
        .errors()
        .map(|finding| finding.message.clone())
        .collect()
}

fn host() -> NodeFacts<'static> {
    NodeFacts {
        node_guid: Guid(0x11),
        port_guid: Guid(0x12),
        system_image_guid: Guid(0x13),
        node_desc: "node07 hfi1_0",
        node_type: NodeType::Fi,
        port: PortNum(1),
        is_self: false,
        is_enhanced_port0: false,
        is_hfi_direct_connect: false,
        has_device_management: false,
        is_mgmt_allowed: false,
    }
}

#[test]
fn the_default_fabrics_give_each_port_its_keys() {
    let config = config(&own());
    let Instance { device_groups, .. } = &config.instances[0];
    let fabrics = config.instances[0].resolve_fabrics().unwrap();
    let keys = |facts: &NodeFacts<'_>| fabrics.pkeys(device_groups, facts);
    assert_eq!(keys(&host()), [PKey(0x8001), PKey(0x7fff)]);
    assert_eq!(
        keys(&NodeFacts {
            is_mgmt_allowed: true,
            ..host()
        }),
        [PKey(0x8001), PKey(0xffff)]
    );
    let switch = NodeFacts {
        node_type: NodeType::Sw,
        is_enhanced_port0: true,
        port: PortNum(0),
        ..host()
    };
    assert_eq!(keys(&switch), [PKey(0x8001), PKey(0xffff)]);
    let admin = fabrics.get("Admin").unwrap();
    assert_eq!((admin.partition, admin.sl), (MANAGEMENT, Sl(0)));
    assert_eq!(
        admin.membership(device_groups, &host()),
        Membership::Limited
    );
    assert!(admin.applications.sa && admin.applications.pm && admin.applications.has_pa());
    assert_eq!(fabrics.qos.len(), 1);
    assert_eq!(fabrics.qos[0].bandwidth.0, 100);
}

#[test]
fn the_default_fabric_has_the_groups_that_ip_needs() {
    let fabrics = resolved("");
    let groups = &fabrics.get("Default").unwrap().multicast_groups;
    assert_eq!(groups.len(), 1);
    assert_eq!(groups[0].pkey, PKey(0x8001));
    assert!(
        groups[0]
            .mgids
            .contains(&Mgid::new(0xff12_401b_8001_0000, 0xffff_ffff))
    );
    assert!(
        groups[0]
            .mgids
            .contains(&Mgid::new(0xff12_601b_8001_0000, 1))
    );
    assert_eq!(groups[0].mgids.len(), 8);
    assert!(fabrics.get("Admin").unwrap().multicast_groups.is_empty());
}

fn fabric(name: &str, more: &str) -> String {
    format!(
        "<VirtualFabric><Name>{name}</Name><Enable>1</Enable><Member>All</Member>\
         <Application>PSM</Application>{more}</VirtualFabric>"
    )
}

#[test]
fn partitions_are_given_out_once() {
    let secured = "<Security>1</Security>";
    let fabrics = [
        ("a", secured),
        ("b", secured),
        ("c", ""),
        ("d", ""),
        ("e", "<PKey>0x3</PKey>"),
    ];
    let all: String = fabrics
        .iter()
        .map(|(name, more)| fabric(name, more))
        .collect();
    let resolved = resolved(&all);
    let partition = |name: &str| resolved.get(name).unwrap().partition.0;
    assert_eq!(
        [
            partition("a"),
            partition("b"),
            partition("c"),
            partition("d"),
            partition("e")
        ],
        [2, 4, 5, 5, 3]
    );
    assert_eq!(resolved.get("a").unwrap().limited_pkey(), PKey(2));
    assert_eq!(resolved.get("c").unwrap().limited_pkey(), PKey(0x8005));
}

#[test]
fn bandwidth_is_shared_out() {
    let cases: &[(&[&str], &[u8])] = &[
        (&[], &[100]),
        (&["<QOS>1</QOS>"], &[50, 50]),
        (&["<QOS>1</QOS>", "<QOS>1</QOS>"], &[34, 33, 33]),
        (&["<QOS>1</QOS><Bandwidth>70%</Bandwidth>"], &[30, 70]),
        (&["<QOS>1</QOS><Bandwidth>95%</Bandwidth>"], &[5, 95]),
        (
            &["<QOS>1</QOS><Bandwidth>70%</Bandwidth>", "<QOS>1</QOS>"],
            &[15, 70, 15],
        ),
        (&["<QOS>1</QOS><HighPriority>1</HighPriority>"], &[100, 0]),
        (&["<QOS>1</QOS><Standby>1</Standby>"], &[100, 0]),
        (
            &[
                "<QOS>1</QOS><BaseSL>3</BaseSL><Bandwidth>20%</Bandwidth>",
                "<QOS>1</QOS><BaseSL>3</BaseSL><Bandwidth>30%</Bandwidth>",
            ],
            &[50, 50],
        ),
    ];
    for (given, expected) in cases {
        let all: String = given
            .iter()
            .enumerate()
            .map(|(at, more)| fabric(&format!("v{at}"), more))
            .collect();
        let shares: Vec<u8> = resolved(&all)
            .qos
            .iter()
            .map(|qos| qos.bandwidth.0)
            .collect();
        assert_eq!(&shares, expected, "{given:?}");
    }
}

#[test]
fn service_levels_are_given_out_from_the_lowest() {
    let all = fabric("a", "<QOS>1</QOS>")
        + &fabric(
            "b",
            "<QOS>1</QOS><BaseSL>1</BaseSL><MulticastSL>2</MulticastSL>",
        );
    let resolved = resolved(&all);
    let level = |name: &str| {
        (
            resolved.get(name).unwrap().sl,
            resolved.get(name).unwrap().multicast_sl,
        )
    };
    assert_eq!(
        [level("Default"), level("a"), level("b")],
        [(Sl(0), Sl(0)), (Sl(3), Sl(3)), (Sl(1), Sl(2))]
    );
}

#[test]
fn named_groups_hold_fabrics_together() {
    let text = own()
        .replace("<QOS>0</QOS>", "<QOSGroup>low</QOSGroup>")
        .replacen("<VirtualFabrics>", "<QOSGroups><QOSGroup><Name>low</Name><Enable>1</Enable><BaseSL>2</BaseSL></QOSGroup></QOSGroups><VirtualFabrics>", 1);
    let fabrics = config(&text).instances[0].resolve_fabrics().unwrap();
    assert_eq!(fabrics.qos.len(), 1);
    assert_eq!(
        (
            fabrics.qos[0].name.as_deref(),
            fabrics.qos[0].active,
            fabrics.qos[0].bandwidth.0
        ),
        (Some("low"), 2, 100)
    );
    assert!(fabrics.active().all(|fabric| fabric.sl == Sl(2)));
}

#[test]
fn broken_fabrics_are_refused_with_the_reason() {
    let cases: &[(&str, String, &str)] = &[
        (
            "VirtualFabrics",
            fabric("a", "<PKey>0x7fff</PKey>"),
            "without SA, PM or PA",
        ),
        (
            "VirtualFabrics",
            fabric("a", "<Application>SA</Application>"),
            "its PKey must be 0x7fff",
        ),
        (
            "VirtualFabrics",
            fabric("a", "<PKey>0x7fff</PKey><Application>SA</Application>"),
            "only one may",
        ),
        (
            "VirtualFabrics",
            fabric("a", "<Application>Nope</Application>"),
            "no Application `Nope`",
        ),
        (
            "VirtualFabrics",
            fabric("a", "<QOS>1</QOS><Bandwidth>96%</Bandwidth>"),
            "must be left for the others",
        ),
        (
            "VirtualFabrics",
            fabric("a", "<QOS>1</QOS><MulticastSL>2</MulticastSL>"),
            "needs a BaseSL",
        ),
        (
            "VirtualFabrics",
            fabric("a", "<QOS>1</QOS><BaseSL>3</BaseSL>")
                + &fabric(
                    "b",
                    "<QOS>1</QOS><BaseSL>3</BaseSL><HighPriority>1</HighPriority>",
                ),
            "service level 3 is already used",
        ),
        ("VirtualFabrics", fabric("Default", ""), "already defined"),
        (
            "VirtualFabrics",
            fabric("a", "<QOSGroup>q</QOSGroup><PKey>2</PKey>"),
            "no enabled QOSGroup `q`",
        ),
        (
            "VirtualFabrics",
            (0..16)
                .map(|at| fabric(&format!("v{at}"), "<QOS>1</QOS>"))
                .collect(),
            "more groups than the 16 service levels",
        ),
        (
            "Multicast",
            "<MulticastGroup><MGID>0xff12401b80050000:1</MGID><PKey>5</PKey></MulticastGroup>"
                .to_owned(),
            "no enabled VirtualFabric has these groups",
        ),
        (
            "Multicast",
            "<MulticastGroup><PKey>1</PKey></MulticastGroup>".to_owned(),
            "created twice",
        ),
    ];
    for (section, insert, reason) in cases {
        let found = errors(&[(section, insert)]);
        assert!(
            found.iter().any(|message| message.contains(reason)),
            "{reason}: {found:?}"
        );
    }
}

#[test]
fn groups_have_the_ports_that_they_describe() {
    let group =
        |name: &str, lines: &str| format!("<DeviceGroup><Name>{name}</Name>{lines}</DeviceGroup>");
    let all = [
        group("node", "<NodeGUID>0x11</NodeGUID>"),
        group("port", "<PortGUID>0x12</PortGUID>"),
        group("system", "<SystemImageGUID>0x13</SystemImageGUID>"),
        group("other", "<NodeGUID>0x99</NodeGUID>"),
        group("rack", "<NodeDesc>node[01-08] *</NodeDesc>"),
        group("elsewhere", "<NodeDesc>node[08-09] *</NodeDesc>"),
        group("self", "<Select>Self</Select>"),
        group("tfis", "<Select>TFIs</Select>"),
        group(
            "outer",
            "<IncludeGroup>elsewhere</IncludeGroup><IncludeGroup>rack</IncludeGroup>",
        ),
        group("outermost", "<IncludeGroup>outer</IncludeGroup>"),
        group(
            "none",
            "<IncludeGroup>elsewhere</IncludeGroup><IncludeGroup>other</IncludeGroup>",
        ),
    ]
    .concat();
    let config = config(&with(&[("DeviceGroups", &all)]));
    let groups: &DeviceGroups = &config.instances[0].device_groups;
    let expected = [
        ("All", true),
        ("AllFIs", true),
        ("AllSWs", false),
        ("node", true),
        ("port", true),
        ("system", true),
        ("other", false),
        ("rack", true),
        ("elsewhere", false),
        ("self", false),
        ("tfis", false),
        ("outer", true),
        ("outermost", true),
        ("none", false),
        ("not defined", false),
    ];
    let members = groups.membership(&host());
    for (name, inside) in expected {
        assert_eq!(groups.contains(name, &host()), inside, "{name}");
        if let Some(at) = groups.list.iter().position(|group| group.name == name) {
            assert_eq!(members[at], inside, "{name}");
        }
    }
    assert!(groups.contains(
        "self",
        &NodeFacts {
            is_self: true,
            ..host()
        }
    ));
    assert!(groups.contains(
        "tfis",
        &NodeFacts {
            has_device_management: true,
            ..host()
        }
    ));
}
