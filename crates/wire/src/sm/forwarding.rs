//! Forwarding tables of a switch, 64 bytes a block: attributes 0x0019, 0x001B, 0x0088 and 0x0089.

use crate::layout::layout;

layout! {
    /// Egress ports of 64 LIDs (`STL_LINEAR_FORWARDING_TABLE`).
    pub struct LinearFdb: 64, "STL_LINEAR_FORWARDING_TABLE" {
        /// One port for each LID, [`LinearFdb::UNREACHABLE`] for none.
        lft_block: [u8; 64] = block @ 0, "LftBlock";
    }
}

impl LinearFdb {
    /// LIDs in a block.
    pub const LIDS: u32 = 64;
    /// The entry of a LID that the switch drops.
    pub const UNREACHABLE: u8 = 0xFF;
}

layout! {
    /// Port groups of 64 LIDs (`STL_PORT_GROUP_FORWARDING_TABLE`).
    pub struct PortGroupFdb: 64, "STL_PORT_GROUP_FORWARDING_TABLE" {
        /// One group for each LID, [`PortGroupFdb::NONE`] where routing is not adaptive.
        pgft_block: [u8; 64] = block @ 0, "PgftBlock";
    }
}

impl PortGroupFdb {
    /// LIDs in a block.
    pub const LIDS: u32 = 64;
    /// The entry of a LID without a group.
    pub const NONE: u8 = 0xFF;
}

layout! {
    /// Egress ports of 8 multicast LIDs, 64 ports of them: the modifier's position says which
    /// (`STL_MULTICAST_FORWARDING_TABLE`).
    pub struct MulticastFdb: 64, "STL_MULTICAST_FORWARDING_TABLE" {
        /// One mask for each LID, bit n is port 64 × position + n.
        mft_block: [u64; 8] = block @ 0, "MftBlock";
    }
}

impl MulticastFdb {
    /// LIDs in a block.
    pub const LIDS: u32 = 8;
}

layout! {
    /// Ports of 8 port groups, 64 ports of them (`STL_PORT_GROUP_TABLE`).
    pub struct PortGroupTable: 64, "STL_PORT_GROUP_TABLE" {
        /// One mask for each group, bit n is port 64 × position + n + 1.
        pgt_block: [u64; 8] = block @ 0, "PgtBlock";
    }
}

impl PortGroupTable {
    /// Groups in a block.
    pub const GROUPS: u32 = 8;
}
