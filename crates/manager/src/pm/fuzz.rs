//! An entry for fuzzers: any datagrams at the manager's port.

use std::sync::{Arc, LazyLock};

use weft_fabric::enums::{PortState, SmState};
use weft_fabric::{
    FabricSpec, Lid, NodeId, PortNum, PortRef, Sl, SmRecord, Snapshot, Tick, Topology,
};
use weft_wire::id::PKey;
use weft_wire::packet::Packet;

use super::{Pm, PmInput, PmSettings};

/// Outputs to one input: more than there can be on so small a fabric.
const OUTPUTS_MAX: usize = 10_000;
/// LID of the switch that is watched.
const SWITCH: Lid = Lid(4);

/// What [`snapshot`] gives, made once: a fuzzer comes here ten million times.
pub(crate) static FABRIC: LazyLock<Arc<Snapshot>> = LazyLock::new(|| Arc::new(snapshot()));

/// Feeds datagrams, each with a length of two bytes before it, to a manager that is sweeping three
/// hosts at a switch.
///
/// # Panics
/// When the manager does not come to an end.
pub fn fuzz_pa(mut bytes: &[u8]) {
    let mut pm = Pm::new(PmSettings::default());
    pm.handle(Tick(0), PmInput::Published(Arc::clone(&FABRIC)));
    let mut now = 0;
    while let Some((len, after)) = bytes.split_first_chunk::<2>() {
        let len = usize::from(u16::from_be_bytes(*len)).min(after.len());
        let (mad, after) = after.split_at(len);
        bytes = after;
        now += 1_000_000;
        pm.handle(Tick(now), PmInput::Received(packet(mad)));
        let outputs = std::iter::from_fn(|| pm.poll()).take(OUTPUTS_MAX);
        assert!(outputs.count() < OUTPUTS_MAX);
    }
}

fn packet(mad: &[u8]) -> Packet {
    Packet {
        slid: SWITCH,
        dlid: Lid(1),
        sl: Sl(0),
        pkey: PKey::MGMT_FULL,
        dest_qp: 1,
        src_qp: 1,
        mad: mad.to_vec(),
    }
}

/// Three hosts, LIDs 1 to 3, at a switch, all ports active; the manager runs on the first host.
pub(crate) fn snapshot() -> Snapshot {
    let generated = "one-switch:3".parse::<FabricSpec>().ok();
    let topology = generated.and_then(|spec| spec.generate().ok());
    let mut topology = topology.unwrap_or_default();
    let hosts: Vec<NodeId> = topology.hfis().map(|(node, _)| node).collect();
    let switches = topology.switches().to_vec();
    for (lid, node) in (1..).zip(hosts.iter().chain(&switches)) {
        activate(&mut topology, *node, Lid(lid));
    }
    let own = hosts.first().map(|node| PortRef {
        node: *node,
        port: PortNum(1),
    });
    let master = own.map(|port| SmRecord {
        port,
        lid: Lid(1),
        port_guid: topology
            .node(port.node)
            .map(|node| node.guid())
            .unwrap_or_default(),
        state: SmState::MASTER,
        priority: 0,
        sm_key: 0,
        act_count: 0,
    });
    Snapshot {
        generation: 1,
        topology: Arc::new(topology),
        sms: master.into_iter().collect(),
        ..Snapshot::default()
    }
}

fn activate(topology: &mut Topology, id: NodeId, lid: Lid) {
    let Some(node) = topology.node_mut(id) else {
        return;
    };
    let numbers: Vec<PortNum> = node.ports().map(|(number, _)| number).collect();
    for number in numbers {
        if let Some(port) = node.port_mut(number) {
            port.info.lid = lid;
            if port.peer.is_some() {
                port.info.port_state = PortState::ACTIVE;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pm::PmOutput;
    use proptest::prelude::*;
    use weft_wire::Layout;
    use weft_wire::header::{MadHeader, class, method, version};

    /// Whole datagrams with a sound header, so that what is behind it gets looked at.
    fn datagram() -> impl Strategy<Value = Vec<u8>> {
        let attribute = prop_oneof![1u16..2, 0x40u16..0x45, 0xA0u16..0xB9];
        let method = prop_oneof![
            Just(method::GET),
            Just(method::SET),
            Just(method::GET_TABLE),
            Just(method::GET_RESP)
        ];
        let class = prop_oneof![Just(class::PERF), Just(class::PA)];
        let body = prop::collection::vec(any::<u8>(), 0..400);
        (class, method, attribute, any::<u32>(), 0u32..64, body).prop_map(
            |(mgmt_class, method, attribute_id, modifier, transaction, body)| {
                let header = MadHeader {
                    base_version: version::OPA,
                    mgmt_class,
                    class_version: version::OPA,
                    method,
                    attribute_id,
                    attribute_modifier: modifier,
                    transaction_id: u64::from(transaction) | 1 << 16,
                    ..MadHeader::default()
                };
                let mut mad = header.to_bytes();
                mad.extend_from_slice(&body);
                mad
            },
        )
    }

    proptest! {
        #[test]
        fn no_datagram_brings_the_manager_down(mads in prop::collection::vec(datagram(), 0..40)) {
            let mut bytes = Vec::new();
            for mad in mads {
                bytes.extend((mad.len() as u16).to_be_bytes());
                bytes.extend(mad);
            }
            fuzz_pa(&bytes);
        }

        /// Agents that answer every request, at the right transaction, with bytes of their own.
        #[test]
        fn lying_agents_end_the_sweep_all_the_same(noise in prop::collection::vec(any::<u8>(), 1..256), keep_head: bool) {
            let mut pm = Pm::new(PmSettings::default());
            pm.handle(Tick(0), PmInput::Published(Arc::new(snapshot())));
            let mut images = 0;
            for step in 1..10_000u64 {
                let Some(output) = pm.poll() else { break };
                match output {
                    PmOutput::Image(_) => images += 1,
                    PmOutput::Send(mut request) => {
                        std::mem::swap(&mut request.slid, &mut request.dlid);
                        request.mad[3] = method::GET_RESP;
                        let from = if keep_head { 60 } else { 24 };
                        request.mad.resize(2048, 0);
                        let noise = noise.iter().cycle();
                        request.mad[from..].iter_mut().zip(noise).for_each(|(to, from)| *to = *from);
                        pm.handle(Tick(step), PmInput::Received(request));
                    }
                    PmOutput::Event(_) => {}
                }
            }
            prop_assert_eq!(images, 1);
        }
    }
}
