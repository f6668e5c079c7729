//! Processing of agents' answers.

use weft_fabric::{PortNum, Tick};
use weft_wire::Layout;
use weft_wire::header::{MadHeader, status};
use weft_wire::id::PKey;
use weft_wire::packet::Packet;
use weft_wire::pm::{
    Counter, DataPortCounters, Entries, Entry, ErrorPortCounters, PortErrorInfo, PortMask,
    PortStatus, VlCounter, VlDataCounters, VlErrorCounters, VlStatus,
};

use super::Pm;
use super::ask::{Ask, fits};
use super::counters::LaneCounters;
use super::image::Reading;
use super::sweep::Sweep;

const HEADER: usize = <MadHeader as Layout>::LEN;
/// Bytes before the first port in an answer about several.
const MASKS: usize = 40;

/// The answer does not match the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unreadable;

impl Pm {
    /// Takes an answer of an agent. Whatever is no answer to a request of this sweep is dropped.
    pub(super) fn answered(&mut self, now: Tick, packet: &Packet) {
        let Some(sweep) = self.sweep.as_ref() else {
            return;
        };
        let Ok(header) = MadHeader::decode(&packet.mad) else {
            return;
        };
        // An agent speaks with the key of the management partition, as a full or limited member.
        if packet.pkey.0 | 0x8000 != PKey::MGMT_FULL.0 {
            return;
        }
        let id = header.transaction_id;
        let is_answer = |request: &[u8]| fits(request, &header);
        let answered = self.agents.take(now, packet, id, is_answer);
        let Some(answered) = answered.filter(|answered| answered.tag.sweep == sweep.id) else {
            return;
        };
        let (member, ask) = (answered.node, answered.tag.ask);
        if let Some(peer) = self.peers.get_mut(member as usize) {
            let measured = answered.round_trip_ns.into_iter();
            measured.for_each(|ns| peer.round_trip.sample(ns));
        }
        self.take_answer(member, &ask, header.status, &packet.mad);
        self.go_on(member);
    }

    fn take_answer(&mut self, member: u32, ask: &Ask, status: u16, mad: &[u8]) {
        let payload = mad.get(HEADER..).unwrap_or_default();
        let Some(sweep) = self.sweep.as_mut() else {
            return;
        };
        if sweep.jobs[member as usize].failed {
            return;
        }
        let right = status == status::OK && ask.is_answered_by(payload, &sweep.common);
        if right && sweep.take_in(member, ask, payload).is_ok() {
            self.agent_answered(member, ask);
        } else if *ask == Ask::Identify {
            self.fail_agent(member, ask, Some(status));
        } else {
            self.refuse(member, ask, status);
        }
    }

    fn agent_answered(&mut self, member: u32, ask: &Ask) {
        if let Some(peer) = self.peers.get_mut(member as usize) {
            peer.identified |= *ask == Ask::Identify;
            peer.silent = false;
        }
    }
}

impl Sweep {
    /// Records the content of an answer.
    fn take_in(&mut self, member: u32, ask: &Ask, payload: &[u8]) -> Result<(), Unreadable> {
        let rest = payload.get(MASKS..).unwrap_or_default();
        match *ask {
            Ask::Identify => Ok(()),
            Ask::Status(port) => self.take_status(member, port, payload),
            Ask::Data(ports) => self.take_data(member, ports, rest),
            Ask::Errors(ports) => self.take_errors(member, ports, rest),
            Ask::Clear(ports, select) => {
                self.take_clear(member, ports, select);
                Ok(())
            }
            Ask::Info(ports) => self.take_info(member, ports, rest),
            Ask::ForgetInfo(_) => Ok(()),
        }
    }

    fn take_status(
        &mut self,
        member: u32,
        port: PortNum,
        payload: &[u8],
    ) -> Result<(), Unreadable> {
        let mut entries = Entries::<PortStatus, VlStatus>::new(payload, 1, self.common.lanes);
        let entry = entries.next().ok_or(Unreadable)?.map_err(|_| Unreadable)?;
        let place = self.place(member, port).ok_or(Unreadable)?;
        let counters = entry.port.counters();
        let had_errors = counters[Counter::DATA..] != self.sample.counters[place][Counter::DATA..];
        self.sample.counters[place] = counters;
        self.sample.errors_at[place] = self.unix_time;
        for (vl, lane) in entry.vls() {
            if let Some(to) = self.lane(place, vl) {
                *to = lane.counters();
            }
        }
        self.finish_reading(member, port, place, entry.port.link_quality_indicator);
        if had_errors {
            self.jobs[member as usize].info.insert(port);
        }
        Ok(())
    }

