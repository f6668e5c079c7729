//! Links, lanes and forwarding of a whole network, register by register.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use weft_dataplane::forward::Channel;
use weft_dataplane::{Counter, Dropped, Network, PortIndex, PortTable, VlCounter};
use weft_fabric::enums::{LinkSpeed, LinkWidth, PhysState, PortState};
use weft_fabric::generate::FabricSpec;
use weft_fabric::{Lid, NodeId, PKey, PortNum, PortRef, Sl, Topology, Vl};

/// The key of the partition that all hosts are full members of when they have been switched on.
const KEY: PKey = PKey(0x8001);

fn topology(text: &str) -> Topology {
    text.parse::<FabricSpec>().unwrap().generate().unwrap()
}

fn network(text: &str) -> Network {
    Network::new(Arc::new(topology(text)))
}

fn port(network: &Network, node: NodeId, number: u8) -> PortIndex {
    network.device_at(node).port(PortNum(number)).unwrap()
}

fn hosts(network: &Network) -> Vec<PortIndex> {
    let hfis = network.topology().hfis();
    hfis.map(|(id, _)| port(network, id, 1)).collect()
}

/// Assigns LIDs 1, 2 … to the hosts of a one-switch fabric and activates their links.
fn bring_up(network: &mut Network) -> NodeId {
    let switch = network.topology().switches()[0];
    let mut block = [0xFF; 64];
    for (place, host) in hosts(network).into_iter().enumerate() {
        let lid = place as u8 + 1;
        let uplink = network.peer(host).unwrap();
        block[usize::from(lid)] = network.number_of(uplink).0;
        let mut info = *network.port(host).info();
        info.lid = Lid(u32::from(lid));
        (info.port_state, info.phys_state) = (PortState::NOP, PhysState::NOP);
        network.set_port_info(host, &info).unwrap();
        activate(network, host);
    }
    let registers = network.switch_mut(switch).unwrap();
    let mut info = *registers.info();
    info.linear_fdb_top = 63;
    registers.set_info(&info).unwrap();
    registers.set_linear_block(0, &block).unwrap();
    switch
}

fn activate(network: &mut Network, at: PortIndex) {
    let ends = [at, network.peer(at).unwrap()];
    for state in [PortState::ARMED, PortState::ACTIVE] {
        for end in ends {
            network.start_configuration(end);
            network.request_state(end, state, PhysState::NOP).unwrap();
        }
    }
}

#[test]
fn data_changes_channel_and_lane_as_the_tables_say() {
    let mut network = network("one-switch:3,radix=8");
    let switch = bring_up(&mut network);
    let [from, _, to] = hosts(&network)[..] else {
        panic!("not three hosts");
    };
    let (ingress, egress) = (network.peer(from).unwrap(), network.peer(to).unwrap());
    // SL 4 → SC 9 → VL 2 at the host; SC 9 → SC 12 → VL 5 in the switch.
    network.write_table(from, PortTable::SlToSc, 4, &[9]);
    network.write_table(from, PortTable::ScToVlt, 9, &[2]);
    let mut map: [u8; 32] = std::array::from_fn(|sc| sc as u8);
    map[9] = 12;
    let ports = [network.number_of(ingress), network.number_of(egress)];
    let pair = |a: PortNum, b: PortNum| [a, b] == ports;
    network.write_channel_map(switch, &map, pair).unwrap();
    network.write_table(egress, PortTable::ScToVlt, 12, &[5]);
    let arrival = network
        .route(from, Lid(1), Lid(3), Channel::Data(Sl(4), KEY), 10)
        .unwrap();
    assert_eq!((arrival.port, arrival.hops), (to, 2));
    let sent = |at, vl| network.lane_counter(at, Vl(vl), VlCounter::XmitData);
    assert_eq!((sent(from, 2), sent(egress, 5)), (10, 10));
    assert_eq!(network.lane_counter(to, Vl(5), VlCounter::RcvPkts), 1);
    assert_eq!(network.counter(to, Counter::RcvData), 10);
}

