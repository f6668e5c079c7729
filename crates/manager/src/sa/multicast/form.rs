//! A member's record in the two forms that clients speak: OPA's and InfiniBand's.

use weft_wire::sa::{IbMcMemberRecord, McMemberRecord};

/// First multicast LID of 16 bits.
const FIRST_MLID_16: u16 = 0xC000;
/// The part of a multicast LID that both forms have.
const MLID_BITS: u32 = 0x3FFF;

/// Copies the fields that both forms share; the rest is as passed, or zero.
macro_rules! shared {
    ($to:ident from $record:ident $(, $field:ident: $value:expr)*) => {
        $to {
            mgid: $record.mgid,
            port_gid: $record.port_gid,
            q_key: $record.q_key,
            mtu_selector: $record.mtu_selector,
            mtu: $record.mtu,
            t_class: $record.t_class,
            p_key: $record.p_key,
            rate_selector: $record.rate_selector,
            rate: $record.rate,
            pkt_life_time_selector: $record.pkt_life_time_selector,
            pkt_life_time: $record.pkt_life_time,
            sl: $record.sl,
            hop_limit: $record.hop_limit,
            scope: $record.scope,
            join_send_only_full_member: $record.join_send_only_full_member,
            join_send_only_non_member: $record.join_send_only_non_member,
            join_non_member: $record.join_non_member,
            join_full_member: $record.join_full_member,
            proxy_join: $record.proxy_join,
            $($field: $value,)*
            ..$to::default()
        }
    };
}

/// Converts a record to OPA's form; a requested group has no LID yet.
pub(super) fn widened(record: &IbMcMemberRecord) -> McMemberRecord {
    shared!(McMemberRecord from record)
}

/// A record in InfiniBand's form.
pub(super) fn narrowed(record: &McMemberRecord) -> IbMcMemberRecord {
    shared!(IbMcMemberRecord from record,
        mlid: (record.mlid.0 & MLID_BITS) as u16 | FIRST_MLID_16)
}
