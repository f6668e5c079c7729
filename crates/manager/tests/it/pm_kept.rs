//! Images of several sweeps, put together, kept and read again: what clients are told of a time that the manager's memory
//! does not reach back to.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::pm_common::client::{Answer, FABRIC, ask_with, focus, group, packet, query};
use crate::pm_common::{UNIX_START, Watched};
use proptest::prelude::*;
use weft_emulator::ErrorCounts;
use weft_emulator::io::Control;
use weft_fabric::{Guid, Lid, PKey, PortNum};
use weft_manager::pm::{Composite, Image, ImageName, Kept, PmInput, PmOutput, PmSettings};
use weft_wire::Layout;
use weft_wire::header::status::BUSY;
use weft_wire::header::{MadHeader, class, method};
use weft_wire::pa::*;
use weft_wire::text::Text;

/// Images in memory.
const RECENT: u32 = 3;
/// Sweeps of an image on the disk.
const TOGETHER: u32 = 2;
/// Clock of a client that asks for a time.
const AT_TIME: u64 = u64::MAX;
const DELTA: u32 = 1;

/// A manager with a disk.
struct Kit {
    watched: Watched,
    disk: BTreeMap<ImageName, Vec<u8>>,
    open: Option<Composite>,
    /// Images that were read again.
    read: Vec<ImageName>,
    port: (Guid, Lid, PortNum),
}

impl Kit {
    fn new() -> Self {
        Self::at(UNIX_START)
    }

    /// With a clock that says this at tick 0.
    fn at(start: u64) -> Self {
        let settings = PmSettings {
            total_images: RECENT,
            frozen_images: 2,
            lease: Duration::from_secs(25),
            ..PmSettings::default()
        };
        let mut watched = Watched::new(FABRIC, settings);
        let unix_s = start + watched.now.0 / 1_000_000_000;
        watched.tell(PmInput::WallClock { unix_s });
        let mut kit = Self {
            watched,
            disk: BTreeMap::new(),
            open: None,
            read: Vec::new(),
            port: Default::default(),
        };
        let image = kit.sweep(0);
        let switch = image.roster.members.iter().find(|member| member.is_switch);
        let switch = switch.unwrap();
        kit.port = (switch.guid, switch.lid, PortNum(1));
        kit
    }

    /// A sweep that finds so many more packets dropped at a port.
    fn sweep(&mut self, discards: u64) -> Arc<Image> {
        if discards > 0 {
            self.watched.control(Control::CountErrors {
                node: self.port.0,
                port: self.port.2,
                errors: ErrorCounts {
                    discards,
                    ..ErrorCounts::default()
                },
            });
        }
        let image = self.watched.sweep();
        match &mut self.open {
            Some(open) => open.add(&image),
            None => self.open = Some(Composite::new(&image)),
        }
        if let Some(whole) = self.open.take_if(|open| open.images() == TOGETHER) {
            let whole = whole.finish();
            self.disk.insert(whole.name(), whole.to_bytes());
            self.tell(vec![whole.kept().unwrap()]);
        }
        image
    }

    fn tell(&mut self, kept: Vec<Kept>) {
        self.watched.tell(PmInput::Kept(kept));
    }

    fn ask(&mut self, method: u8, attribute: u16, data: &impl Layout) -> Answer {
        let (disk, read) = (&self.disk, &mut self.read);
        let now = self.watched.now;
        let data = data.to_bytes();
        let what = (method, attribute);
        ask_with(&mut self.watched.pm, now, what, &data, &mut |name| {
            read.push(name);
            let image = Image::from_bytes(disk.get(&name)?).unwrap();
            Some(Arc::new(image))
        })
    }

    fn info(&mut self, id: &ImageId) -> ImageInfo {
        self.ask(method::GET_TABLE, attribute::IMAGE_INFO, id).one()
    }

    fn set(&mut self, attribute: u16, data: &impl Layout) -> Answer {
        self.ask(method::SET, attribute, data)
    }

    fn counters(&mut self, id: &ImageId, flags: u32) -> PortCounters {
        let (_, lid, port) = self.port;
        let query = PortCounters {
            node_lid: lid,
            port_number: port,
            flags,
            image_id: *id,
            ..PortCounters::default()
        };
        let answer = self.ask(method::GET, attribute::PORT_COUNTERS, &query);
        assert_eq!(answer.status, 0);
        PortCounters::decode(&answer.records[0]).unwrap()
    }
}

fn at(time: u64) -> ImageId {
    ImageId {
        image_number: AT_TIME,
        image_time: time as u32,
        ..ImageId::default()
    }
}

fn after(id: &ImageId, offset: i32) -> ImageId {
    ImageId {
        image_offset: offset as u32,
        ..*id
    }
}

