//! Links that a policy leaves out, ports that report too many errors, and hosts that end groups too often: both
//! managers take the same ones out of use.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use weft_emulator::io::{Control, LinkTrap};
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, PortNum};
use weft_interop::membership::{self, CREATE, JOIN};
use weft_interop::vendor_sm::{SmSettings, VendorSm, turn};
use weft_interop::weftd::Weftd;
use weft_interop::{Fabric, quarantine};
use weft_peers::{VENDOR_SM, program};
use weft_wire::header::method;
use weft_wire::id::Gid;

const PATIENCE: Duration = Duration::from_secs(60);
/// A node sends no more than one trap of a kind in the subnet's timeout, about a second.
const BETWEEN_TRAPS: Duration = Duration::from_millis(1500);
const PAUSE: Duration = Duration::from_millis(200);
/// Two edge switches with two hosts each under two cores.
const TREE: &str = "pgft:2;2,2;1,2;1,1;radix=4";
/// The host that managers and tools run on.
const HOST: &str = "node1";
/// The second edge switch, with a host at its first port and a core at its third.
const EDGE: Guid = Guid(0x0011_7501_0200_0002);
/// That host.
const AT_EDGE: Guid = Guid(0x0011_7501_0100_0003);
const TO_HOST: PortNum = PortNum(1);
const TO_CORE: PortNum = PortNum(3);

/// Both managers, each with the file on a fabric of its own; the first fabric is ours.
struct Managers {
    fabrics: [Fabric; 2],
    _weftd: Weftd,
    _sm: VendorSm,
}

impl Managers {
    /// Starts them on fabrics after `before`.
    fn start(settings: &SmSettings, before: &[Control]) -> Self {
        let fabrics = [(); 2].map(|()| Fabric::start(TREE));
        for fabric in &fabrics {
            before
                .iter()
                .for_each(|control| fabric.control(control.clone()));
        }
        let [weft, vendor] = &fabrics;
        let mut weftd = Weftd::start(weft, HOST, settings);
        let sm = VendorSm::start(vendor, HOST, settings);
        weftd.wait_until_master(PATIENCE);
        sm.swept(1, PATIENCE);
        Self {
            fabrics,
            _weftd: weftd,
            _sm: sm,
        }
    }

    fn control(&self, control: &Control) {
        let fabrics = self.fabrics.iter();
        fabrics.for_each(|fabric| fabric.control(control.clone()));
    }

    /// Waits until the same links are active and just these ports of the edge switch are unused.
    fn leave_out(&self, what: &str, expected: &[PortNum]) {
        let until = Instant::now() + PATIENCE;
        loop {
            let said = self.fabrics.each_ref().map(unused);
            let links = quarantine::compared(&self.fabrics, HOST, 0);
            if links.is_ok() && said.iter().all(|ports| ports == expected) {
                return;
            }
            assert!(Instant::now() < until, "{what}: unused {said:?}, {links:?}");
            std::thread::sleep(PAUSE);
        }
    }
}

/// Ports of the edge switch that carry no data.
fn unused(fabric: &Fabric) -> Vec<PortNum> {
    fabric.inspect(|emulator| {
        let network = emulator.network();
        let mut devices = network.devices();
        let (_, edge) = devices
            .find(|(_, device)| device.info.node_guid == EDGE)
            .unwrap();
        let unused = edge
            .ports()
            .filter(|(_, at)| network.port(*at).info().port_state != PortState::ACTIVE);
        unused.map(|(number, _)| number).collect()
    })
}

/// A link that trains with two of its four lanes.
fn narrow(port: PortNum) -> [Control; 3] {
    let node = EDGE;
    [
        Control::LinkDown { node, port },
        Control::LinkLanes {
            node,
            port,
            lanes: 2,
        },
        Control::LinkUp { node, port },
    ]
}

/// What stands in the stock file, and what is to stand there.
type Changes = &'static [(&'static str, &'static str)];

const ISL_STOCK: &str = "<ISLLinkPolicy>
        <MaxDroppedLanes>1</MaxDroppedLanes>
        <WidthPolicy>
            <Enable>1</Enable>
            <Policy>Supported</Policy>";
