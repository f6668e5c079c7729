//! A program behind the preload library and the fabric before it, both with arbitrary behaviour: agents
//! registered and removed, messages of any bytes sent and received, unsolicited
//! datagrams, passing time.

use std::time::Duration;

use weft_fabric::{Lid, PKey, Sl};
use weft_transport::PortStatus;
use weft_umad::core::assembly::MESSAGE_MAX;
use weft_umad::core::send::Outgoing;
use weft_umad::core::{Address, Agent, Core, Received, RmppOwner};
use weft_wire::packet::Packet;

/// The program's port.
const PORT: i32 = 3;
/// Room that it has for a message.
const ROOM: usize = 4096;

/// Runs one input: steps, each a byte for the kind, a length of two bytes, and the data.
///
/// # Panics
/// When something is found.
pub fn run(mut input: &[u8]) {
    let mut core = Core::new(7);
    core.set_status(status());
    core.open_port(PORT);
    let mut now = Duration::ZERO;
    let mut sent: Option<Packet> = None;
    while let Some(([what, high, low], after)) = input.split_first_chunk::<3>() {
        let len = usize::from(u16::from_be_bytes([*high, *low])).min(after.len());
        let (content, after) = after.split_at(len);
        input = after;
        now += Duration::from_millis(1);
        match what & 7 {
            0 => drop(core.add_agent(agent(content))),
            1 => drop(core.remove_agent(PORT, content.first().copied().unwrap_or(0).into())),
            2 => {
                // What cannot be sent is an error, which is all that the program is owed.
                let _refused = core.send(now, PORT, outgoing(what >> 3, content));
            }
            3 => now += Duration::from_millis(u64::from(what >> 3) * 50),
            4 => answer(&mut core, now, sent.clone(), content),
            _ => core.arrive(now, packet(content.to_vec())),
        }
        core.tick(now);
        let packets = core.take_packets();
        assert!(
            packets
                .iter()
                .all(|packet| packet.mad.len() <= Packet::MAD_LEN_MAX)
        );
        sent = packets.into_iter().last().or(sent);
        while let Received::Message(message) = core.receive(PORT, ROOM) {
            assert!(message.data.len() <= ROOM.min(MESSAGE_MAX));
        }
    }
    core.close_port(PORT);
    assert_eq!(core.receive(PORT, ROOM), Received::NoPort);
}

fn status() -> PortStatus {
    PortStatus {
        base_lid: Lid(4),
        sm_lid: Lid(1),
        state: 4,
        p_keys: vec![0xFFFF, 0x7FFF, 0x8001],
        ..PortStatus::default()
    }
}

fn agent(content: &[u8]) -> Agent {
    let byte = |place: usize| content.get(place).copied().unwrap_or(0);
    Agent {
        port: PORT,
        class: byte(0),
        version: byte(1),
        oui: 0x0000_066A,
        methods: u128::from(byte(2)) << (byte(3) % 120),
        rmpp: match byte(4) % 3 {
            0 => RmppOwner::Nobody,
            1 => RmppOwner::User,
            _ => RmppOwner::Kernel,
        },
    }
}

fn outgoing(agent: u8, content: &[u8]) -> Outgoing {
    Outgoing {
        agent: agent.into(),
        address: Address {
            qpn: 1,
            lid: 1,
            pkey_index: u16::from(agent),
            ..Address::default()
        },
        data: content.to_vec(),
        timeout_ms: 100,
        retries: 2,
    }
}

/// Returns the last sent datagram as its answer, with other bytes at its end.
fn answer(core: &mut Core, now: Duration, sent: Option<Packet>, content: &[u8]) {
    let Some(mut packet) = sent else {
        return;
    };
    std::mem::swap(&mut packet.slid, &mut packet.dlid);
    if let Some(method) = packet.mad.get_mut(3) {
        *method |= 0x80;
    }
    packet.mad.truncate(24);
    packet.mad.extend_from_slice(content);
    packet.mad.truncate(Packet::MAD_LEN_MAX);
    core.arrive(now, packet);
}

fn packet(mad: Vec<u8>) -> Packet {
    Packet {
        slid: Lid(1),
        dlid: Lid(4),
        sl: Sl(0),
        pkey: PKey::MGMT_FULL,
        dest_qp: 1,
        src_qp: 1,
        mad,
    }
}