#[test]
fn data_needs_active_links_and_management_does_not() {
    let mut network = network("one-switch:3,radix=8");
    bring_up(&mut network);
    let [from, _, to] = hosts(&network)[..] else {
        panic!("not three hosts");
    };
    let egress = network.peer(to).unwrap();
    network
        .request_state(egress, PortState::NOP, PhysState::POLLING)
        .unwrap();
    let mut go = |channel| network.route(from, Lid(1), Lid(3), channel, 10);
    assert_eq!(go(Channel::Data(Sl(0), KEY)), Err(Dropped::NotUp(egress)));
    assert_eq!(go(Channel::Management).map(|arrival| arrival.port), Ok(to));
}

#[test]
fn a_lid_range_belongs_to_its_port() {
    let mut network = network("one-switch:3,radix=8");
    bring_up(&mut network);
    let host = hosts(&network)[0];
    let mut info = *network.port(host).info();
    (info.lid, info.lmc.0) = (Lid(16), 2);
    (info.port_state, info.phys_state) = (PortState::NOP, PhysState::NOP);
    network.set_port_info(host, &info).unwrap();
    for (lid, own) in [(15, false), (16, true), (19, true), (20, false), (0, false)] {
        assert_eq!(network.is_own_lid(host, Lid(lid)), own, "{lid}");
    }
}

#[test]
fn a_cable_keeps_its_width_and_both_ends_share_its_fate() {
    let mut topology = topology("one-switch:3,radix=8");
    let host = topology.hfis().next().unwrap().0;
    let near = PortRef {
        node: host,
        port: PortNum(1),
    };
    let far = topology.peer(near).unwrap();
    for end in [near, far] {
        let node = topology.node_mut(end.node).unwrap();
        node.port_mut(end.port).unwrap().info.link_width_active = LinkWidth::X2;
    }
    let mut network = Network::new(Arc::new(topology));
    let at = port(&network, host, 1);
    let peer = network.peer(at).unwrap();
    for _ in 0..2 {
        for end in [at, peer] {
            assert_eq!(network.state(end), PortState::INIT);
            assert_eq!(network.port(end).info().link_width_active, LinkWidth::X2);
        }
        network.cut_cable(peer);
        assert_eq!(network.state(at), PortState::DOWN);
        assert_eq!(network.port(at).info().phys_state, PhysState::OFFLINE);
        network.mend_cable(at);
    }
    assert_eq!(network.counter(at, Counter::LinkDowned), 2);
    assert_eq!(network.take_changed(), [network.node_of(peer)]);
}

#[test]
fn exchanged_cables_lead_to_each_others_port_and_keep_their_faults() {
    let mut network = network("one-switch:3,radix=8");
    let (a, b) = (hosts(&network)[0], hosts(&network)[1]);
    let [far_a, far_b] = [a, b].map(|at| network.peer(at).unwrap());
    network.set_cable_lanes(a, 2);
    network.set_cable_errors(a, 10);
    network.exchange_cables(far_a, far_b);
    let peers = [a, b].map(|at| network.peer(at));
    assert_eq!(peers, [Some(far_b), Some(far_a)]);
    let widths = [a, b, far_a, far_b].map(|at| network.port(at).info().link_width_active);
    let (narrow, wide) = (LinkWidth::X2, LinkWidth::X4);
    assert_eq!(widths, [narrow, wide, wide, narrow]);
    let neighbours = [a, b].map(|at| network.port(at).info().neighbor_port_num);
    assert_eq!(neighbours, [far_b, far_a].map(|at| network.number_of(at)));
    assert_eq!(network.counter(a, Counter::LinkDowned), 1);
    let at = |at| PortRef {
        node: network.node_of(at),
        port: network.number_of(at),
    };
    assert_eq!(network.topology().peer(at(a)), Some(at(far_b)));
    assert_eq!(network.topology().peer(at(far_a)), Some(at(b)));
    network.exchange_cables(far_a, far_b);
    assert_eq!(network.peer(a), Some(far_a));
    // A cable with both ends in question stays where it is.
    let state = network.state_changes();
    network.exchange_cables(a, far_a);
    assert_eq!(network.state_changes(), state);
}

