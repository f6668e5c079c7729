//! State that the vendor's managers copy from the master to standbys: management class
//! [`crate::header::class::SM_DBSYNC`]. A request is a GetTable, whatever it does; attribute and modifier say what.
//! Its data are a count (u32) and the records of one table, and go in segments ([`crate::rmpp`]).
//!
//! | attribute | modifiers | data |
//! |---|---|---|
//! | `SYNC` | `GET`, `SET` | [`SyncState`] |
//! | `SYNC` | `GET_CHECKSUMS` | [`Checksums`] |
//! | `SYNC` | `SEND_FILE` | [`FileHeader`] and the file |
//! | `SYNC` | `RECONFIGURE` | none |
//! | `GROUP` | `SET`, `ADD`, `DELETE` | each a [`SyncGroup`] and its [`SyncMember`]s |
//! | `SERVICE` | `SET`, `ADD`, `DELETE` | [`crate::sa::ServiceRecord`]s |
//! | `INFORM` | `SET`, `ADD`, `DELETE` | each a [`SubscriberKey`] and a [`crate::sa::InformInfoRecord`] |
//! | `MULTICAST_ROOT`, `DATELINE` | `SET` | a GUID |

use crate::id::{Guid, Lid, PKey};
use crate::layout::layout;
use crate::sa::McMemberRecord;
use crate::text::Text;

/// Version of the copy's protocol (`SM_DBSYNC_VERSION`).
pub const VERSION: u32 = 1;
/// Version of a manager that is reading its configuration: ask again later (`SM_DBSYNC_UNKNOWN`).
pub const VERSION_UNKNOWN: u32 = 0xFFFF_FFFF;
/// [`Checksums::protocol_version`] of a manager whose settings cannot be compared.
pub const NOT_COMPARED: u32 = 0;
/// Bytes of [`SyncState`] that the vendor's managers send: without the dateline's switch.
pub const SYNC_STATE_SENT: usize = 84;
/// Bytes of [`Checksums`] as they are sent, with padding.
pub const CHECKSUMS_SENT: usize = 56;
/// Port GUID of a member that stands for the configuration and keeps a group alive
/// (`SA_FAKE_MULTICAST_GROUP_MEMBER`).
pub const CONFIGURED_MEMBER: Guid = Guid(0x0006_6A00_FACA_DE01);

/// Attributes: the tables.
pub mod attribute {
    /// State of the copy itself.
    pub const SYNC: u16 = 1;
    /// Multicast groups with their members.
    pub const GROUP: u16 = 2;
    /// Services.
    pub const SERVICE: u16 = 3;
    /// Subscriptions to notices.
    pub const INFORM: u16 = 4;
    /// The switch at the root of multicast trees.
    pub const MULTICAST_ROOT: u16 = 5;
    /// The switch at which dimensions of a torus begin.
    pub const DATELINE: u16 = 6;
}

/// Attribute modifiers: what is done with a table.
pub mod action {
    /// Tell it.
    pub const GET: u32 = 1;
    /// Replace it.
    pub const SET: u32 = 2;
    /// Add records, or replace those that are there.
    pub const ADD: u32 = 3;
    /// Remove records.
    pub const DELETE: u32 = 4;
    /// Tell the checksums of the settings.
    pub const GET_CHECKSUMS: u32 = 5;
    /// Take a file.
    pub const SEND_FILE: u32 = 6;
    /// Read the configuration again.
    pub const RECONFIGURE: u32 = 7;
}

/// State of the copy of a table (`DBSyncStat_t`).
pub mod status {
    /// There is none.
    pub const NONE: u32 = 0;
    /// It is being made.
    pub const IN_PROGRESS: u32 = 1;
    /// The standby has it.
    pub const SYNCHRONIZED: u32 = 2;
    /// It could not be made.
    pub const FAILED: u32 = 3;
}

layout! {
    /// The copy of one table: part of [`SyncState`] (`SmSyncStat_t`).
    pub struct TableState: 16, "SmSyncStat_t" {
        /// See [`status`].
        status: u32 = u32 @ 0, "syncStatus";
        /// Failures in a row.
        failures: u32 = u32 @ 4, "syncFailCount";
        /// When the last one was, seconds since 1970.
        failed_at: u32 = u32 @ 8, "timeSyncFail";
        /// When it was made last, seconds since 1970; 0 for never.
        synced_at: u32 = u32 @ 12, "timeLastSync";
    }
}

layout! {
    /// State of the copy at a standby (`SMDBSync_t`).
    pub struct SyncState: 100, "SMDBSync_t" {
        /// See [`VERSION`].
        version: u32 = u32 @ 0, "version";
        /// All tables together.
        full: TableState = block @ 4, "fullSyncStatus";
        /// Subscriptions.
        inform: TableState = block @ 20, "informSyncStatus";
        /// Multicast groups.
        group: TableState = block @ 36, "groupSyncStatus";
        /// Services.
        service: TableState = block @ 52, "serviceSyncStatus";
        /// Root of multicast trees.
        multicast_root: TableState = block @ 68, "mcrootSyncStatus";
        /// Dateline.
        dateline: TableState = block @ 84, "datelineGuidSyncStatus";
    }
}

