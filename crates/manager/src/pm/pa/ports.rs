//! Counters of ports, and setting their running totals to zero.

use weft_fabric::{Lid, Lmc, PortNum, Tick};
use weft_wire::pa::{
    ClearAllPortCounters, ClearPortCounters, ClearVfPortCounters, ImageId, PortCounters,
    VfPortCounters, status,
};
use weft_wire::pm::{Counter, VlCounter, VlCounterSelectMask};

use super::images::Found;
use super::{Records, Refusal, Unanswered};
use crate::pm::Pm;
use crate::pm::counters::{Counters, LaneCounters, add_lane, clear};
use crate::pm::image::{Image, Reading};
use crate::settings::MANAGEMENT_LANE;

/// Flags of requests and answers (`STL_PA_PC_FLAG_*`).
mod flag {
    /// Counts since the previous image.
    pub(super) const DELTA: u32 = 0x01;
    /// Another client cleared counters.
    pub(super) const UNEXPECTED_CLEAR: u32 = 0x02;
    /// The lanes are shared with other virtual fabrics.
    pub(super) const SHARED_VL: u32 = 0x04;
    /// Running totals, which clients may set to zero.
    pub(super) const USER_COUNTERS: u32 = 0x08;
    /// Counters should have been set to zero and were not.
    pub(super) const CLEAR_FAIL: u32 = 0x10;
}

/// Stands for all ports of a switch.
const ALL_PORTS: PortNum = PortNum(255);
/// The virtual fabric that every port has besides: the lane of subnet management.
const HIDDEN_FABRIC: &[u8] = b"HIDDEN_VL15_VF";

/// The counters of a lane in the order of `STLVlCounterSelectMask`, from bit 31 down.
const LANE_SELECTION: [VlCounter; VlCounter::COUNT] = [
    VlCounter::XmitData,
    VlCounter::RcvData,
    VlCounter::XmitPkts,
    VlCounter::RcvPkts,
    VlCounter::XmitDiscards,
    VlCounter::SwPortCongestion,
    VlCounter::XmitWait,
    VlCounter::RcvFecn,
    VlCounter::RcvBecn,
    VlCounter::XmitTimeCong,
    VlCounter::XmitWastedBw,
    VlCounter::XmitWaitData,
    VlCounter::RcvBubble,
    VlCounter::MarkFecn,
];

/// Requested counters of a port.
struct Wanted {
    found: Found,
    place: usize,
    delta: bool,
    user: bool,
    flags: u32,
}

impl Pm {
    /// Finds the port of a query about counters, and checks the combination of flags.
    fn wanted(
        &mut self,
        now: Tick,
        lid: Lid,
        port: PortNum,
        flags: u32,
        id: &ImageId,
    ) -> Result<Wanted, Unanswered> {
        let (delta, user) = (flags & flag::DELTA != 0, flags & flag::USER_COUNTERS != 0);
        if lid.0 == 0 || user && (delta || id.image_offset != 0) {
            return Err(status::INVALID_PARAMETER.into());
        }
        let id = if user { ImageId::default() } else { *id };
        let found = self.image(now, &id)?;
        let place = found.image.find(lid, port).ok_or(status::NO_PORT)?;
        let clear_failed = check_reading(&found.image, place)?;
        let mut flags = if clear_failed { flag::CLEAR_FAIL } else { 0 };
        if user {
            flags |= flag::USER_COUNTERS;
        } else {
            flags |= u32::from(delta) * flag::DELTA;
            let cleared = found.image.is_cleared_by_others(place);
            flags |= u32::from(cleared) * flag::UNEXPECTED_CLEAR;
        }
        Ok(Wanted {
            found,
            place,
            delta,
            user,
            flags,
        })
    }

    /// Place of an image's port among the running totals.
    fn running_place(&self, image: &Image, place: usize) -> Option<usize> {
        let port = image.roster.ports.get(place)?;
        let member = image.roster.member_of(port);
        let roster = &self.running.roster;
        roster.port_of(roster.member_at(member.lid)?, port.number)
    }

