//! Entries for fuzzing and for tests that send anything at all.

use weft_fabric::generate::FabricSpec;
use weft_fabric::{Guid, Lid, PKey, PortNum, Sl, Tick, Topology};
use weft_wire::packet::Packet;

use crate::io::Input;
use crate::{Emulator, Options};

/// Sends `mad` into a small fabric, as a directed route and by LID; whatever comes of it, nothing
/// panics and no answer is longer than a datagram.
pub fn fuzz_agents(mad: &[u8]) {
    let Some((mut emulator, host)) = small_fabric() else {
        return;
    };
    for dlid in [Lid::PERMISSIVE, Lid(1), Lid(2)] {
        send(&mut emulator, host, dlid, mad);
    }
}

/// Sends datagram after datagram into one small fabric; each is a big-endian u16, its length, and
/// its bytes.
pub fn fuzz_conversation(mut bytes: &[u8]) {
    let Some((mut emulator, host)) = small_fabric() else {
        return;
    };
    while let Some(([high, low], rest)) = bytes.split_first_chunk() {
        let len = usize::from(u16::from_be_bytes([*high, *low])).min(rest.len());
        let (mad, rest) = rest.split_at(len);
        send(&mut emulator, host, Lid::PERMISSIVE, mad);
        bytes = rest;
    }
}

fn small_fabric() -> Option<(Emulator, Guid)> {
    let spec: FabricSpec = "one-switch:3,radix=8".parse().ok()?;
    let topology: Topology = spec.generate().ok()?;
    let host = topology.hfis().next()?.1.guid();
    let emulator = Emulator::new(topology, Options::default()).ok()?;
    Some((emulator, host))
}

fn send(emulator: &mut Emulator, node: Guid, dlid: Lid, mad: &[u8]) {
    let packet = Packet {
        slid: Lid(1),
        dlid,
        sl: Sl(0),
        pkey: PKey::MGMT_FULL,
        dest_qp: 0,
        src_qp: 0,
        mad: mad.to_vec(),
    };
    let input = Input::Send {
        node,
        port: PortNum(1),
        packet,
    };
    assert_eq!(emulator.handle(Tick(0), input), Ok(()));
    while let Some(crate::io::Output::Deliver { packet, .. }) = emulator.poll() {
        assert!(packet.mad.len() <= Packet::MAD_LEN_MAX);
    }
}