layout! {
    /// Checksums of the settings in which managers of a fabric must not differ (`SMDBCCCSync_t`).
    pub struct Checksums: 52, "SMDBCCCSync_t" {
        /// Version of the vendor's manager family; [`NOT_COMPARED`] leaves the rest without meaning.
        protocol_version: u32 = u32 @ 0, "protocolVersion";
        /// Virtual fabrics.
        virtual_fabrics: u32 = u32 @ 4, "smVfChecksum";
        /// Subnet manager.
        sm: u32 = u32 @ 8, "smConfigChecksum";
        /// Performance manager.
        pm: u32 = u32 @ 12, "pmConfigChecksum";
        /// Ethernet manager.
        em: u32 = u32 @ 16, "emConfigChecksum";
        /// Not in use.
        spare: [u32; 8] = block @ 20, "spare1";
    }
}

layout! {
    /// What stands before a file (`SMDBSyncFile_t`).
    pub struct FileHeader: 100, "SMDBSyncFile_t" {
        /// 1.
        version: u32 = u32 @ 0, "version";
        /// Bytes of this header.
        header_len: u32 = u32 @ 4, "length";
        /// Of an image of counters: its place in the history.
        activate: u32 = u32 @ 8, "activate";
        /// 1 a configuration, 2 the last image of counters, 3 an image of the history.
        kind: u32 = u32 @ 12, "type";
        /// Bytes of the file.
        size: u32 = u32 @ 16, "size";
        /// Not in use.
        spare: [u32; 4] = block @ 20, "spare1";
        /// Its name.
        name: Text<64> = block @ 36, "name";
    }
}

layout! {
    /// A multicast group without its members (`McGroupSync_t`).
    pub struct SyncGroup: 52, "McGroupSync_t" {
        /// Its GID, the bytes in reverse order: in memory the vendor's managers on x86 have it so.
        mgid_reversed: [u8; 16] = block @ 0, "mGid";
        /// Members that keep it alive.
        members_full: u32 = u32 @ 16, "members_full";
        /// Its queue key.
        q_key: u32 = u32 @ 20, "qKey";
        /// Its partition key.
        p_key: PKey = u16 @ 24, "pKey";
        /// Its LID.
        mlid: Lid = u32 @ 28, "mLid";
        /// Largest packet, as in [`McMemberRecord`].
        mtu: u8 = u8 @ 32, "mtu";
        /// Rate.
        rate: u8 = u8 @ 33, "rate";
        /// Lifetime of packets.
        life: u8 = u8 @ 34, "life";
        /// Service level.
        sl: u8 = u8 @ 35, "sl";
        /// Flow label.
        flow_label: u32 = u32 @ 36, "flowLabel";
        /// Hop limit.
        hop_limit: u8 = u8 @ 40, "hopLimit";
        /// Traffic class.
        t_class: u8 = u8 @ 41, "tClass";
        /// Scope.
        scope: u8 = u8 @ 42, "scope";
        /// Members that follow.
        member_count: u16 = u16 @ 44, "membercount";
        /// The highest [`SyncMember::index`] that was given.
        index_pool: u32 = u32 @ 48, "index_pool";
    }
}

layout! {
    /// A member of a multicast group (`STL_MCMEMBER_SYNCDB`).
    pub struct SyncMember: 82, "STL_MCMEMBER_SYNCDB" {
        /// Its record.
        member: McMemberRecord = block @ 0, "member";
        /// Its number in the group.
        index: u32 = u32 @ 56, "index";
        /// LID of its port.
        slid: Lid = u32 @ 60, "slid";
        /// Joined by another port for it.
        proxy: u8 = u8 @ 64, "proxy";
        /// Join state: the bits of its record.
        state: u8 = u8 @ 65, "state";
        /// Its node.
        node_guid: Guid = u64 @ 66, "nodeGuid";
        /// Its port; [`CONFIGURED_MEMBER`] where it stands for the configuration.
        port_guid: Guid = u64 @ 74, "portGuid";
    }
}

layout! {
    /// What identifies a subscription (`SubscriberKey_t`).
    pub struct SubscriberKey: 48, "SubscriberKey_t" {
        /// GID of the subscriber's port.
        subscriber_gid: crate::id::Gid = block @ 0, "subscriberGid";
        /// Its LID.
        lid: Lid = u32 @ 16, "lid";
        /// The trap.
        trap_number: u16 = u16 @ 20, "trapnum";
        /// Queue pair that reports go to.
        qpn: u32 = u32 @ 24, "qpn";
        /// Who makes the notices: the low byte of [`crate::class_port_info::InformInfo::producer_type`].
        producer: u8 = u8 @ 28, "producer";
        /// Longest time to the answer of a report.
        resp_time_value: u8 = u8 @ 29, "rtv";
        /// Partition key of the request.
        p_key: PKey = u16 @ 30, "pkey";
        /// Queue key of the request.
        q_key: u32 = u32 @ 32, "qkey";
        /// First LID that notices are about.
        start_lid: Lid = u32 @ 36, "startLid";
        /// Last LID that notices are about.
        end_lid: Lid = u32 @ 40, "endLid";
        /// 1 where reports have InfiniBand's form.
        ib_mode: u8 = u8 @ 44, "ibMode";
    }
}
