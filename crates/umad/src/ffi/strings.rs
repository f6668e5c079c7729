//! libibumad: names of classes, methods, attributes and statuses, in its words (umad_str.c).
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char};

use weft_wire::header::class;

/// The class of connection management (`UMAD_CLASS_CM`).
const CLASS_CM: u8 = 0x07;

type Names = &'static [(u16, &'static CStr)];

const CLASSES: Names = &[
    (0x01, c"Subn"),
    (0x81, c"Subn"),
    (0x03, c"SubnAdm"),
    (0x04, c"Perf"),
    (0x05, c"BM"),
    (0x06, c"DevMgt"),
    (0x07, c"ComMgt"),
    (0x08, c"SNMP"),
    (0x10, c"DevAdm"),
    (0x11, c"BootMgt"),
    (0x12, c"BIS"),
    (0x21, c"CongestionManagment"),
];

const METHODS: Names = &[
    (0x01, c"Get"),
    (0x02, c"Set"),
    (0x81, c"GetResp"),
    (0x03, c"Send"),
    (0x05, c"Trap"),
    (0x06, c"Report"),
    (0x86, c"ReportResp"),
    (0x07, c"TrapRepress"),
];

const SA_METHODS: Names = &[
    (0x12, c"GetTable"),
    (0x92, c"GetTableResp"),
    (0x15, c"Delete"),
    (0x95, c"DeleteResp"),
    (0x14, c"GetMulti"),
    (0x94, c"GetMultiResp"),
    (0x13, c"GetTraceTable"),
];

const ATTRIBUTES: Names = &[
    (0x0001, c"Class Port Info"),
    (0x0002, c"Notice"),
    (0x0003, c"Inform Info"),
];

const SM_ATTRIBUTES: Names = &[
    (0x0010, c"NodeDescription"),
    (0x0011, c"NodeInfo"),
    (0x0012, c"SwitchInfo"),
    (0x0014, c"GUIDInfo"),
    (0x0015, c"PortInfo"),
    (0x0016, c"P_KeyTable"),
    (0x0017, c"SLtoVLMappingTable"),
    (0x0018, c"VLArbitrationTable"),
    (0x0019, c"LinearForwardingTable"),
    (0x001A, c"RandomForwardingTable"),
    (0x001B, c"MulticastForwardingTable"),
    (0x001C, c"LinkSpeedWidthPairsTable"),
    (0x001D, c"VendorSpecificMadsTable"),
    (0x001E, c"HierarchyInfo"),
    (0x0020, c"SMInfo"),
    (0x0030, c"VendorDiag"),
    (0x0031, c"LedInfo"),
    (0x0032, c"CableInfo"),
    (0x0033, c"PortInfoExtended"),
];

const SA_ATTRIBUTES: Names = &[
    (0x0011, c"NodeRecord"),
    (0x0012, c"PortInfoRecord"),
    (0x0013, c"SLtoVLMappingTableRecord"),
    (0x0014, c"SwitchInfoRecord"),
    (0x0015, c"LinearForwardingTableRecord"),
    (0x0016, c"RandomForwardingTableRecord"),
    (0x0017, c"MulticastForwardingTableRecord"),
    (0x0018, c"SMInfoRecord"),
    (0x0019, c"LinkSpeedWidthPairsTableRecord"),
    (0x00F3, c"InformInfoRecord"),
    (0x0020, c"LinkRecord"),
    (0x0030, c"GuidInfoRecord"),
    (0x0031, c"ServiceRecord"),
    (0x0033, c"P_KeyTableRecord"),
    (0x0035, c"PathRecord"),
    (0x0036, c"VLArbitrationTableRecord"),
    (0x0038, c"MCMemberRecord"),
    (0x0039, c"TraceRecord"),
    (0x003A, c"MultiPathRecord"),
    (0x003B, c"ServiceAssociationRecord"),
    (0x003C, c"HierarchyInfoRecord"),
    (0x003D, c"CableInfoRecord"),
    (0x003E, c"PortInfoExtendedRecord"),
];

