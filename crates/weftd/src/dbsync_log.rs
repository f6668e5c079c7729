//! Events of the copy of registrations in the log.

use tracing::{info, warn};
use weft_fabric::Guid;
use weft_fabric::text::count;
use weft_manager::dbsync::{DbSyncEvent, Numbers};

/// Logs an event of the copy of registrations.
pub(crate) fn tell_dbsync(event: &DbSyncEvent) {
    match event {
        DbSyncEvent::Copied { to, numbers } => info!(
            event = "registrations_copied",
            standby = %to,
            groups = numbers.groups,
            members = numbers.members,
            services = numbers.services,
            subscriptions = numbers.subscriptions,
            "the standby on port {to} has all registrations: {}",
            in_words(numbers)
        ),
        DbSyncEvent::CopyFailed { to, why } => warn!(
            event = "registrations_uncopied",
            standby = %to,
            why,
            "the standby on port {to} does not take the registrations: {why}; if it takes over, hosts have to \
             register again"
        ),
        DbSyncEvent::Received { from, numbers } => info!(
            event = "registrations_received",
            master = %from,
            groups = numbers.groups,
            members = numbers.members,
            services = numbers.services,
            subscriptions = numbers.subscriptions,
            "this standby has all registrations of the master on port {from}: {}",
            in_words(numbers)
        ),
        DbSyncEvent::Refused { from, why } => warn!(
            event = "registrations_unreadable",
            master = %from,
            why,
            "the master on port {from} sends registrations that make no sense: {why}"
        ),
    }
}

/// Logs that a master's groups do not fit this manager's settings.
pub(crate) fn groups_left_out(master: Guid) {
    warn!(
        event = "groups_left_out",
        %master,
        "multicast groups of the master on port {master} have LIDs that the settings here give to others; if this \
         manager takes over, hosts are asked to register again; compare <MLIDShare> and <MLIDTableCap> with the master's"
    );
}

fn in_words(numbers: &Numbers) -> String {
    format!(
        "{} with {}, {}, {}",
        count(numbers.groups, "multicast group"),
        count(numbers.members, "member"),
        count(numbers.services, "service"),
        count(numbers.subscriptions, "subscription")
    )
}
