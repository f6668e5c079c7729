//! Intended settings of switches and HFIs.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_config::sm::{CongestionBasis, CongestionControl};
use weft_fabric::{Lid, Node, PortNum, PortRef, Snapshot, Vl};
use weft_wire::Layout;
use weft_wire::sm::{
    AttributeId, CctBlock, CctEntry, CctModifier, CongestionInfo, HfiCongestionSetting,
    HfiCongestionSettingEntry, PortInfo, PortModifier, SwitchCongestionSetting,
    SwitchPortCongestionSetting,
};

/// Bits of SwitchCongestionSetting's control map.
const VICTIM_MASK: u32 = 0x01;
const THRESHOLD: u32 = 0x04;
const MARKING_RATE: u32 = 0x10;
/// Bytes of headers on the wire in addition to a packet's payload, as the vendor's manager counts them.
const HEADERS: u64 = 40;
/// Mb/s of a lane.
const LANE_MBPS: u64 = 25_000;
/// Finest resolution of a delay, as a fraction of a packet's time: 2^-3.
const SHIFT_MAX: u8 = 3;
/// The largest multiplier that an entry holds.
const MULTIPLIER_MAX: u64 = 0x3FFF;
/// Delays in a block.
const DELAYS: u16 = 64;

/// A setting of a device.
#[derive(Debug, Clone)]
pub(super) struct Want {
    pub(super) at: PortRef,
    pub(super) lid: Lid,
    pub(super) attribute: AttributeId,
    pub(super) modifier: u32,
    /// Bytes of it.
    pub(super) len: usize,
    /// Intended content; `None` if it is only to be read.
    pub(super) content: Option<Arc<[u8]>>,
}

impl Want {
    fn new((at, lid): (PortRef, Lid), attribute: AttributeId, content: Arc<[u8]>) -> Self {
        let len = content.len();
        Self {
            content: Some(content),
            ..Self::known((at, lid), attribute, len)
        }
    }

    fn known((at, lid): (PortRef, Lid), attribute: AttributeId, len: usize) -> Self {
        Self {
            at,
            lid,
            attribute,
            modifier: 0,
            len,
            content: None,
        }
    }

    fn with(self, modifier: u32) -> Self {
        Self { modifier, ..self }
    }
}

/// Makes contents, each kept once.
pub(super) struct Maker<'a> {
    control: &'a CongestionControl,
    switches: BTreeMap<u8, Arc<[u8]>>,
    hosts: Arc<[u8]>,
    tables: BTreeMap<u64, Arc<[u8]>>,
}

impl<'a> Maker<'a> {
    pub(super) fn new(control: &'a CongestionControl) -> Self {
        Self {
            control,
            switches: BTreeMap::new(),
            hosts: host_setting(control).to_bytes().into(),
            tables: BTreeMap::new(),
        }
    }

    /// The settings of all devices that have LIDs; if congestion control is on, also those that clients
    /// of subnet administration may query.
    pub(super) fn all(&mut self, snapshot: &Snapshot) -> Vec<Want> {
        let topology = &snapshot.topology;
        let mut wants = Vec::new();
        for (at, lid, _) in topology.end_ports() {
            let Some(node) = topology.node(at.node) else {
                continue;
            };
            let end = (at, lid);
            if self.control.enable {
                let info = AttributeId::CONGESTION_INFO;
                wants.push(Want::known(end, info, CongestionInfo::LEN));
            }
            match node.is_switch() {
                true => self.add_switch(end, node.info.num_ports, &mut wants),
                false => self.add_host(end, node, &mut wants),
            }
        }
        wants
    }

    fn add_switch(&mut self, end: (PortRef, Lid), ports: u8, wants: &mut Vec<Want>) {
        let content = self.switch(ports);
        let setting = AttributeId::SWITCH_CONGESTION_SETTING;
        wants.push(Want::new(end, setting, content));
        if self.control.enable {
            let ports = ports.saturating_add(1);
            let modifier = PortModifier {
                count: ports,
                ..PortModifier::default()
            };
            let len = usize::from(ports) * SwitchPortCongestionSetting::LEN;
            let own = AttributeId::SWITCH_PORT_CONGESTION_SETTING;
            wants.push(Want::known(end, own, len).with(modifier.bits()));
        }
    }

    /// The table first: the setting puts it in use.
    fn add_host(&mut self, end: (PortRef, Lid), node: &Node, wants: &mut Vec<Want>) {
        if let Some((modifier, table)) = self.table(node, end.0.port) {
            let attribute = AttributeId::HFI_CONGESTION_CONTROL_TABLE;
            wants.push(Want::new(end, attribute, table).with(modifier));
        }
        let content = Arc::clone(&self.hosts);
        wants.push(Want::new(end, AttributeId::HFI_CONGESTION_SETTING, content));
    }

    fn switch(&mut self, ports: u8) -> Arc<[u8]> {
        let make = || switch_setting(self.control, ports).to_bytes().into();
        Arc::clone(self.switches.entry(ports).or_insert_with(make))
    }

    /// An HFI's table with its modifier; none where congestion control is off.
    fn table(&mut self, node: &Node, port: PortNum) -> Option<(u32, Arc<[u8]>)> {
        let info = &node.port(port)?.info;
        let packet_ns = packet_ns(info).filter(|_| self.control.enable)?;
        let count = self.control.fi.limit / DELAYS + 1;
        let make = || table(self.control, packet_ns).into();
        let content = Arc::clone(self.tables.entry(packet_ns).or_insert_with(make));
        let modifier = CctModifier {
            count: count as u8,
            block: 0,
        };
        Some((modifier.bits(), content))
    }
}