#[test]
fn a_slow_cable_gives_its_link_the_lower_speed_wherever_it_is_plugged_in() {
    let mut network = network("one-switch:3,radix=8");
    let (a, b) = (hosts(&network)[0], hosts(&network)[1]);
    let [far_a, far_b] = [a, b].map(|at| network.peer(at).unwrap());
    let speeds = |network: &Network, at| {
        let info = network.port(at).info();
        (info.link_speed_active, info.link_speed_supported)
    };
    let usual = (LinkSpeed::G25, LinkSpeed::G25);
    let slow = (LinkSpeed::G12_5, LinkSpeed(3));
    assert_eq!(speeds(&network, a), usual);
    network.set_cable_slow(far_a, true);
    assert_eq!([a, far_a].map(|at| speeds(&network, at)), [slow; 2]);
    assert_eq!(network.counter(a, Counter::LinkDowned), 1);
    // It is slow already.
    network.set_cable_slow(a, true);
    assert_eq!(network.counter(a, Counter::LinkDowned), 1);
    // Registers that a node loses with its power do not make the cable faster.
    let node = network.node_of(a);
    network.power_off(node);
    network.power_on(node);
    assert_eq!(speeds(&network, a), slow);
    network.exchange_cables(far_a, far_b);
    let all = [a, far_b, b, far_a].map(|at| speeds(&network, at));
    assert_eq!(all, [slow, slow, usual, usual]);
    network.set_cable_slow(a, false);
    assert_eq!([a, far_b].map(|at| speeds(&network, at)), [usual; 2]);
}

#[test]
fn ends_without_a_common_width_do_not_come_up() {
    let mut network = network("one-switch:3,radix=8");
    let host = hosts(&network)[0];
    let mut info = *network.port(host).info();
    info.link_width_enabled = LinkWidth::X1;
    (info.port_state, info.phys_state) = (PortState::NOP, PhysState::NOP);
    network.set_port_info(host, &info).unwrap();
    let peer = network.peer(host).unwrap();
    let mut other = *network.port(peer).info();
    other.link_width_enabled = LinkWidth::X4;
    (other.port_state, other.phys_state) = (PortState::NOP, PhysState::POLLING);
    network.set_port_info(peer, &other).unwrap();
    assert_eq!(network.state(host), PortState::DOWN);
    // The widths are read again when the link is tried again.
    other.link_width_enabled = LinkWidth(0xF);
    network.set_port_info(peer, &other).unwrap();
    assert_eq!(network.port(host).info().link_width_active, LinkWidth::X1);
}

#[test]
fn ports_with_equal_tables_share_them() {
    let mut network = network("fattree:128,radix=16,tiers=2");
    let before = network.distinct_tables();
    for (_, device) in topology("fattree:128,radix=16,tiers=2").nodes() {
        let id = network.find(device.guid()).unwrap();
        let ports: Vec<_> = network.device_at(id).ports().collect();
        for (_, at) in ports {
            network.write_table(at, PortTable::VlArbHigh, 0, &[3; 256]);
        }
    }
    assert_eq!(network.distinct_tables(), before + 1);
}

/// Writes the P_Keys of a port, and whether it checks what comes in and what goes out.
fn set_keys(network: &mut Network, at: PortIndex, keys: &[u16], checks: bool) {
    let mut table = [0; 64];
    for (to, key) in table.chunks_exact_mut(2).zip(keys) {
        to.copy_from_slice(&key.to_be_bytes());
    }
    network.write_table(at, PortTable::PKeys, 0, &table);
    let mut info = *network.port(at).info();
    info.partition_enforcement_inbound = checks;
    info.partition_enforcement_outbound = checks;
    (info.port_state, info.phys_state) = (PortState::NOP, PhysState::NOP);
    network.set_port_info(at, &info).unwrap();
}

