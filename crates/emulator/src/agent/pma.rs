//! The performance management agent.

use weft_dataplane::counters::{Counter, VlCounter};
use weft_dataplane::{Network, PortIndex};
use weft_fabric::enums::PortState;
use weft_fabric::{Lid, PortNum, Vl};
use weft_wire::bits::{load, store};
use weft_wire::class_port_info::ClassPortInfo;
use weft_wire::header::{MadHeader, method, status, version};
use weft_wire::pm::{
    self, ClearPortStatus, ErrorInfoHeader, PortErrorInfo, PortMask, PortStatusReq, vls,
};
use weft_wire::{Block, Layout};

use super::sma::{Asked, at};

const HEADER: usize = <MadHeader as Layout>::LEN;
/// Bytes of a request for the counters of several ports, and of the answer's head.
const MASKS: usize = 40;
/// `RespTimeValue`: 4.096 µs × 2^18, about a second.
const RESP_TIME: u8 = 18;
/// Bit position of NumLanesDown in its byte.
const LANES_DOWN_SHIFT: u32 = 4;
/// Error counters that are 64 bits wide, in order.
const ERRORS: [Counter; 9] = [
    Counter::RcvConstraintErrors,
    Counter::RcvSwitchRelayErrors,
    Counter::XmitDiscards,
    Counter::XmitConstraintErrors,
    Counter::RcvRemotePhysicalErrors,
    Counter::LocalLinkIntegrityErrors,
    Counter::RcvErrors,
    Counter::ExcessiveBufferOverruns,
    Counter::FmConfigErrors,
];
/// Data counters in order.
const DATA: [Counter; 15] = [
    Counter::XmitData,
    Counter::RcvData,
    Counter::XmitPkts,
    Counter::RcvPkts,
    Counter::MulticastXmitPkts,
    Counter::MulticastRcvPkts,
    Counter::XmitWait,
    Counter::SwPortCongestion,
    Counter::RcvFecn,
    Counter::RcvBecn,
    Counter::XmitTimeCong,
    Counter::XmitWastedBw,
    Counter::XmitWaitData,
    Counter::RcvBubble,
    Counter::MarkFecn,
];
/// Counters of a lane in order; the last one is only in PortStatus.
const LANE: [VlCounter; 14] = [
    VlCounter::XmitData,
    VlCounter::RcvData,
    VlCounter::XmitPkts,
    VlCounter::RcvPkts,
    VlCounter::XmitWait,
    VlCounter::SwPortCongestion,
    VlCounter::RcvFecn,
    VlCounter::RcvBecn,
    VlCounter::XmitTimeCong,
    VlCounter::XmitWastedBw,
    VlCounter::XmitWaitData,
    VlCounter::RcvBubble,
    VlCounter::MarkFecn,
    VlCounter::XmitDiscards,
];

/// Turns a request of the performance class into its answer; none is given to what cannot be read
/// or is no request.
pub(crate) fn answer(network: &mut Network, asked: Asked, mad: &mut Vec<u8>) -> Option<()> {
    let header = MadHeader::decode(mad).ok()?;
    let sound = header.base_version == version::OPA && mad.len() <= HEADER + pm::PAYLOAD_MAX;
    if !sound || header.method & method::RESPONSE != 0 {
        return None;
    }
    let outcome = if header.class_version != version::OPA {
        Err(status::UNSUPPORTED_CLASS_OR_VERSION)
    } else if !matches!(header.method, method::GET | method::SET) {
        Err(status::UNSUPPORTED_METHOD)
    } else {
        perform(
            network,
            asked,
            &header,
            mad.get(HEADER..).unwrap_or_default(),
        )
    };
    let status = match outcome {
        Ok(payload) => {
            mad.truncate(HEADER);
            mad.extend_from_slice(&payload);
            status::OK
        }
        Err(status) => status,
    };
    store(mad, at::METHOD, 1, u64::from(method::GET_RESP));
    store(mad, at::STATUS, 2, u64::from(status));
    Some(())
}

fn perform(
    network: &mut Network,
    asked: Asked,
    header: &MadHeader,
    payload: &[u8],
) -> Result<Vec<u8>, u16> {
    let count = (header.attribute_modifier >> 24) as usize;
    let get = header.method == method::GET;
    let agent = Agent {
        network,
        asked,
        count,
    };
    match header.attribute_id {
        pm::attribute::CLASS_PORT_INFO if get => Ok(class_port_info()),
        pm::attribute::PORT_STATUS if get => agent.port_status(payload),
        pm::attribute::CLEAR_PORT_STATUS if !get => agent.clear(payload),
        pm::attribute::DATA_PORT_COUNTERS if get => agent.each_port(payload, 136, 104, data_port),
        pm::attribute::ERROR_PORT_COUNTERS if get => agent.each_port(payload, 96, 8, error_port),
        pm::attribute::ERROR_INFO => agent.error_info(payload, !get),
        _ => Err(status::UNSUPPORTED_METHOD_ATTRIB),
    }
}