    /// Counters of a port.
    pub(super) fn port_counters(
        &mut self,
        now: Tick,
        ask: &PortCounters,
    ) -> Result<Records, Unanswered> {
        let wanted = self.wanted(now, ask.node_lid, ask.port_number, ask.flags, &ask.image_id)?;
        let (image, place) = (&wanted.found.image, wanted.place);
        let counters = match (wanted.user, wanted.delta) {
            (true, _) => {
                let place = self.running_place(image, place).ok_or(status::NO_PORT)?;
                self.running.counters[place]
            }
            (_, true) => image.delta(place).counters,
            _ => image.counters(place),
        };
        let delta = image.delta(place);
        let quality = if wanted.delta {
            delta.quality
        } else {
            image.quality(place)
        };
        Ok(Records::one(PortCounters {
            node_lid: ask.node_lid,
            port_number: ask.port_number,
            flags: wanted.flags,
            image_id: wanted.answer_id(),
            link_quality_indicator: quality,
            num_lanes_down: if wanted.delta {
                delta.lanes_down
            } else {
                image.roster.ports[place].lanes_down
            },
            ..record(&counters)
        }))
    }

    /// Counters of a port in a virtual fabric.
    pub(super) fn fabric_port_counters(
        &mut self,
        now: Tick,
        ask: &VfPortCounters,
    ) -> Result<Records, Unanswered> {
        if ask.vf_name.bytes().is_empty() {
            return Err(status::INVALID_PARAMETER.into());
        }
        if !self.settings.process.lanes {
            return Err(status::NO_DATA.into());
        }
        let wanted = self.wanted(now, ask.node_lid, ask.port_number, ask.flags, &ask.image_id)?;
        let (image, place) = (&wanted.found.image, wanted.place);
        let (lanes, shared) = fabric_lanes(image, place, ask.vf_name.bytes())?;
        let sum = match (wanted.user, wanted.delta) {
            (true, _) => {
                let place = self.running_place(image, place).ok_or(status::NO_PORT)?;
                self.running.lanes_of(place, lanes)
            }
            (_, true) => sum(image.lane_deltas(place), lanes),
            _ => sum(image.lanes(place), lanes),
        };
        let get = |counter: VlCounter| sum[counter as usize];
        Ok(Records::one(VfPortCounters {
            node_lid: ask.node_lid,
            port_number: ask.port_number,
            flags: wanted.flags | if shared { flag::SHARED_VL } else { 0 },
            vf_name: ask.vf_name,
            image_id: wanted.answer_id(),
            port_vf_xmit_data: get(VlCounter::XmitData),
            port_vf_rcv_data: get(VlCounter::RcvData),
            port_vf_xmit_pkts: get(VlCounter::XmitPkts),
            port_vf_rcv_pkts: get(VlCounter::RcvPkts),
            port_vf_xmit_discards: get(VlCounter::XmitDiscards),
            sw_port_vf_congestion: get(VlCounter::SwPortCongestion),
            port_vf_xmit_wait: get(VlCounter::XmitWait),
            port_vf_rcv_fecn: get(VlCounter::RcvFecn),
            port_vf_rcv_becn: get(VlCounter::RcvBecn),
            port_vf_xmit_time_cong: get(VlCounter::XmitTimeCong),
            port_vf_xmit_wasted_bw: get(VlCounter::XmitWastedBw),
            port_vf_xmit_wait_data: get(VlCounter::XmitWaitData),
            port_vf_rcv_bubble: get(VlCounter::RcvBubble),
            port_vf_mark_fecn: get(VlCounter::MarkFecn),
        }))
    }

    /// Places of the running totals that a client wants to set to zero; none for a port that came
    /// after the last sweep and has no totals yet.
    fn selected(&self, lid: Lid, port: PortNum, select: u32) -> Result<Vec<usize>, Refusal> {
        if lid.0 == 0 || select == 0 {
            return Err(status::INVALID_PARAMETER);
        }
        self.check_running()?;
        let roster = &self.running.roster;
        let read = roster.member_at(lid).and_then(|member| {
            if port == ALL_PORTS && roster.members[member].is_switch {
                return Some(roster.ports_of(member).map(|(place, _)| place).collect());
            }
            Some(vec![roster.port_of(member, port)?])
        });
        match read {
            Some(places) => Ok(places),
            None if self.is_new(lid, port) => Ok(Vec::new()),
            None => Err(status::NO_PORT),
        }
    }

    /// Whether the fabric has such a port, whatever the last sweep knew.
    fn is_new(&self, lid: Lid, port: PortNum) -> bool {
        let Some(snapshot) = &self.snapshot else {
            return false;
        };
        let topology = &snapshot.topology;
        let owns =
            |base: Lid, lmc: Lmc| (base.0..base.0.saturating_add(lmc.lids())).contains(&lid.0);
        let mut ends = topology.end_ports();
        let end = ends.find(|(_, base, lmc)| owns(*base, *lmc));
        let node = end.and_then(|(at, ..)| Some((at, topology.node(at.node)?)));
        node.is_some_and(|(at, node)| match node.is_switch() {
            true => port == ALL_PORTS || node.port(port).is_some(),
            false => port == at.port,
        })
    }