/// Sweeps 1 to 8 with as many packets dropped as the sweep's number, in images of two; 6 to 8 are in memory.
fn eight() -> (Kit, Vec<Arc<Image>>) {
    let mut kit = Kit::new();
    for number in 2..=8 {
        kit.sweep(number);
    }
    let images = kit.watched.images.clone();
    (kit, images)
}

#[test]
fn a_time_of_the_past_is_answered_from_the_disk() {
    let (mut kit, images) = eight();
    // Of sweeps 3 and 4: the counters of the third, the counts of both.
    let third = images[2].unix_time;
    for time in [third, third + 19] {
        let info = kit.info(&at(time));
        assert_eq!(info.sweep_start, third);
        assert_eq!((info.image_interval, info.num_hfi_ports), (20, 32));
        assert_eq!(info.num_switch_ports, images[2].roster.switch_ports);
        assert_eq!(info.sm_info, images[2].roster.sm_records);
        let counters = kit.counters(&at(time), 0);
        assert_eq!(counters.port_xmit_discards, 2 + 3);
        let counted = kit.counters(&at(time), DELTA);
        assert_eq!((counted.port_xmit_discards, counted.flags), (3 + 4, DELTA));
        assert_eq!(counted.image_id, info.image_id);
    }
    assert_eq!(kit.read.len(), 1, "what was read stays for a while");
    // Of what is in memory, nothing is read.
    let seventh = kit.counters(&at(images[6].unix_time), DELTA);
    assert_eq!((seventh.port_xmit_discards, kit.read.len()), (7, 1));
    let too_early = kit.ask(method::GET_TABLE, attribute::IMAGE_INFO, &at(third - 21));
    assert_eq!(too_early.status, status::NO_IMAGE);
    // The answer's number is as good as the time, also once it has been let go.
    let id = kit.info(&at(third)).image_id;
    for _ in 0..4 {
        kit.sweep(0);
    }
    assert_eq!(kit.counters(&id, DELTA).port_xmit_discards, 7);
    assert_eq!(kit.read.len(), 2);
}

#[test]
fn steps_lead_from_memory_to_the_disk_and_back() {
    let (mut kit, images) = eight();
    let start = |index: usize| images[index].unix_time;
    // Sweeps 8, 7, 6, then 5 and 6 together, 3 and 4, 1 and 2.
    let starts = [start(7), start(6), start(5), start(4), start(2), start(0)];
    let live = kit.info(&ImageId::default()).image_id;
    for (back, expected) in starts.iter().enumerate() {
        let info = kit.info(&after(&ImageId::default(), -(back as i32)));
        assert_eq!(info.sweep_start, *expected, "{back} back");
        assert_eq!(kit.info(&after(&live, -(back as i32))), info);
        for (other, there) in starts.iter().enumerate() {
            let step = back as i32 - other as i32;
            let stepped = kit.info(&after(&info.image_id, step));
            assert_eq!(stepped.sweep_start, *there, "from {back} by {step}");
        }
    }
    let beyond = after(&ImageId::default(), -6);
    let beyond = kit.ask(method::GET_TABLE, attribute::IMAGE_INFO, &beyond);
    assert_eq!(beyond.status, status::NO_IMAGE);
    // A sweep that has left memory is found in the image that it is a part of.
    let eighth = live;
    for _ in 0..4 {
        kit.sweep(0);
    }
    let info = kit.info(&eighth);
    assert_eq!((info.sweep_start, info.image_interval), (start(6), 20));
}

#[test]
fn held_images_of_the_disk_move_and_are_let_go() {
    let (mut kit, images) = eight();
    let third = images[2].unix_time;
    let held: ImageId = kit.set(attribute::FREEZE_IMAGE, &at(third)).one();
    assert_eq!(u64::from(held.image_time), third);
    kit.disk.clear();
    for _ in 0..6 {
        kit.sweep(0);
        assert_eq!(kit.set(attribute::RENEW_IMAGE, &held).status, 0);
    }
    assert_eq!(kit.counters(&held, DELTA).port_xmit_discards, 7);
    // Back by one: sweeps 1 and 2 have gone from the disk, which the manager learns as it reads.
    let back = MoveFreeze {
        old_freeze_image: held,
        new_freeze_image: after(&held, -1),
    };
    assert_eq!(
        kit.set(attribute::MOVE_FREEZE, &back).status,
        status::NO_IMAGE
    );
    assert_eq!(kit.set(attribute::RENEW_IMAGE, &held).status, 0);
    let live = MoveFreeze {
        old_freeze_image: held,
        new_freeze_image: ImageId::default(),
    };
    let moved: MoveFreeze = kit.set(attribute::MOVE_FREEZE, &live).one();
    assert_ne!(moved.new_freeze_image, held);
    let released = kit.set(attribute::RELEASE_IMAGE, &moved.new_freeze_image);
    assert_eq!(released.status, 0);
    assert_eq!(
        kit.set(attribute::RENEW_IMAGE, &held).status,
        status::NO_IMAGE
    );
}