fn class_port_info() -> Vec<u8> {
    let info = ClassPortInfo {
        base_version: version::OPA,
        class_version: version::OPA,
        resp_time_value: RESP_TIME,
        ..ClassPortInfo::default()
    };
    info.to_bytes()
}

/// Inputs of one port's record.
struct Entry<'a> {
    network: &'a Network,
    port: PortIndex,
    lanes: u32,
    /// The request's fourth word.
    options: u32,
}

struct Agent<'a> {
    network: &'a mut Network,
    asked: Asked,
    /// Number of blocks in the attribute modifier.
    count: usize,
}

impl Agent<'_> {
    fn port(&self, number: PortNum) -> Result<PortIndex, u16> {
        let device = self.network.device_at(self.asked.node);
        device.port(number).ok_or(status::INVALID_ATTRIB)
    }

    fn port_status(self, payload: &[u8]) -> Result<Vec<u8>, u16> {
        let request = PortStatusReq::decode(payload).map_err(|_| status::INVALID_ATTRIB)?;
        if self.count != 1 {
            return Err(pm::status::NUMBER_OF_BLOCKS_INCONSISTENT);
        }
        let entry = Entry {
            port: self.port(request.port_number)?,
            network: self.network,
            lanes: request.vl_select_mask,
            options: 0,
        };
        let len = 216 + 112 * request.vl_select_mask.count_ones() as usize;
        if len > pm::PAYLOAD_MAX {
            return Err(pm::status::REQUEST_TOO_LARGE);
        }
        let mut out = vec![0; len];
        store(&mut out, 0, 1, u64::from(request.port_number.0));
        store(&mut out, 4, 4, u64::from(request.vl_select_mask));
        entry.values(&mut out[8..], &DATA);
        entry.values(&mut out[128..], &ERRORS);
        entry.narrow_errors(&mut out[200..]);
        store(&mut out, 209, 1, entry.quality());
        entry.lanes(&mut out[216..], &LANE);
        Ok(out)
    }

    fn clear(self, payload: &[u8]) -> Result<Vec<u8>, u16> {
        let request = ClearPortStatus::decode(payload).map_err(|_| status::INVALID_ATTRIB)?;
        let ports = self.selected(&request.port_select_mask)?;
        for port in ports {
            let select = request.counter_select_mask.bits();
            self.network.clear_counters(port, select);
        }
        Ok(request.to_bytes())
    }

    fn selected(&self, mask: &PortMask) -> Result<Vec<PortIndex>, u16> {
        mask.ports().map(|number| self.port(number)).collect()
    }

    /// A record of `len` bytes for each port of the mask, and `lane_len` more for each lane.
    fn each_port(
        self,
        payload: &[u8],
        len: usize,
        lane_len: usize,
        write: fn(&Entry<'_>, &mut [u8]),
    ) -> Result<Vec<u8>, u16> {
        let head = payload.get(..MASKS).ok_or(status::INVALID_ATTRIB)?;
        let ports = self.selected(&PortMask::load(head))?;
        if ports.len() != self.count {
            return Err(pm::status::NUMBER_OF_BLOCKS_INCONSISTENT);
        }
        let lanes = load(head, 32, 4) as u32;
        let record = len + lane_len * lanes.count_ones() as usize;
        if MASKS + record * ports.len() > pm::PAYLOAD_MAX {
            return Err(pm::status::REQUEST_TOO_LARGE);
        }
        let mut out = head.to_vec();
        for port in ports {
            let start = out.len();
            out.resize(start + record, 0);
            let entry = Entry {
                network: self.network,
                port,
                lanes,
                options: load(head, 36, 4) as u32,
            };
            let number = self.network.number_of(port);
            store(&mut out[start..], 0, 1, u64::from(number.0));
            write(&entry, &mut out[start..]);
        }
        Ok(out)
    }

    fn error_info(self, payload: &[u8], clear: bool) -> Result<Vec<u8>, u16> {
        let head = ErrorInfoHeader::decode(payload).map_err(|_| status::INVALID_ATTRIB)?;
        let ports = self.selected(&head.port_select_mask)?;
        let select = head.error_info_select_mask;
        if ports.len() != self.count {
            return Err(pm::status::NUMBER_OF_BLOCKS_INCONSISTENT);
        }
        if MASKS + ports.len() * <PortErrorInfo as Layout>::LEN > pm::PAYLOAD_MAX {
            return Err(pm::status::REQUEST_TOO_LARGE);
        }
        let mut out = head.to_bytes();
        for port in ports {
            if clear && select.port_rcv_switch_relay_error_info {
                self.network.clear_relay_error(port);
            }
            let info = error_info(self.network, port);
            out.extend_from_slice(&info.to_bytes());
        }
        Ok(out)
    }
}

