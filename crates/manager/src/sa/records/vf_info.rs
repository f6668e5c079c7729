//! Virtual fabrics.

use weft_wire::enums::Mtu;
use weft_wire::id::PKey;
use weft_wire::sa::VfInfoRecord;
use weft_wire::text::Text;

use crate::sa::dispatch::is_full;
use crate::sa::query::{Found, Query, Records, Refusal};
use crate::sa::{Sa, SaSettings};
use crate::settings::VirtualFabric;

/// Bits of the component mask that a template cannot express.
mod component {
    pub(super) const P_KEY: u32 = 1;
    pub(super) const SERVICE_ID: u32 = 4;
    pub(super) const MGID: u32 = 5;
    pub(super) const SL: u32 = 7;
}

/// `select_flags`: how applications find the virtual fabric in path queries.
const SELECT_P_KEY: u8 = 1;
const SELECT_SL: u8 = 2;
/// `option_flags`.
const OPTION_SECURITY: u8 = 1;
const OPTION_QOS: u8 = 2;
const OPTION_FLOW_CONTROL_OFF: u8 = 4;
/// Value for no limit.
const MTU_MAX: Mtu = Mtu(7);
const RATE_MAX: u8 = 18;

/// The virtual fabrics that carry traffic, as far as the requester may know of them: full members of
/// the management partition all, others their own.
pub(crate) fn vf_info_records(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let asked: VfInfoRecord = match query.header.component_mask {
        0 => VfInfoRecord::default(),
        _ => query.record()?,
    };
    let requester = sa.view.by_lid(query.request.from.lid);
    let requester = requester.ok_or(Refusal::INVALID)?;
    let manages = is_full(query.request.from.pkey)
        && sa.view.key_of(requester, PKey::MGMT_FULL) == Some(PKey::MGMT_FULL);
    let mut records = Records::new::<VfInfoRecord>(query);
    for (index, fabric) in sa.settings.fabrics.iter().enumerate() {
        let known = manages || sa.view.membership(requester, index).is_some();
        if !fabric.standby && known && meets(sa, query, &asked, fabric) {
            records.push(&answered(query, &asked, record(index, fabric)));
        }
    }
    records.finish()
}

fn meets(sa: &Sa, query: &Query<'_>, asked: &VfInfoRecord, fabric: &VirtualFabric) -> bool {
    let same_key = asked.p_key.0 & 0x7FFF == fabric.pkey.0 & 0x7FFF;
    (!query.has(component::P_KEY) || same_key)
        && (!query.has(component::SL) || asked.sl_base == fabric.sl)
        && (!query.has(component::SERVICE_ID) || sa.settings.has_service(fabric, asked.service_id))
        && (!query.has(component::MGID) || sa.settings.has_mgid(fabric, &asked.mgid))
}

/// What the query asked for is in the record: the service and the group.
fn answered(query: &Query<'_>, asked: &VfInfoRecord, mut record: VfInfoRecord) -> VfInfoRecord {
    if query.has(component::SERVICE_ID) {
        record.service_id = asked.service_id;
    }
    if query.has(component::MGID) {
        record.mgid = asked.mgid;
    }
    record
}

/// The virtual fabrics that carry traffic, as records of a query without a service and a group.
pub fn virtual_fabrics(settings: &SaSettings) -> Vec<VfInfoRecord> {
    let all = settings.fabrics.iter().enumerate();
    let carrying = all.filter(|(_, fabric)| !fabric.standby);
    carrying
        .map(|(index, fabric)| record(index, fabric))
        .collect()
}

fn record(index: usize, fabric: &VirtualFabric) -> VfInfoRecord {
    let when = |yes: bool, flag: u8| if yes { flag } else { 0 };
    let multicast = fabric.multicast_sl != fabric.sl;
    let bandwidth = fabric.qos && !fabric.high_priority;
    VfInfoRecord {
        vf_index: index as u16,
        p_key: fabric.member_key(false),
        vf_name: Text::new(&fabric.name),
        select_flags: when(fabric.security, SELECT_P_KEY) | when(fabric.qos, SELECT_SL),
        sl_base: fabric.sl,
        mtu_specified: fabric.max_mtu.is_some(),
        mtu: fabric.max_mtu.unwrap_or(MTU_MAX),
        rate_specified: fabric.max_rate.is_some(),
        rate: fabric.max_rate.unwrap_or(RATE_MAX),
        pkt_life_specified: true,
        pkt_life_time_inc: fabric.lifetime_increment,
        option_flags: when(fabric.security, OPTION_SECURITY)
            | when(fabric.qos, OPTION_QOS)
            | when(fabric.flow_control_disable, OPTION_FLOW_CONTROL_OFF),
        bandwidth_percent: when(bandwidth, fabric.bandwidth),
        priority: fabric.high_priority,
        routing_sls: 1,
        preemption_rank: fabric.preemption_rank,
        hoq_life: fabric.hoq_life,
        sl_multicast_specified: multicast,
        sl_multicast: if multicast {
            fabric.multicast_sl
        } else {
            Default::default()
        },
        ..VfInfoRecord::default()
    }
}
