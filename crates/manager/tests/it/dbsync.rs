//! The copy of registrations from a master to its standby, both ours, over a link that loses datagrams.

use std::sync::Arc;
use std::time::Duration;

use weft_fabric::{Guid, Lid, NodeId, PortNum, PortRef, SmRecord, Snapshot, Tick};
use weft_manager::dbsync::{
    CopiedGroup, CopiedSubscription, DbSync, DbSyncEvent, DbSyncInput, DbSyncOutput,
    DbSyncSettings, Inherited, Registrations,
};
use weft_wire::Layout;
use weft_wire::dbsync::{SubscriberKey, SyncGroup, SyncMember, action, attribute};
use weft_wire::enums::SmState;
use weft_wire::header::MadHeader;
use weft_wire::id::{Gid, PKey};
use weft_wire::packet::Packet;
use weft_wire::sa::ServiceRecord;

const MASTER: Guid = Guid(0x11);
const STANDBY: Guid = Guid(0x22);

/// A master and its standby.
struct Pair {
    now: Tick,
    master: DbSync,
    standby: DbSync,
    registrations: Registrations,
    /// What the standby would take over.
    inherited: Option<Inherited>,
    events: Vec<DbSyncEvent>,
    /// Attribute and modifier of each request that came to the standby, a segment once.
    requests: Vec<(u16, u32)>,
    /// Every so many datagrams one is lost; 0 for none.
    loss: usize,
    sent: usize,
}

fn snapshot(state: SmState) -> Arc<Snapshot> {
    let manager = |lid, port_guid, state| SmRecord {
        port: PortRef {
            node: NodeId(0),
            port: PortNum(1),
        },
        lid: Lid(lid),
        port_guid,
        state,
        priority: 1,
        sm_key: 0,
        act_count: 0,
    };
    Arc::new(Snapshot {
        generation: 1,
        sms: vec![
            manager(1, MASTER, SmState::MASTER),
            manager(2, STANDBY, state),
        ],
        ..Snapshot::default()
    })
}

impl Pair {
    fn new(settings: DbSyncSettings, registrations: Registrations) -> Self {
        let mut pair = Self {
            now: Tick(1),
            master: DbSync::new(settings),
            standby: DbSync::new(DbSyncSettings::default()),
            registrations,
            inherited: None,
            events: Vec::new(),
            requests: Vec::new(),
            loss: 0,
            sent: 0,
        };
        let master = MASTER;
        pair.standby
            .handle(pair.now, DbSyncInput::Standby { master });
        let snapshot = snapshot(SmState::STANDBY);
        pair.master.handle(pair.now, DbSyncInput::Master(snapshot));
        pair
    }

    /// Lets time pass.
    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            while self.exchange() {}
            let deadlines = [self.master.deadline(), self.standby.deadline()];
            let next = deadlines.into_iter().flatten().min();
            match next.filter(|next| *next <= until) {
                // A core whose deadline has come does something about it.
                Some(next) => self.now = self.now.max(next),
                None => break,
            }
            self.master.handle(self.now, DbSyncInput::Tick);
            self.standby.handle(self.now, DbSyncInput::Tick);
        }
        self.now = until;
    }

    /// Passes on what both have to say; returns whether there was anything.
    fn exchange(&mut self) -> bool {
        let mut any = false;
        while let Some(output) = self.master.poll() {
            any = true;
            match output {
                DbSyncOutput::Send(packet) => {
                    let mad = MadHeader::decode(&packet.mad).unwrap();
                    let request = (mad.attribute_id, mad.attribute_modifier);
                    if self.requests.last() != Some(&request) {
                        self.requests.push(request);
                    }
                    if self.arrives() {
                        self.standby.handle(self.now, DbSyncInput::Received(packet));
                    }
                }
                DbSyncOutput::Ask => {
                    let all = Arc::new(self.registrations.clone());
                    self.master
                        .handle(self.now, DbSyncInput::Registrations(all));
                }
                DbSyncOutput::Event(event) => self.events.push(event),
                DbSyncOutput::Inherit(_) => panic!("a master inherits nothing"),
            }
        }
        while let Some(output) = self.standby.poll() {
            any = true;
            match output {
                DbSyncOutput::Send(packet) if self.arrives() => {
                    self.master.handle(self.now, DbSyncInput::Received(packet));
                }
                DbSyncOutput::Send(_) => {}
                DbSyncOutput::Inherit(inherited) => self.inherited = Some(*inherited),
                DbSyncOutput::Event(event) => self.events.push(event),
                DbSyncOutput::Ask => panic!("a standby has nothing to send"),
            }
        }
        any
    }

    fn arrives(&mut self) -> bool {
        self.sent += 1;
        // Scattered, so that it is not the same segment of each attempt that is lost.
        let drawn = self.sent.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
        self.loss == 0 || !drawn.is_multiple_of(self.loss)
    }

    fn change(&mut self, change: impl FnOnce(&mut Registrations)) {
        change(&mut self.registrations);
        self.master.handle(self.now, DbSyncInput::Changed);
        self.run(Duration::from_secs(1));
    }

    fn at_standby(&self) -> Option<&Registrations> {
        self.inherited.as_ref().map(|held| &*held.registrations)
    }
}