fn switch_setting(control: &CongestionControl, ports: u8) -> SwitchCongestionSetting {
    if !control.enable {
        return SwitchCongestionSetting::default();
    }
    let own = &control.switch;
    let mut victim_mask = [0; 32];
    if own.victim_marking_enable {
        for port in 1..=ports {
            victim_mask[31 - usize::from(port / 8)] |= 1 << (port % 8);
        }
    }
    let victims = if own.victim_marking_enable {
        VICTIM_MASK
    } else {
        0
    };
    SwitchCongestionSetting {
        control_map: victims | THRESHOLD | MARKING_RATE,
        victim_mask,
        threshold: own.threshold,
        packet_size: own.packet_size,
        marking_rate: own.marking_rate as u16,
        ..SwitchCongestionSetting::default()
    }
}

fn host_setting(control: &CongestionControl) -> HfiCongestionSetting {
    if !control.enable {
        return HfiCongestionSetting::default();
    }
    let own = &control.fi;
    let entry = HfiCongestionSettingEntry {
        ccti_increase: own.increase,
        ccti_timer: own.timer,
        trigger_threshold: own.threshold,
        ccti_min: own.min,
    };
    HfiCongestionSetting {
        control_map: u32::MAX,
        port_control: u16::from(own.basis == CongestionBasis::ServiceLevel),
        hfi_congestion_entry_list: [entry; 32],
    }
}

/// Time of the largest packet on a port's link; `None` if it is down.
fn packet_ns(info: &PortInfo) -> Option<u64> {
    let lanes = u64::from(info.link_width_active.lanes());
    let mtus = (0..32).map(|vl| info.neighbor_mtu.get(Vl(vl)).bytes());
    let bytes = u64::from(mtus.max().unwrap_or(0));
    let bits = (bytes + HEADERS) * 8;
    (lanes > 0 && bytes > 0).then(|| bits * 1_000 / (lanes * LANE_MBPS))
}

/// The limit, then delays that grow evenly to the longest, as whole blocks.
fn table(control: &CongestionControl, packet_ns: u64) -> Vec<u8> {
    let limit = control.fi.limit.max(1);
    let (shift, last) = longest(control.fi.desired_max_delay_ns.into(), packet_ns.max(1));
    let mut bytes = limit.to_be_bytes().to_vec();
    for block in 0..=limit / DELAYS {
        let delays = std::array::from_fn(|place| {
            let step = block * DELAYS + place as u16;
            delay(step, limit, shift, last)
        });
        let block = CctBlock {
            cct_entry_list: delays,
        };
        bytes.extend(block.to_bytes());
    }
    bytes
}

/// Shift and multiplier of the longest delay: the finest that holds it.
fn longest(delay_ns: u64, packet_ns: u64) -> (u8, u64) {
    let multiplier = |shift: u8| (delay_ns << shift) / packet_ns;
    let fits = |shift: &u8| multiplier(*shift) <= MULTIPLIER_MAX;
    let shift = (0..=SHIFT_MAX).rev().find(fits).unwrap_or(0);
    (shift, multiplier(shift).min(MULTIPLIER_MAX))
}

fn delay(step: u16, limit: u16, shift: u8, last: u64) -> CctEntry {
    if step == 0 || step > limit {
        return CctEntry::default();
    }
    CctEntry {
        cct_shift: shift,
        cct_multiplier: (u64::from(step) * last / u64::from(limit)) as u16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_grow_evenly_to_the_longest() {
        // 10240 bytes at 100 Gb/s; the vendor's manager writes the same.
        let mut control = CongestionControl {
            enable: true,
            ..CongestionControl::default()
        };
        control.fi.desired_max_delay_ns = 8300;
        let bytes = table(&control, 822);
        assert_eq!(
            (bytes.len(), &bytes[..2]),
            (2 + 2 * CctBlock::LEN, &[0, 127][..])
        );
        let first = CctBlock::decode(&bytes[2..])
            .unwrap_or_default()
            .cct_entry_list;
        let multipliers = [0, 1, 2, 10, 12, 46].map(|step: usize| first[step].cct_multiplier);
        assert_eq!(multipliers, [0, 0, 1, 6, 7, 28]);
        assert_eq!((first[0].cct_shift, first[1].cct_shift), (0, 3));
    }

    #[test]
    fn a_delay_that_does_not_fit_is_told_more_coarsely() {
        assert_eq!(longest(8_300, 822), (3, 80));
        assert_eq!(longest(2_000_000, 822), (2, 9732));
        assert_eq!(longest(u64::from(u32::MAX), 100), (0, MULTIPLIER_MAX));
    }

    #[test]
    fn victims_are_the_ports_that_a_switch_has() {
        let mut control = CongestionControl {
            enable: true,
            ..CongestionControl::default()
        };
        assert_eq!(switch_setting(&control, 8).control_map, 0x14);
        control.switch.victim_marking_enable = true;
        let setting = switch_setting(&control, 8);
        assert_eq!(
            (setting.control_map, &setting.victim_mask[30..]),
            (0x15, &[1, 0xFE][..])
        );
        control.enable = false;
        assert_eq!(
            switch_setting(&control, 8),
            SwitchCongestionSetting::default()
        );
    }
}