    fn finish_reading(&mut self, member: u32, port: PortNum, place: usize, quality: u8) {
        self.sample.quality[place] = quality;
        self.sample.known[place] = true;
        self.readings[place] = Reading::Done;
        // A link that is not as good as it could be has had errors.
        if quality < super::image::QUALITY_EXCELLENT && port != PortNum(0) {
            self.jobs[member as usize].info.insert(port);
        }
    }

    fn lane(&mut self, place: usize, vl: weft_fabric::Vl) -> Option<&mut LaneCounters> {
        let lanes = self.roster.lanes.len();
        let index = self.roster.lane_place(vl)?;
        self.sample.lanes.get_mut(place * lanes + index)
    }

    fn take_data(&mut self, member: u32, ports: PortMask, rest: &[u8]) -> Result<(), Unreadable> {
        type Read<'a> = Entry<'a, DataPortCounters, VlDataCounters>;
        let entries = Entries::new(rest, ports.len(), self.common.lanes);
        let entries: Vec<Read<'_>> = entries.collect::<Result<_, _>>().map_err(|_| Unreadable)?;
        let numbers = entries.iter().map(|entry| entry.port.port_number);
        if !numbers.eq(ports.ports()) {
            return Err(Unreadable);
        }
        for entry in entries {
            let port = entry.port.port_number;
            let place = self.place(member, port).ok_or(Unreadable)?;
            let counters = &mut self.sample.counters[place];
            counters[..Counter::DATA].copy_from_slice(&entry.port.counters());
            for (vl, lane) in entry.vls() {
                if let Some(to) = self.lane(place, vl) {
                    to[..VlCounter::COUNT - 1].copy_from_slice(&lane.counters());
                }
            }
            if entry.port.port_error_counter_summary != self.known_errors(place) {
                self.jobs[member as usize].errors.insert(port);
            }
            self.finish_reading(member, port, place, entry.port.link_quality_indicator);
        }
        Ok(())
    }

    fn take_errors(&mut self, member: u32, ports: PortMask, rest: &[u8]) -> Result<(), Unreadable> {
        type Read<'a> = Entry<'a, ErrorPortCounters, VlErrorCounters>;
        let entries = Entries::new(rest, ports.len(), self.common.lanes);
        let entries: Vec<Read<'_>> = entries.collect::<Result<_, _>>().map_err(|_| Unreadable)?;
        let numbers = entries.iter().map(|entry| entry.port.port_number);
        if !numbers.eq(ports.ports()) {
            return Err(Unreadable);
        }
        for entry in entries {
            let port = entry.port.port_number;
            let place = self.place(member, port).ok_or(Unreadable)?;
            self.sample.errors_at[place] = self.unix_time;
            let errors = &mut self.sample.counters[place][Counter::DATA..];
            let read = entry.port.counters();
            let had_errors = *errors != read;
            errors.copy_from_slice(&read);
            for (vl, lane) in entry.vls() {
                if let Some(to) = self.lane(place, vl) {
                    to[VlCounter::XmitDiscards as usize] = lane.port_vl_xmit_discards;
                }
            }
            if had_errors {
                self.jobs[member as usize].info.insert(port);
            }
        }
        Ok(())
    }

    fn take_clear(&mut self, member: u32, ports: PortMask, select: u32) {
        for port in ports.ports() {
            if let Some(place) = self.place(member, port) {
                self.sample.cleared[place] |= select;
                self.report.cleared += 1;
            }
        }
    }

    fn take_info(&mut self, member: u32, ports: PortMask, rest: &[u8]) -> Result<(), Unreadable> {
        let entries = rest.chunks_exact(<PortErrorInfo as Layout>::LEN);
        let infos = entries.take(ports.len()).map(PortErrorInfo::decode);
        let infos: Vec<PortErrorInfo> = infos.collect::<Result<_, _>>().map_err(|_| Unreadable)?;
        if !infos.iter().map(|info| info.port_number).eq(ports.ports()) {
            return Err(Unreadable);
        }
        for info in infos.into_iter().filter(says_something) {
            if let Some(place) = self.place(member, info.port_number) {
                self.jobs[member as usize].forget.insert(info.port_number);
                self.error_info.insert(place as u32, info);
            }
        }
        Ok(())
    }
}

fn says_something(info: &PortErrorInfo) -> bool {
    info.rcv_error_status
        || info.buffer_overrun_status
        || info.xmit_constraint_status
        || info.rcv_constraint_status
        || info.switch_relay_status
        || info.uncorrectable_status
        || info.fm_config_status
}