fn mgid(number: u64) -> Gid {
    Gid {
        prefix: 0xFF12_401B_FFFF_0000,
        interface: Guid(number),
    }
}

fn group(number: u64, members: u32) -> CopiedGroup {
    let member = |index| SyncMember {
        index,
        port_guid: Guid(u64::from(index)),
        ..SyncMember::default()
    };
    CopiedGroup {
        group: SyncGroup {
            mgid_reversed: CopiedGroup::reversed(&mgid(number)),
            mlid: Lid(0xF000_0000 + number as u32),
            member_count: members as u16,
            ..SyncGroup::default()
        },
        members: (1..=members).map(member).collect(),
    }
}

fn service(id: u64) -> ((u64, Gid, PKey), ServiceRecord) {
    let record = ServiceRecord {
        service_id: id,
        service_lease: u32::MAX,
        ..ServiceRecord::default()
    };
    ((id, record.service_gid, record.service_p_key), record)
}

fn subscription(qpn: u32) -> (Vec<u8>, CopiedSubscription) {
    let key = SubscriberKey {
        qpn,
        ..SubscriberKey::default()
    };
    let subscription = CopiedSubscription {
        key,
        ..CopiedSubscription::default()
    };
    (key.to_bytes(), subscription)
}

/// A group that needs several segments, a service, two subscriptions.
fn registrations() -> Registrations {
    Registrations {
        groups: [(mgid(1), group(1, 300)), (mgid(2), group(2, 0))].into(),
        services: [service(7)].into(),
        subscriptions: [subscription(1), subscription(2)].into(),
    }
}

#[test]
fn a_standby_gets_everything_and_then_what_changes() {
    let mut pair = Pair::new(DbSyncSettings::default(), registrations());
    pair.run(Duration::from_secs(2));
    assert_eq!(pair.at_standby(), Some(&pair.registrations));
    assert_eq!(pair.master.up_to_date(), Some([STANDBY].into()));
    let told = |event: &DbSyncEvent| matches!(event, DbSyncEvent::Copied { to: STANDBY, .. });
    assert!(pair.events.iter().any(told), "{:?}", pair.events);

    pair.requests.clear();
    pair.change(|all| {
        all.groups.insert(mgid(2), group(2, 3));
        all.groups.insert(mgid(9), group(9, 1));
        all.services.clear();
        all.subscriptions.extend([subscription(3)]);
    });
    assert_eq!(pair.at_standby(), Some(&pair.registrations));
    assert!(
        pair.requests.iter().all(|(_, what)| *what != action::SET),
        "{:?}",
        pair.requests
    );
    pair.change(|all| *all = Registrations::default());
    assert_eq!(pair.at_standby(), Some(&Registrations::default()));
}

#[test]
fn lost_datagrams_delay_it() {
    for loss in [3, 5, 7, 11] {
        let mut pair = Pair::new(DbSyncSettings::default(), registrations());
        pair.loss = loss;
        pair.run(Duration::from_secs(900));
        assert_eq!(pair.at_standby(), Some(&pair.registrations), "1 in {loss}");
    }
}

/// Copies of everything in a little less than an hour, with so many seconds between them.
fn copies(interval_s: u64) -> usize {
    let settings = DbSyncSettings {
        interval: Duration::from_secs(interval_s),
        ..DbSyncSettings::default()
    };
    let mut pair = Pair::new(settings, registrations());
    pair.run(Duration::from_secs(3_500));
    let whole = (attribute::GROUP, action::SET);
    pair.requests.iter().filter(|one| **one == whole).count()
}

