//! The tables of a port as bytes on the wire, each distinct one kept once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use weft_fabric::PortNum;
use weft_state::State;
use weft_wire::sm::{
    AttributeId, PKeyModifier, PortModifier, ScScModifier, ScVlModifier, VlArbModifier,
    VlArbSection,
};

use super::devices::TABLE_KINDS;

pub(crate) use weft_fabric::TableId;

/// The kinds of tables that ports have, in the order in which they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    PKeys,
    SlToSc,
    ScToSl,
    ScToVlr,
    ScToVlt,
    ScToVlnt,
    ArbitrationLow,
    ArbitrationHigh,
    Buffers,
    Preemption,
    /// Of an ingress port of a switch: the maps to all egress ports.
    ScToSc,
}

/// Bytes of a map of service channels.
pub(crate) const MAP: usize = 32;

/// Most maps of service channels that a datagram carries.
const MAPS_MAX: u8 = 58;

/// Egress ports of a switch with `ports` external ports to which maps of service channels are written:
/// channels of packets that leave through others stay as they are.
pub(crate) fn mapped_ports(ports: u8) -> u8 {
    ports.min(MAPS_MAX)
}

/// Whether a row of maps of service channels leaves all of them as they are.
pub(crate) fn is_identity(row: &[u8]) -> bool {
    let mut maps = row.chunks(MAP);
    maps.all(|map| map.iter().zip(0_u8..).all(|(to, from)| *to == from))
}

impl Kind {
    /// The kinds that are settings of a port. SCtoSC is written by itself, between two states of the
    /// linear tables.
    pub(crate) const SETTINGS: usize = TABLE_KINDS - 1;

    pub(crate) const ALL: [Self; TABLE_KINDS] = [
        Self::PKeys,
        Self::SlToSc,
        Self::ScToSl,
        Self::ScToVlr,
        Self::ScToVlt,
        Self::ScToVlnt,
        Self::ArbitrationLow,
        Self::ArbitrationHigh,
        Self::Buffers,
        Self::Preemption,
        Self::ScToSc,
    ];

    /// Its place in a port's list.
    pub(crate) fn index(self) -> usize {
        self as usize
    }

    pub(crate) fn attribute(self) -> AttributeId {
        match self {
            Self::PKeys => AttributeId::P_KEY_TABLE,
            Self::SlToSc => AttributeId::SL_TO_SC,
            Self::ScToSl => AttributeId::SC_TO_SL,
            Self::ScToVlr => AttributeId::SC_TO_VLR,
            Self::ScToVlt => AttributeId::SC_TO_VLT,
            Self::ScToVlnt => AttributeId::SC_TO_VLNT,
            Self::ArbitrationLow | Self::ArbitrationHigh | Self::Preemption => {
                AttributeId::VL_ARBITRATION
            }
            Self::Buffers => AttributeId::BUFFER_CONTROL_TABLE,
            Self::ScToSc => AttributeId::SC_TO_SC,
        }
    }

    /// Bytes of one table of a node that has `ports` external ports.
    pub(crate) fn len(self, ports: u8) -> usize {
        match self {
            Self::PKeys => 64,
            Self::ArbitrationLow | Self::ArbitrationHigh | Self::Preemption => 256,
            Self::Buffers => 132,
            Self::ScToSc => usize::from(mapped_ports(ports)) * MAP,
            _ => MAP,
        }
    }

    /// Bytes from one table to the next in a datagram with several.
    pub(crate) fn stride(self, ports: u8) -> usize {
        self.len(ports).next_multiple_of(8)
    }

    /// Most ports whose tables of this kind one request carries.
    pub(crate) fn ports_max(self) -> u8 {
        match self {
            // The tables of a port are addressed one port at a time.
            Self::PKeys | Self::SlToSc | Self::ScToSl | Self::ScToSc => 1,
            // First-generation agents refuse several ports where one has a single VL.
            Self::ArbitrationLow | Self::ArbitrationHigh | Self::Preemption => 1,
            Self::Buffers => 7,
            Self::ScToVlr | Self::ScToVlt | Self::ScToVlnt => 31,
        }
    }

    /// Whether one Set can be for all external ports of a switch.
    pub(crate) fn has_all_ports(self) -> bool {
        !matches!(
            self,
            Self::PKeys | Self::SlToSc | Self::ScToSl | Self::ScToSc
        )
    }

    /// Whether ports refuse it from Armed on, as hfi1's `__subn_set_opa_sc_to_vlt` does.
    pub(crate) fn is_fixed_in_use(self) -> bool {
        matches!(self, Self::ScToVlt | Self::ScToVlnt)
    }

    /// Whether only end ports have it.
    pub(crate) fn of_end_ports(self) -> bool {
        matches!(self, Self::SlToSc | Self::ScToSl)
    }

    /// The attribute modifier for `count` ports from `port` on, or for all from there on; of SCtoSC for
    /// the ingress port `port` and `count` egress ports.
    pub(crate) fn modifier(self, port: PortNum, count: u8, all_ports: bool) -> u32 {
        match self {
            Self::PKeys => PKeyModifier {
                count: 1,
                port,
                block: 0,
            }
            .bits(),
            Self::SlToSc | Self::ScToSl => 0,
            Self::ScToVlr | Self::ScToVlt | Self::ScToVlnt => ScVlModifier {
                count,
                asynchronous: false,
                all_ports,
                port,
            }
            .bits(),
            Self::ArbitrationLow | Self::ArbitrationHigh | Self::Preemption => VlArbModifier {
                count,
                section: self.section(),
                all_ports,
                port,
            }
            .bits(),
            Self::Buffers => PortModifier {
                all_ports,
                ..PortModifier::range(port, count)
            }
            .bits(),
            Self::ScToSc => ScScModifier {
                count,
                all_ingress: false,
                all_egress: false,
                ingress: port,
                egress: PortNum(1),
            }
            .bits(),
        }
    }

