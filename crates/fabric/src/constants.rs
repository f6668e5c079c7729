//! Power-on values of hardware, each with its source. Timing of components is in
//! the dataplane.

/// IEEE OUI of the vendor, in `NodeInfo.VendorID` and in the upper 24 bits of its GUIDs.
pub const VENDOR_OUI: u32 = 0x0000_1175;
/// `NodeInfo.DeviceID` of the discrete HFI.
pub const HFI_DEVICE_ID: u16 = 0x24F0;
/// `NodeInfo.DeviceID` of the switch.
pub const SWITCH_DEVICE_ID: u16 = 0xABD1;
/// External ports of the switch (vendor's product brief).
pub const SWITCH_PORTS: u8 = 48;
/// Entries of a P_Key table (`hfi1`: `MAX_PKEY_VALUES`).
pub const P_KEY_CAP: u16 = 16;
/// Entries of a linear forwarding table: LIDs 0 to 0xBFFF, all of 16 bits that are no
/// multicast LIDs (InfiniBand, chapter 4).
pub const LINEAR_FDB_CAP: u32 = 0xC000;
/// Rows of a multicast forwarding table. Not public, assumed.
pub const MULTICAST_FDB_CAP: u32 = 8192;
/// Groups of a PortGroup table. Not public, assumed.
pub const PORT_GROUP_CAP: u8 = 64;
/// Data VLs of a port (`hfi1`: `TXE_NUM_DATA_VL`); VL15 comes on top.
pub const DATA_VLS: u8 = 8;
/// Elements of each table of VL arbitration (`hfi1`, `chip.h`); assumed for switch ports.
pub const ARBITRATION_CAP: u8 = 16;

/// Bytes of a unit of buffer space and of credits: `BufferAlloc` 3, 2^3 · 8 (`hfi1`: `CM_VAU`).
pub const BUFFER_UNIT: u32 = 64;
/// `OverallBufferSpace`: 2,176 units, 139,264 bytes, the value of the HFI (`hfi1`: `CM_GLOBAL_CREDITS`).
/// The value of a switch port is not public; it is assumed to be equal.
pub const BUFFER_SPACE: u16 = 0x880;
/// Units of the receive buffer that are VL15's at link-up: eight full management datagrams with
/// their headers. Assumed.
pub const VL15_INIT: u16 = 272;
/// `ReplayDepth.BufferDepth` and `WireDepth`, in link transfer packets. Not public, assumed.
pub const BUFFER_DEPTH: u8 = 0x80;
/// The other one.
pub const WIRE_DEPTH: u8 = 0x40;
/// `RespTimeValue`: 4.096 µs × 2^value, a second. Not public for switches, assumed.
pub const RESP_TIME: u8 = 18;
