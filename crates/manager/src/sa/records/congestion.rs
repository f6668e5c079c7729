//! Congestion control settings of devices, as far as the manager has read or written them.

use weft_fabric::{Lid, PortNum};
use weft_wire::Layout;
use weft_wire::sa::{
    CongestionInfoRecord, HfiCongestionControlRecord, HfiCongestionRecord, SwitchCongestionRecord,
    SwitchPortCongestionRecord,
};
use weft_wire::sm::{
    AttributeId, CctBlock, HfiCongestionControlTable, SwitchPortCongestionSetting,
};

use super::nodes::ends_of;
use crate::sa::Sa;
use crate::sa::query::{Found, Query, Record, Records, Refusal};
use crate::sa::view::EndPort;

/// Bytes of CCTI_Limit before the blocks of a table.
const LIMIT_LEN: usize = 2;

/// Each end port with what its device holds of an attribute.
fn held<'a>(
    sa: &'a Sa,
    query: &Query<'_>,
    attribute: AttributeId,
) -> impl Iterator<Item = (&'a EndPort, &'a [u8])> {
    let ends = ends_of(&sa.view, query).iter();
    ends.filter_map(move |end| {
        let node = sa.view.node(end.at.node)?;
        let bytes = sa.congestion.get(&(node.guid(), end.at.port, attribute))?;
        Some((end, &**bytes))
    })
}

/// Records of a query, in which any LID of a port means its first.
fn records<R: Record>(sa: &Sa, query: &Query<'_>) -> Records {
    let mut records = Records::new::<R>(query);
    if let (Some(_), [end]) = (query.lid(), ends_of(&sa.view, query)) {
        records.want(0, &end.lid.0.to_be_bytes());
    }
    records
}

/// The record of each device that holds the attribute, made of the whole.
fn one_each<S: Layout, R: Record>(
    sa: &Sa,
    query: &Query<'_>,
    attribute: AttributeId,
    record: impl Fn(Lid, S) -> R,
) -> Result<Found, Refusal> {
    let mut records = records::<R>(sa, query);
    for (end, bytes) in held(sa, query, attribute) {
        if let Ok(setting) = S::decode(bytes) {
            records.push(&record(end.lid, setting));
        }
    }
    records.finish()
}

pub(crate) fn infos(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let record = |lid, congestion_info| CongestionInfoRecord {
        lid,
        congestion_info,
    };
    one_each(sa, query, AttributeId::CONGESTION_INFO, record)
}

pub(crate) fn switches(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let record = |lid, switch_congestion_setting| SwitchCongestionRecord {
        lid,
        switch_congestion_setting,
    };
    one_each(sa, query, AttributeId::SWITCH_CONGESTION_SETTING, record)
}

pub(crate) fn switch_ports(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let mut records = records::<SwitchPortCongestionRecord>(sa, query);
    let attribute = AttributeId::SWITCH_PORT_CONGESTION_SETTING;
    for (end, bytes) in held(sa, query, attribute) {
        let settings = bytes.chunks_exact(SwitchPortCongestionSetting::LEN);
        for (port, bytes) in (0..=u8::MAX).zip(settings) {
            if let Ok(setting) = SwitchPortCongestionSetting::decode(bytes) {
                records.push(&SwitchPortCongestionRecord {
                    lid: end.lid,
                    port: PortNum(port),
                    switch_port_congestion_setting: setting,
                });
            }
        }
    }
    records.finish()
}

pub(crate) fn hosts(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let record = |lid, hfi_congestion_setting| HfiCongestionRecord {
        lid,
        hfi_congestion_setting,
    };
    one_each(sa, query, AttributeId::HFI_CONGESTION_SETTING, record)
}

pub(crate) fn tables(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let mut records = records::<HfiCongestionControlRecord>(sa, query);
    let attribute = AttributeId::HFI_CONGESTION_CONTROL_TABLE;
    for (end, bytes) in held(sa, query, attribute) {
        let (limit, blocks) = bytes.split_at(LIMIT_LEN.min(bytes.len()));
        let blocks = blocks.chunks_exact(CctBlock::LEN);
        for (block_num, block) in (0..).zip(blocks) {
            let table = [limit, block].concat();
            if let Ok(table) = HfiCongestionControlTable::decode(&table) {
                records.push(&HfiCongestionControlRecord {
                    lid: end.lid,
                    block_num,
                    hfi_congestion_control_table: table,
                });
            }
        }
    }
    records.finish()
}
