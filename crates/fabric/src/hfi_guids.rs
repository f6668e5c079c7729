//! GUIDs of HFIs and their ports, also of those in whose place another HFI is now.

use weft_wire::id::{Guid, PortNum};

use crate::topology::Node;

/// Where the number of an HFI's port, less one, is in its PortGUID.
const PORT_SHIFT: u32 = 30;

/// The PortGUID of an HFI's port: its NodeGUID, with the number of the port less one in bits 30 and 31.
pub fn hfi_port_guid(node: Guid, port: PortNum) -> Guid {
    let place = u64::from(port.0.wrapping_sub(1) & 3) << PORT_SHIFT;
    Guid(node.0 & !(3 << PORT_SHIFT) | place)
}

impl Node {
    /// All NodeGUIDs that it counts as: its own one, then those of the HFIs in whose place it is.
    pub fn guids(&self) -> impl Iterator<Item = Guid> {
        std::iter::once(self.guid()).chain(self.replaces.iter().copied())
    }

    /// Whether it has a NodeGUID, or is in the place of the HFI that had it.
    pub fn counts_as(&self, guid: Guid) -> bool {
        self.guids().any(|own| own == guid)
    }

    /// Whether a port has a PortGUID, or is in the place of the one that had it.
    pub fn port_counts_as(&self, port: PortNum, guid: Guid) -> bool {
        let replaced = self.replaces.iter();
        let mut former = replaced.map(|node| hfi_port_guid(*node, port));
        self.port_guid(port) == Some(guid) || former.any(|former| former == guid)
    }
}
