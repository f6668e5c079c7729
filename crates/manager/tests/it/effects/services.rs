//! The services beside the subnet manager, with settings of a file, on an emulated fabric.

use std::time::Duration;

use weft_emulator::io::{Control, Faults, Input as ToFabric, Output as FromFabric};
use weft_fabric::{Guid, Lid, Tick};
use weft_manager::cables::{Cables, CablesInput, CablesOutput};
use weft_manager::congestion::{Congestion, CongestionInput, CongestionOutput};
use weft_manager::pm::{Pm, PmInput, PmOutput};
use weft_manager::{ManagerSettings, Sa, SaInput, SaOutput};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method};
use weft_wire::id::{Gid, PKey, Sl};
use weft_wire::pa;
use weft_wire::packet::Packet;
use weft_wire::pm::attribute as pm_attribute;
use weft_wire::sa::{McMemberRecord, PathRecord, attribute};

use super::case::{Case, Scene};
use super::fabric::{served, world};
use crate::common::World;
use crate::pm_common::client as pa_client;
use crate::sa::client::{Ask, Served};
use crate::sa::registered::{CREATE, JOIN, ask as ask_group, membership};

const PREFIX: u64 = 0xFE80_0000_0000_0000;
/// Components of a PathRecord.
const SERVICE: u64 = 3;
const DGID: u64 = 1 << 2;
const SGID: u64 = 1 << 3;
/// Components of an McMemberRecord: MTU and its selector.
const MTU: u64 = 3 << 8;

/// The group of the file, where it has one.
const CONFIGURED: Gid = Gid {
    prefix: 0xFF12_401B_FFFF_0000,
    interface: Guid(0xFFFF_FFFF),
};

fn gid(interface: Guid) -> Gid {
    Gid {
        prefix: PREFIX,
        interface,
    }
}

/// Answers of subnet administration to a fixed list of questions, groups that hosts create among
/// them, and the multicast tables that follow.
pub(super) fn answers(case: &Case, settings: &ManagerSettings) -> String {
    let world = world(case, settings);
    let mut served = served(&world, settings);
    let mut said = joins(&mut served);
    said.extend(paths(&mut served));
    for attribute in [
        attribute::CLASS_PORT_INFO,
        attribute::NODE_RECORD,
        attribute::P_KEY_TABLE_RECORD,
        attribute::MC_MEMBER_RECORD,
        attribute::SERVICE_RECORD,
        attribute::SM_INFO_RECORD,
        attribute::VF_INFO_RECORD,
    ] {
        let method = match attribute {
            attribute::CLASS_PORT_INFO => method::GET,
            _ => method::GET_TABLE,
        };
        let reply = served.ask(&Ask::new(method, attribute));
        said.push((reply.status, reply.data));
    }
    let multicast = &world.manager.snapshot().multicast;
    format!("{said:?} {multicast:?} {}", is_silent_if_busy(settings))
}

/// Whether an administration that knows no fabric yet does not answer.
fn is_silent_if_busy(settings: &ManagerSettings) -> bool {
    let mut sa = Sa::new(settings.sa.clone());
    let request = Ask {
        lid: Lid(5),
        ..Ask::new(method::GET, attribute::CLASS_PORT_INFO)
    };
    sa.handle(Tick(0), SaInput::Received(request.packet(1)));
    let mut outputs = std::iter::from_fn(|| sa.poll());
    !outputs.any(|output| matches!(output, SaOutput::Send(_)))
}

fn ports(served: &Served) -> Vec<Guid> {
    let hfis = served.snapshot.topology.hfis();
    hfis.map(|(_, node)| node.info.port_guid).collect()
}