#[test]
fn what_an_earlier_manager_kept_is_there_after_a_restart() {
    let (mut old, images) = eight();
    let id = old.info(&at(images[2].unix_time)).image_id;
    // An hour later.
    let mut new = Kit::at(UNIX_START + 3_600);
    let live = new.sweep(0);
    assert_ne!(live.run, images[0].run);
    new.disk = std::mem::take(&mut old.disk);
    let kept = new.disk.values();
    let kept = kept.map(|bytes| Image::from_bytes(bytes).unwrap().kept().unwrap());
    let kept: Vec<Kept> = kept.collect();
    new.tell(kept.clone());
    for asked in [id, at(images[3].unix_time)] {
        assert_eq!(new.info(&asked).sweep_start, images[2].unix_time);
        assert_eq!(new.counters(&asked, DELTA).port_xmit_discards, 7);
    }
    // One step back from the first sweep is what the earlier manager kept last.
    let first = new.watched.images.len() as i32 - 1;
    let before = new.info(&after(&ImageId::default(), -first - 1));
    assert_eq!(before.sweep_start, images[6].unix_time);
    let gone: Vec<ImageName> = kept.iter().map(|kept| kept.name).collect();
    new.watched.tell(PmInput::Removed(gone));
    let answer = new.ask(method::GET_TABLE, attribute::IMAGE_INFO, &id);
    assert_eq!(answer.status, status::NO_IMAGE);
}

#[test]
fn queries_that_wait_are_bounded_and_need_one_reading() {
    let (mut kit, images) = eight();
    let (_, lid, port) = kit.port;
    let question = PortCounters {
        node_lid: lid,
        port_number: port,
        image_id: at(images[2].unix_time),
        ..PortCounters::default()
    };
    let polled =
        |kit: &mut Kit| -> Vec<PmOutput> { std::iter::from_fn(|| kit.watched.pm.poll()).collect() };
    let mut outputs = polled(&mut kit);
    outputs.clear();
    for client in 0..65u64 {
        let mut mad = query(method::GET, attribute::PORT_COUNTERS, &question.to_bytes());
        mad[8..16].copy_from_slice(&client.to_be_bytes());
        kit.watched
            .tell(PmInput::Received(packet(PKey::MGMT_FULL, mad)));
        outputs.extend(polled(&mut kit));
    }
    let name = outputs.iter().find_map(|output| match output {
        PmOutput::Recall(name) => Some(*name),
        _ => None,
    });
    let name = name.unwrap();
    // One question to the disk, and one client that is told to come again.
    assert_eq!(outputs.len(), 2, "{outputs:?}");
    assert_eq!(statuses(&outputs), [BUSY]);
    // Where the disk has too much to read all are, and the next one asks again.
    kit.watched.tell(PmInput::RecallRefused(name));
    assert_eq!(statuses(&polled(&mut kit)), [BUSY; 64]);
    for client in 0..64u64 {
        let mut mad = query(method::GET, attribute::PORT_COUNTERS, &question.to_bytes());
        mad[8..16].copy_from_slice(&(100 + client).to_be_bytes());
        kit.watched
            .tell(PmInput::Received(packet(PKey::MGMT_FULL, mad)));
    }
    let again = polled(&mut kit);
    assert!(
        matches!(again[..], [PmOutput::Recall(of)] if of == name),
        "{again:?}"
    );
    let image = Image::from_bytes(&kit.disk[&name]).unwrap();
    let image = Some(Arc::new(image));
    kit.watched.tell(PmInput::Recalled { name, image });
    assert_eq!(statuses(&polled(&mut kit)), [0; 64]);
    // An answer to a question that nobody asked changes nothing.
    let image = None;
    let name = images[0].name();
    kit.watched.tell(PmInput::Recalled { name, image });
    assert!(polled(&mut kit).is_empty());
}

/// The statuses of answers to clients.
fn statuses(outputs: &[PmOutput]) -> Vec<u16> {
    let answers = outputs.iter().filter_map(|output| match output {
        PmOutput::Send(packet) => MadHeader::decode(&packet.mad).ok(),
        _ => None,
    });
    let answers = answers.filter(|header| header.mgmt_class == class::PA);
    answers.map(|header| header.status).collect()
}

