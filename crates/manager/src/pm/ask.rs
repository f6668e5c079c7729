//! Requests to performance agents, and the content of their answers.

use weft_fabric::PortNum;
use weft_wire::header::{MadHeader, class, method, version};
use weft_wire::pm::{
    self, ClearPortStatus, CounterSelectMask, DataPortCountersHeader, ErrorInfoHeader,
    ErrorInfoSelectMask, ErrorPortCountersHeader, PortMask, PortStatusReq, attribute,
};
use weft_wire::{Block, Layout};

use super::settings::Resolution;

/// A request to an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    /// Its capabilities.
    Identify,
    /// All counters of one port.
    Status(PortNum),
    /// The data counters of ports.
    Data(PortMask),
    /// The error counters of ports.
    Errors(PortMask),
    /// To set counters of ports to zero.
    Clear(PortMask, u32),
    /// Details of the last errors of ports.
    Info(PortMask),
    /// To forget that.
    ForgetInfo(PortMask),
}

/// Common parameters of all requests of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Common {
    /// The lanes that are counted separately, one bit each.
    pub(crate) lanes: u32,
    /// Units in the error summary, as the wire encodes them.
    pub(crate) units: Units,
}

/// Units of two counters in the error summary, each a value of 4 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Units {
    pub(crate) local_link_integrity: u8,
    pub(crate) link_error_recovery: u8,
}

impl Units {
    /// Every error changes the summary.
    pub(crate) const EXACT: Self = Self {
        local_link_integrity: 0,
        link_error_recovery: 0,
    };

    pub(crate) fn new(resolution: &Resolution) -> Self {
        let unit = |value: u64, more: u32| {
            let log = value.max(1).ilog2();
            log.saturating_sub(more).min(15) as u8
        };
        Self {
            local_link_integrity: unit(
                resolution.local_link_integrity,
                pm::LOCAL_LINK_INTEGRITY_SHIFT,
            ),
            link_error_recovery: unit(
                resolution.link_error_recovery,
                pm::LINK_ERROR_RECOVERY_SHIFT,
            ),
        }
    }
}

/// Bytes before the first port in an answer about several.
const MASKS_LEN: usize = 40;

/// Maximum number of ports in one answer with data counters.
pub(crate) fn data_ports_max(lanes: u32) -> usize {
    fit(136 + 104 * lanes.count_ones() as usize)
}

/// Maximum number of ports in one answer with error counters.
pub(crate) fn error_ports_max(lanes: u32) -> usize {
    fit(96 + 8 * lanes.count_ones() as usize)
}

/// Maximum number of ports in one answer about their last errors.
pub(crate) fn info_ports_max() -> usize {
    fit(<pm::PortErrorInfo as Layout>::LEN)
}

fn fit(len: usize) -> usize {
    ((pm::PAYLOAD_MAX - MASKS_LEN) / len).max(1)
}

impl Ask {
    /// Name for messages.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Identify => "Get(ClassPortInfo)",
            Self::Status(_) => "Get(PortStatus)",
            Self::Data(_) => "Get(DataPortCounters)",
            Self::Errors(_) => "Get(ErrorPortCounters)",
            Self::Clear(..) => "Set(ClearPortStatus)",
            Self::Info(_) => "Get(ErrorInfo)",
            Self::ForgetInfo(_) => "Set(ErrorInfo)",
        }
    }

    /// The ports that it is about; none for all.
    pub(crate) fn ports(&self) -> PortMask {
        match *self {
            Self::Identify => PortMask::default(),
            Self::Status(port) => PortMask::one(port),
            Self::Data(ports)
            | Self::Errors(ports)
            | Self::Clear(ports, _)
            | Self::Info(ports)
            | Self::ForgetInfo(ports) => ports,
        }
    }

    fn attribute(&self) -> u16 {
        match self {
            Self::Identify => attribute::CLASS_PORT_INFO,
            Self::Status(_) => attribute::PORT_STATUS,
            Self::Data(_) => attribute::DATA_PORT_COUNTERS,
            Self::Errors(_) => attribute::ERROR_PORT_COUNTERS,
            Self::Clear(..) => attribute::CLEAR_PORT_STATUS,
            Self::Info(_) | Self::ForgetInfo(_) => attribute::ERROR_INFO,
        }
    }

    fn modifier(&self) -> u32 {
        match self {
            Self::Identify => 0,
            Self::Status(_) | Self::Clear(..) => 1 << 24,
            _ => (self.ports().len() as u32) << 24,
        }
    }

    fn method(&self) -> u8 {
        match self {
            Self::Clear(..) | Self::ForgetInfo(_) => method::SET,
            _ => method::GET,
        }
    }

    /// The request's payload; for several ports the answer starts with the same bytes.
    fn payload(&self, common: &Common) -> Vec<u8> {
        match *self {
            Self::Identify => Vec::new(),
            Self::Status(port_number) => PortStatusReq {
                port_number,
                vl_select_mask: common.lanes,
            }
            .to_bytes(),
            Self::Data(port_select_mask) => DataPortCountersHeader {
                port_select_mask,
                vl_select_mask: common.lanes,
                local_link_integrity_resolution: common.units.local_link_integrity,
                link_error_recovery_resolution: common.units.link_error_recovery,
            }
            .to_bytes(),
            Self::Errors(port_select_mask) => ErrorPortCountersHeader {
                port_select_mask,
                vl_select_mask: common.lanes,
            }
            .to_bytes(),
            Self::Clear(port_select_mask, select) => ClearPortStatus {
                port_select_mask,
                counter_select_mask: CounterSelectMask::from_bits(select),
            }
            .to_bytes(),
            Self::Info(port_select_mask) | Self::ForgetInfo(port_select_mask) => ErrorInfoHeader {
                port_select_mask,
                error_info_select_mask: ErrorInfoSelectMask::from_bits(u32::MAX),
            }
            .to_bytes(),
        }
    }

    /// The request as a datagram; its transaction identifier is still to be written.
    pub(crate) fn mad(&self, common: &Common) -> Vec<u8> {
        let header = MadHeader {
            base_version: version::OPA,
            mgmt_class: class::PERF,
            class_version: version::OPA,
            method: self.method(),
            attribute_id: self.attribute(),
            attribute_modifier: self.modifier(),
            ..MadHeader::default()
        };
        let mut mad = header.to_bytes();
        mad.extend_from_slice(&self.payload(common));
        mad
    }

    /// Whether an answer matches this request: it names the same ports and lanes.
    pub(crate) fn is_answered_by(&self, payload: &[u8], common: &Common) -> bool {
        let asked = self.payload(common);
        let same = |range: std::ops::Range<usize>| {
            payload.get(range.clone()).is_some() && payload.get(range.clone()) == asked.get(range)
        };
        // Resolutions, counter selections and reserved bytes need not come back.
        match self {
            Self::Identify => true,
            Self::Status(_) => same(0..1) && same(4..8),
            Self::Data(_) | Self::Errors(_) => same(0..PortMask::LEN + 4),
            _ => same(0..PortMask::LEN),
        }
    }
}

/// Whether the header of an answer fits the header of its request.
pub(crate) fn fits(request: &[u8], answer: &MadHeader) -> bool {
    MadHeader::decode(request).is_ok_and(|asked| {
        answer.method == method::GET_RESP
            && answer.class_version == version::OPA
            && answer.attribute_id == asked.attribute_id
            && answer.attribute_modifier == asked.attribute_modifier
    })
}
