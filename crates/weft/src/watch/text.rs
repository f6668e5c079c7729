//! Events as lines.

use weft_api::port_action_done;
use weft_api::time::ns;
use weft_api::v1::{self, watch_response::Content};
use weft_fabric::text::{count, count_and};

use super::{guid, phase};
use crate::health::color;
use crate::operation;
use crate::quarantine::{by_hand, span};
use crate::replace::{offer_text, replaced_text};
use crate::sweep::{port_name, reason_name, summary, unused_ends};
use crate::time::utc_of;
use crate::vf;

/// An event as a line.
pub(crate) fn line(event: &v1::WatchResponse) -> String {
    let Some(content) = &event.content else {
        return "an event that this version of weft does not know".to_owned();
    };
    match content {
        Content::Marker(marker) if marker.gap => {
            format!(
                "watching from generation {}; earlier events are lost",
                event.generation
            )
        }
        Content::Marker(_) => format!("watching from generation {}", event.generation),
        Content::SweepStarted(started) => {
            format!(
                "sweep {} started ({})",
                started.number,
                reason_name(started.reason())
            )
        }
        Content::PhaseEntered(entered) => format!("sweep: {}", phase(entered)),
        Content::SweepEnded(sweep) => format!("sweep {}", summary(sweep)),
        Content::NodeAppeared(node) => format!("node appeared: {:#018x} {}", node.guid, node.name),
        Content::NodeVanished(node) => format!("node vanished: {:#018x} {}", node.guid, node.name),
        Content::LinkAppeared(link) => format!("link appeared: {}", ends(link)),
        Content::LinkVanished(link) => format!("link vanished: {}", ends(link)),
        Content::LinkUnused(link) => {
            format!(
                "link carries no data: {}: {}",
                unused_ends(link),
                link.reason
            )
        }
        Content::LinkUsedAgain(link) => {
            format!("link carries data again: {}", unused_ends(link))
        }
        Content::PortQuarantined(quarantined) => format!(
            "in quarantine: {}: {}",
            port_name(quarantined.port.as_ref()),
            match quarantined.by_hand {
                true => by_hand(&quarantined.comment),
                false => format!("its link went down {}", count(quarantined.losses, "time")),
            }
        ),
        Content::LinkIsolated(found) => format!(
            "out of use for {}: {}: {}",
            span(found.hold),
            error_ends(found),
            found.what
        ),
        Content::LinkIsolationDryRun(found) => {
            format!("would be out of use: {}: {}", error_ends(found), found.what)
        }
        Content::LinkSpared(found) => format!(
            "stays in use with errors: {}: {}: {}",
            error_ends(found),
            found.what,
            found.spared
        ),
        Content::LinkErrorsOver(over) => format!(
            "{}: {} to {}: {}",
            match over.was_isolated {
                true => "may be used again",
                false => "no longer told of for its errors",
            },
            port_name(over.a.as_ref()),
            port_name(over.b.as_ref()),
            over.why
        ),
        Content::DeviceRefused(refused) => format!("refused: {}", refused.what),
        Content::RefusalOver(over) => format!(
            "no longer refused: the device behind {}",
            port_name(over.port.as_ref())
        ),
        Content::ReplacementRecognised(offer) => offer_text(offer).trim_end().to_owned(),
        Content::HfiReplaced(replaced) => replaced_text(replaced),
        Content::ReplacementRemoved(removed) => format!(
            "{} does not replace {:#018x} any more",
            port_name(removed.new.as_ref()),
            removed.old_guid
        ),
        Content::TopologyFault(fault) => match fault.quarantined {
            true => format!("in quarantine: {}", fault.what),
            false => fault.what.clone(),
        },
        Content::TopologyFaultsUntold(untold) => {
            format!(
                "{} not as the topology file has them",
                count_and(untold.count, "more link", ["is", "are"])
            )
        }
        Content::TopologyFaultOver(over) => format!(
            "no longer against the topology file: {}",
            port_name(over.port.as_ref())
        ),
        Content::TrapStorm(storm) => format!(
            "disabled for {} about errors of its link: {}",
            count(storm.traps, "trap"),
            port_name(storm.port.as_ref())
        ),
        Content::MulticastStorm(storm) => format!(
            "{} for {} that its host ended: {}",
            if storm.bounced { "bounced" } else { "disabled" },
            count(storm.groups, "multicast group"),
            port_name(storm.port.as_ref())
        ),
        Content::LoopTestStarted(test) => format!(
            "the loop test runs{}: loops of up to {} links, {} for each",
            if test.fast { " in fast mode" } else { "" },
            test.length_max,
            count(test.packets, "packet")
        ),
        Content::LoopTestStopped(_) => "the loop test has ended".to_owned(),
        Content::LoopsPlanned(loops) => format!(
            "the loop test has {} with {}; links between switches: {}, of these in no loop: {}",
            count(loops.loops, "loop"),
            count(loops.lids, "LID"),
            loops.links,
            loops.uncovered
        ),
        Content::LoopPacketsInjected(packets) => format!(
            "packets on their way for each loop: {}, in all: {}",
            packets.packets, packets.sent
        ),
        Content::SweepsPaused(pause) => {
            format!("sweeps paused until {}", utc_of(pause.until_time))
        }
        Content::SweepsResumed(resumed) => {
            format!("the pause of sweeps is over: {}", resumed.why)
        }
        Content::PortReleased(released) => {
            format!("quarantine is over: {}", port_name(released.port.as_ref()))
        }
        Content::NodeAnswers(node) => format!("{} answers again", named(node.guid, &node.name)),
        Content::LinkHasErrors(link) => {
            format!("errors of the link {}: {}", health_ends(link), link.what)
        }
        Content::LinkIsWell(link) => format!("no errors any more: the link {}", health_ends(link)),
        Content::NodeSilent(node) => {
            format!(
                "{} does not answer ({})",
                named(node.guid, &node.name),
                node.attribute
            )
        }
        Content::DeviceFault(fault) => {
            format!("device {}: {}", named(fault.guid, &fault.name), fault.what)
        }
        Content::PromiseBroken(broken) => {
            format!(
                "promise of {}: {}",
                named(broken.guid, &broken.name),
                broken.what
            )
        }
        Content::Trap(trap) => format!(
            "trap of {}: {}",
            sender(trap.lid, &trap.node_name),
            trap.what
        ),
        Content::TrapsSuppressed(traps) => format!(
            "{} of {} suppressed",
            count(traps.count, "more trap"),
            sender(traps.lid, &traps.node_name)
        ),
        Content::RequestsDropped(dropped) => format!(
            "{} of {} dropped: it sends more than its share",
            count(dropped.count, "request"),
            sender(dropped.lid, &dropped.node_name)
        ),
        Content::PortChanged(changed) => {
            let port = at(&changed.port, &changed.node_name);
            let by = match &changed.author[..] {
                "" => String::new(),
                author => format!(" by {author}"),
            };
            let why = match &changed.reason[..] {
                "" => String::new(),
                reason => format!(": {reason}"),
            };
            format!("{port} {}{by}{why}", port_action_done(changed.action()))
        }
        Content::PlanInForce(plan) => {
            format!("route plan {} is in force: {}", plan.plan_id, plan.what)
        }
        Content::OperationChanged(changed) => operation::line(changed),
        Content::OperationProgress(now) => {
            format!(
                "{}: {} of {}",
                now.id,
                now.steps_done,
                count(now.steps, "step")
            )
        }
        Content::PlanUndone(plan) => format!("undone: {}", plan.what),
        Content::VirtualFabricsChanged(changed) => vf::changed_text(changed),
        Content::ThresholdExceeded(over) => format!(
            "{} of {} is {}, over its threshold {}",
            over.category,
            at(&over.port, &over.node_name),
            over.value,
            over.threshold
        ),
        Content::StateRefused(refused) => {
            format!("stored LIDs and drains refused: {}", refused.why)
        }
        Content::RoleChanged(role) => match role.master {
            0 => format!("the manager is {}: {}", role.role, role.why),
            master => format!(
                "the manager is {} for {master:#018x}: {}",
                role.role, role.why
            ),
        },
        Content::ConfigReloaded(reloaded) => format!("configuration: {}", reloaded.what),
        Content::HistoryUnwritten(failure) => {
            format!("the past is not kept: {}", failure.why)
        }
        Content::HistoryWritten(again) => {
            format!(
                "the past is kept again, after {} s",
                ns(again.failed_for) / 1_000_000_000
            )
        }
        Content::HealthChanged(changed) => format!(
            "health is {}, it was {}: {}",
            color(changed.now()),
            color(changed.before()),
            changed.reason
        ),
        Content::AttachmentChanged(now) if now.attached => "the fabric is back".to_owned(),
        Content::AttachmentChanged(_) => "the fabric is gone".to_owned(),
    }
}