const CM_ATTRIBUTES: Names = &[
    (0x0010, c"ConnectRequest"),
    (0x0011, c"MsgRcptAck"),
    (0x0012, c"ConnectReject"),
    (0x0013, c"ConnectReply"),
    (0x0014, c"ReadyToUse"),
    (0x0015, c"DisconnectRequest"),
    (0x0016, c"DisconnectReply"),
    (0x0017, c"ServiceIDResReq"),
    (0x0018, c"ServiceIDResReqResp"),
    (0x0019, c"LoadAlternatePath"),
    (0x001A, c"AlternatePathResponse"),
    (0x001B, c"SuggestAlternatePath"),
    (0x001C, c"SuggestPathResponse"),
];

/// By bits 2 to 4 of a status.
const FIELD_STATUSES: Names = &[
    (1, c"Bad Version"),
    (2, c"Method not supported"),
    (3, c"Method/Attribute combo not supported"),
    (7, c"Invalid attribute/modifier field"),
];

const SA_STATUSES: Names = &[
    (0, c"Success"),
    (1, c"No Resources"),
    (2, c"Request Invalid"),
    (3, c"No Records"),
    (4, c"Too Many Records"),
    (5, c"Invalid GID"),
    (6, c"Insufficient Components"),
    (7, c"Request Denied"),
    (8, c"Priority Suggested"),
];

fn name(names: Names, number: u16) -> Option<&'static CStr> {
    let found = names.iter().find(|(own, _)| *own == number);
    found.map(|(_, name)| *name)
}

/// `umad_class_str`.
#[unsafe(no_mangle)]
pub extern "C" fn umad_class_str(mgmt_class: u8) -> *const c_char {
    let known = name(CLASSES, mgmt_class.into());
    let other = match mgmt_class {
        0x09..=0x0F | 0x30..=0x4F => c"Vendor",
        0x10..=0x2F => c"Application",
        _ => c"<unknown>",
    };
    known.unwrap_or(other).as_ptr()
}

/// `umad_method_str`.
#[unsafe(no_mangle)]
pub extern "C" fn umad_method_str(mgmt_class: u8, method: u8) -> *const c_char {
    let own = match mgmt_class {
        class::SUBN_ADM => name(SA_METHODS, method.into()),
        _ => None,
    };
    let found = own.or_else(|| name(METHODS, method.into()));
    found.unwrap_or(c"<unknown").as_ptr()
}

/// `umad_attribute_str`; the attribute is big-endian.
#[unsafe(no_mangle)]
pub extern "C" fn umad_attribute_str(mgmt_class: u8, attr_id: u16) -> *const c_char {
    let number = u16::from_be(attr_id);
    let own = match mgmt_class {
        class::SM_LID_ROUTED | class::SM_DIRECTED_ROUTE => name(SM_ATTRIBUTES, number),
        class::SUBN_ADM => name(SA_ATTRIBUTES, number),
        CLASS_CM => name(CM_ATTRIBUTES, number),
        _ => None,
    };
    let found = own.or_else(|| name(ATTRIBUTES, number));
    found.unwrap_or(c"<unknown>").as_ptr()
}

/// `umad_common_mad_status_str`; the status is big-endian.
#[unsafe(no_mangle)]
pub extern "C" fn umad_common_mad_status_str(status: u16) -> *const c_char {
    let status = u16::from_be(status);
    let said = match status {
        _ if status & 1 != 0 => c"Busy",
        _ if status & 2 != 0 => c"Redirection required",
        _ => name(FIELD_STATUSES, status >> 2 & 7).unwrap_or(c"Success"),
    };
    said.as_ptr()
}

/// `umad_sa_mad_status_str`; the status is big-endian.
#[unsafe(no_mangle)]
pub extern "C" fn umad_sa_mad_status_str(status: u16) -> *const c_char {
    let said = name(SA_STATUSES, u16::from_be(status) >> 8);
    said.unwrap_or(c"Undefined Error").as_ptr()
}
