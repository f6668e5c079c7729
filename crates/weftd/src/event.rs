//! Events of the fabric, and of changes by clients of the daemon.

use std::time::Duration;

use weft_api::port_message;
use weft_api::time::{span, timestamp};
use weft_api::v1::{self, watch_response::Content};
use weft_fabric::{Guid, Lid};
use weft_health::{Color, End};
use weft_manager::pm::PortName;
use weft_manager::{Event, PortOrder};
use weft_wire::pm::PortErrorInfo;

use crate::attachment::Attachment;
use crate::grpc::color;
use crate::names::Names;

/// Something that happened.
#[derive(Debug, Clone)]
pub(crate) enum DaemonEvent {
    /// In the fabric.
    Fabric(Event),
    /// The configuration was read again.
    Config {
        /// It is in force now.
        applied: bool,
        /// Message for users.
        what: String,
    },
    /// Other virtual fabrics are in force.
    VirtualFabrics(Box<v1::VirtualFabricsChanged>),
    /// The fabric was lost, or is back.
    Attachment(Attachment),
    /// A client has changed a port, and its device has confirmed it.
    Port(Box<PortOrder>),
    /// A plan is carried out by this sweep.
    Plan { id: u64, what: String, sweep: u64 },
    /// A plan is undone by this sweep.
    PlanUndone { what: String, sweep: u64 },
    /// An operation has begun or is in another state.
    Operation(Box<v1::Operation>),
    /// A step of an operation's sweep is over.
    OperationProgress(v1::OperationProgress),
    /// A category of trouble went over its threshold.
    Threshold(Box<Threshold>),
    /// Traps of a source that were no events; LID 0 for those of many.
    TrapsSuppressed { lid: Lid, count: u64 },
    /// Requests of a sender that were dropped because he sends too many; LID 0 for those of many.
    RequestsDropped { lid: Lid, count: u64 },
    /// Counters and events cannot be kept.
    HistoryUnwritten { why: String },
    /// They are kept again, after this many seconds.
    HistoryWritten { seconds: u64 },
    /// The page of what is wrong has another colour.
    Health {
        before: Color,
        now: Color,
        reason: String,
    },
    /// A link has errors, in words, or none any more.
    LinkHealth {
        a: End,
        b: Option<End>,
        errors: Option<String>,
    },
}

/// A port whose trouble went over a threshold.
#[derive(Debug, Clone)]
pub(crate) struct Threshold {
    pub(crate) port: PortName,
    pub(crate) neighbor: Option<PortName>,
    pub(crate) category: &'static str,
    pub(crate) value: u32,
    pub(crate) threshold: u32,
    /// In words, empty where the port said nothing.
    pub(crate) error_info: String,
}

impl DaemonEvent {
    /// The event for clients, with the names of nodes and the number of the running sweep, 0 for none.
    pub(crate) fn content(&self, names: &Names<'_>, sweep: u64) -> Content {
        match self {
            Self::Fabric(event) => found_by(with_names(event.clone().into(), names), sweep),
            Self::Config { applied, what } => Content::ConfigReloaded(v1::ConfigReloaded {
                applied: *applied,
                what: what.clone(),
            }),
            Self::VirtualFabrics(changed) => Content::VirtualFabricsChanged((**changed).clone()),
            Self::Attachment(now) => Content::AttachmentChanged(v1::Attachment {
                attached: now.attached,
                since_time: Some(timestamp(now.since_unix_ns)),
            }),
            Self::Port(order) => Content::PortChanged(v1::PortChanged {
                node_name: names.of(order.node),
                ..(**order).clone().into()
            }),
            Self::Plan { id, what, sweep } => Content::PlanInForce(v1::PlanInForce {
                plan_id: *id,
                what: what.clone(),
                sweep: *sweep,
            }),
            Self::PlanUndone { what, sweep } => Content::PlanUndone(v1::PlanUndone {
                what: what.clone(),
                sweep: *sweep,
            }),
            Self::Operation(operation) => Content::OperationChanged((**operation).clone()),
            Self::OperationProgress(progress) => Content::OperationProgress(progress.clone()),
            Self::Threshold(threshold) => Content::ThresholdExceeded(threshold.message()),
            Self::HistoryUnwritten { why } => {
                Content::HistoryUnwritten(v1::HistoryUnwritten { why: why.clone() })
            }
            Self::HistoryWritten { seconds } => Content::HistoryWritten(v1::HistoryWritten {
                failed_for: Some(span(Duration::from_secs(*seconds))),
            }),
            Self::Health {
                before,
                now,
                reason,
            } => Content::HealthChanged(v1::HealthChanged {
                before: color(*before).into(),
                now: color(*now).into(),
                reason: reason.clone(),
            }),
            Self::LinkHealth { a, b, errors } => {
                let link = v1::LinkHealth {
                    a: Some(named_port(a)),
                    b: b.as_ref().map(named_port),
                    what: errors.clone().unwrap_or_default(),
                };
                match errors {
                    Some(_) => Content::LinkHasErrors(link),
                    None => Content::LinkIsWell(link),
                }
            }
            Self::TrapsSuppressed { lid, count } => {
                let (node_guid, node_name) = names.of_lid(*lid);
                Content::TrapsSuppressed(v1::TrapsSuppressed {
                    lid: lid.0,
                    count: *count,
                    node_guid: node_guid.0,
                    node_name,
                })
            }
            Self::RequestsDropped { lid, count } => {
                let (node_guid, node_name) = names.of_lid(*lid);
                Content::RequestsDropped(v1::RequestsDropped {
                    lid: lid.0,
                    count: *count,
                    node_guid: node_guid.0,
                    node_name,
                })
            }
        }
    }
}

