#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use weft_fabric::{FabricSpec, Node, PortNum, Snapshot, Tick};
use weft_manager::{Sa, SaInput, SaOutput, SaSettings};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method, version};
use weft_wire::id::{Lid, PKey, Sl};
use weft_wire::packet::Packet;
use weft_wire::rmpp::{CLASS_AT, CLASS_LEN, DATA_AT, RMPP_AT, RmppHeader, kind};
use weft_wire::sa::attribute;

use super::*;
use crate::file::{Header, Writer};
use crate::inputs::What;
use crate::replay::{Match, Replay, Step};
use crate::{Chunk, Recorder, Sink};

const EPOCH: Tick = Tick(1_700_000_000_000_000_000);
const KEY: [u8; 16] = *b"a service's key!";
const SM_KEY: [u8; 8] = *b"an SMkey";
/// Of every request.
const TRANSACTION: u64 = 0x0102_0304_0506_0708;

/// The chunks of a file.
type Chunks = Vec<Vec<u8>>;

/// Files, of which the last is the newest, and whether it is full.
#[derive(Debug, Clone, Default)]
struct Files(Arc<Mutex<(Vec<Chunks>, bool)>>);

impl Sink for Files {
    fn take(&mut self, chunk: Chunk) -> bool {
        let mut files = self.0.lock().unwrap();
        files.0.last_mut().unwrap().push(chunk.into_bytes());
        true
    }

    fn is_full(&self) -> bool {
        self.0.lock().unwrap().1
    }

    fn begin_sa(&mut self, with: FrozenSa) -> bool {
        let mut files = self.0.lock().unwrap();
        files.1 = false;
        files.0.push(Vec::new());
        with.write(|chunk| files.0.last_mut().unwrap().push(chunk.to_vec()));
        true
    }
}

impl Files {
    fn chunks(&self, file: usize) -> Vec<Vec<u8>> {
        self.0.lock().unwrap().0[file].clone()
    }

    fn fill(&self) {
        self.0.lock().unwrap().1 = true;
    }
}

/// An administration that knows a fabric.
fn administration() -> Sa {
    administration_of("one-switch:3")
}

fn administration_of(spec: &str) -> Sa {
    let spec: FabricSpec = spec.parse().unwrap();
    let mut sa = Sa::new(SaSettings::default());
    let topology = spec.generate().unwrap().map_nodes(|id, node| {
        let mut node = Node::clone(node);
        let port = PortNum(u8::from(!node.is_switch()));
        node.port_mut(port).unwrap().info.lid = Lid(id.0 + 1);
        Arc::new(node)
    });
    let snapshot = Snapshot {
        generation: 7,
        topology: Arc::new(topology),
        ..Snapshot::default()
    };
    sa.handle(Tick(1), SaInput::Published(Arc::new(snapshot)));
    while sa.poll().is_some() {}
    sa
}

fn request(method: u8, attribute_id: u16, data: &[u8]) -> SaInput {
    let header = MadHeader {
        base_version: version::OPA,
        mgmt_class: class::SUBN_ADM,
        class_version: version::OPA,
        method,
        attribute_id,
        transaction_id: TRANSACTION,
        ..MadHeader::default()
    };
    let mut mad = vec![0; DATA_AT];
    header.encode(&mut mad);
    mad.extend(data);
    SaInput::Received(Packet {
        slid: Lid(9),
        dlid: Lid(1),
        sl: Sl(0),
        pkey: PKey::MGMT_FULL,
        dest_qp: 1,
        src_qp: 1,
        mad,
    })
}

/// Records some requests; returns the files and the answers.
fn recorded() -> (Files, Vec<SaOutput>) {
    let files = Files::default();
    let recorder = Recorder::new(Box::new(files.clone()));
    let mut sa = RecordedSa::new(Tick(2), administration(), Some((recorder, EPOCH)));
    let mut service = [0; 184];
    service[40..56].copy_from_slice(&KEY);
    let mut answers = Vec::new();
    for (second, attribute_id) in (1..).zip([
        attribute::CLASS_PORT_INFO,
        attribute::SERVICE_RECORD,
        attribute::NODE_RECORD,
        attribute::CLASS_PORT_INFO,
    ]) {
        if second == 3 {
            files.fill();
        }
        let now = Tick(second * 1_000_000_000);
        let (method, data) = match attribute_id {
            attribute::SERVICE_RECORD => (method::SET, &service[..]),
            _ => (method::GET, &[0; 184][..]),
        };
        sa.handle(now, request(method, attribute_id, data));
        answers.extend(std::iter::from_fn(|| sa.poll()));
    }
    drop(sa);
    (files, answers)
}

