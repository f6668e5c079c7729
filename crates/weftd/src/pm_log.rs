//! Events of performance management in the log.

use tracing::{debug, warn};
use weft_api::v1;
use weft_fabric::text::count;
use weft_manager::pm::{PmEvent, PmReport};

use crate::event::{DaemonEvent, Threshold, errors};
use crate::event_hub::EventHub;
use crate::event_log::{called, guid};

/// Logs an event of performance management, and sends exceeded thresholds to watchers.
pub(crate) fn tell_pm(hub: &EventHub, event: PmEvent) {
    match event {
        PmEvent::SweepEnded(report) => {
            hub.counters().pm_sweep(&report);
            hub.counters_read();
            counters_read(&report);
        }
        PmEvent::NodeFailed {
            node,
            name,
            request,
            status,
        } => debug!(
            event = "counters_unread",
            node_guid = %node, node = name, request, status,
            "counters of {name} could not be read"
        ),
        PmEvent::ClearedByOthers(port) => debug!(
            event = "counters_cleared",
            node_guid = %port.node, node = port.name, port = port.port.0,
            "counters of {} port {} began again: another program set them to zero, or the device restarted",
            port.name, port.port
        ),
        PmEvent::ThresholdExceeded {
            port,
            neighbor,
            category,
            value,
            threshold,
            error_info,
        } => hub.tell(DaemonEvent::Threshold(Box::new(Threshold {
            port,
            neighbor,
            category,
            value,
            threshold,
            error_info: error_info.map_or_else(String::new, |info| errors(&info)),
        }))),
    }
}

fn counters_read(report: &PmReport) {
    debug!(
        event = "counters_read",
        number = report.number,
        elapsed_ns = report.elapsed_ns,
        sent = report.sent,
        retries = report.retries,
        ports = report.ports,
        failed_ports = report.failed_ports,
        failed_nodes = report.failed_nodes,
        cleared = report.cleared,
        "counters of {} read",
        count(report.ports, "port")
    );
}

/// Logs that a port's trouble is over its threshold, with the cause of the errors where it is to be said.
pub(crate) fn threshold(over: &v1::ThresholdExceeded, has_cause: bool) {
    let (port, neighbor) = (over.port.unwrap_or_default(), over.neighbor);
    let far = neighbor.map_or_else(String::new, |far| {
        let name = called(far.node_guid, &over.neighbor_name);
        format!(", cabled to {name} port {}", far.port)
    });
    let cause = match has_cause {
        true => over.error_info.as_str(),
        false => "",
    };
    let info = match cause {
        "" => String::new(),
        info => format!("; {info}"),
    };
    warn!(
        event = "threshold_exceeded",
        node = over.node_name,
        node_guid = guid(port.node_guid),
        port = port.port,
        neighbor = neighbor.map(|_| over.neighbor_name.as_str()),
        neighbor_guid = neighbor.map(|far| guid(far.node_guid)),
        neighbor_port = neighbor.map(|far| far.port),
        category = over.category,
        value = over.value,
        threshold = over.threshold,
        error_info = cause,
        "{} of {} port {} is {}, over its threshold {}{far}{info}",
        over.category,
        called(port.node_guid, &over.node_name),
        port.port,
        over.value,
        over.threshold
    );
}
