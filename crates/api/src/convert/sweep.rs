//! Sweeps.

use weft_manager::sm::pause::Pause;
use weft_manager::{
    Certified, LinkEnd, SweepPhase, SweepReason, SweepReport, UnusedLink, WrittenSwitch,
};

use crate::time::{duration, timestamp};
use crate::v1;

impl From<SweepReason> for v1::SweepReason {
    fn from(reason: SweepReason) -> Self {
        match reason {
            SweepReason::Start => Self::Start,
            SweepReason::Scheduled => Self::Scheduled,
            SweepReason::Forced => Self::Forced,
            SweepReason::Trap => Self::Trap,
            SweepReason::Unfinished => Self::Unfinished,
            SweepReason::Reconfigured => Self::Reconfigured,
            SweepReason::Election => Self::Election,
            SweepReason::OwnPort => Self::OwnPort,
            SweepReason::Unquarantine => Self::Unquarantine,
            SweepReason::LinkErrors => Self::LinkErrors,
        }
    }
}

impl From<Pause> for v1::SweepPause {
    fn from(pause: Pause) -> Self {
        Self {
            since_time: Some(timestamp(pause.since.0)),
            until_time: Some(timestamp(pause.until.0)),
        }
    }
}

impl From<SweepPhase> for v1::SweepPhase {
    fn from(phase: SweepPhase) -> Self {
        match phase {
            SweepPhase::Idle => Self::Ended,
            SweepPhase::Discover => Self::Discover,
            SweepPhase::Plan => Self::Plan,
            SweepPhase::Program => Self::Program,
            SweepPhase::Activate => Self::Activate,
        }
    }
}

impl From<UnusedLink> for v1::UnusedLink {
    fn from(link: UnusedLink) -> Self {
        Self {
            a: Some(link.a.into()),
            b: Some(link.b.into()),
            reason: link.reason.to_string(),
        }
    }
}

impl From<LinkEnd> for v1::NamedPort {
    fn from(end: LinkEnd) -> Self {
        Self {
            port: Some(super::port((end.node, end.port))),
            node_name: end.name,
        }
    }
}

impl From<SweepReport> for v1::Sweep {
    fn from(report: SweepReport) -> Self {
        let reason = report
            .reason
            .map_or(v1::SweepReason::Unspecified, Into::into);
        Self {
            number: report.number,
            reason: reason.into(),
            phase: v1::SweepPhase::Ended.into(),
            generation: report.generation,
            elapsed: Some(duration(report.elapsed_ns)),
            phase_elapsed: report.phase_ns.map(duration).to_vec(),
            sent: report.sent,
            sets: report.sets,
            retries: report.retries,
            timeouts: report.timeouts,
            switches: report.switches,
            hfis: report.hfis,
            links: report.links,
            active_ports: report.active_ports,
            routing: report.routing,
            unfinished: report.unfinished,
            asked: report.asked,
            unused_link_count: report.unused_links,
            unused_links: report.unused.into_iter().map(Into::into).collect(),
            blocks: report.tables.blocks,
            written_switch_count: report.tables.switches,
            written_switches: report.tables.first.into_iter().map(Into::into).collect(),
            certificate: report.tables.certificate.map(Into::into),
            only_links_unfinished: report.only_links,
        }
    }
}

/// Without the name, because only the daemon knows that.
impl From<WrittenSwitch> for v1::WrittenSwitch {
    fn from(written: WrittenSwitch) -> Self {
        Self {
            guid: written.switch.0,
            name: String::new(),
            blocks: written.blocks,
        }
    }
}

impl From<Certified> for v1::RouteCertificate {
    fn from(proved: Certified) -> Self {
        Self {
            routes: proved.routes,
            disconnected: proved.disconnected,
            dependencies: proved.dependencies,
        }
    }
}