impl Threshold {
    fn message(&self) -> v1::ThresholdExceeded {
        let id = |name: &PortName| port_message(name.node, name.port);
        let neighbor = self.neighbor.as_ref();
        v1::ThresholdExceeded {
            port: Some(id(&self.port)),
            node_name: self.port.name.clone(),
            neighbor: neighbor.map(id),
            neighbor_name: neighbor.map_or_else(String::new, |name| name.name.clone()),
            category: self.category.to_owned(),
            value: self.value,
            threshold: self.threshold,
            error_info: self.error_info.clone(),
        }
    }
}

fn named_port(end: &End) -> v1::NamedPort {
    v1::NamedPort {
        port: Some(v1::PortId {
            node_guid: end.node.0,
            port: end.port.unwrap_or_default().0.into(),
        }),
        node_name: end.name.clone(),
    }
}

fn with_names(mut content: Content, names: &Names<'_>) -> Content {
    let of = |guid: u64| names.of(Guid(guid));
    match &mut content {
        Content::LinkAppeared(link) | Content::LinkVanished(link) => {
            link.a_name = of(link.a.unwrap_or_default().node_guid);
            link.b_name = of(link.b.unwrap_or_default().node_guid);
        }
        Content::NodeSilent(silent) => silent.name = of(silent.guid),
        Content::NodeAnswers(node) => node.name = of(node.guid),
        Content::DeviceFault(fault) => fault.name = of(fault.guid),
        Content::PromiseBroken(broken) => broken.name = of(broken.guid),
        Content::Trap(trap) => name_sender(trap, names),
        Content::SweepStarted(started) => {
            let traps = started.traps.iter_mut();
            traps.for_each(|trap| name_sender(trap, names));
        }
        Content::SweepEnded(sweep) => {
            let switches = sweep.written_switches.iter_mut();
            switches.for_each(|switch| switch.name = of(switch.guid));
        }
        _ => {}
    }
    content
}

fn name_sender(trap: &mut v1::Trap, names: &Names<'_>) {
    let (guid, name) = names.of_lid(Lid(trap.lid));
    (trap.node_guid, trap.node_name) = (guid.0, name);
}

fn found_by(mut content: Content, running: u64) -> Content {
    match &mut content {
        Content::LinkAppeared(link) | Content::LinkVanished(link) => link.sweep = running,
        Content::NodeAppeared(node) | Content::NodeVanished(node) => node.sweep = running,
        _ => {}
    }
    content
}

/// Describes a port's last errors; empty if it reports none.
pub(crate) fn errors(info: &PortErrorInfo) -> String {
    let told = [
        (
            info.rcv_error_status,
            format!("receive error, code {}", info.rcv_error_code),
        ),
        (
            info.buffer_overrun_status,
            format!("buffer overrun on SC {}", info.buffer_overrun_sc),
        ),
        (
            info.xmit_constraint_status,
            format!(
                "packet out refused: P_Key {:#06x}, source LID {}",
                info.xmit_constraint_p_key, info.xmit_constraint_slid
            ),
        ),
        (
            info.rcv_constraint_status,
            format!(
                "packet in refused, code {}: P_Key {:#06x}, source LID {}",
                info.rcv_constraint_code, info.rcv_constraint_p_key, info.rcv_constraint_slid
            ),
        ),
        (
            info.switch_relay_status,
            format!(
                "not relayed, code {}: from LID {} to LID {}",
                info.switch_relay_code, info.switch_relay_slid, info.switch_relay_dlid
            ),
        ),
        (
            info.uncorrectable_status,
            format!("uncorrectable error, code {}", info.uncorrectable_code),
        ),
        (
            info.fm_config_status,
            format!(
                "configuration error, code {} ({})",
                info.fm_config_code, info.fm_config_info
            ),
        ),
    ];
    let told = told.into_iter().filter(|(is_valid, _)| *is_valid);
    told.map(|(_, text)| text).collect::<Vec<_>>().join("; ")
}
