//! Plays a manager: sends single datagrams into an emulator and reads the answers.
use weft_emulator::io::{Control, Input, Output};
use weft_emulator::{Emulator, Options};
use weft_fabric::enums::PortState;
use weft_fabric::generate::FabricSpec;
use weft_fabric::{Guid, Lid, PortNum, Tick, Topology};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, method};
use weft_wire::packet::Packet;
use weft_wire::sm::{AttributeId, LinearFdb, NodeInfo, PortInfo, SwitchInfo};
use weft_wire::smp::{DirectedRoute, Smp, SmpView};

/// Status without the direction bit, and payload.
pub(crate) type Answer = (u16, Vec<u8>);

pub(crate) fn fabric(text: &str) -> Topology {
    text.parse::<FabricSpec>().unwrap().generate().unwrap()
}

/// An emulator and the host that its manager runs on.
pub(crate) struct Player {
    pub(crate) emulator: Emulator,
    pub(crate) host: Guid,
    pub(crate) port: PortNum,
    pub(crate) m_key: u64,
    transaction: u64,
}

impl Player {
    pub(crate) fn new(text: &str) -> Self {
        Self::with(fabric(text), Options::default())
    }

    pub(crate) fn with(topology: Topology, options: Options) -> Self {
        let host = topology.hfis().next().unwrap().1.guid();
        Self {
            emulator: Emulator::new(topology, options).unwrap(),
            host,
            port: PortNum(1),
            m_key: 0,
            transaction: 0x1000,
        }
    }

    pub(crate) fn control(&mut self, control: Control) {
        let now = self.emulator.now();
        self.emulator.handle(now, Input::Control(control)).unwrap();
    }

    /// Sends a packet and takes everything that comes of it at once.
    pub(crate) fn exchange(&mut self, packet: Packet) -> Vec<Packet> {
        let input = Input::Send {
            node: self.host,
            port: self.port,
            packet,
        };
        let now = self.emulator.now();
        self.emulator.handle(now, input).unwrap();
        self.drain()
    }

    pub(crate) fn drain(&mut self) -> Vec<Packet> {
        let outputs = std::iter::from_fn(|| self.emulator.poll());
        outputs
            .map(|Output::Deliver { packet, .. }| packet)
            .collect()
    }

    pub(crate) fn smp(&mut self, method: u8, attribute: AttributeId, modifier: u32) -> Smp {
        self.transaction += 1;
        Smp {
            method,
            ..Smp::get(attribute, modifier, self.transaction, self.m_key)
        }
    }

    /// Sends a directed-route SMP along `path`; none is an answer that did not come.
    pub(crate) fn directed(&mut self, path: &[u8], smp: Smp, payload: &[u8]) -> Option<Answer> {
        let ports: Vec<_> = path.iter().map(|port| PortNum(*port)).collect();
        let route = DirectedRoute::new(&ports).unwrap();
        let mut mad = Vec::new();
        smp.write_directed(&route, payload, &mut mad);
        self.ask(Lid::PERMISSIVE, Lid::PERMISSIVE, mad)
    }

    /// Sends a datagram that is LID-routed to `dlid` and directed from there.
    pub(crate) fn mixed(&mut self, dlid: Lid, path: &[u8], smp: Smp) -> Option<Answer> {
        let ports: Vec<_> = path.iter().map(|port| PortNum(*port)).collect();
        let own = self.own_lid();
        let route = DirectedRoute::after_lid(own, &ports).unwrap();
        let mut mad = Vec::new();
        smp.write_directed(&route, &[], &mut mad);
        self.ask(own, dlid, mad)
    }

    pub(crate) fn lid_routed(&mut self, dlid: Lid, smp: Smp, payload: &[u8]) -> Option<Answer> {
        let mut mad = Vec::new();
        smp.write_lid_routed(payload, &mut mad);
        let own = self.own_lid();
        self.ask(own, dlid, mad)
    }

    pub(crate) fn own_lid(&self) -> Lid {
        self.port_info_register(self.host, self.port).lid
    }

    pub(crate) fn port_info_register(&self, node: Guid, port: PortNum) -> PortInfo {
        let network = self.emulator.network();
        let device = network.device(network.find(node).unwrap()).unwrap();
        *network.port(device.port(port).unwrap()).info()
    }

    fn ask(&mut self, slid: Lid, dlid: Lid, mad: Vec<u8>) -> Option<Answer> {
        let sent = MadHeader::decode(&mad).unwrap();
        let answers = self.exchange(Packet::lid_routed(slid, dlid, mad));
        assert!(answers.len() <= 1, "one request, {} answers", answers.len());
        let answer = answers.into_iter().next()?;
        let view = SmpView::parse(&answer.mad).unwrap();
        assert_eq!(view.header.transaction_id, sent.transaction_id);
        assert_eq!(view.header.method, method::GET_RESP);
        assert_eq!(view.header.attribute_id, sent.attribute_id);
        Some((view.status(), view.payload.to_vec()))
    }

