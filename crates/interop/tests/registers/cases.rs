//! The requested attributes, and the emulator's registers for them.

use weft_dataplane::registers::{PortRegisters, PortTable};
use weft_dataplane::{Device, Network};
use weft_fabric::{NodeId, PortNum};
use weft_wire::Layout;
use weft_wire::sm::{
    BufferControlTable, CctBlock, CongestionInfo, HfiCongestionSetting, LinearFdb, MulticastFdb,
    PartitionTable, PortGroupFdb, PortGroupTable, PortStateInfo, ScScMap, ScSlMap, ScVlMap,
    SlScMap, SwitchCongestionSetting, VlArbMatrix, VlArbTable,
};

use crate::expected::{fields, numbers};
use crate::printed::Fields;

/// First multicast LID.
const MULTICAST: u64 = 0xF000_0000;

/// One call of opasmaquery.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// Its arguments.
    pub(crate) arguments: String,
    /// Expected output.
    pub(crate) holds: Fields,
}

/// A node, and its address from the tool's host.
pub(crate) struct Asked<'a> {
    network: &'a Network,
    id: NodeId,
    /// Hops of the directed route.
    route: &'static str,
    /// The port that requests come in by.
    ingress: PortNum,
}

impl<'a> Asked<'a> {
    /// The node at the end of a route.
    pub(crate) fn new(
        network: &'a Network,
        name: &str,
        route: &'static str,
        ingress: PortNum,
    ) -> Self {
        let mut nodes = network.topology().nodes();
        let (id, _) = nodes.find(|(_, node)| node.name() == name).unwrap();
        Self {
            network,
            id,
            route,
            ingress,
        }
    }

    fn device(&self) -> &Device {
        self.network.device_at(self.id)
    }

    fn port(&self, number: PortNum) -> &PortRegisters {
        self.network.port(self.device().port(number).unwrap())
    }

    fn case(&self, arguments: &str, holds: Fields) -> Case {
        Case {
            arguments: format!("-g -o {arguments} {}", self.route),
            holds,
        }
    }

    /// A table of a port.
    fn table<T: Layout>(&self, number: PortNum, table: PortTable) -> T {
        T::decode(self.port(number).table(table)).unwrap()
    }

    /// Attributes of all nodes; `ports` are the arguments for each of them.
    fn common(&self, number: PortNum, selected: &str) -> Vec<Case> {
        let mut info = *self.port(number).info();
        info.local_port_num = self.ingress;
        let mut node = self.device().info;
        node.local_port_num = self.ingress;
        let map = |table| fields(&self.table::<ScVlMap>(number, table));
        let mut cases = vec![
            self.case("nodeinfo", fields(&node)),
            self.case(&format!("portinfo{selected}"), fields(&info)),
            self.case(&format!("pkey{selected}"), self.p_keys(number)),
            self.case(&format!("scvlr{selected}"), map(PortTable::ScToVlr)),
            self.case(&format!("scvlt{selected}"), map(PortTable::ScToVlt)),
            self.case(
                &format!("bfrctrl{selected}"),
                fields(&self.table::<BufferControlTable>(number, PortTable::BufferControl)),
            ),
            self.case(&format!("vlarb{selected}"), self.arbitration(number)),
        ];
        // The tool takes no port 0 for it.
        if number.0 > 0 {
            cases.push(self.case(&format!("scvlnt{selected}"), map(PortTable::ScToVlnt)));
        }
        cases
    }

    /// The keys of a port; the tool prints membership and number of each.
    fn p_keys(&self, number: PortNum) -> Fields {
        let keys: PartitionTable = self.table(number, PortTable::PKeys);
        let each = keys.partition_table_block.iter().enumerate();
        let parts = each.flat_map(|(place, key)| {
            let name = format!("PartitionTableBlock[{place}]");
            let member = (format!("{name}.MembershipType"), u64::from(key.0 >> 15));
            [
                member,
                (format!("{name}.P_KeyBase"), u64::from(key.0 & 0x7FFF)),
            ]
        });
        numbers(parts)
    }

    /// The four sections.
    fn arbitration(&self, number: PortNum) -> Fields {
        let turns = |table| fields(&self.table::<VlArbTable>(number, table));
        let matrix: VlArbMatrix = self.table(number, PortTable::VlArbMatrix);
        let sections = [
            ("Low Priority", turns(PortTable::VlArbLow)),
            ("High Priority", turns(PortTable::VlArbHigh)),
            ("Preemption Table", turns(PortTable::VlArbPreempt)),
            ("Preemption Matrix", fields(&matrix)),
        ];
        let named = sections.into_iter().flat_map(|(section, holds)| {
            let named = move |(name, value)| (format!("{section}.{name}"), value);
            holds.into_iter().map(named)
        });
        named.collect()
    }
}

/// Attributes of an HFI.
pub(crate) fn hfi(asked: &Asked<'_>) -> Vec<Case> {
    let one = PortNum(1);
    let mut cases = asked.common(one, "");
    let device = asked.device();
    let setting = HfiCongestionSetting::decode(device.congestion_setting()).unwrap();
    cases.extend([
        asked.case(
            "slsc",
            fields(&asked.table::<SlScMap>(one, PortTable::SlToSc)),
        ),
        asked.case(
            "scsl",
            fields(&asked.table::<ScSlMap>(one, PortTable::ScToSl)),
        ),
        asked.case("hficongset", fields(&setting)),
        asked.case("hficongcon -b 0,7", delays(device.congestion_table())),
    ]);
    cases
}