    /// The part of VL arbitration that it is.
    fn section(self) -> u8 {
        match self {
            Self::ArbitrationHigh => VlArbSection::High as u8,
            Self::Preemption => VlArbSection::Matrix as u8,
            _ => VlArbSection::Low as u8,
        }
    }

    /// The kind, the first port, the number of ports and whether it is for all, from what
    /// [`Self::modifier`] made; none for an attribute that is no table of a port.
    pub(crate) fn of(attribute: AttributeId, modifier: u32) -> Option<(Self, PortNum, u8, bool)> {
        let kind = Self::ALL.into_iter().find(|kind| {
            kind.attribute() == attribute
                && (attribute != AttributeId::VL_ARBITRATION
                    || VlArbModifier::from_bits(modifier).section == kind.section())
        })?;
        let at = PortModifier::from_bits(modifier);
        Some(match kind {
            Self::PKeys => (kind, PKeyModifier::from_bits(modifier).port, 1, false),
            Self::SlToSc | Self::ScToSl => (kind, PortNum(0), 1, false),
            Self::ScToSc => (kind, ScScModifier::from_bits(modifier).ingress, 1, false),
            _ => (kind, at.port, at.count, at.all_ports),
        })
    }
}

/// Tables that are held before those that no port has are looked for.
const UNSWEPT: usize = 256;

/// Every distinct table once.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct TableStore {
    /// Empty where a name is free.
    contents: Vec<Arc<[u8]>>,
    ids: BTreeMap<Arc<[u8]>, TableId>,
    free: BTreeSet<TableId>,
    /// Number in use when the others were last dropped.
    in_use: usize,
}

impl TableStore {
    /// The name of `content`.
    pub(crate) fn intern(&mut self, content: &[u8]) -> TableId {
        if let Some(id) = self.ids.get(content) {
            return *id;
        }
        let content: Arc<[u8]> = content.into();
        let id = self.free.pop_first().unwrap_or_else(|| {
            self.contents.push(Arc::default());
            TableId(self.contents.len() as u32)
        });
        if let Some(place) = self.contents.get_mut(id.0 as usize - 1) {
            *place = Arc::clone(&content);
        }
        self.ids.insert(content, id);
        id
    }

    /// Whether enough has come since to look for what no port has any more.
    pub(crate) fn is_crowded(&self) -> bool {
        self.ids.len() > 2 * self.in_use + UNSWEPT
    }

    /// Drops all but the named ones, whose names stay; other contents get the names of those that are
    /// dropped. So a name must count as in use as long as any reader may compare it.
    pub(crate) fn keep(&mut self, used: &BTreeSet<TableId>) {
        let dropped = self.ids.extract_if(.., |_, id| !used.contains(id));
        for (_, id) in dropped {
            if let Some(place) = self.contents.get_mut(id.0 as usize - 1) {
                *place = Arc::default();
            }
            self.free.insert(id);
        }
        self.in_use = self.ids.len();
    }

    /// All contents, shared, in order of their names.
    pub(crate) fn contents(&self) -> &[Arc<[u8]>] {
        &self.contents
    }

    /// The content that `id` names, shared; none for [`TableId::UNKNOWN`].
    pub(crate) fn shared(&self, id: TableId) -> Option<Arc<[u8]>> {
        let index = (id.0 as usize).checked_sub(1)?;
        self.contents.get(index).map(Arc::clone)
    }

    /// The content that `id` names; empty for [`TableId::UNKNOWN`].
    pub(crate) fn content(&self, id: TableId) -> &[u8] {
        let index = (id.0 as usize).wrapping_sub(1);
        self.contents.get(index).map_or(&[], |content| content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_modifier_tells_its_kind_and_ports() {
        for kind in Kind::ALL {
            let all = kind.has_all_ports();
            let count = if kind.ports_max() > 1 { 5 } else { 1 };
            let port = if kind.of_end_ports() {
                PortNum(0)
            } else {
                PortNum(9)
            };
            let modifier = kind.modifier(port, count, all);
            let found = Kind::of(kind.attribute(), modifier);
            assert_eq!(found, Some((kind, port, count, all)));
        }
        assert_eq!(Kind::of(AttributeId::NODE_INFO, 0), None);
    }

    #[test]
    fn what_nobody_uses_makes_room() {
        let mut store = TableStore::default();
        let ids: Vec<TableId> = (0..400_u32)
            .map(|content| store.intern(&content.to_be_bytes()))
            .collect();
        assert!(store.is_crowded());
        store.keep(&BTreeSet::from([ids[7], ids[300]]));
        assert!(!store.is_crowded());
        assert_eq!(store.content(ids[300]), 300_u32.to_be_bytes());
        assert_eq!(store.content(ids[8]), [0_u8; 0]);
        assert_eq!(store.intern(&300_u32.to_be_bytes()), ids[300]);
        for content in 1_000..1_398_u32 {
            store.intern(&content.to_be_bytes());
        }
        assert_eq!(store.contents().len(), 400);
        assert_eq!(store.content(ids[7]), 7_u32.to_be_bytes());
    }

    #[test]
    fn each_content_has_one_name() {
        let mut store = TableStore::default();
        let (a, b) = (store.intern(&[1, 2]), store.intern(&[3]));
        assert_ne!(a, b);
        assert_eq!(store.intern(&[1, 2]), a);
        assert_eq!(store.content(b), [3]);
        assert_eq!(store.content(TableId::UNKNOWN), [0_u8; 0]);
    }
}