    pub(crate) fn get(&mut self, path: &[u8], attribute: AttributeId, modifier: u32) -> Answer {
        let smp = self.smp(method::GET, attribute, modifier);
        self.directed(path, smp, &[]).unwrap()
    }

    pub(crate) fn set(
        &mut self,
        path: &[u8],
        attribute: AttributeId,
        modifier: u32,
        data: &[u8],
    ) -> Answer {
        let smp = self.smp(method::SET, attribute, modifier);
        self.directed(path, smp, data).unwrap()
    }

    /// Reads a structure that must be there.
    pub(crate) fn read<T: Layout>(
        &mut self,
        path: &[u8],
        attribute: AttributeId,
        modifier: u32,
    ) -> T {
        let (status, payload) = self.get(path, attribute, modifier);
        assert_eq!(status, 0, "{attribute} {modifier:#x}");
        T::decode(&payload).unwrap()
    }

    pub(crate) fn node_info(&mut self, path: &[u8]) -> NodeInfo {
        self.read(path, AttributeId::NODE_INFO, 0)
    }

    /// Reads a port's PortInfo, changes it and writes it back; returns status and the resulting PortInfo.
    pub(crate) fn change_port(
        &mut self,
        path: &[u8],
        port: u8,
        change: impl Fn(&mut PortInfo),
    ) -> (u16, PortInfo) {
        let modifier = ONE | u32::from(port);
        let mut info: PortInfo = self.read(path, AttributeId::PORT_INFO, modifier);
        info.port_state = Default::default();
        info.phys_state = Default::default();
        change(&mut info);
        let (status, payload) = self.set(path, AttributeId::PORT_INFO, modifier, &info.to_bytes());
        (status, PortInfo::decode(&payload).unwrap())
    }
}

impl Player {
    /// The path to a host of a one-switch fabric; host 1 is the player's own.
    pub(crate) fn host_path(host: u8) -> Vec<u8> {
        if host == 1 { vec![] } else { vec![1, host] }
    }

    /// Gives LIDs 1, 2 … to the hosts of a one-switch fabric and then to the switch, and routes
    /// them.
    pub(crate) fn program_one_switch(&mut self, hosts: u8) {
        let switch_lid = u32::from(hosts) + 1;
        let mut block = [LinearFdb::UNREACHABLE; 64];
        for host in 1..=hosts {
            block[usize::from(host)] = host;
            let lid = Lid(u32::from(host));
            let done = self.change_port(&Self::host_path(host), 1, |info| info.lid = lid);
            assert_eq!((done.0, done.1.lid), (0, lid));
        }
        block[switch_lid as usize] = 0;
        let mut info: SwitchInfo = self.read(&[1], AttributeId::SWITCH_INFO, 0);
        info.linear_fdb_top = switch_lid;
        let bytes = info.to_bytes();
        assert_eq!(self.set(&[1], AttributeId::SWITCH_INFO, 0, &bytes).0, 0);
        assert_eq!(self.set(&[1], AttributeId::LINEAR_FDB, ONE, &block).0, 0);
        let done = self.change_port(&[1], 0, |info| info.lid = Lid(switch_lid));
        assert_eq!(done.0, 0);
    }

    /// Arms and activates all links of a one-switch fabric.
    pub(crate) fn activate_one_switch(&mut self, hosts: u8) {
        let all = u32::from(hosts) << 24 | START | 1;
        assert_eq!(self.get(&[1], AttributeId::PORT_INFO, all).0, 0);
        for host in 1..=hosts {
            let path = Self::host_path(host);
            assert_eq!(self.get(&path, AttributeId::PORT_INFO, ONE | START).0, 0);
        }
        for state in [PortState::ARMED, PortState::ACTIVE] {
            for host in 1..=hosts {
                let change = |info: &mut PortInfo| info.port_state = state;
                let there = self.change_port(&[1], host, change);
                let here = self.change_port(&Self::host_path(host), 1, change);
                assert_eq!((there.0, here.0), (0, 0), "{state}");
            }
        }
    }
}

/// One block or port, in the top byte of a modifier.
pub(crate) const ONE: u32 = blocks(1);

/// The modifier of `count` blocks or ports.
pub(crate) const fn blocks(count: u32) -> u32 {
    count << 24
}
/// The S flag of PortInfo and PortStateInfo.
pub(crate) const START: u32 = 1 << 9;
/// "All ports" of PortInfo and its like.
pub(crate) const ALL: u32 = 1 << 8;

/// Nanoseconds later.
pub(crate) fn after(now: Tick, ns: u64) -> Tick {
    Tick(now.0 + ns)
}