/// The congestion control table; without a limit the tool prints no entry.
fn delays(table: &[u8]) -> Fields {
    let (limit, blocks) = table.split_first_chunk().unwrap();
    let limit = u64::from(u16::from_be_bytes(*limit));
    let mut holds = numbers([("CCTI_Limit".to_owned(), limit)]);
    if limit == 0 {
        return holds;
    }
    for (place, bytes) in blocks.chunks(CctBlock::LEN).enumerate() {
        let block = fields(&CctBlock::decode(bytes).unwrap()).into_iter();
        let named = |(name, value)| (format!("CCT_Block_List[{place}].{name}"), value);
        holds.extend(block.map(named));
    }
    holds
}

/// Attributes of a switch: of its port 0, of one with an HFI and one with a switch at the other
/// end, and of itself.
pub(crate) fn switch(asked: &Asked<'_>, ports: &[PortNum]) -> Vec<Case> {
    let mut cases = Vec::new();
    for port in ports {
        cases.extend(asked.common(*port, &format!(" -m {}", port.0)));
        cases.push(port_state(asked, *port));
    }
    cases.extend(channels(asked, ports));
    cases.extend(forwarding(asked));
    let setting = SwitchCongestionSetting::decode(asked.device().congestion_setting()).unwrap();
    cases.extend([
        asked.case("swcongset", fields(&setting)),
        asked.case(
            "conginfo",
            fields(&CongestionInfo {
                congestion_log_length: 96,
                ..CongestionInfo::default()
            }),
        ),
    ]);
    cases
}

fn port_state(asked: &Asked<'_>, number: PortNum) -> Case {
    let info = asked.port(number).info();
    let state = PortStateInfo {
        led_enabled: info.led_enabled,
        is_sm_configuration_started: info.is_sm_configuration_started,
        neighbor_normal: info.neighbor_normal,
        offline_disabled_reason: info.offline_disabled_reason,
        phys_state: info.phys_state,
        port_state: info.port_state,
        link_width_downgrade_tx_active: info.link_width_downgrade_tx_active,
        link_width_downgrade_rx_active: info.link_width_downgrade_rx_active,
    };
    let named = fields(&state).into_iter();
    let named = named.map(|(name, value)| (format!("Port[{}].{name}", number.0), value));
    asked.case(&format!("pstateinfo -m {0},{0}", number.0), named.collect())
}

/// SC to SC between the external ports among `ports`.
fn channels(asked: &Asked<'_>, ports: &[PortNum]) -> Vec<Case> {
    let switch = asked.network.switch(asked.id).unwrap();
    let count = asked.device().last_port().0;
    let external = || ports.iter().filter(|port| port.0 > 0);
    let pairs = external().flat_map(|from| external().map(move |to| (*from, *to)));
    let case = |(from, to): (PortNum, PortNum)| {
        let map = ScScMap::decode(switch.channel_map(from, to, count)).unwrap();
        asked.case(&format!("scsc -m {},{}", from.0, to.0), fields(&map))
    };
    pairs.map(case).collect()
}

/// The forwarding tables, whole.
fn forwarding(asked: &Asked<'_>) -> Vec<Case> {
    let switch = asked.network.switch(asked.id).unwrap();
    let info = *switch.info();
    let lids = 0..=u64::from(info.linear_fdb_top);
    let entry = |lid: u64, block: [u8; 64], none: u8| {
        let entry = block[lid as usize % 64];
        (entry != none).then(|| (format!("LID {lid:#x}"), u64::from(entry)))
    };
    let linear = lids.clone().filter_map(|lid| {
        let block = switch.linear_block(lid as u32 / LinearFdb::LIDS).unwrap();
        entry(lid, block, LinearFdb::UNREACHABLE)
    });
    let groups_of = lids.filter_map(|lid| {
        let block = switch.port_group_fdb_block(lid as u32 / PortGroupFdb::LIDS);
        entry(lid, block.unwrap(), PortGroupFdb::NONE)
    });
    // No row is in use before the members are known.
    let rows = (MULTICAST..=info.multicast_fdb_top as u64).map(|row| row - MULTICAST);
    let multicast = rows.map(|row| {
        let block = switch.multicast_block(0, row as u32 / MulticastFdb::LIDS);
        let block = MulticastFdb::decode(&block.unwrap()).unwrap();
        let mask = block.mft_block[row as usize % 8];
        (format!("LID {:#x}", MULTICAST + row), mask)
    });
    let blocks = info.port_group_top.div_ceil(PortGroupTable::GROUPS as u8);
    let groups = (0..8 * blocks).map(|group| {
        let block = switch.port_group_block(0, group / PortGroupTable::GROUPS as u8);
        let block = PortGroupTable::decode(&block.unwrap()).unwrap();
        let mask = block.pgt_block[usize::from(group) % 8];
        (format!("PortGroup {group:#x}"), mask)
    });
    vec![
        asked.case("swinfo", fields(&info)),
        asked.case("linfdb", numbers(linear)),
        asked.case("mcfdb", numbers(multicast)),
        asked.case("portgroup", numbers(groups)),
        asked.case("portgroupfdb", numbers(groups_of)),
    ]
}
