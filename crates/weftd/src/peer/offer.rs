//! What this daemon hands on, and to whom.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::timeout;
use weft_api::v1;

use super::PartKind;
use super::parts::Parts;
use super::settings::turned;

/// Followers at the same time.
const FOLLOWERS_MAX: usize = 8;
/// Time for followers to take that registrations changed; those that have not are let go.
const TAKEN_WITHIN: Duration = Duration::from_secs(1);
/// Longest word of a follower on why it cannot take the state, characters.
const REFUSED_MAX: usize = 200;

/// The parts, and those who follow them.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    parts: watch::Sender<Parts>,
    followers: Mutex<BTreeMap<u64, Follower>>,
    /// Something about followers has changed.
    news: watch::Sender<()>,
    last: Mutex<u64>,
}

/// Another daemon that takes the parts.
#[derive(Debug, Clone)]
pub(super) struct Follower {
    pub(super) address: String,
    /// Number of the last change that it has taken.
    pub(super) taken: u64,
    /// Since when it lacks a change.
    pub(super) behind_since: Option<Instant>,
    /// Which settings differ, as it says.
    pub(super) settings: Option<v1::SettingDifferences>,
    /// Why it cannot take the state, as it says; empty where it can.
    pub(super) refused: String,
    /// Its last word.
    pub(super) heard: Instant,
    /// Told to end.
    end: watch::Sender<bool>,
}

impl Offer {
    /// Other bytes of a part; none where nothing of it holds any more.
    pub(crate) fn put(&self, kind: PartKind, bytes: Option<Arc<[u8]>>) {
        self.change(kind, bytes);
    }

    fn change(&self, kind: PartKind, bytes: Option<Arc<[u8]>>) -> u64 {
        let mut sequence = 0;
        self.parts
            .send_modify(|parts| sequence = parts.put(kind, bytes));
        let now = Instant::now();
        for follower in self.followers().values_mut() {
            follower.behind_since.get_or_insert(now);
        }
        sequence
    }

    /// The registrations that followers have do not hold any more. Ends when each follower knows; one that does not
    /// answer is let go, and then knows by that.
    pub(crate) async fn void_registrations(&self) {
        let sequence = self.change(PartKind::Registrations, None);
        let mut news = self.news.subscribe();
        let taken = async {
            while !self.all_have(sequence) {
                // The sender is this very value's.
                let _ = news.changed().await;
            }
        };
        if timeout(TAKEN_WITHIN, taken).await.is_err() {
            self.followers().retain(|_, follower| {
                let has = follower.taken >= sequence;
                if !has {
                    follower.end.send_replace(true);
                }
                has
            });
        }
    }

    /// Whether somebody follows.
    pub(crate) fn is_followed(&self) -> bool {
        !self.followers().is_empty()
    }

    fn all_have(&self, sequence: u64) -> bool {
        let followers = self.followers();
        followers
            .values()
            .all(|follower| follower.taken >= sequence)
    }

    pub(crate) fn parts(&self) -> watch::Receiver<Parts> {
        self.parts.subscribe()
    }

    /// Number of the last change.
    pub(super) fn sequence(&self) -> u64 {
        self.parts.borrow().sequence()
    }

    /// One more follower, at most [`FOLLOWERS_MAX`]; its number, and the word to end.
    pub(super) fn enter(&self, address: String) -> Option<(u64, watch::Receiver<bool>)> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let mut followers = self.followers();
        if followers.len() >= FOLLOWERS_MAX {
            return None;
        }
        *last += 1;
        let (end, ends) = watch::channel(false);
        let now = Instant::now();
        let follower = Follower {
            address,
            taken: 0,
            behind_since: (self.sequence() > 0).then_some(now),
            settings: None,
            refused: String::new(),
            heard: now,
            end,
        };
        followers.insert(*last, follower);
        Some((*last, ends))
    }

    /// A follower has taken all changes up to this one.
    pub(super) fn taken(&self, number: u64, sequence: u64) {
        let head = self.sequence();
        if let Some(follower) = self.followers().get_mut(&number) {
            follower.taken = sequence;
            follower.heard = Instant::now();
            if sequence >= head && follower.refused.is_empty() {
                follower.behind_since = None;
            }
        }
        self.news.send_replace(());
    }

    /// A follower says why it cannot take the state, or that it can.
    pub(super) fn refused(&self, number: u64, why: &str) {
        if let Some(follower) = self.followers().get_mut(&number) {
            follower.refused = why.chars().take(REFUSED_MAX).collect();
            if !why.is_empty() {
                follower.behind_since.get_or_insert_with(Instant::now);
            }
        }
    }

    /// A follower says which of its settings are not this daemon's.
    pub(super) fn settings(&self, number: u64, differences: Option<&v1::SettingDifferences>) {
        if let Some(follower) = self.followers().get_mut(&number) {
            follower.settings = differences.map(turned);
        }
    }

    pub(super) fn leave(&self, number: u64) {
        self.followers().remove(&number);
        self.news.send_replace(());
    }

    pub(super) fn followers(&self) -> MutexGuard<'_, BTreeMap<u64, Follower>> {
        self.followers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_does_not_take_that_registrations_are_void_is_let_go() {
        let offer = Offer::default();
        offer.void_registrations().await;
        let (first, _) = offer.enter("a".to_owned()).unwrap();
        let (_, mut second) = offer.enter("b".to_owned()).unwrap();
        tokio::join!(offer.void_registrations(), async {
            assert_eq!(offer.sequence(), 2);
            offer.taken(first, 2);
        });
        assert!(*second.borrow_and_update());
        assert_eq!(
            offer.followers().keys().copied().collect::<Vec<_>>(),
            [first]
        );
        assert!(offer.followers()[&first].behind_since.is_none());
    }

    #[test]
    fn followers_are_bounded() {
        let offer = Offer::default();
        let numbers: Vec<_> = (0..FOLLOWERS_MAX)
            .map(|_| offer.enter(String::new()).unwrap().0)
            .collect();
        assert!(offer.enter(String::new()).is_none());
        offer.leave(numbers[0]);
        assert!(offer.enter(String::new()).is_some());
    }
}