/// Hosts create groups and join them: of IPv6's neighbours, of an application, larger than allowed.
pub(super) fn joins(served: &mut Served) -> Vec<(u16, Vec<u8>)> {
    let ports = ports(served);
    let port = |number: usize| ports[number % ports.len()];
    let mut said = Vec::new();
    let mut ask = |served: &mut Served, mask: u64, record: &McMemberRecord| {
        let reply = served.ask(&ask_group(method::SET, mask, record));
        said.push((reply.status, reply.data));
    };
    for (number, port) in (0_u64..).zip(&ports) {
        let solicited = McMemberRecord {
            mgid: Gid {
                prefix: 0xFF12_601B_8001_0000,
                interface: Guid(0x1_FF00_0000 + number),
            },
            ..membership(gid(*port))
        };
        ask(served, CREATE, &solicited);
    }
    ask(served, CREATE, &membership(gid(port(0))));
    ask(served, JOIN, &membership(gid(port(5))));
    let configured = McMemberRecord {
        mgid: CONFIGURED,
        ..membership(gid(port(0)))
    };
    ask(served, JOIN, &configured);
    let other_key = McMemberRecord {
        mgid: Gid {
            prefix: 0xFF12_601B_8005_0000,
            interface: Guid(0x1_FF00_0009),
        },
        p_key: PKey(0x8005),
        ..membership(gid(port(1)))
    };
    ask(served, CREATE, &other_key);
    let large = McMemberRecord {
        mgid: Gid {
            prefix: 0xFF15_A01B_8001_0000,
            interface: Guid(0x77),
        },
        mtu_selector: 2,
        mtu: weft_wire::enums::Mtu(7),
        ..membership(gid(port(2)))
    };
    ask(served, CREATE | MTU, &large);
    said
}

/// A host creates a group and leaves it as its last member.
pub(super) fn create_and_leave(served: &mut Served, host: usize) {
    let record = McMemberRecord {
        mgid: Gid {
            prefix: 0xFF12_A01B_FE80_0000,
            interface: Guid(0x99),
        },
        ..membership(gid(ports(served)[host]))
    };
    for (method, mask) in [(method::SET, CREATE), (method::DELETE, JOIN)] {
        let reply = served.ask(&ask_group(method, mask, &record));
        assert_eq!(reply.status, weft_wire::header::status::OK);
    }
}

fn paths(served: &mut Served) -> Vec<(u16, Vec<u8>)> {
    let ports = ports(served);
    let mut said = Vec::new();
    let mut ask = |served: &mut Served, method: u8, mask: u64, record: &PathRecord| {
        let reply = served.ask(&Ask {
            ib: true,
            ..Ask::new(method, attribute::PATH_RECORD).with(mask, record)
        });
        said.push((reply.status, reply.data));
    };
    let between = |from: usize, to: usize, service_id: u64| PathRecord {
        service_id,
        sgid: gid(ports[from]),
        dgid: gid(ports[to]),
        sl: Sl(0),
        ..PathRecord::default()
    };
    for to in 0..ports.len() {
        ask(served, method::GET_TABLE, SGID | DGID, &between(0, to, 0));
        for service in [7, 0x1234, 0x1000_0000_0000_0001] {
            ask(
                served,
                method::GET_TABLE,
                SGID | DGID | SERVICE,
                &between(1, to, service),
            );
        }
    }
    ask(served, method::GET_TABLE, DGID, &between(0, 1, 0));
    let to_group = PathRecord {
        dgid: CONFIGURED,
        ..between(0, 1, 0)
    };
    ask(served, method::GET, SGID | DGID, &to_group);
    said
}

/// A core beside the subnet manager.
trait Core {
    fn tick(&mut self, now: Tick);
    fn received(&mut self, now: Tick, packet: Packet);
    /// Datagrams to send now.
    fn send(&mut self) -> Vec<Packet>;
    fn due(&self) -> Option<Tick>;
}

impl Core for Congestion {
    fn tick(&mut self, now: Tick) {
        self.handle(now, CongestionInput::Tick);
    }
    fn received(&mut self, now: Tick, packet: Packet) {
        self.handle(now, CongestionInput::Received(packet));
    }
    fn send(&mut self) -> Vec<Packet> {
        let outputs = std::iter::from_fn(|| self.poll());
        let sent = outputs.filter_map(|output| match output {
            CongestionOutput::Send(packet) => Some(packet),
            _ => None,
        });
        sent.collect()
    }
    fn due(&self) -> Option<Tick> {
        self.deadline()
    }
}

impl Core for Cables {
    fn tick(&mut self, now: Tick) {
        self.handle(now, CablesInput::Tick);
    }
    fn received(&mut self, now: Tick, packet: Packet) {
        self.handle(now, CablesInput::Received(packet));
    }
    fn send(&mut self) -> Vec<Packet> {
        let outputs = std::iter::from_fn(|| self.poll());
        let sent = outputs.filter_map(|output| match output {
            CablesOutput::Send(packet) => Some(packet),
            CablesOutput::Memories(_) => None,
        });
        sent.collect()
    }
    fn due(&self) -> Option<Tick> {
        self.deadline()
    }
}