/// Every query about an image.
fn everything(kit: &mut Kit, id: &ImageId) -> Vec<Answer> {
    let of_group = GroupConfigReq {
        image_id: *id,
        ..group("All")
    };
    let of_fabric = VfConfigReq {
        vf_name: Text::new("Default"),
        image_id: *id,
    };
    let ports = FocusPortsReq {
        image_id: *id,
        ..focus("All", select::UTIL_HIGH)
    };
    let links = GroupLinkInfoReq {
        group_name: Text::new("All"),
        image_id: *id,
        ..GroupLinkInfoReq::default()
    };
    let nodes = GroupNodeInfoReq {
        group_name: Text::new("All"),
        image_id: *id,
        ..GroupNodeInfoReq::default()
    };
    let table = method::GET_TABLE;
    let mut answers = vec![
        kit.ask(table, attribute::IMAGE_INFO, id),
        kit.ask(table, attribute::GROUP_LIST2, id),
        kit.ask(table, attribute::VF_LIST2, id),
        kit.ask(table, attribute::GROUP_INFO, &of_group),
        kit.ask(table, attribute::GROUP_CONFIG, &of_group),
        kit.ask(table, attribute::VF_INFO, &of_fabric),
        kit.ask(table, attribute::VF_CONFIG, &of_fabric),
        kit.ask(table, attribute::FOCUS_PORTS, &ports),
        kit.ask(table, attribute::GROUP_LINK_INFO, &links),
        kit.ask(table, attribute::GROUP_NODE_INFO, &nodes),
    ];
    let (_, lid, port) = kit.port;
    for flags in [0, DELTA] {
        let of_port = VfPortCounters {
            node_lid: lid,
            port_number: port,
            flags,
            vf_name: Text::new("Default"),
            image_id: *id,
            ..VfPortCounters::default()
        };
        answers.push(kit.ask(method::GET, attribute::VF_PORT_COUNTERS, &of_port));
    }
    answers
}

#[test]
fn one_sweep_put_together_is_as_the_sweep_itself() {
    let mut kit = Kit::new();
    let image = kit.sweep(7);
    let now = everything(&mut kit, &ImageId::default());
    let alone = Composite::new(&image).finish();
    kit.disk.insert(alone.name(), alone.to_bytes());
    kit.tell(vec![alone.kept().unwrap()]);
    for _ in 0..RECENT {
        kit.watched.sweep();
    }
    let then = everything(&mut kit, &at(image.unix_time));
    assert_eq!(kit.read, [alone.name()]);
    assert_eq!(now.len(), then.len());
    for (index, (now, then)) in now.iter().zip(&then).enumerate() {
        assert_eq!((now.status, then.status), (0, 0), "{index}");
        assert_eq!(now.records.len(), then.records.len());
        for (now, then) in now.records.iter().zip(&then.records) {
            assert_eq!(without_numbers(now), without_numbers(then), "{index}");
        }
    }
}

/// A record without the numbers of images, of which the composite one has another: they stand next to their time.
fn without_numbers(record: &[u8]) -> Vec<u8> {
    let mut record = record.to_vec();
    for at in 0..record.len().saturating_sub(8) {
        // The kind of a number, and the manager that made it.
        let number = u64::from_be_bytes(record[at..at + 8].try_into().unwrap());
        if number >> 56 == 2 << 6 && number >> 32 & 0x00FF_FFFF > 0 && number & 0x7FFF_FF00 == 0 {
            record[at..at + 8].fill(0);
        }
    }
    record
}

fn bytes() -> Vec<u8> {
    let mut kit = Kit::new();
    let image = kit.sweep(7);
    Composite::new(&image).finish().to_bytes()
}

#[test]
fn a_description_that_fills_its_field_is_read_again() {
    let mut bytes = bytes();
    let name = b"\x05edge1";
    let at = bytes
        .windows(name.len())
        .position(|part| part == name)
        .unwrap();
    let mut full = vec![b'x'; 65];
    full[0] = 64;
    bytes.splice(at..at + name.len(), full);
    let image = Image::from_bytes(&bytes).unwrap();
    assert_eq!(image.to_bytes(), bytes);
}

#[test]
fn half_an_image_is_refused() {
    let bytes = bytes();
    assert!(Image::from_bytes(&bytes).is_ok());
    for len in 0..bytes.len() {
        assert!(Image::from_bytes(&bytes[..len]).is_err(), "{len} bytes");
    }
    let mut more = bytes;
    more.push(0);
    assert!(Image::from_bytes(&more).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Bytes that were changed by chance are refused, or are an image that can be asked anything.
    #[test]
    fn no_byte_makes_the_manager_fail(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        thread_local! {
            static GOOD: Vec<u8> = bytes();
        }
        let mut bytes = GOOD.with(Clone::clone);
        for (index, byte) in changes {
            // Most of an image are names and counters; what it is made of stands in the first part.
            let at = index.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(image) = Image::from_bytes(&bytes) {
            let ports = image.roster.ports.len();
            for place in 0..ports {
                image.delta(place);
                image.port(place).map(|port| (port.categories(), port.utilization()));
            }
            for group in 0..3 {
                image.group(group, &PmSettings::default().thresholds);
            }
            prop_assert!(image.kept().is_some());
        }
    }
}