const ISL_OFF: &str = "<ISLLinkPolicy>
        <MaxDroppedLanes>1</MaxDroppedLanes>
        <WidthPolicy>
            <Enable>0</Enable>
            <Policy>Supported</Policy>";
const HFI_STOCK: &str = "<HFILinkPolicy>
        <MaxDroppedLanes>1</MaxDroppedLanes>
        <WidthPolicy>
            <Enable>1</Enable>
            <Policy>Supported</Policy>";
const HFI_2X: &str = "<HFILinkPolicy>
        <MaxDroppedLanes>1</MaxDroppedLanes>
        <WidthPolicy>
            <Enable>1</Enable>
            <Policy>2x</Policy>";

#[test]
fn narrow_links_are_left_out_alike() {
    if program(VENDOR_SM).is_none() || program("opasaquery").is_none() {
        return;
    }
    let _turn = turn();
    let before = [narrow(TO_HOST), narrow(TO_CORE)].concat();
    let cases: [(&str, Changes, &[PortNum]); 3] = [
        ("as shipped", &[], &[TO_HOST, TO_CORE]),
        (
            "no policy between switches",
            &[(ISL_STOCK, ISL_OFF)],
            &[TO_HOST],
        ),
        (
            "the widest is asked for with any policy",
            &[(HFI_STOCK, HFI_2X)],
            &[TO_HOST, TO_CORE],
        ),
    ];
    for (what, changes, expected) in cases {
        let settings = SmSettings {
            changes,
            ..SmSettings::default()
        };
        Managers::start(&settings, &before).leave_out(what, expected);
    }
}

#[test]
fn ports_that_report_errors_too_often_are_disabled_alike() {
    if program(VENDOR_SM).is_none() || program("opasaquery").is_none() {
        return;
    }
    let _turn = turn();
    let settings = SmSettings {
        changes: &[
            ("<TrapThreshold>0<", "<TrapThreshold>20<"),
            ("<TrapThresholdMinCount>10<", "<TrapThresholdMinCount>4<"),
        ],
        ..SmSettings::default()
    };
    let managers = Managers::start(&settings, &[]);
    // Three reports are too few.
    for port in [[TO_HOST; 3].as_slice(), &[TO_CORE; 4]].concat() {
        managers.control(&Control::LinkErrors {
            node: EDGE,
            port,
            trap: LinkTrap::Integrity,
        });
        std::thread::sleep(BETWEEN_TRAPS);
    }
    managers.leave_out("traps", &[TO_CORE]);
}

/// `<McDosThreshold>`.
const GROUPS_ENDED: usize = 4;
/// A group of a host's own, of IPv4 over InfiniBand.
const OWN: Gid = Gid {
    prefix: 0xFF12_401B_8001_0000,
    interface: Guid(0x0123),
};

#[test]
fn ports_of_hosts_that_end_groups_too_often_are_disabled_alike() {
    if program(VENDOR_SM).is_none() || program("opasaquery").is_none() {
        return;
    }
    let _turn = turn();
    let settings = SmSettings {
        changes: &[("<McDosThreshold>0<", "<McDosThreshold>4<")],
        ..SmSettings::default()
    };
    let managers = Managers::start(&settings, &[]);
    managers.fabrics.iter().for_each(end_groups);
    managers.leave_out("groups", &[TO_HOST]);
}

/// A host creates a group and ends it, as often as it may not. The vendor's manager disables the port before it answers
/// about the last one.
fn end_groups(fabric: &Fabric) {
    for round in 1..=GROUPS_ENDED {
        let [created, ended] = [(method::SET, CREATE), (method::DELETE, JOIN)]
            .map(|change| membership::ask(fabric, AT_EDGE, OWN, change));
        let is_last = round == GROUPS_ENDED;
        assert_eq!(created, Some(0), "group {round}");
        assert!(
            ended == Some(0) || is_last && ended.is_none(),
            "group {round}: {ended:?}"
        );
    }
}
