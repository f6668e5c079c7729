//! `infiniband/umad.h`.

use std::ffi::{c_char, c_int, c_uint};

use crate::layout::{c_constants, c_struct};

c_constants! {
    /// Bytes of the name of an adapter, its NUL included.
    NAME_LEN: usize = 20, "UMAD_CA_NAME_LEN";
    /// Most adapters of a machine.
    DEVICES_MAX: usize = 32, "UMAD_MAX_DEVICES";
    /// Ports that a [`UmadCa`] has room for, port 0 included.
    CA_PORTS_MAX: usize = 10, "UMAD_CA_MAX_PORTS";
    /// Most agents at one open port.
    CA_AGENTS_MAX: u32 = 32, "UMAD_CA_MAX_AGENTS";
    /// Flag of a registration: the program cuts and joins messages of several segments itself.
    USER_RMPP: u32 = 1, "UMAD_USER_RMPP";
}

/// A name of fixed size, ended by NUL.
pub type Name = [c_char; NAME_LEN];

c_struct! {
    /// The other side of a datagram.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    MadAddr is "ib_mad_addr_t" {
        /// Queue pair, big-endian.
        qpn: u32,
        /// Queue key, big-endian.
        qkey: u32,
        /// LID, big-endian.
        lid: u16,
        /// Service level.
        sl: u8,
        /// Low bits of the own LID.
        path_bits: u8,
        /// 1 when the global route below counts.
        grh_present: u8,
        /// Index of the own GID.
        gid_index: u8,
        /// Hop limit.
        hop_limit: u8,
        /// Traffic class.
        traffic_class: u8,
        /// The other side's GID.
        gid: [u8; 16],
        /// Flow label, big-endian.
        flow_label: u32,
        /// Index of the partition key in the own port's table.
        pkey_index: u16,
        /// Unused.
        reserved: [u8; 6],
    }
}

c_struct! {
    /// Header before the datagram in a buffer.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    UserMad is "ib_user_mad_t" {
        /// Number of the agent.
        agent_id: u32,
        /// 0 or an errno.
        status: u32,
        /// Milliseconds to wait for the answer.
        timeout_ms: u32,
        /// Sendings after the first.
        retries: u32,
        /// Bytes received, this header included.
        length: u32,
        /// The other side.
        addr: MadAddr,
    }
}

c_struct! {
    /// A port of an adapter.
    #[derive(Debug, Clone, Copy)]
    UmadPort is "umad_port_t" {
        /// Name of the adapter.
        ca_name: Name,
        /// Number of the port.
        portnum: c_int,
        /// First LID.
        base_lid: c_uint,
        /// LMC.
        lmc: c_uint,
        /// LID of the subnet manager.
        sm_lid: c_uint,
        /// Service level to the subnet manager.
        sm_sl: c_uint,
        /// State: 4 is active.
        state: c_uint,
        /// Physical state: 5 is link-up.
        phys_state: c_uint,
        /// Gb/s.
        rate: c_uint,
        /// Capability mask, big-endian.
        capmask: u32,
        /// Subnet prefix, big-endian.
        gid_prefix: u64,
        /// GUID of the port, big-endian.
        port_guid: u64,
        /// Entries of `pkeys`.
        pkeys_size: c_uint,
        /// Partition keys; from `malloc`.
        pkeys: *mut u16,
        /// "InfiniBand".
        link_layer: Name,
    }
}

c_struct! {
    /// An adapter.
    #[derive(Debug, Clone, Copy)]
    UmadCa is "umad_ca_t" {
        /// Its name.
        ca_name: Name,
        /// 1: adapter.
        node_type: c_uint,
        /// Highest number of a port.
        numports: c_int,
        /// Firmware version.
        fw_ver: [c_char; 20],
        /// Type.
        ca_type: [c_char; 40],
        /// Hardware version.
        hw_ver: [c_char; 20],
        /// GUID of the node, big-endian.
        node_guid: u64,
        /// GUID of the system, big-endian.
        system_guid: u64,
        /// Ports by number; from `malloc`.
        ports: [*mut UmadPort; CA_PORTS_MAX],
    }
}

c_struct! {
    /// A registration for a management class.
    #[derive(Debug, Clone, Copy, Default)]
    RegAttr is "struct umad_reg_attr" {
        /// Management class.
        mgmt_class: u8,
        /// Version of the class.
        mgmt_class_version: u8,
        /// [`USER_RMPP`] or 0.
        flags: u32,
        /// Bit n: requests with method n.
        method_mask: [u64; 2],
        /// The vendor's identifier, 24 bits.
        oui: u32,
        /// 0 or 1.
        rmpp_version: u8,
    }
}

c_struct! {
    /// An adapter in a list of them.
    #[derive(Debug, Clone, Copy)]
    DeviceNode is "struct umad_device_node" {
        /// The next one; null at the end.
        next: *mut DeviceNode,
        /// Name of the adapter.
        ca_name: *const c_char,
    }
}