#[test]
fn packets_pass_where_their_partition_is_and_violations_count() {
    let mut network = network("one-switch:3,radix=8");
    bring_up(&mut network);
    let [full, limited, other] = hosts(&network)[..] else {
        panic!("not three hosts");
    };
    for (host, keys) in [(full, 0x8005), (limited, 0x0005), (other, 0x8006)] {
        set_keys(&mut network, host, &[keys, 0x7FFF], false);
        let far = network.peer(host).unwrap();
        set_keys(&mut network, far, &[keys, 0x7FFF], true);
    }
    let mut go = |from, to, key| {
        let channel = Channel::Data(Sl(0), PKey(key));
        let arrived = network.route(from, Lid(1), Lid(to), channel, 10);
        arrived.map(|arrival| arrival.hops)
    };
    assert_eq!(go(full, 2, 0x8005), Ok(2));
    assert_eq!(go(limited, 1, 0x0005), Ok(2));
    // The switch's port rejects keys that its HFI does not hold, and sends out only keys that the HFI
    // would accept.
    let (by_limited, by_other) = (
        go(limited, 1, 0x8005).unwrap_err(),
        go(other, 1, 0x8006).unwrap_err(),
    );
    let near = |host| network.peer(host).unwrap();
    assert_eq!(by_limited, Dropped::Forbidden(near(limited)));
    assert_eq!(by_other, Dropped::Forbidden(near(full)));
    let violations = |at| network.port(at).info().violations_p_key;
    assert_eq!((violations(near(limited)), violations(near(full))), (1, 1));
    let counted = |at, counter| network.counter(at, counter);
    assert_eq!(counted(near(limited), Counter::RcvConstraintErrors), 1);
    assert_eq!(counted(near(full), Counter::XmitConstraintErrors), 1);
    assert_eq!(network.shared_key(full, limited), Some(PKey(0x8005)));
    assert_eq!(network.shared_key(limited, full), Some(PKey(0x0005)));
    assert_eq!(network.shared_key(full, other), None);
    // Where the switch does not check, the HFI does.
    for host in [full, other] {
        let far = network.peer(host).unwrap();
        set_keys(&mut network, far, &[], false);
    }
    let channel = Channel::Data(Sl(0), PKey(0x8006));
    let arrived = network.route(other, Lid(3), Lid(1), channel, 10);
    assert_eq!(arrived, Err(Dropped::Forbidden(full)));
    assert_eq!(network.counter(full, Counter::RcvConstraintErrors), 1);
}

#[test]
fn a_switch_lets_in_packets_of_the_lids_of_its_hfi() {
    let mut network = network("one-switch:3,radix=8");
    bring_up(&mut network);
    let [first, second, third] = hosts(&network)[..] else {
        panic!("not three hosts");
    };
    let guarded = network.peer(second).unwrap();
    let set_lid = |network: &mut Network, lid: Lid, lmc: u8| {
        let mut info = *network.port(guarded).info();
        (info.lid, info.lmc) = (lid, weft_fabric::Lmc(lmc));
        (info.port_state, info.phys_state) = (PortState::NOP, PhysState::NOP);
        network.set_port_info(guarded, &info).unwrap();
    };
    let go = |network: &mut Network, from, slid, channel| {
        let arrived = network.route(from, Lid(slid), Lid(3), channel, 10);
        arrived.map(|arrival| arrival.port)
    };
    let data = Channel::Data(Sl(0), KEY);
    // Nothing is checked where no LID is named.
    assert_eq!(go(&mut network, second, 1, data), Ok(third));
    set_lid(&mut network, Lid(2), 0);
    let foreign = Err(Dropped::ForeignSource(guarded));
    for channel in [data, Channel::Management] {
        assert_eq!(go(&mut network, second, 2, channel), Ok(third));
        assert_eq!(go(&mut network, second, 1, channel), foreign);
        // What comes from elsewhere is another port's.
        assert_eq!(go(&mut network, first, 1, channel), Ok(third));
    }
    assert_eq!(network.counter(guarded, Counter::RcvConstraintErrors), 2);
    set_lid(&mut network, Lid(4), 1);
    assert_eq!(go(&mut network, second, 5, data), Ok(third));
    assert_eq!(go(&mut network, second, 6, data), foreign);
    set_lid(&mut network, Lid::PERMISSIVE, 0);
    assert_eq!(go(&mut network, second, 77, data), Ok(third));
}

#[test]
fn a_channel_that_leads_to_lane_15_carries_no_data() {
    let mut network = network("one-switch:3,radix=8");
    bring_up(&mut network);
    let [from, _, to] = hosts(&network)[..] else {
        panic!("not three hosts");
    };
    let egress = network.peer(to).unwrap();
    network.write_table(egress, PortTable::ScToVlt, 3, &[15]);
    let mut go = |sl| network.route(from, Lid(1), Lid(3), Channel::Data(Sl(sl), KEY), 10);
    assert_eq!(go(0).map(|arrival| arrival.port), Ok(to));
    assert_eq!(go(3), Err(Dropped::NoLane(egress)));
    assert_eq!(network.counter(egress, Counter::XmitDiscards), 1);
}
