//! Performance administration (class 0x32): queries of the performance manager's data. The
//! payload starts 56 bytes into the datagram, as in subnet administration; the class header starts
//! with the vendor's OUI.

pub mod config;
pub mod counters;
pub mod focus;
pub mod group;
pub mod image;
pub mod stats;
pub mod vf;

pub use config::{CategoryThresholds, CongestionWeights, IntegrityWeights, PmConfig};
pub use counters::{
    ClearAllPortCounters, ClearPortCounters, ClearVfPortCounters, PortCounters, VfPortCounters,
};
pub use focus::{
    FocusMultiPort, FocusMultiReq, FocusPort, FocusPortsReq, FocusTuple, VfFocusPort,
    VfFocusPortsReq, select,
};
pub use group::{
    GroupConfigReq, GroupConfigRsp, GroupInfo, GroupLinkInfoReq, GroupLinkInfoRsp, GroupList,
    GroupList2, GroupNodeInfoReq, GroupNodeInfoRsp,
};
pub use image::{ImageId, ImageInfo, ImageSm, MoveFreeze};
pub use stats::{CategoryBucket, CategoryStats, CategorySummary, UtilStats};
pub use vf::{VfConfigReq, VfConfigRsp, VfInfo, VfList, VfList2};

/// Queries (`STL_PA_ATTRID_*`).
pub mod attribute {
    /// Capabilities of the administration.
    pub const CLASS_PORT_INFO: u16 = 0x0001;
    /// Groups.
    pub const GROUP_LIST: u16 = 0x00a0;
    /// Statistics of a group.
    pub const GROUP_INFO: u16 = 0x00a1;
    /// Ports of a group.
    pub const GROUP_CONFIG: u16 = 0x00a2;
    /// Counters of a port.
    pub const PORT_COUNTERS: u16 = 0x00a3;
    /// Clears counters of a port.
    pub const CLEAR_PORT_COUNTERS: u16 = 0x00a4;
    /// Clears counters of all ports.
    pub const CLEAR_ALL_PORT_COUNTERS: u16 = 0x00a5;
    /// Configuration.
    pub const PM_CONFIG: u16 = 0x00a6;
    /// Keeps an image.
    pub const FREEZE_IMAGE: u16 = 0x00a7;
    /// Returns a held image.
    pub const RELEASE_IMAGE: u16 = 0x00a8;
    /// Keeps an image for longer.
    pub const RENEW_IMAGE: u16 = 0x00a9;
    /// Ports of a group that stand out.
    pub const FOCUS_PORTS: u16 = 0x00aa;
    /// An image in numbers.
    pub const IMAGE_INFO: u16 = 0x00ab;
    /// Keeps another image.
    pub const MOVE_FREEZE: u16 = 0x00ac;
    /// Virtual fabrics.
    pub const VF_LIST: u16 = 0x00ad;
    /// Statistics of a virtual fabric.
    pub const VF_INFO: u16 = 0x00ae;
    /// Ports of a virtual fabric.
    pub const VF_CONFIG: u16 = 0x00af;
    /// Counters of a port in a virtual fabric.
    pub const VF_PORT_COUNTERS: u16 = 0x00b0;
    /// Clears counters of a port in a virtual fabric.
    pub const CLEAR_VF_PORT_COUNTERS: u16 = 0x00b1;
    /// Ports of a virtual fabric that stand out.
    pub const VF_FOCUS_PORTS: u16 = 0x00b2;
    /// Ports that meet conditions.
    pub const FOCUS_MULTI: u16 = 0x00b4;
    /// Nodes of a group.
    pub const GROUP_NODE_INFO: u16 = 0x00b5;
    /// Links of a group.
    pub const GROUP_LINK_INFO: u16 = 0x00b6;
    /// Groups of an image.
    pub const GROUP_LIST2: u16 = 0x00b7;
    /// Virtual fabrics of an image.
    pub const VF_LIST2: u16 = 0x00b8;
}

/// Status codes of the class (`STL_MAD_STATUS_STL_PA_*`).
pub mod status {
    /// The performance manager is not running.
    pub const UNAVAILABLE: u16 = 0x0A00;
    /// No such group.
    pub const NO_GROUP: u16 = 0x0B00;
    /// No such port.
    pub const NO_PORT: u16 = 0x0C00;
    /// No such virtual fabric.
    pub const NO_VF: u16 = 0x0D00;
    /// A parameter is wrong.
    pub const INVALID_PARAMETER: u16 = 0x0E00;
    /// No such image.
    pub const NO_IMAGE: u16 = 0x0F00;
    /// The port was not read.
    pub const NO_DATA: u16 = 0x1000;
    /// The port did not answer.
    pub const BAD_DATA: u16 = 0x1100;
}