/// Lets a core work on a fabric; the datagrams that it sends, with their times. `tamper` may change
/// what it receives.
fn run(
    world: &mut World,
    core: &mut impl Core,
    seconds: u64,
    tamper: impl Fn(Tick, &mut Packet),
) -> Vec<(Tick, Vec<u8>)> {
    let until = world.now + Duration::from_secs(seconds);
    let (node, port) = world.own;
    let mut sent = Vec::new();
    loop {
        let mut moved = true;
        while std::mem::take(&mut moved) {
            for packet in core.send() {
                moved = true;
                let mut plain = packet.mad.clone();
                plain[8..16].fill(0);
                sent.push((world.now, plain));
                let send = ToFabric::Send { node, port, packet };
                world.emulator.handle(world.now, send).unwrap();
            }
            while let Some(output) = world.emulator.poll() {
                let FromFabric::Deliver {
                    node: to,
                    mut packet,
                    ..
                } = output;
                if to == node {
                    moved = true;
                    tamper(world.now, &mut packet);
                    core.received(world.now, packet);
                }
            }
        }
        let due = [core.due(), world.emulator.deadline()];
        let Some(next) = due
            .into_iter()
            .flatten()
            .min()
            .filter(|next| *next <= until)
        else {
            world.now = until;
            return sent;
        };
        world.now = world.now.max(next);
        world.emulator.handle(world.now, ToFabric::Tick).unwrap();
        if core.due().is_some_and(|due| due <= world.now) {
            core.tick(world.now);
        }
    }
}

/// What is written for congestion control.
pub(super) fn congestion(case: &Case, settings: &ManagerSettings) -> String {
    let mut world = world(case, settings);
    let mut core = Congestion::new(settings.congestion.clone());
    let snapshot = world.manager.snapshot();
    core.handle(world.now, CongestionInput::Published(snapshot));
    format!("{:?}", run(&mut world, &mut core, 5, |_, _| {}))
}

/// The cable memories that are read.
pub(super) fn cables(case: &Case, settings: &ManagerSettings) -> String {
    let mut world = world(case, settings);
    let mut core = Cables::new(settings.cables);
    let snapshot = world.manager.snapshot();
    core.handle(world.now, CablesInput::Published(snapshot));
    format!("{:?}", run(&mut world, &mut core, 5, |_, _| {}))
}

/// A performance manager that notes its images and events.
struct Watching {
    pm: Pm,
    noted: Vec<String>,
}

impl Core for Watching {
    fn tick(&mut self, now: Tick) {
        self.pm.handle(now, PmInput::Tick);
    }
    fn received(&mut self, now: Tick, packet: Packet) {
        self.pm.handle(now, PmInput::Received(packet));
    }
    fn send(&mut self) -> Vec<Packet> {
        let mut sent = Vec::new();
        while let Some(output) = self.pm.poll() {
            match output {
                PmOutput::Send(packet) => sent.push(packet),
                PmOutput::Event(event) => self.noted.push(format!("{event:?}")),
                PmOutput::Image(_) | PmOutput::Recall(_) | PmOutput::Cleared(_) => {}
            }
        }
        sent
    }
    fn due(&self) -> Option<Tick> {
        self.pm.deadline()
    }
}

/// Place of the counters in an answer of an agent, and theirs in it.
const COUNTERS_AT: usize = 24;
const WIDE: std::ops::Range<usize> = 8..200;
const NARROW: std::ops::Range<usize> = 200..208;
const UNCORRECTABLE: usize = 208;
const QUALITY: usize = 209;
const LANES: std::ops::RangeFrom<usize> = 216..;

/// Makes every counter of a host grow: those of 64 bits by 2,000 a second, of 32 bits by
/// 500; the quality of its link is bad, and two lanes are lost.
fn make_bad(now: Tick, packet: &mut Packet) {
    let header = MadHeader::decode(&packet.mad).unwrap();
    if header.mgmt_class != class::PERF || header.attribute_id != pm_attribute::PORT_STATUS {
        return;
    }
    let counters = &mut packet.mad[COUNTERS_AT..];
    let seconds = now.0 / 1_000_000_000;
    for wide in counters[WIDE].chunks_exact_mut(8) {
        wide.copy_from_slice(&(seconds * 2_000).to_be_bytes());
    }
    for narrow in counters[NARROW].chunks_exact_mut(4) {
        narrow.copy_from_slice(&(seconds as u32 * 500).to_be_bytes());
    }
    counters[UNCORRECTABLE] = (seconds * 3 % 256) as u8;
    counters[QUALITY] = 2 << 4 | 1;
    for wide in counters[LANES].chunks_exact_mut(8) {
        wide.copy_from_slice(&(seconds * 2_000).to_be_bytes());
    }
}

