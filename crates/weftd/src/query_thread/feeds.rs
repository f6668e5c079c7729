//! The settings of the thread, and the channels between it and others.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use weft_config::link_rules::LinkRules;
use weft_fabric::intended::Intended;
use weft_fabric::{Guid, Snapshot};
use weft_manager::MulticastStorm;
use weft_manager::cables::{CableMemories, CablesSettings};
use weft_manager::congestion::CongestionSettings;
use weft_manager::dbsync::DbSyncSettings;
use weft_manager::link_errors::LinkExcess;
use weft_manager::pm::{Image, PmSettings};
use weft_manager::sa::SaSettings;

use crate::clears::ClearRequest;
use crate::engine::{Lost, Memberships, Role, ToQueries};
use crate::event_hub::EventHub;
use crate::kept_images::KeptImages;
use crate::mad_dispatch::Line;

/// Queue length for notices to this thread; further ones are dropped, because subscribers must sweep anyway.
const NOTICES_MAX: usize = 1024;
/// Queue length for storms of multicast: a port that goes on is told again.
const STORMS_MAX: usize = 64;
/// Readings that wait for the manager: the next one tells all anew.
const ERRORS_MAX: usize = 2;

/// Settings of the query-side services.
#[derive(Debug, Clone, Default)]
pub(crate) struct QuerySettings {
    pub(crate) sa: SaSettings,
    pub(crate) cables: CablesSettings,
    pub(crate) congestion: CongestionSettings,
    pub(crate) dbsync: DbSyncSettings,
    /// None where no performance manager is to run.
    pub(crate) pm: Option<PmSettings>,
    /// Rules for links with errors, none where none is applied.
    pub(crate) link_rules: Option<LinkRules>,
    /// The fabric as the topology file has it, none without one.
    pub(crate) intended: Option<Arc<Intended>>,
    /// From the end of one sweep to the next, zero for never.
    pub(crate) sweep_interval: Duration,
    /// Upper half of the GIDs of the subnet.
    pub(crate) subnet_prefix: u64,
}

/// Channels from the manager's thread to this one, and back.
pub(crate) struct Feeds {
    /// Receives events.
    pub(crate) hub: Arc<EventHub>,
    /// The fabric; none while another manager runs it.
    pub(crate) snapshot: watch::Receiver<Option<Arc<Snapshot>>>,
    /// What this manager is.
    pub(crate) role: watch::Receiver<Role>,
    /// Notices for subscribers.
    pub(crate) notices: mpsc::Receiver<Vec<u8>>,
    /// Connections to the fabric, one after the other.
    pub(crate) lines: mpsc::Receiver<Line>,
    /// Other settings.
    pub(crate) settings: watch::Receiver<QuerySettings>,
    /// Members of each multicast group.
    pub(crate) multicast: watch::Sender<Option<Memberships>>,
    /// Ports that end multicast groups too often; dropped if the manager does not keep up.
    pub(crate) storms: mpsc::Sender<MulticastStorm>,
    /// The links that break a rule for links with errors, by each reading of the counters; dropped if the manager does
    /// not keep up.
    pub(crate) errors: mpsc::Sender<Vec<LinkExcess>>,
    /// Registrations that are void.
    pub(crate) lost: watch::Receiver<Lost>,
    /// Registrations of the master, of a standby; none where they do not hold any more.
    pub(crate) inherited: watch::Receiver<Option<Arc<[u8]>>>,
    /// Standbys that have a copy of all registrations; none where no copies are made.
    pub(crate) copied: watch::Sender<Option<BTreeSet<Guid>>>,
    /// Port counters; dropped if the receiver does not keep up.
    pub(crate) images: mpsc::Sender<Arc<Image>>,
    /// Memories of cables.
    pub(crate) cables: watch::Sender<Arc<CableMemories>>,
    /// Images on the disk; none where there is no place for them.
    pub(crate) kept_images: Option<KeptImages>,
    /// Counters to be set to zero.
    pub(crate) clears: mpsc::Receiver<ClearRequest>,
}

/// The two ends between the threads, and where connections to the fabric are given in.
pub(crate) fn feeds(
    hub: Arc<EventHub>,
    settings: watch::Receiver<QuerySettings>,
    images: mpsc::Sender<Arc<Image>>,
    cables: watch::Sender<Arc<CableMemories>>,
    kept_images: Option<KeptImages>,
    clears: mpsc::Receiver<ClearRequest>,
) -> (Feeds, ToQueries, mpsc::Sender<Line>) {
    let (snapshot_sender, snapshot) = watch::channel(None);
    let (role_sender, role) = watch::channel(Role::default());
    let (notice_sender, notices) = mpsc::channel(NOTICES_MAX);
    let (multicast, multicast_receiver) = watch::channel(None);
    let (storms, storm_receiver) = mpsc::channel(STORMS_MAX);
    let (errors, error_receiver) = mpsc::channel(ERRORS_MAX);
    let (lost_sender, lost) = watch::channel(Lost::default());
    let (line_sender, lines) = mpsc::channel(1);
    let feeds = Feeds {
        hub,
        snapshot,
        role,
        notices,
        lines,
        settings,
        multicast,
        storms,
        errors,
        lost,
        inherited: watch::channel(None).1,
        copied: watch::Sender::new(None),
        images,
        cables,
        kept_images,
        clears,
    };
    let to_queries = ToQueries {
        snapshot: snapshot_sender,
        role: role_sender,
        notices: notice_sender,
        multicast: multicast_receiver,
        storms: storm_receiver,
        errors: error_receiver,
        lost: lost_sender,
    };
    (feeds, to_queries, line_sender)
}
