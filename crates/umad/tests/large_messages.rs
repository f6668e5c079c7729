//! Messages of many segments: their cost, and the memory limit of all together.
#![allow(unsafe_code, clippy::unwrap_used)]

use std::alloc::{GlobalAlloc, Layout as Size, System};
use std::cell::Cell;
use std::time::Duration;

use weft_transport::PortStatus;
use weft_umad::core::assembly::{ASSEMBLIES_MAX, Assemblies, Outcome};
use weft_umad::core::send::Outgoing;
use weft_umad::core::{Address, Agent, Core, RmppOwner};
use weft_wire::Layout;
use weft_wire::header::method;
use weft_wire::id::Lid;
use weft_wire::packet::Packet;
use weft_wire::rmpp::{RMPP_AT, RmppHeader, kind, status};

/// Counts the bytes that each thread ever allocates: tests run beside each other.
struct Counting;

thread_local! {
    static ALLOCATED: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, size: Size) -> *mut u8 {
        ALLOCATED.set(ALLOCATED.get() + size.size());
        // SAFETY: the caller's duty is the same.
        unsafe { System.alloc(size) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, size: Size) {
        // SAFETY: the caller's duty is the same.
        unsafe { System.dealloc(memory, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const NOW: Duration = Duration::from_secs(1);
/// Bytes before the data of a segment of subnet administration.
const HEADER: usize = 56;
/// Bytes of data that an Omni-Path segment carries.
const PAYLOAD: usize = Packet::MAD_LEN_MAX - HEADER;

fn core_with_agent() -> (Core, u32) {
    let mut core = Core::new(1);
    core.set_status(PortStatus {
        base_lid: Lid(1),
        p_keys: vec![0xFFFF],
        ..PortStatus::default()
    });
    core.open_port(3);
    let agent = Agent {
        port: 3,
        class: 3,
        version: 0x80,
        oui: 0,
        methods: 0,
        rmpp: RmppOwner::Kernel,
    };
    let (_, number) = core.add_agent(agent).unwrap();
    (core, number)
}

/// The first bytes of an answer with records, of which `transaction` tells apart.
fn header(transaction: u64) -> Vec<u8> {
    let mut mad = vec![0; HEADER];
    mad[..4].copy_from_slice(&[0x80, 3, 0x80, 0x92]);
    mad[8..16].copy_from_slice(&transaction.to_be_bytes());
    mad
}

fn put(mad: &mut [u8], rmpp: RmppHeader) {
    let rmpp = RmppHeader {
        rmpp_version: 1,
        active: true,
        ..rmpp
    };
    rmpp.encode(&mut mad[RMPP_AT..]);
}

/// The other side's acknowledgement of everything up to `segment`, from which it takes 64 more.
fn ack(sent: &Packet, segment: u32) -> Packet {
    let mut mad = sent.mad.clone();
    mad[3] ^= 0x80;
    put(
        &mut mad,
        RmppHeader {
            rmpp_type: kind::ACK,
            segment_num: segment,
            payload_len: segment + 64,
            ..RmppHeader::default()
        },
    );
    Packet {
        slid: sent.dlid,
        dlid: sent.slid,
        mad,
        ..sent.clone()
    }
}

#[test]
fn a_message_is_not_copied_for_each_of_its_segments() {
    const SEGMENTS: usize = 4096;
    let (mut core, agent) = core_with_agent();
    let mut data = header(7);
    data[3] = method::GET_MULTI;
    put(&mut data, RmppHeader::default());
    data.resize(HEADER + SEGMENTS * PAYLOAD, 0x5A);
    let len = data.len();
    let outgoing = Outgoing {
        agent,
        address: Address {
            lid: 2,
            qpn: 1,
            ..Address::default()
        },
        data,
        timeout_ms: 1000,
        retries: 3,
    };
    let before = ALLOCATED.get();
    core.send(NOW, 3, outgoing).unwrap();
    let mut sent = 0;
    loop {
        let packets = core.take_packets();
        sent += packets.len();
        let Some(last) = packets.last() else { break };
        core.arrive(NOW, ack(last, sent as u32));
    }
    assert_eq!(sent, SEGMENTS);
    let allocated = ALLOCATED.get() - before;
    assert!(
        allocated < 4 * len,
        "{allocated} bytes for a message of {len}"
    );
}

/// A client that asks for the ports of thousands of nodes, one after the other, gets each answer.
#[test]
fn more_answers_than_are_kept_may_come_one_after_the_other() {
    let mut all = Assemblies::default();
    let segment = |transaction, last| {
        let mut mad = header(transaction);
        mad.resize(Packet::MAD_LEN_MAX, 0);
        let rmpp = RmppHeader {
            rmpp_type: kind::DATA,
            first: true,
            last,
            segment_num: 1,
            payload_len: 200,
            ..RmppHeader::default()
        };
        put(&mut mad, rmpp);
        mad
    };
    let count = 2 * ASSEMBLIES_MAX as u64;
    for transaction in 0..count {
        let key = (1, transaction, 3, Lid(9));
        let outcome = all.push(NOW, key, &segment(transaction, true));
        assert!(matches!(outcome, Outcome::Complete(..)), "{transaction}");
    }
    // The last is still acknowledged; those that have more to come are not given up for others.
    let again = all.push(NOW, (1, count - 1, 3, Lid(9)), &segment(count - 1, true));
    assert!(matches!(again, Outcome::Ack(_)), "{again:?}");
    for transaction in count..count + ASSEMBLIES_MAX as u64 {
        let key = (1, transaction, 3, Lid(9));
        let outcome = all.push(NOW, key, &segment(transaction, false));
        assert!(matches!(outcome, Outcome::Ack(_)), "{outcome:?}");
    }
    let outcome = all.push(NOW, (1, 0, 3, Lid(9)), &segment(0, true));
    assert_eq!(outcome, Outcome::Abort(status::RESOURCES_EXHAUSTED));
}

#[test]
fn all_messages_that_are_put_together_share_a_budget_of_bytes() {
    const BUDGET: usize = 1 << 20;
    let mut all = Assemblies::with_bytes(BUDGET);
    let key = |transaction| (1, transaction, 3, Lid(9));
    let push = |all: &mut Assemblies, transaction, segment: u32| {
        let mut mad = header(transaction);
        mad.resize(Packet::MAD_LEN_MAX, 0);
        put(
            &mut mad,
            RmppHeader {
                rmpp_type: kind::DATA,
                first: segment == 1,
                segment_num: segment,
                ..RmppHeader::default()
            },
        );
        let at = NOW + Duration::from_millis(transaction);
        all.push(at, key(transaction), &mad)
    };
    // Each of sixteen messages takes an eighth of the budget.
    let segments = (BUDGET / 8 / PAYLOAD) as u32;
    for transaction in 0..16 {
        for segment in 1..=segments {
            let outcome = push(&mut all, transaction, segment);
            assert!(!matches!(outcome, Outcome::Abort(_)), "{outcome:?}");
            assert!(all.bytes() <= BUDGET, "{} bytes", all.bytes());
        }
    }
    assert!(all.bytes() > BUDGET / 2);
    // The oldest have gone, the latest is whole and continues.
    assert_eq!(push(&mut all, 0, segments + 1), Outcome::Nothing);
    let held = all.bytes();
    push(&mut all, 15, segments + 1);
    assert!(all.bytes() > held);
    (0..16).for_each(|transaction| all.stop(&key(transaction)));
    assert_eq!(all.bytes(), 0);
}
