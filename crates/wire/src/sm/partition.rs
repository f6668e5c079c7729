//! P_KeyTable, attribute 0x0016: the partitions of a port.

use crate::id::PKey;
use crate::layout::layout;

layout! {
    /// 32 entries of a port's partition table (`STL_PARTITION_TABLE`).
    pub struct PartitionTable: 64, "STL_PARTITION_TABLE" {
        /// The keys; 0 is an empty entry.
        partition_table_block: [PKey; 32] = block @ 0, "PartitionTableBlock";
    }
}

impl PartitionTable {
    /// Keys in a block.
    pub const KEYS: usize = 32;
}