fn error_info(network: &Network, port: PortIndex) -> PortErrorInfo {
    let relay = network.port(port).relay_error();
    let (slid, dlid) = relay.unwrap_or_default();
    PortErrorInfo {
        port_number: network.number_of(port),
        switch_relay_status: relay.is_some(),
        switch_relay_slid: Lid(slid),
        switch_relay_dlid: Lid(dlid),
        ..PortErrorInfo::default()
    }
}

fn data_port(entry: &Entry<'_>, out: &mut [u8]) {
    store(out, 4, 4, entry.quality());
    entry.values(&mut out[8..], &DATA);
    store(out, 128, 8, entry.error_summary());
    entry.lanes(&mut out[136..], &LANE[..13]);
}

fn error_port(entry: &Entry<'_>, out: &mut [u8]) {
    entry.values(&mut out[8..], &ERRORS);
    entry.narrow_errors(&mut out[80..]);
    entry.lanes(&mut out[96..], &LANE[13..]);
}

impl Entry<'_> {
    fn get(&self, counter: Counter) -> u64 {
        self.network.counter(self.port, counter)
    }

    fn values(&self, out: &mut [u8], counters: &[Counter]) {
        for (place, counter) in counters.iter().enumerate() {
            store(out, 8 * place, 8, self.get(*counter));
        }
    }

    /// The counters of fewer bits; they stay at their largest value.
    fn narrow_errors(&self, out: &mut [u8]) {
        let narrow = [
            (0, 4, Counter::LinkErrorRecovery, u64::from(u32::MAX)),
            (4, 4, Counter::LinkDowned, u64::from(u32::MAX)),
            (8, 1, Counter::UncorrectableErrors, u64::from(u8::MAX)),
        ];
        for (place, width, counter, most) in narrow {
            store(out, place, width, self.get(counter).min(most));
        }
    }

    fn lanes(&self, out: &mut [u8], counters: &[VlCounter]) {
        let values = vls(self.lanes).flat_map(|vl: Vl| {
            let values = counters.iter();
            values.map(move |counter| self.network.lane_counter(self.port, vl, *counter))
        });
        for (place, value) in values.enumerate() {
            store(out, 8 * place, 8, value);
        }
    }

    /// LinkQualityIndicator, and NumLanesDown above it, which HFIs do not tell (`hfi1`, `mad.h`: five
    /// reserved bits).
    fn quality(&self) -> u64 {
        if self.network.state(self.port) == PortState::DOWN {
            return 0;
        }
        let quality = u64::from(self.network.quality(self.port));
        let info = self.network.port(self.port).info();
        let node = self.network.node_of(self.port);
        if !self.network.device_at(node).is_switch() {
            return quality;
        }
        let left = info.link_width_downgrade_tx_active.lanes();
        let down = info.link_width_active.lanes().saturating_sub(left);
        u64::from(down) << LANES_DOWN_SHIFT | quality
    }

    /// The sum of all error counters; two of them in the requested units.
    fn error_summary(&self) -> u64 {
        let shift = |options: u32, more| pm::resolution_shift(options as u8, more);
        let resolution = |counter| match counter {
            Counter::LocalLinkIntegrityErrors => {
                shift(self.options >> 4, pm::LOCAL_LINK_INTEGRITY_SHIFT)
            }
            Counter::LinkErrorRecovery => shift(self.options, pm::LINK_ERROR_RECOVERY_SHIFT),
            _ => 0,
        };
        let rest = [
            Counter::LinkErrorRecovery,
            Counter::LinkDowned,
            Counter::UncorrectableErrors,
        ];
        let all = ERRORS.into_iter().chain(rest);
        all.map(|counter| self.get(counter) >> resolution(counter))
            .fold(0, u64::wrapping_add)
    }
}
