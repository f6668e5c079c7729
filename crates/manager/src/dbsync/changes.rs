//! What a standby lacks: fingerprints of the records that it has, compared with those there are.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use weft_wire::dbsync::{SyncGroup, action, attribute};
use weft_wire::id::Gid;
use weft_wire::sa::ServiceRecord;

use super::exchange::Question;
use super::tables::{
    CopiedGroup, CopiedSubscription, Record, Registrations, ServiceKey, SubscriptionKey, encode,
};

/// Messages above which everything is sent anew: a group is a message of its own.
const MESSAGES_MAX: usize = 256;

/// Fingerprints of the records that a standby has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Held {
    groups: BTreeMap<Gid, u64>,
    services: BTreeMap<ServiceKey, u64>,
    subscriptions: BTreeMap<SubscriptionKey, u64>,
}

impl Held {
    /// Those of `registrations`.
    pub(super) fn of(registrations: &Registrations) -> Self {
        Self {
            groups: fingerprints(&registrations.groups),
            services: fingerprints(&registrations.services),
            subscriptions: fingerprints(&registrations.subscriptions),
        }
    }

    /// Messages after which a standby has what `new` has, of `registrations`; none where it had better get
    /// everything.
    pub(super) fn missing(
        &self,
        new: &Self,
        registrations: &Registrations,
    ) -> Option<Vec<Question>> {
        let mut questions = Vec::new();
        // The vendor's standby takes all members that follow for those of the last group of a message.
        for gid in changed(&self.groups, &new.groups) {
            let group = registrations.groups.get(gid).into_iter();
            questions.push(question(attribute::GROUP, action::ADD, group));
        }
        for gid in gone(&self.groups, &new.groups) {
            let group = SyncGroup {
                mgid_reversed: CopiedGroup::reversed(gid),
                ..SyncGroup::default()
            };
            let members = Vec::new();
            let group = CopiedGroup { group, members };
            questions.push(question(
                attribute::GROUP,
                action::DELETE,
                [&group].into_iter(),
            ));
        }
        self.missing_services(new, registrations, &mut questions);
        self.missing_subscriptions(new, registrations, &mut questions);
        (questions.len() <= MESSAGES_MAX).then_some(questions)
    }

    fn missing_services(&self, new: &Self, all: &Registrations, to: &mut Vec<Question>) {
        let added = changed(&self.services, &new.services);
        let added: Vec<&ServiceRecord> = added.filter_map(|key| all.services.get(key)).collect();
        let removed = gone(&self.services, &new.services).map(|key| ServiceRecord {
            service_id: key.0,
            service_gid: key.1,
            service_p_key: key.2,
            ..ServiceRecord::default()
        });
        push(to, attribute::SERVICE, &added, &removed.collect::<Vec<_>>());
    }

    fn missing_subscriptions(&self, new: &Self, all: &Registrations, to: &mut Vec<Question>) {
        let added = changed(&self.subscriptions, &new.subscriptions);
        let added: Vec<&CopiedSubscription> =
            added.filter_map(|key| all.subscriptions.get(key)).collect();
        let removed = gone(&self.subscriptions, &new.subscriptions).filter_map(|key| {
            Some(CopiedSubscription {
                key: weft_wire::Layout::decode(key).ok()?,
                ..CopiedSubscription::default()
            })
        });
        push(to, attribute::INFORM, &added, &removed.collect::<Vec<_>>());
    }
}

/// All tables, whole.
pub(super) fn everything(registrations: &Registrations) -> [Question; 3] {
    [
        question(
            attribute::INFORM,
            action::SET,
            registrations.subscriptions.values(),
        ),
        question(attribute::GROUP, action::SET, registrations.groups.values()),
        question(
            attribute::SERVICE,
            action::SET,
            registrations.services.values(),
        ),
    ]
}

fn push<R: Record>(to: &mut Vec<Question>, table: u16, added: &[&R], removed: &[R]) {
    if !added.is_empty() {
        to.push(question(table, action::ADD, added.iter().copied()));
    }
    if !removed.is_empty() {
        to.push(question(table, action::DELETE, removed.iter()));
    }
}

fn question<'a, R: Record + 'a>(
    table: u16,
    action: u32,
    records: impl Iterator<Item = &'a R>,
) -> Question {
    let records: Vec<&R> = records.collect();
    Question {
        table,
        action,
        data: encode(records.into_iter()),
    }
}

fn fingerprints<R: Record>(table: &BTreeMap<R::Key, R>) -> BTreeMap<R::Key, u64> {
    let mut bytes = Vec::new();
    let each = table.iter().map(|(key, record)| {
        bytes.clear();
        record.write(&mut bytes);
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        (key.clone(), hasher.finish())
    });
    each.collect()
}

/// Keys that are new, or whose record is another.
fn changed<'a, K: Ord>(
    old: &'a BTreeMap<K, u64>,
    new: &'a BTreeMap<K, u64>,
) -> impl Iterator<Item = &'a K> {
    new.iter()
        .filter(|(key, print)| old.get(key) != Some(print))
        .map(|(key, _)| key)
}

/// Keys that are not there any more.
fn gone<'a, K: Ord>(
    old: &'a BTreeMap<K, u64>,
    new: &'a BTreeMap<K, u64>,
) -> impl Iterator<Item = &'a K> {
    old.keys().filter(|key| !new.contains_key(key))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn with(groups: &[(u64, u32)]) -> Registrations {
        let mut registrations = Registrations::default();
        for (number, q_key) in groups {
            let mgid = Gid {
                prefix: 0xFF12 << 48,
                interface: weft_wire::id::Guid(*number),
            };
            let mut group = CopiedGroup::default();
            group.group.mgid_reversed = CopiedGroup::reversed(&mgid);
            group.group.q_key = *q_key;
            registrations.groups.insert(mgid, group);
        }
        registrations
    }

    #[test]
    fn only_what_has_changed_is_sent_a_group_at_a_time() {
        let old = Held::of(&with(&[(1, 0), (2, 0), (3, 0)]));
        let registrations = with(&[(1, 0), (2, 7), (4, 0)]);
        let new = Held::of(&registrations);
        let sent = old.missing(&new, &registrations).unwrap();
        let actions: Vec<u32> = sent.iter().map(|question| question.action).collect();
        assert_eq!(actions, [action::ADD, action::ADD, action::DELETE]);
        assert_eq!(new.missing(&new, &registrations), Some(Vec::new()));
    }

    #[test]
    fn very_many_changes_are_sent_as_a_whole() {
        let groups: Vec<(u64, u32)> = (0..=MESSAGES_MAX as u64).map(|n| (n, 0)).collect();
        let registrations = with(&groups);
        let new = Held::of(&registrations);
        assert_eq!(Held::default().missing(&new, &registrations), None);
    }
}
