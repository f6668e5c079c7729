//! How far each of a pair is, for people and metrics.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use tokio::sync::watch;
use weft_api::time::timestamp;
use weft_api::v1;

use super::{Following, Offer};
use crate::event_hub::unix_time_ns;

/// Those who follow this daemon, and the one that it follows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Peering {
    pub(crate) offer: Arc<Offer>,
    /// None where no other daemon is named.
    pub(crate) following: Option<watch::Receiver<Following>>,
}

impl Peering {
    /// Each of them, the one that this daemon follows first. `leads`: this daemon is master.
    pub(crate) fn list(&self, leads: bool) -> Vec<v1::Peer> {
        let followed = self.following.as_ref().map(|one| followed(&one.borrow()));
        let now = Instant::now();
        let head = self.offer.sequence();
        let followers = self.offer.followers();
        let followers = followers.values().map(|follower| {
            let behind_since = follower.behind_since.filter(|_| leads);
            let silent = now.duration_since(follower.heard).as_nanos();
            let silent = u64::try_from(silent).unwrap_or(u64::MAX);
            v1::Peer {
                address: follower.address.clone(),
                follows: true,
                connected: true,
                heard_time: Some(timestamp(unix_time_ns().saturating_sub(silent))),
                leads,
                behind: match leads {
                    true => head.saturating_sub(follower.taken),
                    false => 0,
                },
                behind_time: behind_since.and_then(|at| at.elapsed().try_into().ok()),
                settings: follower.settings.clone().filter(|_| leads),
                refused: match leads {
                    true => follower.refused.clone(),
                    false => String::new(),
                },
            }
        });
        followed.into_iter().chain(followers).collect()
    }

    /// Metrics; nothing about a daemon that is not named.
    pub(crate) fn encode(&self, encoder: &mut DescriptorEncoder<'_>, leads: bool) -> fmt::Result {
        let peers = self.list(leads);
        let standbys = peers.iter().filter(|peer| peer.follows);
        let late = |peer: &v1::Peer| {
            let late = peer.behind_time.and_then(|time| time.try_into().ok());
            late.map_or(0.0, |late: std::time::Duration| late.as_secs_f64())
        };
        gauge(
            encoder,
            "standbys",
            "Standbys that this manager hands its state on to",
            i64::try_from(standbys.clone().filter(|_| leads).count()).unwrap_or(i64::MAX),
        )?;
        let lag = standbys.map(late).fold(0.0, f64::max);
        let help = "How long the slowest standby has lacked a change of the state";
        seconds(encoder, "standby_lag", help, lag)?;
        let Some(followed) = peers.iter().find(|peer| !peer.follows) else {
            return Ok(());
        };
        gauge(
            encoder,
            "peer_connected",
            "1 while there are signs of life of the manager that --peer names",
            i64::from(followed.connected),
        )?;
        let help = "How long this standby has lacked a change of its master's state";
        seconds(encoder, "peer_lag", help, late(followed))
    }
}

fn followed(following: &Following) -> v1::Peer {
    let heard = following.heard_unix_ns;
    v1::Peer {
        address: following.address.clone(),
        follows: false,
        connected: following.connected,
        heard_time: (heard > 0).then(|| timestamp(heard)),
        leads: following.leads,
        behind: match following.leads {
            true => following.head.saturating_sub(following.taken),
            false => 0,
        },
        behind_time: following
            .behind_since
            .and_then(|at| at.elapsed().try_into().ok()),
        settings: following.settings.clone(),
        refused: following
            .refused
            .clone()
            .filter(|_| following.leads)
            .unwrap_or_default(),
    }
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: i64) -> fmt::Result {
    let gauge = ConstGauge::new(value);
    gauge.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
}

fn seconds(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> fmt::Result {
    let gauge = ConstGauge::new(value);
    let unit = Some(&Unit::Seconds);
    gauge.encode(encoder.encode_descriptor(name, help, unit, MetricType::Gauge)?)
}
