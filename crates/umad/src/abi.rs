//! The structures that programs share with libibumad (`umad.h`) and libibverbs (`verbs.h`), as
//! their public headers lay them out on 64-bit Linux.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::{offset_of, size_of};

/// `UMAD_CA_NAME_LEN`.
pub const NAME_LEN: usize = 20;
/// `UMAD_CA_MAX_PORTS`.
pub const CA_PORTS_MAX: usize = 10;
/// `UMAD_USER_RMPP`.
pub const USER_RMPP: u32 = 1;

/// A name of fixed size, ended by NUL.
pub type Name = [c_char; NAME_LEN];

/// `ib_mad_addr_t`. Numbers of several bytes are big-endian, except `pkey_index`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MadAddr {
    /// Queue pair.
    pub qpn: u32,
    /// Queue key.
    pub qkey: u32,
    /// LID.
    pub lid: u16,
    /// Service level.
    pub sl: u8,
    /// Low bits of the own LID.
    pub path_bits: u8,
    /// Whether the global route below counts.
    pub grh_present: u8,
    /// Index of the own GID.
    pub gid_index: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Traffic class.
    pub traffic_class: u8,
    /// The other side's GID.
    pub gid: [u8; 16],
    /// Flow label.
    pub flow_label: u32,
    /// Index of the partition key, in the machine's order.
    pub pkey_index: u16,
    /// Nothing.
    pub reserved: [u8; 6],
}

/// `ib_user_mad_t`, what is before the datagram in a buffer.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UserMad {
    /// Number of the agent.
    pub agent_id: u32,
    /// 0 or an errno.
    pub status: u32,
    /// Milliseconds.
    pub timeout_ms: u32,
    /// Sendings after the first.
    pub retries: u32,
    /// Bytes received, this header included.
    pub length: u32,
    /// The other side.
    pub addr: MadAddr,
}

/// `umad_port_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct UmadPort {
    /// Name of the adapter.
    pub ca_name: Name,
    /// Number of the port.
    pub portnum: c_int,
    /// First LID.
    pub base_lid: c_uint,
    /// LMC.
    pub lmc: c_uint,
    /// The subnet manager's LID.
    pub sm_lid: c_uint,
    /// Service level to the subnet manager.
    pub sm_sl: c_uint,
    /// State: 4 is active.
    pub state: c_uint,
    /// Physical state: 5 is link-up.
    pub phys_state: c_uint,
    /// Gb/s.
    pub rate: c_uint,
    /// Capability mask, big-endian.
    pub capmask: u32,
    /// Big-endian.
    pub gid_prefix: u64,
    /// Big-endian.
    pub port_guid: u64,
    /// Entries of `pkeys`.
    pub pkeys_size: c_uint,
    /// Partition keys in the machine's order; from `malloc`.
    pub pkeys: *mut u16,
    /// "InfiniBand".
    pub link_layer: Name,
}

/// `umad_ca_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct UmadCa {
    /// Name of the adapter.
    pub ca_name: Name,
    /// 1: adapter.
    pub node_type: c_uint,
    /// Highest number of a port.
    pub numports: c_int,
    /// Firmware version.
    pub fw_ver: Name,
    /// Type.
    pub ca_type: [c_char; 40],
    /// Hardware version.
    pub hw_ver: Name,
    /// Big-endian.
    pub node_guid: u64,
    /// Big-endian.
    pub system_guid: u64,
    /// Ports by number; from `malloc`.
    pub ports: [*mut UmadPort; CA_PORTS_MAX],
}

/// `struct umad_reg_attr`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct RegAttr {
    /// Management class.
    pub mgmt_class: u8,
    /// Version of the class.
    pub mgmt_class_version: u8,
    /// [`USER_RMPP`] or 0.
    pub flags: u32,
    /// Bit n: requests with method n.
    pub method_mask: [u64; 2],
    /// The vendor's identifier, 24 bits.
    pub oui: u32,
    /// 0 or 1.
    pub rmpp_version: u8,
}

/// `struct ibv_device`.
#[repr(C)]
#[derive(Debug)]
pub struct IbvDevice {
    /// Obsolete.
    pub ops: [*mut c_void; 2],
    /// 1: adapter.
    pub node_type: c_int,
    /// 0: InfiniBand.
    pub transport_type: c_int,
    /// Name of the adapter.
    pub name: [c_char; 64],
    /// Name of its device.
    pub dev_name: [c_char; 64],
    /// Where its device is.
    pub dev_path: [c_char; 256],
    /// Where the adapter is.
    pub ibdev_path: [c_char; 256],
}

/// `struct ibv_context`.
#[repr(C)]
#[derive(Debug)]
pub struct IbvContext {
    /// The device.
    pub device: *mut IbvDevice,
    /// Functions of a driver, of which there is none.
    pub ops: [*mut c_void; 32],
    /// File descriptor for commands, of which there are none.
    pub cmd_fd: c_int,
    /// Readable when there is an event.
    pub async_fd: c_int,
    /// Completion vectors.
    pub num_comp_vectors: c_int,
    /// `pthread_mutex_t`, which only drivers use.
    pub mutex: [u64; 5],
    /// Nothing.
    pub abi_compat: *mut c_void,
}

/// `struct ibv_async_event`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct IbvAsyncEvent {
    /// Here always the port's number.
    pub element: u64,
    /// `enum ibv_event_type`.
    pub event_type: c_int,
}

const _: () = {
    assert!(size_of::<MadAddr>() == 44);
    assert!(size_of::<UserMad>() == 64);
    assert!(size_of::<UmadPort>() == 112);
    assert!(offset_of!(UmadPort, pkeys) == 80);
    assert!(offset_of!(UmadCa, node_guid) == 112);
    assert!(size_of::<UmadCa>() == 208);
    assert!(size_of::<RegAttr>() == 32);
    assert!(offset_of!(IbvDevice, name) == 24);
    assert!(size_of::<IbvDevice>() == 664);
    assert!(offset_of!(IbvContext, async_fd) == 268);
    assert!(size_of::<IbvContext>() == 328);
    assert!(size_of::<IbvAsyncEvent>() == 16);
};
