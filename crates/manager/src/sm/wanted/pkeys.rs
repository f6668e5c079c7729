//! The P_Key table of an end port.
//!
//! Data partitions stand first; index 1 is the management partition's limited key, which every
//! end port has, and index 2 its full key where the port may manage.

use weft_fabric::PKey;
use weft_wire::Layout;
use weft_wire::sm::PartitionTable;

use crate::settings::members::Candidate;
use crate::sm::settings::{MANAGEMENT_KEY, Partition};

const LIMITED_AT: usize = 1;
const FULL_AT: usize = 2;
const FULL_BIT: u16 = 0x8000;

/// The first block of the table, as far as `cap` entries reach; keys that find no place are
/// counted.
pub(crate) fn table(port: &Candidate<'_>, partitions: &[Partition], cap: u16) -> ([u8; 64], usize) {
    let cap = usize::from(cap).min(PartitionTable::KEYS);
    let mut table = PartitionTable::default();
    let mut lost = 0;
    let mut put = |at: Option<usize>, key: u16| match at.filter(|at| *at < cap) {
        Some(at) => table.partition_table_block[at] = PKey(key),
        None => lost += 1,
    };
    put(Some(LIMITED_AT), MANAGEMENT_KEY);
    let management = partitions
        .iter()
        .find(|partition| partition.key == MANAGEMENT_KEY);
    let manages = management.is_some_and(|partition| partition.full.contains(port));
    if manages {
        put(Some(FULL_AT), MANAGEMENT_KEY | FULL_BIT);
    }
    let mut places = (0..cap).filter(|at| *at != LIMITED_AT && !(manages && *at == FULL_AT));
    for key in data_keys(port, partitions) {
        put(places.next(), key);
    }
    let mut bytes = [0; 64];
    table.encode(&mut bytes);
    (bytes, lost)
}

/// The port's keys in data partitions. Members of one that is not secured are full members.
fn data_keys<'a>(
    port: &'a Candidate<'_>,
    partitions: &'a [Partition],
) -> impl Iterator<Item = u16> + 'a {
    let data = partitions
        .iter()
        .filter(|partition| partition.key != MANAGEMENT_KEY);
    data.filter_map(move |partition| {
        let full = partition.full.contains(port);
        let limited = !full && partition.limited.contains(port);
        match (full || (limited && !partition.secured), limited) {
            (true, _) => Some(partition.key | FULL_BIT),
            (false, true) => Some(partition.key),
            (false, false) => None,
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sm::settings::{Members, Selector, Settings};
    use weft_fabric::{Guid, Node, Port, PortNum};
    use weft_wire::enums::NodeType;
    use weft_wire::sm::{NodeDescription, NodeInfo, PortInfo};

    fn hfi(mgmt_allowed: bool) -> Node {
        let info = NodeInfo {
            node_type: NodeType::HFI,
            num_ports: 1,
            node_guid: Guid(7),
            ..NodeInfo::default()
        };
        let port = Port {
            info: PortInfo {
                mgmt_allowed,
                ..PortInfo::default()
            },
            peer: None,
        };
        Node::new(info, NodeDescription::default(), None, vec![port]).unwrap()
    }

    fn keys(node: &Node, partitions: &[Partition], cap: u16) -> (Vec<u16>, usize) {
        let port = Candidate {
            node,
            port: PortNum(1),
            is_this: false,
            faces_hfi: false,
        };
        let (bytes, lost) = table(&port, partitions, cap);
        let table = PartitionTable::decode(&bytes).unwrap();
        (
            table.partition_table_block[..4]
                .iter()
                .map(|key| key.0)
                .collect(),
            lost,
        )
    }

    #[test]
    fn stock_tables() {
        let stock = Settings::default().partitions;
        assert_eq!(
            keys(&hfi(true), &stock, 16),
            (vec![0x8001, 0x7FFF, 0xFFFF, 0], 0)
        );
        assert_eq!(
            keys(&hfi(false), &stock, 16),
            (vec![0x8001, 0x7FFF, 0, 0], 0)
        );
        assert_eq!(keys(&hfi(true), &stock, 2), (vec![0x8001, 0x7FFF, 0, 0], 1));
    }

    #[test]
    fn limited_members_of_a_secured_partition_have_no_full_bit() {
        let partition = |key, secured| Partition {
            key,
            secured,
            full: Members::of([Selector::NodeGuid(Guid(8))]),
            limited: Members::of([Selector::NodeGuid(Guid(7))]),
        };
        let list = [partition(5, true), partition(6, false)];
        assert_eq!(keys(&hfi(false), &list, 16).0, [0x0005, 0x7FFF, 0x8006, 0]);
    }
}