fn replayed(chunks: &[Vec<u8>]) -> Vec<Step> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, &Header::new(0, "a test")).unwrap();
    for chunk in chunks {
        writer.chunk(chunk).unwrap();
    }
    let mut replay = Replay::new(&file[..]).unwrap();
    std::iter::from_fn(|| replay.next().unwrap()).collect()
}

fn sent<'a>(answers: impl IntoIterator<Item = &'a SaOutput>) -> Vec<Packet> {
    let sent = answers.into_iter().filter_map(|answer| match answer {
        SaOutput::Send(packet) => Some(packet.clone()),
        _ => None,
    });
    sent.collect()
}

#[test]
fn answers_are_the_same_in_every_file_of_the_recording() {
    let (files, answers) = recorded();
    let steps: Vec<Step> = [0, 1]
        .iter()
        .flat_map(|file| replayed(&files.chunks(*file)))
        .collect();
    let names: Vec<&str> = steps.iter().map(|step| step.what.name()).collect();
    let (state, received) = ("sa-checkpoint", "sa-received");
    assert_eq!(
        names,
        [state, received, received, state, received, received]
    );
    assert!(steps.iter().all(|step| step.matches == Match::Same));
    assert_eq!(steps[1].at, Tick(EPOCH.0 + 1_000_000_000));
    let again = sent(steps.iter().flat_map(|step| &step.answers));
    assert_eq!(again, sent(&answers));
    assert_eq!(again.len(), 4);
}

#[test]
fn an_answer_that_is_another_is_told_at_its_request_and_after() {
    let (files, _) = recorded();
    let mut chunks = files.chunks(0);
    let request = chunks.last_mut().unwrap();
    let place = request
        .windows(8)
        .position(|bytes| bytes == TRANSACTION.to_be_bytes());
    request[place.unwrap()] ^= 1;
    let matches: Vec<Match> = replayed(&chunks).iter().map(|step| step.matches).collect();
    assert_eq!(matches, [Match::Same, Match::Other, Match::Other]);
}

#[test]
fn keys_of_services_do_not_leave_the_machine() {
    let (files, _) = recorded();
    let steps = replayed(&files.chunks(0));
    let What::Sa(SaWhat::Received(packet)) = &steps[2].what else {
        panic!("it is another input");
    };
    assert_eq!(&packet.mad[DATA_AT + 40..][..4], b"KEY\0");
    let held = |bytes: &[u8]| {
        bytes
            .windows(8)
            .any(|eight| eight == &KEY[..8] || eight == &KEY[8..])
    };
    // The first as requests, the second as state.
    let both = [files.chunks(0), files.chunks(1)];
    assert!(both.iter().all(|chunks| !chunks.is_empty()));
    assert!(!both.iter().flatten().any(|chunk| held(chunk)));
}

/// The first of two segments of a request, with an SM_Key and the key of a service; or the second.
fn segment(number: u32) -> SaInput {
    let mut service = [7; 184];
    service[40..56].copy_from_slice(&KEY);
    let (first, last) = service.split_at(100);
    let (data, payload_len) = match number {
        1 => (first, 2 * CLASS_LEN + service.len()),
        _ => (last, CLASS_LEN + last.len()),
    };
    let rmpp = RmppHeader {
        rmpp_version: 1,
        rmpp_type: kind::DATA,
        active: true,
        first: number == 1,
        last: number == 2,
        segment_num: number,
        payload_len: payload_len as u32,
        ..RmppHeader::default()
    };
    let SaInput::Received(mut packet) = request(method::SET, attribute::SERVICE_RECORD, data)
    else {
        unreachable!("a request is a datagram");
    };
    rmpp.encode(&mut packet.mad[RMPP_AT..]);
    packet.mad[CLASS_AT..CLASS_AT + 8].copy_from_slice(&SM_KEY);
    packet.mad[8..16].copy_from_slice(&(TRANSACTION + 1).to_be_bytes());
    SaInput::Received(packet)
}

