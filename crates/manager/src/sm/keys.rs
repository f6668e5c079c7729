//! M_Keys of end ports: the one of opafm.xml, or with fencing one for each port and term.
//!
//! A term begins when a manager becomes master; its number is one more than the highest that the manager knows, from its
//! own store, from its master, and from the keys that devices hold. The new keys are part of the first Set to each node,
//! which has the old key; from its answer on the device refuses whoever does not know the term.
//!
//! Protection is at level 1: a Get with a wrong key is answered, with 0 in place of the key. A key that the manager
//! does not know it looks for by such Gets: terms are small numbers, and near each other. Which terms it has tried at a
//! port it remembers, and tries them again only when the port's link has come up anew or there is another secret. A master
//! that finds the key of a later term than its own was replaced, and writes nothing before it knows by whom.

use weft_fabric::{Guid, PortNum};
use weft_state::State;
use weft_wire::Layout;
use weft_wire::bits::{load, store};
use weft_wire::header::{MadHeader, class};

use super::Manager;
use super::devices::{Device, Identity, Stage};
use super::settings::Settings;
use crate::ask::{NO_NODE, is_of_a_set};

/// Offsets of the management class and of the transaction identifier in a datagram, and of M_Key in one of subnet
/// management.
const CLASS: usize = 1;
const TRANSACTION_ID: usize = 8;
const M_KEY: usize = MadHeader::LEN;
/// Terms that are tried above and below the last one that was found: at the manager's own port, and elsewhere.
const OWN_REACH: u32 = 1024;
const REACH: u32 = 16;
/// Highest term: no count of takeovers comes near it. A stored state with a later one is refused, since no term could
/// follow.
pub(super) const TERM_MAX: u64 = 1 << 48;

/// Terms that this manager knows of; 0 is that of the M_Key of opafm.xml.
#[derive(Debug, Clone, Default, State)]
pub(crate) struct Keys {
    /// The highest; of a master its own.
    term: u64,
    /// That of the port whose key was found last.
    last: u64,
}

impl Keys {
    pub(crate) fn term(&self) -> u64 {
        self.term
    }

    /// There was a term with this number.
    pub(crate) fn heard(&mut self, term: u64) {
        if term > self.term {
            (self.term, self.last) = (term, term);
        }
    }

    /// A port has the key of this term.
    fn found(&mut self, term: Option<u64>) {
        if let Some(term) = term {
            (self.last, self.term) = (term, self.term.max(term));
        }
    }

    /// This manager becomes master.
    fn begin_term(&mut self) {
        self.term += 1;
    }

    /// The key of a term.
    fn of_term(settings: &Settings, term: u64, end: (Guid, PortNum)) -> u64 {
        match &settings.fencing {
            Some(fencing) if term > 0 => fencing.m_key(term, end),
            _ => settings.m_key,
        }
    }

    /// The key that an end port is to have.
    pub(crate) fn wanted(&self, settings: &Settings, end: (Guid, PortNum)) -> u64 {
        let term = match &settings.fencing {
            Some(fencing) if !fencing.ends => self.term,
            _ => 0,
        };
        Self::of_term(settings, term, end)
    }

    /// The terms that a port's key may be of, each once, the likeliest first.
    fn terms(&self, reach: u32) -> impl Iterator<Item = u64> {
        let (last, highest) = (self.last, TERM_MAX);
        let first = [Some(last), (last > 0).then_some(0)];
        let near = (1..=u64::from(reach)).flat_map(move |step| {
            let up = last.checked_add(step).filter(|term| *term <= highest);
            let down = last.checked_sub(step).filter(|term| *term > 0);
            [up, down]
        });
        first.into_iter().chain(near).flatten()
    }

    /// The term that is to be tried next at a node; none where all that may be its key's were.
    fn candidate(&self, identity: &Identity) -> Option<u64> {
        let reach = match identity.found_by {
            None => OWN_REACH,
            Some(_) => REACH,
        };
        self.terms(reach).find(|term| !identity.tried.has(*term))
    }

    /// The term that a node is asked with.
    fn tried_now(&self, identity: &Identity) -> u64 {
        self.candidate(identity).unwrap_or(self.last)
    }

