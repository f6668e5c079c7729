//! Notice, attribute 0x0002: the frame of every trap.

use crate::id::{Gid, Lid};
use crate::layout::layout;
use crate::sm::trap::Trap;

layout! {
    /// Content of a trap, or of a report that forwards it (`STL_NOTICE`).
    pub struct Notice: 96, "STL_NOTICE" {
        /// The trap's number is one of the format, not of a vendor.
        is_generic: bool = u32 @ 0 [31:31], "Attributes.Generic.u.s.IsGeneric";
        /// Severity: 0 fatal, 1 urgent, 2 security, 3 subnet management, 4 information.
        notice_type: u8 = u32 @ 0 [30:24], "Attributes.Generic.u.s.Type";
        /// Type of the reporting node: 1 HFI, 2 switch, 4 subnet manager; or the vendor's OUI.
        producer_type: u32 = u32 @ 0 [23:0], "Attributes.Generic.u.s.ProducerType";
        /// Number of the trap; of a vendor: the device.
        trap_number: u16 = u16 @ 4, "Attributes.Generic.TrapNumber";
        /// Alternates from trap to trap.
        toggle: bool = u16 @ 6 [15:15], "Stats.s.Toggle";
        /// Notices waiting.
        count: u16 = u16 @ 6 [14:0], "Stats.s.Count";
        /// LID of the reporter.
        issuer_lid: Lid = u32 @ 8, "IssuerLID";
        /// GID of the reporter, in a report to other subnets.
        issuer_gid: Gid = block @ 16, "IssuerGID";
        /// Details of the event, by trap number: see [`Notice::trap`].
        data: [u8; 64] = block @ 32, "Data";
    }
}

impl Notice {
    /// The type of a notice that calls for action.
    pub const TYPE_URGENT: u8 = 1;
    /// The type of a notice that concerns subnet management.
    pub const TYPE_SUBNET_MANAGEMENT: u8 = 3;
    /// The type of a notice about a key violation.
    pub const TYPE_SECURITY: u8 = 2;
    /// The type of a notice that informs.
    pub const TYPE_INFORMATIONAL: u8 = 4;
    /// The producer type of an HFI.
    pub const PRODUCER_HFI: u32 = 1;
    /// The producer type of a switch.
    pub const PRODUCER_SWITCH: u32 = 2;
    /// The producer type of a subnet manager.
    pub const PRODUCER_SM: u32 = 4;

    /// A generic notice of `trap`.
    pub fn of(trap: &Trap, producer_type: u32, issuer_lid: Lid) -> Self {
        Self {
            is_generic: true,
            notice_type: trap.notice_type(),
            producer_type,
            trap_number: trap.number(),
            issuer_lid,
            data: trap.data(),
            ..Self::default()
        }
    }

    /// The event with its data; `None` for a vendor's notice.
    pub fn trap(&self) -> Option<Trap> {
        self.is_generic
            .then(|| Trap::decode(self.trap_number, &self.data))
    }
}