    pub(super) fn check_running(&self) -> Result<(), Refusal> {
        match self.snapshot.is_some() && self.history.latest().is_some() {
            true => Ok(()),
            false => Err(status::UNAVAILABLE),
        }
    }

    /// Sets running totals of a port to zero, or of all ports of a switch.
    pub(super) fn clear_port(&mut self, ask: &ClearPortCounters) -> Result<Records, Refusal> {
        let select = ask.counter_select_mask.bits();
        for place in self.selected(ask.node_lid, ask.port_number, select)? {
            clear(&mut self.running.counters[place], select);
        }
        Ok(Records::one(*ask))
    }

    /// Sets running totals of all ports to zero.
    pub(super) fn clear_all(&mut self, ask: &ClearAllPortCounters) -> Result<Records, Refusal> {
        let select = ask.counter_select_mask.bits();
        if select == 0 {
            return Err(status::INVALID_PARAMETER);
        }
        self.check_running()?;
        for counters in &mut self.running.counters {
            clear(counters, select);
        }
        Ok(Records::one(*ask))
    }

    /// Sets running totals of a port's lanes in a virtual fabric to zero.
    pub(super) fn clear_fabric_port(
        &mut self,
        ask: &ClearVfPortCounters,
    ) -> Result<Records, Refusal> {
        if ask.vf_name.bytes().is_empty() {
            return Err(status::INVALID_PARAMETER);
        }
        if !self.settings.process.lanes {
            return Err(status::NO_DATA);
        }
        let select = ask.vf_counter_select_mask.bits();
        let places = self.selected(ask.node_lid, ask.port_number, select)?;
        let latest = self.history.latest().cloned().ok_or(status::UNAVAILABLE)?;
        let lanes = match ask.vf_name.bytes() {
            HIDDEN_FABRIC => 1 << MANAGEMENT_LANE.0,
            name => {
                let mut fabrics = latest.roster.fabrics.iter();
                let fabric = fabrics.find(|fabric| fabric.name.as_bytes() == name);
                fabric.ok_or(status::NO_VF)?.lanes
            }
        };
        for place in places {
            self.running
                .clear_lanes(place, lanes, ask.vf_counter_select_mask);
        }
        Ok(Records::one(*ask))
    }
}

impl crate::pm::finish::Running {
    /// Running totals of some lanes of a port together.
    fn lanes_of(&self, place: usize, lanes: u32) -> LaneCounters {
        let count = self.roster.lanes.len();
        let own = self.lanes.get(place * count..(place + 1) * count);
        let own = own.unwrap_or_default().iter().copied();
        sum(self.roster.lanes.iter().copied().zip(own), lanes)
    }

    fn clear_lanes(&mut self, place: usize, lanes: u32, select: VlCounterSelectMask) {
        let count = self.roster.lanes.len();
        let own = self.lanes.get_mut(place * count..(place + 1) * count);
        let own = self.roster.lanes.iter().zip(own.unwrap_or_default());
        for (_, counters) in own.filter(|(vl, _)| lanes >> vl.0 & 1 == 1) {
            for (place, counter) in LANE_SELECTION.into_iter().enumerate() {
                if select.bits() & 1 << (31 - place) != 0 {
                    counters[counter as usize] = 0;
                }
            }
        }
    }
}

impl Wanted {
    /// Running totals belong to no image.
    fn answer_id(&self) -> ImageId {
        match self.user {
            true => ImageId::default(),
            false => self.found.id,
        }
    }
}

/// Whether a port's counters are valid; also whether clearing some of them failed.
fn check_reading(image: &Image, place: usize) -> Result<bool, Refusal> {
    match image.reading(place) {
        Reading::Done => Ok(false),
        Reading::ClearFailed => Ok(true),
        Reading::Skipped => Err(status::NO_DATA),
        Reading::Failed => Err(status::BAD_DATA),
    }
}

fn sum(lanes: impl Iterator<Item = (weft_fabric::Vl, LaneCounters)>, wanted: u32) -> LaneCounters {
    let mut sum = [0; VlCounter::COUNT];
    for (_, lane) in lanes.filter(|(vl, _)| wanted >> vl.0 & 1 == 1) {
        add_lane(&mut sum, &lane);
    }
    sum
}

