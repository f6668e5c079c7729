//! The emulated fabric of targets that send to agents.

use weft_emulator::io::{Input, Output};
use weft_emulator::{Emulator, Options};
use weft_fabric::generate::FabricSpec;
use weft_fabric::{Guid, Lid, PKey, PortNum, Sl, Tick, Topology};
use weft_wire::packet::Packet;

/// A switch with three hosts, and the first of these.
pub(crate) fn small_fabric() -> Option<(Emulator, Guid)> {
    let spec: FabricSpec = "one-switch:3,radix=8".parse().ok()?;
    let topology: Topology = spec.generate().ok()?;
    let host = topology.hfis().next()?.1.guid();
    let emulator = Emulator::new(topology, Options::default()).ok()?;
    Some((emulator, host))
}

/// Sends a datagram from a host, and takes what comes of it.
pub(crate) fn send(emulator: &mut Emulator, node: Guid, dlid: Lid, mad: &[u8]) {
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
    while let Some(Output::Deliver { packet, .. }) = emulator.poll() {
        assert!(packet.mad.len() <= Packet::MAD_LEN_MAX);
    }
}
