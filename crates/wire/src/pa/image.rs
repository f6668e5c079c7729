//! Images: the performance manager's data of one sweep.

use crate::enums::SmState;
use crate::id::{Guid, Lid, PortNum};
use crate::layout::layout;
use crate::text::Text;

layout! {
    /// Identifies an image (`STL_PA_IMAGE_ID_DATA`).
    pub struct ImageId: 16, "STL_PA_IMAGE_ID_DATA" {
        /// 0 the latest, all ones the one at a time, else its number.
        image_number: u64 = u64 @ 0, "imageNumber";
        /// Images before (negative) or after that, as a two's complement.
        image_offset: u32 = u32 @ 8, "imageOffset";
        /// Seconds since 1970, or seconds before now as a two's complement.
        image_time: u32 = u32 @ 12, "imageTime.absoluteTime";
    }
}

layout! {
    /// A subnet manager in an image (`STL_SMINFO_DATA`).
    pub struct ImageSm: 80, "STL_SMINFO_DATA" {
        /// Its LID.
        lid: Lid = u32 @ 0, "lid";
        /// Its priority.
        priority: u8 = u8 @ 4 [7:4], "priority";
        /// Its state.
        state: SmState = u8 @ 4 [3:0], "state";
        /// Its port.
        port_number: PortNum = u8 @ 5, "portNumber";
        /// Its port's GUID.
        sm_port_guid: Guid = u64 @ 8, "smPortGuid";
        /// NodeDescription of its node.
        sm_node_desc: Text<64> = block @ 16, "smNodeDesc";
    }
}

layout! {
    /// An image in numbers, query 0xAB (`STL_PA_IMAGE_INFO_DATA`).
    pub struct ImageInfo: 232, "STL_PA_IMAGE_INFO_DATA" {
        /// Image.
        image_id: ImageId = block @ 0, "imageId";
        /// Start of its sweep, seconds since 1970.
        sweep_start: u64 = u64 @ 16, "sweepStart";
        /// Duration of its sweep, microseconds.
        sweep_duration: u32 = u32 @ 24, "sweepDuration";
        /// Ports of HFIs.
        num_hfi_ports: u16 = u16 @ 28, "numHFIPorts";
        /// Switches.
        num_switch_nodes: u16 = u16 @ 34, "numSwitchNodes";
        /// Ports of switches.
        num_switch_ports: u32 = u32 @ 36, "numSwitchPorts";
        /// Links.
        num_links: u32 = u32 @ 40, "numLinks";
        /// Subnet managers.
        num_sms: u32 = u32 @ 44, "numSMs";
        /// Nodes that did not answer.
        num_no_resp_nodes: u32 = u32 @ 48, "numNoRespNodes";
        /// Ports that did not answer.
        num_no_resp_ports: u32 = u32 @ 52, "numNoRespPorts";
        /// Nodes that were not read.
        num_skipped_nodes: u32 = u32 @ 56, "numSkippedNodes";
        /// Ports that were not read.
        num_skipped_ports: u32 = u32 @ 60, "numSkippedPorts";
        /// Ports whose counters were cleared by others.
        num_unexpected_clear_ports: u32 = u32 @ 64, "numUnexpectedClearPorts";
        /// Seconds from the image before to this.
        image_interval: u32 = u32 @ 68, "imageInterval";
        /// The master and a standby.
        sm_info: [ImageSm; 2] = block @ 72, "SMInfo";
    }
}

layout! {
    /// Freezes another image instead of one, query 0xAC (`STL_MOVE_FREEZE_DATA`).
    pub struct MoveFreeze: 32, "STL_MOVE_FREEZE_DATA" {
        /// The one.
        old_freeze_image: ImageId = block @ 0, "oldFreezeImage";
        /// The other.
        new_freeze_image: ImageId = block @ 16, "newFreezeImage";
    }
}
