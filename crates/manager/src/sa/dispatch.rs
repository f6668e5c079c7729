//! Table of attributes: handlers, methods, forms, and access rights.

use weft_fabric::Tick;
use weft_wire::header::method::{DELETE, GET, GET_MULTI, GET_TABLE, GET_TRACE_TABLE, SET};
use weft_wire::id::PKey;
use weft_wire::sa::attribute;

use super::Sa;
use super::query::{Found, Query, Refusal};
use super::records::{
    cables, congestion, fabric, forwarding, groups, ib_nodes, nodes, port_tables, quarantined,
    trace, vf_info,
};
use super::view::View;
use crate::gsi::Form;

/// Handler of an attribute.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// Reads the published fabric.
    View(fn(&View, &Query<'_>) -> Result<Found, Refusal>),
    /// Reads anything.
    Read(fn(&Sa, &Query<'_>) -> Result<Found, Refusal>),
    /// Changes registrations.
    Write(fn(&mut Sa, Tick, &Query<'_>) -> Result<Found, Refusal>),
}

/// An attribute that is served.
pub(crate) struct Attribute {
    pub(crate) id: u16,
    pub(crate) forms: &'static [Form],
    /// Whether limited members of the management partition have access.
    pub(crate) open: bool,
    pub(crate) methods: &'static [u8],
    pub(crate) handler: Handler,
}

const OPA: &[Form] = &[Form::Opa];
const IB: &[Form] = &[Form::Ib];
const BOTH: &[Form] = &[Form::Opa, Form::Ib];
const READ: &[u8] = &[GET, GET_TABLE];
const WRITE: &[u8] = &[GET, GET_TABLE, SET, DELETE];

const fn view(
    id: u16,
    open: bool,
    handler: fn(&View, &Query<'_>) -> Result<Found, Refusal>,
) -> Attribute {
    Attribute {
        id,
        forms: OPA,
        open,
        methods: READ,
        handler: Handler::View(handler),
    }
}

/// Records in InfiniBand's form, open to everybody.
const fn ib_view(id: u16, handler: fn(&View, &Query<'_>) -> Result<Found, Refusal>) -> Attribute {
    Attribute {
        forms: IB,
        ..view(id, true, handler)
    }
}

const fn read(
    id: u16,
    open: bool,
    methods: &'static [u8],
    handler: fn(&Sa, &Query<'_>) -> Result<Found, Refusal>,
) -> Attribute {
    Attribute {
        id,
        forms: OPA,
        open,
        methods,
        handler: Handler::Read(handler),
    }
}

/// Everything that is served.
pub(crate) const ATTRIBUTES: &[Attribute] = &[
    view(attribute::NODE_RECORD, true, nodes::node_records),
    view(attribute::PORT_INFO_RECORD, false, nodes::port_info_records),
    ib_view(attribute::NODE_RECORD, ib_nodes::node_records),
    ib_view(attribute::PORT_INFO_RECORD, ib_nodes::port_info_records),
    view(
        attribute::SWITCH_INFO_RECORD,
        false,
        nodes::switch_info_records,
    ),
    view(attribute::LINK_RECORD, false, nodes::link_records),
    view(attribute::SM_INFO_RECORD, false, nodes::sm_info_records),
    view(
        attribute::P_KEY_TABLE_RECORD,
        false,
        port_tables::p_key_records,
    ),
    view(
        attribute::SL_TO_SC_RECORD,
        false,
        port_tables::sl_sc_records,
    ),
    view(
        attribute::SC_TO_SL_RECORD,
        false,
        port_tables::sc_sl_records,
    ),
    view(
        attribute::SC_TO_VLR_RECORD,
        false,
        port_tables::sc_vlr_records,
    ),
    view(
        attribute::SC_TO_VLT_RECORD,
        false,
        port_tables::sc_vlt_records,
    ),
    view(
        attribute::SC_TO_VLNT_RECORD,
        false,
        port_tables::sc_vlnt_records,
    ),
    view(
        attribute::VL_ARBITRATION_RECORD,
        false,
        port_tables::vl_arb_records,
    ),
    view(
        attribute::BUFFER_CONTROL_RECORD,
        false,
        port_tables::buffer_records,
    ),
    view(
        attribute::LINEAR_FDB_RECORD,
        false,
        forwarding::linear_records,
    ),
    view(
        attribute::MULTICAST_FDB_RECORD,
        false,
        forwarding::multicast_records,
    ),
    view(
        attribute::PORT_GROUP_TABLE_RECORD,
        false,
        forwarding::group_records,
    ),
    view(
        attribute::PORT_GROUP_FDB_RECORD,
        false,
        forwarding::group_fdb_records,
    ),
    view(attribute::SC_TO_SC_RECORD, false, fabric::sc_sc_records),
    view(attribute::FABRIC_INFO_RECORD, false, fabric::fabric_info),
    view(
        attribute::DEVICE_TREE_MEMBER_RECORD,
        false,
        fabric::device_tree,
    ),
    view(attribute::SWITCH_COST_RECORD, false, fabric::switch_costs),
    view(
        attribute::QUARANTINED_NODE_RECORD,
        false,
        quarantined::quarantined,
    ),
    read(attribute::CABLE_INFO_RECORD, false, READ, cables::cables),
    read(
        attribute::CONGESTION_INFO_RECORD,
        false,
        READ,
        congestion::infos,
    ),
    read(
        attribute::SWITCH_CONGESTION_RECORD,
        false,
        READ,
        congestion::switches,
    ),
    read(
        attribute::SWITCH_PORT_CONGESTION_RECORD,
        false,
        READ,
        congestion::switch_ports,
    ),
    read(
        attribute::HFI_CONGESTION_RECORD,
        false,
        READ,
        congestion::hosts,
    ),
    read(
        attribute::HFI_CONGESTION_CONTROL_RECORD,
        false,
        READ,
        congestion::tables,
    ),
    read(
        attribute::DEVICE_GROUP_NAME_RECORD,
        false,
        READ,
        groups::names,
    ),
    read(
        attribute::DEVICE_GROUP_MEMBER_RECORD,
        false,
        READ,
        groups::members,
    ),
    read(
        attribute::VF_INFO_RECORD,
        true,
        READ,
        vf_info::vf_info_records,
    ),
    read(
        attribute::TRACE_RECORD,
        false,
        &[GET_TRACE_TABLE],
        trace::trace_records,
    ),
    read(
        attribute::MULTI_PATH_RECORD,
        true,
        &[GET_MULTI],
        super::path::multi_path_records,
    ),
    Attribute {
        id: attribute::INFORM_INFO,
        forms: BOTH,
        open: true,
        methods: &[SET],
        handler: Handler::Write(super::inform::inform_info),
    },
    Attribute {
        id: attribute::INFORM_INFO_RECORD,
        forms: BOTH,
        open: true,
        methods: READ,
        handler: Handler::Read(super::inform::inform_info_records),
    },
    Attribute {
        id: attribute::SERVICE_RECORD,
        forms: BOTH,
        open: true,
        methods: WRITE,
        handler: Handler::Write(super::services::service_records),
    },
    Attribute {
        id: attribute::MC_MEMBER_RECORD,
        forms: BOTH,
        open: true,
        methods: WRITE,
        handler: Handler::Write(super::multicast::member_changes),
    },
    Attribute {
        id: attribute::CLASS_PORT_INFO,
        forms: BOTH,
        open: true,
        methods: &[GET],
        handler: Handler::Read(super::class_port_info::class_port_info),
    },
    Attribute {
        id: attribute::PATH_RECORD,
        forms: IB,
        open: true,
        methods: READ,
        handler: Handler::Read(super::path::path_records),
    },
];

/// Whether the requester has access: there is no key except that among the managers
/// themselves, and attributes that are not open are for full members of the management partition. As the
/// reference manager does, others get no reply: they do not even learn what exists.
pub(crate) fn is_allowed(query: &Query<'_>) -> bool {
    let open = |entry: &Attribute| {
        entry.open
            && entry.id == query.request.mad.attribute_id
            && entry.forms.contains(&query.form())
    };
    query.header.sm_key == 0 && (is_full(query.request.from.pkey) || ATTRIBUTES.iter().any(open))
}

/// Handler of the request, or the reason for its refusal.
pub(crate) fn handler(query: &Query<'_>) -> Result<Handler, Refusal> {
    let id = query.request.mad.attribute_id;
    let entries = ATTRIBUTES.iter().filter(|attribute| attribute.id == id);
    let mut entries = entries.peekable();
    if entries.peek().is_none() {
        return Err(Refusal::METHOD);
    }
    let entry = entries.find(|attribute| attribute.forms.contains(&query.form()));
    let entry = entry.ok_or(Refusal::VERSION)?;
    match entry.methods.contains(&query.method()) {
        true => Ok(entry.handler),
        false => Err(Refusal::METHOD),
    }
}

/// Whether the requester is a full member of the management partition.
pub(crate) fn is_full(pkey: PKey) -> bool {
    pkey == PKey::MGMT_FULL
}
