//! When something is to be done, for many things at once.

use std::collections::BTreeSet;
use std::time::Duration;

/// Keys in the order of the times at which something is to be done about them.
#[derive(Debug)]
pub struct Deadlines<K>(BTreeSet<(Duration, K)>);

impl<K> Default for Deadlines<K> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<K: Ord + Copy> Deadlines<K> {
    /// Adds a key at its time.
    pub fn add(&mut self, at: Duration, key: K) {
        self.0.insert((at, key));
    }

    /// Takes a key out, which was added for `at`.
    pub fn remove(&mut self, at: Duration, key: K) {
        self.0.remove(&(at, key));
    }

    /// The first time.
    pub fn first(&self) -> Option<Duration> {
        self.0.first().map(|(at, _)| *at)
    }

    /// The first key, when its time has come; it stays.
    pub fn due(&self, now: Duration) -> Option<K> {
        let (at, key) = self.0.first()?;
        (*at <= now).then_some(*key)
    }

    /// All keys, those whose time comes first before others.
    pub fn keys(&self) -> impl Iterator<Item = K> + '_ {
        self.0.iter().map(|(_, key)| *key)
    }
}