    /// The key that a node has, as far as that is known.
    pub(crate) fn of(&self, settings: &Settings, identity: &Identity) -> u64 {
        match (&settings.fencing, identity.m_key) {
            (_, Some(key)) => key,
            (None, None) => settings.m_key,
            (Some(_), None) => Self::of_term(settings, self.tried_now(identity), identity.end()),
        }
    }
}

/// Terms that were tried at a port and are not its key's: 0, and those from one to another. Of terms far from the last ones
/// the earlier are forgotten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
pub(crate) struct Tried {
    zero: bool,
    others: Option<(u64, u64)>,
}

impl Tried {
    fn has(self, term: u64) -> bool {
        let between = |(first, last)| (first..=last).contains(&term);
        match term {
            0 => self.zero,
            _ => self.others.is_some_and(between),
        }
    }

    fn add(&mut self, term: u64) {
        if term == 0 {
            self.zero = true;
            return;
        }
        self.others = Some(match self.others {
            Some((first, last)) if term + 1 >= first && term <= last + 1 => {
                (first.min(term), last.max(term))
            }
            _ => (term, term),
        });
    }
}

/// What the answer of a node says of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyLearned {
    /// There is nothing more to ask.
    Known,
    /// It is that of a term that is later than any that this manager knew.
    OfLaterTerm,
    /// It is not that with which it was asked: the next one is to be tried.
    Hidden,
}

impl Identity {
    /// Its end port, as its neighbour says before it has said so itself.
    pub(crate) fn end(&self) -> (Guid, PortNum) {
        let port = match self.entered {
            PortNum(0) if !self.said_switch => self.said_port,
            entered => entered,
        };
        (self.guid, port)
    }
}

/// Whether a node does not tell its key to who does not know it.
fn hides_key(device: &Device) -> bool {
    let port = device.observed.port(device.end_port());
    port.is_some_and(|info| info.m_key == 0 && info.m_key_protect_bits != 0)
}

impl Manager {
    /// The key that a node has, as far as that is known.
    pub(super) fn m_key_of(&self, node: u32) -> u64 {
        let settings = &self.settings;
        match self.devices.get(node).filter(|_| node != NO_NODE) {
            Some(device) => self.devices.keys.of(settings, &device.identity),
            None => settings.m_key,
        }
    }

    /// The key of the manager's own port.
    pub(super) fn own_m_key(&self) -> u64 {
        let own = self.devices.own();
        own.map_or(self.settings.m_key, |own| {
            self.devices.keys.of(&self.settings, &own.identity)
        })
    }

    /// Whether a key is that of the manager's own port, so that who has it is another manager of this site. With fencing it
    /// may be of a term that this manager has not heard of yet; the M_Key of opafm.xml is none of them.
    pub(super) fn is_own_m_key(&self, key: u64) -> bool {
        if key == 0 {
            return false;
        }
        let keys = &self.devices.keys;
        let of_term = |end: (Guid, PortNum)| {
            keys.terms(REACH)
                .filter(|term| *term > 0)
                .any(|term| Keys::of_term(&self.settings, term, end) == key)
        };
        let own = self.devices.own().map(|own| own.identity.end());
        key == self.own_m_key() || (self.settings.fencing.is_some() && own.is_some_and(of_term))
    }

    /// A term begins, with keys of its own, where there is fencing; what is to be said of it.
    pub(super) fn begin_term(&mut self) -> Option<String> {
        let fencing = self.settings.fencing.as_ref();
        fencing.filter(|fencing| !fencing.ends)?;
        self.devices.keys.begin_term();
        Some(format!(
            "; devices get the keys of term {}",
            self.devices.keys.term
        ))
    }

