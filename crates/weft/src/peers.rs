//! The other managers of a pair, in `weft fabric show`.

use std::time::Duration;

use serde_json::{Value, json};
use weft_api::v1;
use weft_fabric::text::{count, for_terminal};

use crate::time::{utc_json, utc_of};

/// Settings that differ, in lines for people.
const LINES_MAX: usize = 8;

/// A line for each, and what differs from it.
pub(crate) fn text(peers: &[v1::Peer]) -> String {
    peers.iter().map(line).collect()
}

fn line(peer: &v1::Peer) -> String {
    let who = match peer.follows {
        true => "Standby",
        false => "Peer",
    };
    format!(
        "{who} {}: {}\n{}",
        peer.address,
        words(peer),
        settings(peer)
    )
}

/// Settings that differ, one a line.
fn settings(peer: &v1::Peer) -> String {
    let Some(differ) = peer.settings.as_ref().filter(|differ| differ.count > 0) else {
        return String::new();
    };
    let mut text = format!("  NOT AS THERE: {}\n", count(differ.count, "setting"));
    let lines = differ.first.iter().take(LINES_MAX);
    let shown = lines.len();
    for one in lines {
        text += &format!("  {}: {} here, {} there\n", one.path, one.here, one.there);
    }
    let more = (differ.count as usize).saturating_sub(shown);
    if more > 0 {
        text += &format!("  and {more} more: --json lists 64\n");
    }
    text
}

fn words(peer: &v1::Peer) -> String {
    match (peer.connected, peer.heard_time) {
        (false, None) => return "NOT CONNECTED".to_owned(),
        (false, heard) => return format!("NOT CONNECTED since {}", utc_of(heard)),
        (true, _) => {}
    }
    if !peer.refused.is_empty() {
        return format!("CANNOT TAKE THE STATE\n  {}", for_terminal(&peer.refused));
    }
    match (peer.leads, peer.behind) {
        (false, _) => "connected".to_owned(),
        (true, 0) => "connected, nothing behind".to_owned(),
        (true, changes) => format!(
            "{} BEHIND for {:.1} s",
            count(changes, "change"),
            behind(peer).as_secs_f64()
        ),
    }
}

pub(crate) fn json(peer: &v1::Peer) -> Value {
    json!({
        "address": peer.address,
        "follows": peer.follows,
        "connected": peer.connected,
        "heard": utc_json(peer.heard_time),
        "leads": peer.leads,
        "behind": peer.behind,
        "behind_seconds": behind(peer).as_secs_f64(),
        "refused": Some(&peer.refused).filter(|why| !why.is_empty()),
        "settings": peer.settings.as_ref().map(|differ| json!({
            "count": differ.count,
            "first": differ.first.iter().map(|one| json!({
                "path": one.path,
                "here": one.here,
                "there": one.there,
            })).collect::<Vec<_>>(),
        })),
    })
}

fn behind(peer: &v1::Peer) -> Duration {
    let time = peer.behind_time.and_then(|time| time.try_into().ok());
    time.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_its_words_in_80_columns() {
        let peer = v1::Peer {
            address: "https://manager2.example.org:9313".to_owned(),
            connected: true,
            leads: true,
            ..v1::Peer::default()
        };
        let states = [
            (peer.clone(), "connected, nothing behind"),
            (
                v1::Peer {
                    leads: false,
                    ..peer.clone()
                },
                ": connected\n",
            ),
            (
                v1::Peer {
                    connected: false,
                    ..peer.clone()
                },
                ": NOT CONNECTED\n",
            ),
            (
                v1::Peer {
                    behind: 2,
                    follows: true,
                    ..peer.clone()
                },
                "Standby https://manager2.example.org:9313: 2 changes BEHIND for 0.0 s",
            ),
            (
                v1::Peer {
                    refused: "the state has format 7".to_owned(),
                    ..peer
                },
                ": CANNOT TAKE THE STATE\n  the state has format 7\n",
            ),
        ];
        for (peer, words) in states {
            let line = line(&peer);
            assert!(line.contains(words), "{line}");
            assert!(line.lines().all(|line| line.len() <= 80), "{line}");
        }
    }
}
