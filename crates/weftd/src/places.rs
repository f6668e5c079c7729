//! Places for connections that anybody may open, so that nobody keeps others out with them: where all are taken, one that
//! comes gets the place of the oldest of who has most.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Where a connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// An address; of IPv6 the first 64 bits, since a host may use all of the rest.
    Address(IpAddr),
    /// A user of this host.
    User(u32),
}

impl From<IpAddr> for Origin {
    fn from(address: IpAddr) -> Self {
        let IpAddr::V6(v6) = address.to_canonical() else {
            return Self::Address(address.to_canonical());
        };
        let network = v6.to_bits() & !u128::from(u64::MAX);
        Self::Address(Ipv6Addr::from_bits(network).into())
    }
}

/// A number of places.
#[derive(Debug, Clone)]
pub(crate) struct Places(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    last: u64,
    /// In the order in which they were taken.
    all: Vec<One>,
}

#[derive(Debug)]
struct One {
    number: u64,
    origin: Origin,
    /// Dropped when another connection gets the place.
    _held: oneshot::Sender<()>,
}

/// A place; free when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    of: Places,
    number: u64,
    lost: oneshot::Receiver<()>,
}

impl Places {
    pub(crate) fn new(most: usize) -> Self {
        Self(Arc::new(Inner {
            most,
            taken: Mutex::default(),
        }))
    }

    /// A place for one more.
    pub(crate) fn take(&self, origin: Origin) -> Place {
        let (held, lost) = oneshot::channel();
        let mut taken = self.taken();
        if taken.all.len() >= self.0.most {
            taken.free_one();
        }
        taken.last += 1;
        let number = taken.last;
        taken.all.push(One {
            number,
            origin,
            _held: held,
        });
        let of = self.clone();
        Place { of, number, lost }
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.0.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// Frees the place of the oldest connection of who has most.
    fn free_one(&mut self) {
        let mut counts: HashMap<Origin, usize> = HashMap::new();
        for one in &self.all {
            *counts.entry(one.origin).or_default() += 1;
        }
        let most = counts.values().max();
        let oldest = |one: &One| counts.get(&one.origin) == most;
        if let Some(at) = self.all.iter().position(oldest) {
            self.all.remove(at);
        }
    }
}

impl Place {
    /// Ends when another connection has got the place, and may be asked again after that.
    pub(crate) async fn lost(&mut self) {
        if !self.lost.is_terminated() {
            // Nothing is ever sent.
            let _ = (&mut self.lost).await;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.of.taken().all.retain(|one| one.number != self.number);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn origin(text: &str) -> Origin {
        text.parse::<IpAddr>().unwrap().into()
    }

    fn is_lost(place: &mut Place) -> bool {
        place.lost.try_recv() != Err(oneshot::error::TryRecvError::Empty)
    }

    #[test]
    fn who_has_most_loses_the_oldest_and_others_stay() {
        let places = Places::new(4);
        let mut quiet = places.take(origin("192.0.2.1"));
        let loud = origin("192.0.2.66");
        let mut storm: Vec<Place> = (0..100).map(|_| places.take(loud)).collect();
        assert!(!is_lost(&mut quiet));
        let lost: Vec<bool> = storm.iter_mut().map(is_lost).collect();
        assert_eq!(lost.iter().filter(|lost| !**lost).count(), 3);
        assert!(lost[..97].iter().all(|lost| *lost), "the oldest go");
        let mut third = places.take(Origin::User(1000));
        assert!(is_lost(&mut storm[97]) && !is_lost(&mut quiet));
        drop(storm);
        let mut more: Vec<Place> = (0..2).map(|_| places.take(loud)).collect();
        assert!(!is_lost(&mut quiet) && !is_lost(&mut third));
        assert!(more.iter_mut().all(|place| !is_lost(place)));
        drop((quiet, third, more));
        assert!(places.taken().all.is_empty());
    }

    #[test]
    fn an_ipv6_host_is_its_network_and_an_ipv4_address_is_the_same_in_both_spellings() {
        assert_eq!(origin("2001:db8::1"), origin("2001:db8::ffff:1:2:3"));
        assert_ne!(origin("2001:db8::1"), origin("2001:db8:0:1::1"));
        assert_eq!(origin("::ffff:192.0.2.1"), origin("192.0.2.1"));
        assert_ne!(origin("192.0.2.1"), origin("192.0.2.2"));
    }
}
