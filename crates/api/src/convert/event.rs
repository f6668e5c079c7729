//! Events, without names: the publisher fills them in.

use weft_manager::{Event, LinkErrors, RefusedDevice, ReportedChange, Standing, TopologyFault};

use super::port;
use super::quarantine::spared;
use crate::time::span;
use crate::v1::{self, watch_response::Content};

impl From<Event> for Content {
    fn from(event: Event) -> Self {
        match event {
            Event::SweepStarted {
                number,
                reason,
                traps,
            } => Self::SweepStarted(v1::SweepStarted {
                number,
                reason: v1::SweepReason::from(reason).into(),
                traps: traps.into_iter().map(Into::into).collect(),
            }),
            Event::Phase(phase) => {
                let phase = v1::SweepPhase::from(phase).into();
                Self::PhaseEntered(v1::PhaseEntered { phase })
            }
            Event::SweepEnded(report) => Self::SweepEnded(report.into()),
            Event::NodeAppeared { node, name } => Self::NodeAppeared(node_event(node, name)),
            Event::NodeVanished { node, name } => Self::NodeVanished(node_event(node, name)),
            Event::LinkAppeared { a, b } => Self::LinkAppeared(link(a, b)),
            Event::LinkVanished { a, b } => Self::LinkVanished(link(a, b)),
            Event::LinkUnused(link) => Self::LinkUnused(link.into()),
            Event::LinkUsedAgain { a, b } => Self::LinkUsedAgain(v1::UnusedLink {
                a: Some(a.into()),
                b: Some(b.into()),
                reason: String::new(),
            }),
            Event::PortQuarantined {
                port,
                losses,
                by_hand,
            } => Self::PortQuarantined(v1::PortQuarantined {
                port: Some(port.into()),
                losses,
                by_hand: by_hand.is_some(),
                comment: by_hand.unwrap_or_default(),
            }),
            Event::PortReleased(port) => {
                let port = Some(port.into());
                Self::PortReleased(v1::PortReleased { port })
            }
            Event::DeviceRefused(refused) => Self::DeviceRefused(refused.into()),
            Event::RefusalOver { port } => {
                let port = Some(port.into());
                Self::RefusalOver(v1::RefusalOver { port })
            }
            Event::ReplacementRecognised(offer) => Self::ReplacementRecognised(offer.into()),
            Event::HfiReplaced(replaced) => Self::HfiReplaced(replaced.into()),
            Event::ReplacementRemoved { old, new } => {
                Self::ReplacementRemoved(v1::ReplacementRemoved {
                    old_guid: old.0,
                    new: Some(new.into()),
                })
            }
            Event::LinkErrors(found) => {
                let told = v1::LinkErrors::from(&found);
                match found.standing {
                    Standing::Isolated => Self::LinkIsolated(told),
                    Standing::DryRun => Self::LinkIsolationDryRun(told),
                    Standing::Spared(_) => Self::LinkSpared(told),
                }
            }
            Event::LinkErrorsOver {
                a,
                b,
                rule,
                was_out,
                why,
            } => Self::LinkErrorsOver(v1::LinkErrorsOver {
                a: Some(a.into()),
                b: Some(b.into()),
                rule: rule.to_string(),
                was_isolated: was_out,
                why: why.to_string(),
            }),
            Event::TopologyFault(fault) => Self::TopologyFault(fault.into()),
            Event::TopologyFaultsUntold { count } => {
                Self::TopologyFaultsUntold(v1::TopologyFaultsUntold { count })
            }
            Event::TopologyFaultOver { port } => {
                let port = Some(port.into());
                Self::TopologyFaultOver(v1::TopologyFaultOver { port })
            }
            Event::TrapStorm { port, traps } => {
                let port = Some(port.into());
                Self::TrapStorm(v1::TrapStorm { port, traps })
            }
            Event::MulticastStorm {
                port,
                groups,
                bounced,
            } => Self::MulticastStorm(v1::MulticastStorm {
                port: Some(port.into()),
                groups,
                bounced,
            }),
            Event::LoopTestStarted {
                fast,
                packets,
                length_max,
            } => Self::LoopTestStarted(v1::LoopTestStarted {
                fast,
                packets,
                length_max: u32::from(length_max),
            }),
            Event::LoopTestStopped => Self::LoopTestStopped(v1::LoopTestStopped {}),
            Event::LoopsPlanned(loops) => Self::LoopsPlanned(v1::LoopsPlanned {
                loops: loops.loops,
                lids: loops.lids,
                links: loops.links,
                uncovered: loops.uncovered,
                cut_short: loops.is_cut_short,
            }),
            Event::LoopPacketsInjected {
                packets,
                sent,
                injected,
            } => Self::LoopPacketsInjected(v1::LoopPacketsInjected {
                packets,
                sent,
                injected,
            }),
            Event::SweepsPaused(pause) => Self::SweepsPaused(pause.into()),
            Event::SweepsResumed { why } => Self::SweepsResumed(v1::SweepsResumed { why }),
            Event::NodeSilent { node, attribute } => Self::NodeSilent(v1::NodeSilent {
                guid: node.0,
                attribute,
                ..v1::NodeSilent::default()
            }),
            Event::NodeAnswers { node } => Self::NodeAnswers(v1::NodeEvent {
                guid: node.0,
                ..v1::NodeEvent::default()
            }),
            Event::DeviceFault { node, what } => {
                let guid = node.map_or(0, |node| node.0);
                Self::DeviceFault(v1::DeviceFault {
                    guid,
                    what,
                    ..v1::DeviceFault::default()
                })
            }
            Event::PromiseBroken { node, what } => Self::PromiseBroken(v1::PromiseBroken {
                guid: node.0,
                what,
                ..v1::PromiseBroken::default()
            }),
            Event::Trap { number, lid, what } => {
                Self::Trap(ReportedChange { number, lid, what }.into())
            }
            Event::Role { role, master, why } => Self::RoleChanged(v1::RoleChanged {
                role: role.to_string(),
                master: master.map_or(0, |guid| guid.0),
                why,
            }),
            Event::StateRefused { why } => Self::StateRefused(v1::StateRefused { why }),
        }
    }
}