fn watched(case: &Case, settings: &ManagerSettings) -> (Watching, World, Vec<(Tick, Vec<u8>)>) {
    let mut world = world(case, settings);
    if case.scene == Scene::Lossy {
        world.control(Control::Faults(Faults {
            loss: 0.4,
            ..Faults::default()
        }));
    }
    let mut core = Watching {
        pm: Pm::new(settings.pm.clone().unwrap()),
        noted: Vec::new(),
    };
    core.pm.handle(
        world.now,
        PmInput::WallClock {
            unix_s: 1_700_000_000,
        },
    );
    let snapshot = world.manager.snapshot();
    core.pm.handle(world.now, PmInput::Published(snapshot));
    let sent = run(&mut world, &mut core, 125, make_bad);
    (core, world, sent)
}

/// The datagrams of the performance manager, with their times.
pub(super) fn reads(case: &Case, settings: &ManagerSettings) -> String {
    let (_, _, sent) = watched(case, settings);
    format!("{sent:?}")
}

/// Events of the performance manager, and answers of its administration other than its settings.
pub(super) fn images(case: &Case, settings: &ManagerSettings) -> String {
    let (mut core, mut world, _) = watched(case, settings);
    let mut said = core.noted.clone();
    let now = world.now;
    let mut ask = |method: u8, attribute: u16, data: &[u8]| {
        let answer = pa_client::ask(&mut core.pm, now, method, attribute, data);
        said.push(format!(
            "{attribute:#x}: {:?}",
            (answer.status, answer.records)
        ));
    };
    let image = pa::ImageId::default().to_bytes();
    ask(method::GET_TABLE, pa::attribute::GROUP_LIST, &[]);
    ask(method::GET_TABLE, pa::attribute::VF_LIST, &[]);
    for name in ["All", "HFIs", "mine"] {
        let group = pa_client::group(name).to_bytes();
        ask(method::GET_TABLE, pa::attribute::GROUP_INFO, &group);
        ask(method::GET_TABLE, pa::attribute::GROUP_CONFIG, &group);
    }
    for select in [0x0002_0001, 0x0002_0101, 0x0002_0102] {
        let focus = pa_client::focus("All", select).to_bytes();
        ask(method::GET_TABLE, pa::attribute::FOCUS_PORTS, &focus);
    }
    ask(method::GET_TABLE, pa::attribute::IMAGE_INFO, &image);
    let earlier = |images: i32| pa::ImageId {
        image_offset: -images as u32,
        ..pa::ImageId::default()
    };
    for images in 0..12 {
        let image = earlier(images).to_bytes();
        ask(method::GET_TABLE, pa::attribute::IMAGE_INFO, &image);
    }
    // As many clients hold an image each; three minutes later only some may still hold theirs.
    let mut held = Vec::new();
    for images in 0..7 {
        let image = earlier(images).to_bytes();
        let set = method::SET;
        let answer = pa_client::ask(&mut core.pm, now, set, pa::attribute::FREEZE_IMAGE, &image);
        said.push(format!("{:?}", (answer.status, &answer.records)));
        held.extend(answer.records.into_iter().next());
    }
    run(&mut world, &mut core, 180, make_bad);
    for image in held {
        let get = method::GET_TABLE;
        let attribute = pa::attribute::IMAGE_INFO;
        let answer = pa_client::ask(&mut core.pm, world.now, get, attribute, &image);
        said.push(format!("{:?}", (answer.status, answer.records)));
    }
    said.join("\n")
}

/// The settings that performance administration tells.
pub(super) fn settings(case: &Case, settings: &ManagerSettings) -> String {
    let (mut core, world, _) = watched(case, settings);
    let answer = pa_client::ask(
        &mut core.pm,
        world.now,
        method::GET,
        pa::attribute::PM_CONFIG,
        &[],
    );
    format!("{:?}", answer.records)
}
