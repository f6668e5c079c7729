//! Capabilities of the administration.

use weft_wire::class_port_info::ClassPortInfo;
use weft_wire::header::version;
use weft_wire::sa::capability;

use super::Sa;
use super::query::{Found, Query, Refusal};
use crate::gsi::Form;

/// Capabilities of the InfiniBand form: multicast and subscriptions, paths with quality of service.
const IB_CAPABILITIES: u16 = capability::MULTICAST | capability::PORT_INFO_CAP_MASK_MATCH;
const CAPABILITIES: u16 = IB_CAPABILITIES | capability::CAP_MASK2 | capability::PA_SERVICES;
const CAPABILITIES_2: u32 = capability::QOS
    | capability::MFT_TOP
    | capability::FULL_PORT_INFO
    | capability::EXT_SPEED
    | capability::SEND_ONLY_FULL_MEMBER
    | capability::DEVICE_GROUPS
    | capability::SWITCH_COST;
/// Second capability mask in the InfiniBand form.
const IB_CAPABILITIES_2: u32 = capability::QOS | capability::SEND_ONLY_FULL_MEMBER;

/// Bytes of the InfiniBand form.
const IB_LEN: usize = 72;

pub(crate) fn class_port_info(sa: &Sa, query: &Query<'_>) -> Result<Found, Refusal> {
    let ib = query.form() == Form::Ib;
    let (cap_mask, cap_mask2) = match ib {
        true => (IB_CAPABILITIES, IB_CAPABILITIES_2),
        false => (CAPABILITIES, CAPABILITIES_2),
    };
    let found = Found::one(&ClassPortInfo {
        base_version: version::OPA,
        class_version: version::OPA,
        cap_mask,
        cap_mask2,
        resp_time_value: sa.settings.resp_time,
        redirect_qp: 1,
        trap_hop_limit: 255,
        trap_qp: 1,
        ..ClassPortInfo::default()
    });
    Ok(match ib {
        true => ib_form(found),
        false => found,
    })
}

/// The record as InfiniBand has it: versions of its own, and queue pairs where that form has them.
fn ib_form(found: Found) -> Found {
    let mut bytes = vec![0; IB_LEN];
    if let Some(common) = found.data.get(..8) {
        bytes[..8].copy_from_slice(common);
    }
    bytes[0] = version::IB;
    bytes[1] = version::IB_SA;
    // RedirectQP and TrapQP: 24 bits each; the byte before the latter is the hop limit.
    bytes[35] = 1;
    bytes[64] = 255;
    bytes[67] = 1;
    Found {
        data: std::sync::Arc::new(bytes),
        stride: IB_LEN,
        count: 1,
    }
}