/// The lanes that a virtual fabric uses at a port, and whether others of the port use them too.
fn fabric_lanes(image: &Image, place: usize, name: &[u8]) -> Result<(u32, bool), Refusal> {
    if name == HIDDEN_FABRIC {
        return Ok((1 << MANAGEMENT_LANE.0, false));
    }
    let fabrics = &image.roster.fabrics;
    let index = fabrics
        .iter()
        .position(|fabric| fabric.name.as_bytes() == name);
    let index = index.ok_or(status::NO_VF)?;
    let carried = image.roster.ports.get(place).map_or(0, |port| port.fabrics);
    if carried >> index & 1 == 0 {
        return Err(status::NO_VF);
    }
    let lanes = fabrics[index].lanes;
    let mut others = fabrics.iter().enumerate();
    let shared = others.any(|(other, fabric)| {
        other != index && carried >> other & 1 == 1 && fabric.lanes & lanes != 0
    });
    Ok((lanes, shared))
}

/// The counters of a port as a record.
fn record(counters: &Counters) -> PortCounters {
    let get = |counter: Counter| counters[counter as usize];
    let narrow = |counter: Counter| u32::try_from(get(counter)).unwrap_or(u32::MAX);
    PortCounters {
        port_xmit_data: get(Counter::XmitData),
        port_rcv_data: get(Counter::RcvData),
        port_xmit_pkts: get(Counter::XmitPkts),
        port_rcv_pkts: get(Counter::RcvPkts),
        port_multicast_xmit_pkts: get(Counter::MulticastXmitPkts),
        port_multicast_rcv_pkts: get(Counter::MulticastRcvPkts),
        local_link_integrity_errors: get(Counter::LocalLinkIntegrityErrors),
        fm_config_errors: get(Counter::FmConfigErrors),
        port_rcv_errors: get(Counter::RcvErrors),
        excessive_buffer_overruns: get(Counter::ExcessiveBufferOverruns),
        port_rcv_constraint_errors: get(Counter::RcvConstraintErrors),
        port_rcv_switch_relay_errors: get(Counter::RcvSwitchRelayErrors),
        port_xmit_discards: get(Counter::XmitDiscards),
        port_xmit_constraint_errors: get(Counter::XmitConstraintErrors),
        port_rcv_remote_physical_errors: get(Counter::RcvRemotePhysicalErrors),
        sw_port_congestion: get(Counter::SwPortCongestion),
        port_xmit_wait: get(Counter::XmitWait),
        port_rcv_fecn: get(Counter::RcvFecn),
        port_rcv_becn: get(Counter::RcvBecn),
        port_xmit_time_cong: get(Counter::XmitTimeCong),
        port_xmit_wasted_bw: get(Counter::XmitWastedBw),
        port_xmit_wait_data: get(Counter::XmitWaitData),
        port_rcv_bubble: get(Counter::RcvBubble),
        port_mark_fecn: get(Counter::MarkFecn),
        link_error_recovery: narrow(Counter::LinkErrorRecovery),
        link_downed: narrow(Counter::LinkDowned),
        uncorrectable_errors: u8::try_from(get(Counter::UncorrectableErrors)).unwrap_or(u8::MAX),
        ..PortCounters::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lane_selections_have_the_vendors_bits() {
        let bit = |place: usize| VlCounterSelectMask::from_bits(1 << (31 - place));
        for (place, counter) in LANE_SELECTION.into_iter().enumerate() {
            let mask = bit(place);
            let named = match counter {
                VlCounter::XmitData => mask.port_vl_xmit_data,
                VlCounter::RcvData => mask.port_vl_rcv_data,
                VlCounter::XmitPkts => mask.port_vl_xmit_pkts,
                VlCounter::RcvPkts => mask.port_vl_rcv_pkts,
                VlCounter::XmitDiscards => mask.port_vl_xmit_discards,
                VlCounter::SwPortCongestion => mask.sw_port_vl_congestion,
                VlCounter::XmitWait => mask.port_vl_xmit_wait,
                VlCounter::RcvFecn => mask.port_vl_rcv_fecn,
                VlCounter::RcvBecn => mask.port_vl_rcv_becn,
                VlCounter::XmitTimeCong => mask.port_vl_xmit_time_cong,
                VlCounter::XmitWastedBw => mask.port_vl_xmit_wasted_bw,
                VlCounter::XmitWaitData => mask.port_vl_xmit_wait_data,
                VlCounter::RcvBubble => mask.port_vl_rcv_bubble,
                VlCounter::MarkFecn => mask.port_vl_mark_fecn,
            };
            assert!(named, "{counter:?}");
        }
    }
}