impl From<TopologyFault> for v1::TopologyFault {
    fn from(fault: TopologyFault) -> Self {
        Self {
            what: fault.to_string(),
            quarantined: !fault.enforced.is_empty(),
            rule: match fault.replaces {
                Some(_) => v1::TopologyRule::Replaced.into(),
                None => v1::TopologyRule::Unspecified.into(),
            },
            replaced_guid: fault.replaces.map_or(0, |old| old.0),
            trusted: fault.trusted.map(Into::into),
            found: Some(fault.found.into()),
        }
    }
}

impl From<&LinkErrors> for v1::LinkErrors {
    fn from(found: &LinkErrors) -> Self {
        let excess = &found.excess;
        Self {
            a: Some(found.a.clone().into()),
            b: Some(found.b.clone().into()),
            rule: excess.rule.to_string(),
            what: excess.to_string(),
            measured: excess.measured,
            limit: excess.limit,
            window: Some(span(excess.window)),
            hold: Some(span(found.hold)),
            offences: found.offences,
            spared: spared(found.standing),
        }
    }
}

impl From<RefusedDevice> for v1::DeviceRefused {
    fn from(refused: RefusedDevice) -> Self {
        Self {
            what: refused.to_string(),
            trusted: Some(refused.trusted.into()),
            found: Some(refused.found.into()),
            neighbour_guid: refused.neighbour.0,
            evidence: refused.evidence,
        }
    }
}

impl From<ReportedChange> for v1::Trap {
    fn from(trap: ReportedChange) -> Self {
        Self {
            lid: trap.lid.0,
            what: trap.what,
            number: trap.number,
            ..Self::default()
        }
    }
}

fn node_event(node: weft_fabric::Guid, name: String) -> v1::NodeEvent {
    v1::NodeEvent {
        guid: node.0,
        name,
        ..v1::NodeEvent::default()
    }
}

type End = (weft_fabric::Guid, weft_fabric::PortNum);

fn link(a: End, b: End) -> v1::LinkEvent {
    v1::LinkEvent {
        a: Some(port(a)),
        b: Some(port(b)),
        ..v1::LinkEvent::default()
    }
}