#[test]
fn everything_is_sent_again_at_the_interval_and_0_sends_nothing() {
    assert_eq!(copies(900), 4);
    assert_eq!(copies(600), 6);
    assert_eq!(copies(0), 0);
}

#[test]
fn a_manager_that_does_not_stand_by_gets_nothing() {
    let mut master = DbSync::new(DbSyncSettings::default());
    let discovering = snapshot(SmState::DISCOVERING);
    master.handle(Tick(1), DbSyncInput::Master(discovering));
    assert!(master.poll().is_none());
    assert_eq!(master.deadline(), None);
}

#[test]
fn a_standby_that_does_not_answer_is_named_once() {
    let mut pair = Pair::new(DbSyncSettings::default(), registrations());
    pair.loss = 1;
    pair.run(Duration::from_secs(4_000));
    let failed = |event: &&DbSyncEvent| matches!(event, DbSyncEvent::CopyFailed { .. });
    assert_eq!(pair.events.iter().filter(failed).count(), 1);
    assert_eq!(pair.at_standby(), None);
    pair.loss = 0;
    pair.run(Duration::from_secs(1_000));
    assert_eq!(pair.at_standby(), Some(&pair.registrations));
}

#[test]
fn a_new_master_begins_anew() {
    let mut pair = Pair::new(DbSyncSettings::default(), registrations());
    pair.run(Duration::from_secs(2));
    let master = Guid(0x33);
    pair.standby
        .handle(pair.now, DbSyncInput::Standby { master });
    pair.inherited = None;
    // Half a copy is none.
    let mut all = Pair::new(DbSyncSettings::default(), registrations());
    all.standby = std::mem::replace(&mut pair.standby, DbSync::new(DbSyncSettings::default()));
    all.loss = 6;
    all.run(Duration::from_millis(10));
    assert!(all.at_standby().is_none());
    all.loss = 0;
    all.run(Duration::from_secs(200));
    let inherited = all.inherited.as_ref().unwrap();
    assert_eq!(inherited.master, master, "whom the standby follows");
    assert_eq!(*inherited.registrations, all.registrations);
}

/// A datagram to the standby, of a sender with a key.
fn request(pkey: PKey) -> Packet {
    let mad = MadHeader {
        base_version: 0x80,
        class_version: 0x80,
        mgmt_class: 0x31,
        method: 0x12,
        transaction_id: 5,
        attribute_id: attribute::SYNC,
        attribute_modifier: action::GET,
        ..MadHeader::default()
    };
    let mut bytes = mad.to_bytes();
    bytes.resize(56, 0);
    Packet {
        slid: Lid(9),
        dlid: Lid(2),
        sl: weft_wire::id::Sl(0),
        pkey,
        dest_qp: 1,
        src_qp: 1,
        mad: bytes,
    }
}

#[test]
fn only_full_members_of_the_management_partition_get_an_answer() {
    let mut standby = DbSync::new(DbSyncSettings::default());
    let full = DbSyncInput::Received(request(PKey::MGMT_FULL));
    standby.handle(Tick(1), full.clone());
    assert!(standby.poll().is_none(), "its role is not known");
    standby.handle(Tick(1), DbSyncInput::Standby { master: MASTER });
    let limited = request(PKey::MGMT_LIMITED);
    standby.handle(Tick(1), DbSyncInput::Received(limited));
    assert!(standby.poll().is_none());
    standby.handle(Tick(1), full);
    assert!(matches!(standby.poll(), Some(DbSyncOutput::Send(_))));
}

mod hostile {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_bytes_are_refused_or_taken_without_a_panic(
            attribute in 0_u16..8,
            action in 0_u32..9,
            count in prop_oneof![0_u32..4, any::<u32>()],
            data in proptest::collection::vec(any::<u8>(), 0..400),
        ) {
            let mut standby = DbSync::new(DbSyncSettings::default());
            standby.handle(Tick(1), DbSyncInput::Standby { master: MASTER });
            let mut packet = request(PKey::MGMT_FULL);
            packet.mad[16..18].copy_from_slice(&attribute.to_be_bytes());
            packet.mad[20..24].copy_from_slice(&action.to_be_bytes());
            packet.mad.extend(count.to_be_bytes());
            packet.mad.extend(data);
            standby.handle(Tick(1), DbSyncInput::Received(packet));
            standby.handle(Tick(1_000_000_000), DbSyncInput::Tick);
            while standby.poll().is_some() {}
        }
    }
}