#[test]
fn keys_of_what_is_under_way_in_segments_as_a_file_begins_do_not_leave_the_machine() {
    let files = Files::default();
    let recorder = Recorder::new(Box::new(files.clone()));
    let sa = administration_of("one-switch:32");
    let mut sa = RecordedSa::new(Tick(2), sa, Some((recorder, EPOCH)));
    let mut answers = Vec::new();
    let table = request(method::GET_TABLE, attribute::NODE_RECORD, &[0; 128]);
    for (second, input) in (1..).zip([table, segment(1), segment(2)]) {
        // Both are under way.
        if second == 3 {
            assert_eq!(sa.registered().transfers, 1);
            files.fill();
        }
        sa.handle(Tick(2 + second * 1_000), input);
        answers.extend(std::iter::from_fn(|| sa.poll()));
    }
    drop(sa);
    let held = |bytes: &[u8]| {
        let keys = [&SM_KEY[..], &KEY[..8], &KEY[8..]];
        bytes.windows(8).any(|eight| keys.contains(&eight))
    };
    let both = [files.chunks(0), files.chunks(1)];
    for (number, chunks) in both.iter().enumerate() {
        let mut file = Vec::new();
        let mut writer = Writer::new(&mut file, &Header::new(0, "a test")).unwrap();
        for chunk in chunks {
            writer.chunk(chunk).unwrap();
        }
        assert!(!held(&file), "file {number}");
        assert!(!chunks.iter().any(|chunk| held(chunk)), "file {number}");
    }
    // The request comes to its end from the state, as then: with an SM_Key none is answered, and all are acknowledged.
    let steps: Vec<Step> = both.iter().flat_map(|chunks| replayed(chunks)).collect();
    assert!(steps.iter().all(|step| step.matches == Match::Same));
    let again = sent(steps.iter().flat_map(|step| &step.answers));
    assert_eq!(again.len(), sent(&answers).len());
    assert_eq!(steps.last().unwrap().answers.len(), 1);
}

#[test]
fn a_snapshot_that_the_manager_has_not_published_is_told() {
    let files = Files::default();
    let recorder = Recorder::new(Box::new(files.clone()));
    let mut sa = RecordedSa::new(Tick(2), administration(), Some((recorder, EPOCH)));
    let snapshot = Snapshot {
        generation: 8,
        ..Snapshot::default()
    };
    sa.handle(Tick(3), SaInput::Published(Arc::new(snapshot)));
    drop(sa);
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, &Header::new(0, "a test")).unwrap();
    for chunk in files.chunks(0) {
        writer.chunk(&chunk).unwrap();
    }
    let mut replay = Replay::new(&file[..]).unwrap();
    replay.next().unwrap().unwrap();
    let error = replay.next().unwrap_err().to_string();
    assert!(
        error.contains("has snapshot 8, which is not published"),
        "{error}"
    );
}

/// Prints the median of what a query takes with a recording and without one, and its bytes in the file.
#[test]
fn recording_a_query_takes_microseconds() {
    const QUERIES: u64 = 20_000;
    let per_query = |recorder: Option<(Recorder, Tick)>| {
        let mut sa = RecordedSa::new(Tick(2), administration(), recorder);
        let (mut spent, mut answers) = (Vec::new(), 0);
        for number in 0..QUERIES {
            let mut input = request(method::GET, attribute::CLASS_PORT_INFO, &[0; 184]);
            if let SaInput::Received(packet) = &mut input {
                packet.mad[8..16].copy_from_slice(&number.to_be_bytes());
                packet.slid = Lid(1 + (number % 1_152) as u32);
            }
            let started = Instant::now();
            sa.handle(Tick(3 + number * 10_000), input);
            answers += std::iter::from_fn(|| sa.poll()).count();
            spent.push(started.elapsed());
        }
        assert_eq!(answers as u64, QUERIES);
        spent.sort_unstable();
        spent[spent.len() / 2]
    };
    let files = Files::default();
    let without = per_query(None);
    let with = per_query(Some((Recorder::new(Box::new(files.clone())), EPOCH)));
    let chunks = files.chunks(0);
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, &Header::new(0, "a test")).unwrap();
    let started = Instant::now();
    for chunk in &chunks {
        writer.chunk(chunk).unwrap();
    }
    let written = started.elapsed().as_nanos() as u64 / QUERIES;
    let [raw, held] = [chunks.concat().len(), file.len()].map(|bytes| bytes as u64 / QUERIES);
    println!(
        "a query: {without:?}, {with:?} recorded; {raw} bytes, {held} compressed in {written} ns"
    );
    let most = without + Duration::from_micros(20);
    assert!(with < most, "{with:?}, {without:?} without");
}