fn health_ends(link: &v1::LinkHealth) -> String {
    let far = link.b.as_ref();
    let far = far.map_or_else(String::new, |far| format!(" to {}", port_name(Some(far))));
    format!("from {}{far}", port_name(link.a.as_ref()))
}

fn ends(link: &v1::LinkEvent) -> String {
    format!(
        "{} - {}",
        at(&link.a, &link.a_name),
        at(&link.b, &link.b_name)
    )
}

/// A port by its node's name.
fn at(id: &Option<v1::PortId>, name: &str) -> String {
    let id = id.unwrap_or_default();
    format!("{} port {}", named(id.node_guid, name), id.port)
}

/// A node by its name, or by its GUID where that is not known.
fn named(node: u64, name: &str) -> String {
    match name {
        "" => guid(node),
        name => name.to_owned(),
    }
}

/// Describes the source of traps.
fn sender(lid: u32, name: &str) -> String {
    match (lid, name) {
        (0, _) => "other LIDs".to_owned(),
        (lid, "") => format!("LID {lid:#06x}"),
        (lid, name) => format!("LID {lid:#06x} ({name})"),
    }
}

fn error_ends(found: &v1::LinkErrors) -> String {
    let (a, b) = (port_name(found.a.as_ref()), port_name(found.b.as_ref()));
    format!("{a} to {b}")
}