    /// A node has identified itself, asked with this key; whether it has told its own.
    pub(super) fn learn_key(&mut self, node: u32, asked: u64) -> KeyLearned {
        if self.settings.fencing.is_none() {
            return KeyLearned::Known;
        }
        let (settings, device) = (&self.settings, &self.devices[node]);
        let (identity, keys) = (&device.identity, &self.devices.keys);
        let tried = keys.tried_now(identity);
        let key = Keys::of_term(settings, tried, identity.end());
        if !hides_key(device) {
            let found = Some(tried).filter(|term| *term > 0 && identity.m_key == Some(key));
            let is_later = found.is_some_and(|term| term > keys.term);
            self.devices.keys.found(found);
            self.devices[node].identity.tried = Tried::default();
            return match is_later {
                true => KeyLearned::OfLaterTerm,
                false => KeyLearned::Known,
            };
        }
        if key == asked {
            self.devices[node].identity.tried.add(tried);
        }
        let more = self.devices.keys.candidate(&self.devices[node].identity);
        if more.is_none() {
            let what = "has an M_Key that is none of this site's: what is sent to it has no effect";
            self.out.fault_once(&mut self.devices[node], what);
            return KeyLearned::Known;
        }
        KeyLearned::Hidden
    }

    /// The link that leads to a node is down, or new: the node may have been reset, and may get another key.
    pub(super) fn doubt_key_behind(&mut self, guid: Guid) {
        if let Some(node) = self.devices.find(guid) {
            self.devices[node].identity.tried = Tried::default();
        }
    }

    /// Whether a node is about to get another key: it has one request at a time, as those behind would have the old one.
    pub(super) fn changes_key(&self, node: u32) -> bool {
        let device = &self.devices[node];
        self.settings.fencing.is_some()
            && (Stage::WriteNode..=Stage::Arm).contains(&device.work.stage)
            && self.wanted_m_key(device) != device.identity.m_key.unwrap_or(0)
    }

    fn wanted_m_key(&self, device: &Device) -> u64 {
        let end = (device.identity.guid, device.end_port());
        self.devices.keys.wanted(&self.settings, end)
    }

    /// Gives a Set that was sent so often the key that it is to have by turns: the device has the old one where the Set is
    /// lost, and the new one where its answer is. A Get is answered with any key.
    pub(super) fn change_key(&self, node: u32, mad: &mut [u8], sent: u32) {
        let is_smp = matches!(
            mad.get(CLASS),
            Some(&(class::SM_DIRECTED_ROUTE | class::SM_LID_ROUTED))
        );
        let fenced = self.settings.fencing.is_some() && self.election.is_master();
        let concerned = fenced && is_smp && sent % 2 == 1 && mad.len() >= M_KEY + 8;
        let Some(device) = self.devices.get(node).filter(|_| concerned) else {
            return;
        };
        if is_of_a_set(load(mad, TRANSACTION_ID, 8)) {
            store(mad, M_KEY, 8, self.wanted_m_key(device));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_tried_from_the_last_one_on() {
        let keys = Keys { term: 9, last: 7 };
        let tried: Vec<u64> = keys.terms(3).collect();
        assert_eq!(tried, [7, 0, 8, 6, 9, 5, 10, 4]);
    }

    #[test]
    fn no_term_is_tried_twice_at_either_end() {
        for (last, expected) in [
            (0, vec![0, 1, 2, 3]),
            (2, vec![2, 0, 3, 1, 4, 5]),
            (
                TERM_MAX,
                vec![TERM_MAX, 0, TERM_MAX - 1, TERM_MAX - 2, TERM_MAX - 3],
            ),
        ] {
            let keys = Keys { term: last, last };
            assert_eq!(keys.terms(3).collect::<Vec<_>>(), expected);
        }
    }

    /// The terms that are tried at a port until there are none left.
    fn search(tried: &mut Tried, last: u64) -> Vec<u64> {
        let keys = Keys { term: last, last };
        let mut all = Vec::new();
        while let Some(term) = keys.terms(3).find(|term| !tried.has(*term)) {
            tried.add(term);
            all.push(term);
        }
        all
    }

    #[test]
    fn a_later_search_tries_what_is_new() {
        let mut tried = Tried::default();
        assert_eq!(search(&mut tried, 7), [7, 0, 8, 6, 9, 5, 10, 4]);
        assert_eq!(search(&mut tried, 7), []);
        assert_eq!(search(&mut tried, 8), [11]);
        assert_eq!(search(&mut tried, 6), [3]);
        let far = [100, 101, 99, 102, 98, 103, 97];
        assert_eq!(search(&mut tried, 100), far);
        assert_eq!(search(&mut tried, 7).len(), 7, "they were forgotten");
    }
}
