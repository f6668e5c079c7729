//! The structures of `infiniband/umad.h`, as the C compiler lays them out.

use std::ffi::{c_char, c_int, c_uint};

/// Bytes of a name with its NUL (`UMAD_CA_NAME_LEN`).
pub(super) const NAME_LEN: usize = 20;
/// Most devices (`UMAD_MAX_DEVICES`).
pub(super) const DEVICES_MAX: usize = 32;
/// Ports that `umad_ca` has room for (`UMAD_CA_MAX_PORTS`).
const PORTS_MAX: usize = 10;

/// `UMAD_USER_RMPP`: segments pass through, the program reassembles them.
pub(super) const USER_RMPP: u32 = 1;

/// `umad_port_t`.
#[repr(C)]
pub(super) struct Port {
    pub(super) ca_name: [c_char; NAME_LEN],
    pub(super) portnum: c_int,
    pub(super) base_lid: c_uint,
    pub(super) lmc: c_uint,
    pub(super) sm_lid: c_uint,
    pub(super) sm_sl: c_uint,
    pub(super) state: c_uint,
    pub(super) phys_state: c_uint,
    pub(super) rate: c_uint,
    pub(super) capmask_be: u32,
    pub(super) gid_prefix_be: u64,
    pub(super) port_guid_be: u64,
    pub(super) pkeys_size: c_uint,
    pub(super) pkeys: *mut u16,
    pub(super) link_layer: [c_char; NAME_LEN],
}

/// `umad_ca_t`.
#[repr(C)]
pub(super) struct Ca {
    pub(super) ca_name: [c_char; NAME_LEN],
    pub(super) node_type: c_uint,
    pub(super) numports: c_int,
    pub(super) fw_ver: [c_char; 20],
    pub(super) ca_type: [c_char; 40],
    pub(super) hw_ver: [c_char; 20],
    pub(super) node_guid_be: u64,
    pub(super) system_guid_be: u64,
    pub(super) ports: [*mut Port; PORTS_MAX],
}

/// `struct umad_reg_attr`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct RegAttr {
    pub(super) mgmt_class: u8,
    pub(super) mgmt_class_version: u8,
    pub(super) flags: u32,
    pub(super) method_mask: [u64; 2],
    pub(super) oui: u32,
    pub(super) rmpp_version: u8,
}

/// `ib_mad_addr_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct MadAddr {
    pub(super) qpn_be: u32,
    pub(super) qkey_be: u32,
    pub(super) lid_be: u16,
    pub(super) sl: u8,
    pub(super) path_bits: u8,
    pub(super) grh_present: u8,
    pub(super) gid_index: u8,
    pub(super) hop_limit: u8,
    pub(super) traffic_class: u8,
    pub(super) gid: [u8; 16],
    pub(super) flow_label_be: u32,
    pub(super) pkey_index: u16,
    pub(super) reserved: [u8; 6],
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    /// Sizes and offsets as gcc gives them for `infiniband/umad.h` on x86-64 and aarch64.
    #[test]
    fn structures_have_the_layout_of_the_header() {
        assert_eq!(size_of::<Port>(), 112);
        assert_eq!(offset_of!(Port, port_guid_be), 64);
        assert_eq!(offset_of!(Port, pkeys), 80);
        assert_eq!(size_of::<Ca>(), 208);
        assert_eq!(offset_of!(Ca, node_guid_be), 112);
        assert_eq!(size_of::<RegAttr>(), 32);
        assert_eq!(offset_of!(RegAttr, rmpp_version), 28);
        assert_eq!(size_of::<MadAddr>(), 44);
        assert_eq!(offset_of!(MadAddr, pkey_index), 36);
    }
}
