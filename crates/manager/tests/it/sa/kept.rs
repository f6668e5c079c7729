//! Registrations of clients over a restart of the administration and over a takeover.

use std::sync::Arc;
use std::time::Duration;

use weft_fabric::{Guid, Snapshot, Tick};
use weft_manager::{Input, MulticastLid, Sa, SaInput, SaOutput, SaSettings};
use weft_wire::class_port_info::InformInfo;
use weft_wire::header::{method, status as mad_status};
use weft_wire::id::Gid;
use weft_wire::sa::{InformInfoRecord, McMemberRecord, ServiceRecord, attribute};
use weft_wire::sm::AttributeId;

use crate::common::{World, settings};
use crate::sa::client::{Ask, Served, snapshot};
use crate::sa::records::FABRIC;
use crate::sa::registered::{CREATE, JOIN, ask, gid, membership, own, told};

/// A service without key or lease, found by its number.
const SERVICE: u64 = 77;

fn ports(snapshot: &Snapshot) -> Vec<Guid> {
    let hfis = snapshot.topology.hfis();
    hfis.map(|(_, node)| node.info.port_guid).collect()
}

/// A port joins by itself, in a group that is created where it is absent.
fn join(served: &mut Served, port: Guid) -> McMemberRecord {
    let record = membership(gid(port));
    let joined: Vec<McMemberRecord> = served.ask(&ask(method::SET, CREATE, &record)).records();
    joined[0]
}

fn register(served: &mut Served) {
    let service = ServiceRecord {
        service_id: SERVICE,
        service_gid: own(served),
        service_lease: 60,
        ..ServiceRecord::default()
    };
    let set = Ask::new(method::SET, attribute::SERVICE_RECORD).with(0x31, &service);
    assert_eq!(served.ask(&set).status, mad_status::OK);
    let info = InformInfo {
        lid_range_begin: weft_fabric::Lid::PERMISSIVE,
        is_generic: 1,
        subscribe: 1,
        inform_type: 0xFFFF,
        trap_number: 64,
        producer_type: 0x00FF_FFFF,
        ..InformInfo::default()
    };
    let set = Ask::new(method::SET, attribute::INFORM_INFO).with(0, &info);
    assert_eq!(served.ask(&set).status, mad_status::OK);
}

/// Lets time pass, and gives what came out of it.
fn after(served: &mut Served, time: Duration) -> Vec<SaOutput> {
    served.now = served.now + time;
    served.sa.handle(served.now, SaInput::Tick);
    let mut outputs = std::mem::take(&mut served.other);
    outputs.extend(std::iter::from_fn(|| served.sa.poll()));
    outputs
}

/// The last stored state among these.
fn written(outputs: &[SaOutput]) -> Option<Vec<u8>> {
    outputs.iter().rev().find_map(|output| match output {
        SaOutput::Persist(bytes) => Some(bytes.clone()),
        _ => None,
    })
}

fn members(outputs: &[SaOutput]) -> Option<Vec<MulticastLid>> {
    outputs.iter().rev().find_map(|output| match output {
        SaOutput::Multicast(groups) => Some(groups.clone()),
        _ => None,
    })
}

/// A new administration on what an earlier one has written.
fn restarted(stored: &[u8], snapshot: &Arc<Snapshot>) -> Served {
    let sa = Sa::restored(SaSettings::default(), stored, Tick(0)).unwrap();
    Served::with(sa, Arc::clone(snapshot))
}

#[test]
fn groups_with_their_lids_services_and_subscriptions_outlast_a_restart() {
    let mut served = Served::new(FABRIC, 0, SaSettings::default());
    let all = ports(&served.snapshot);
    let first = join(&mut served, all[0]);
    join(&mut served, all[3]);
    register(&mut served);
    let outputs = after(&mut served, Duration::from_secs(2));
    let (before, stored) = (members(&outputs).unwrap(), written(&outputs).unwrap());

    let mut again = restarted(&stored, &served.snapshot);
    let outputs = after(&mut again, Duration::ZERO);
    assert_eq!(members(&outputs), Some(before), "told at once");
    assert_eq!(written(&outputs), None, "nothing has changed");
    let rejoined = join(&mut again, all[0]);
    assert_eq!(rejoined.mlid, first.mlid);
    let query = ask(method::GET_TABLE, 1, &membership(gid(all[0])));
    let held: Vec<McMemberRecord> = again.ask(&query).records();
    let held: Vec<Gid> = held.iter().map(|member| member.port_gid).collect();
    assert_eq!(held, [gid(all[0]), gid(all[3])]);
    let subscriptions = Ask::new(method::GET_TABLE, attribute::INFORM_INFO_RECORD);
    let subscriptions: Vec<InformInfoRecord> = again.ask(&subscriptions).records();
    assert_eq!(subscriptions.len(), 1);
    let wanted = ServiceRecord {
        service_id: SERVICE,
        ..ServiceRecord::default()
    };
    let query = Ask::new(method::GET_TABLE, attribute::SERVICE_RECORD).with(1, &wanted);
    let found: Vec<ServiceRecord> = again.ask(&query).records();
    assert!((50..60).contains(&found[0].service_lease), "{found:?}");
    after(&mut again, Duration::from_secs(60));
    assert!(again.ask(&query).data.is_empty(), "the lease has gone on");
}

#[test]
fn registrations_of_ports_that_are_gone_are_forgotten() {
    let mut served = Served::new(FABRIC, 0, SaSettings::default());
    let all = ports(&served.snapshot);
    join(&mut served, all[0]);
    join(&mut served, all[15]);
    let stored = written(&after(&mut served, Duration::from_secs(2))).unwrap();
    let mut smaller = restarted(&stored, &snapshot("fattree:8,radix=8", 0));
    let there = ports(&smaller.snapshot);
    assert!(there.contains(&all[0]) && !there.contains(&all[15]));
    let outputs = after(&mut smaller, Duration::from_secs(1));
    assert_eq!(members(&outputs).unwrap()[0].receivers, [all[0]]);
}

#[test]
fn what_is_stored_is_stale_before_the_answer_and_written_once_for_many_joins() {
    let mut served = Served::new("fattree:1152", 0, SaSettings::default());
    after(&mut served, Duration::from_secs(5));
    let all = ports(&served.snapshot);
    assert_eq!(all.len(), 1_152);
    let started = served.now;
    for port in &all {
        // An answer that comes before it fails the client here: it collects what precedes it.
        join(&mut served, *port);
        if *port == all[0] {
            let stale = served
                .other
                .iter()
                .position(|one| matches!(one, SaOutput::Stale));
            assert!(stale.is_some(), "{:?}", served.other);
        }
    }
    let took = served.now.since(started).as_secs();
    let outputs = after(&mut served, Duration::from_secs(2));
    let writes = outputs
        .iter()
        .filter(|output| matches!(output, SaOutput::Persist(_)))
        .count() as u64;
    assert!((1..=took + 1).contains(&writes), "{writes} in {took} s");
    assert!(written(&outputs).unwrap().len() < 32_768);
    assert!(served.sa.unsaved().is_none());
}

#[test]
fn a_restart_of_the_daemon_is_invisible_to_1152_members() {
    let mut world = World::new("fattree:1152", settings());
    world
        .manager
        .handle(world.now, Input::Multicast(Vec::new()));
    world.sweep();
    world.run_for(3.0);
    let mut served = Served::of(world.manager.snapshot(), SaSettings::default());
    let all = ports(&served.snapshot);
    for port in &all {
        join(&mut served, *port);
    }
    let outputs = after(&mut served, Duration::from_secs(2));
    let groups = members(&outputs).unwrap();
    assert_eq!(groups[0].receivers.len(), 1_152);
    world.manager.handle(world.now, Input::Multicast(groups));
    world.run_for(3.0);
    let writes = |world: &World| world.emulator.stats().total(AttributeId::MULTICAST_FDB).1;
    let before = writes(&world);
    assert!(before > 0);

    let stored = written(&outputs).unwrap();
    let sa = Sa::restored(SaSettings::default(), &stored, Tick(0)).unwrap();
    let bytes = world.persisted.clone();
    world.restart(settings(), bytes.as_deref());
    let mut again = Served::with(sa, Arc::new(Snapshot::default()));
    let kept = members(&after(&mut again, Duration::ZERO)).unwrap();
    world.manager.handle(world.now, Input::Multicast(kept));
    world.lost.clear();
    assert_eq!(world.sweep().sets, 0);
    assert!(world.lost.is_empty());
    let found = SaInput::Published(world.manager.snapshot());
    again.sa.handle(again.now, found);
    let outputs = after(&mut again, Duration::from_secs(1));
    if let Some(groups) = members(&outputs) {
        world.manager.handle(world.now, Input::Multicast(groups));
    }
    world.run_for(10.0);
    assert_eq!(writes(&world), before, "Sets to multicast tables");
    assert_eq!(world.forced_sweep().sets, 0);
    assert!(all.iter().all(|port| world.reregistrations(*port) == 0));

    // Without the stored registrations the tables stay, and clients that join again find them unchanged.
    world.restart(settings(), bytes.as_deref());
    let mut anew = Sa::new(SaSettings::default());
    assert!(anew.poll().is_none(), "it knows nobody");
    world.sweep();
    let [asked] = world.lost[..] else {
        panic!("{:?}", world.lost)
    };
    anew.handle(Tick(0), SaInput::RegistrationsLost { asked });
    let mut anew = Served::with(anew, world.manager.snapshot());
    assert!(all.iter().all(|port| world.reregistrations(*port) == 1));
    for port in &all {
        join(&mut anew, *port);
    }
    let groups = members(&after(&mut anew, Duration::from_secs(5))).unwrap();
    world.manager.handle(world.now, Input::Multicast(groups));
    world.run_for(3.0);
    assert_eq!(writes(&world), before, "Sets to multicast tables");
}

/// The manager takes over: registrations are lost, a sweep later hosts are asked to register again.
fn lose(served: &mut Served, asked: usize) {
    served
        .sa
        .handle(served.now, SaInput::RegistrationsLost { asked });
    let outputs = after(served, Duration::from_secs(60));
    assert!(members(&outputs).is_none(), "a long sweep");
    let found = SaInput::Published(Arc::clone(&served.snapshot));
    served.sa.handle(served.now, found);
}

#[test]
fn after_a_takeover_members_are_told_when_hosts_have_had_time_to_join() {
    let mut served = Served::new(FABRIC, 0, SaSettings::default());
    let all = ports(&served.snapshot);
    join(&mut served, all[0]);
    after(&mut served, Duration::from_secs(2));
    let asked = all.len();
    lose(&mut served, asked);
    let lost = served.now;
    let record = membership(gid(all[0]));
    let gone = served.ask(&ask(method::DELETE, JOIN, &record));
    assert_ne!(gone.status, mad_status::OK, "nobody is a member any more");
    for port in &all {
        let outputs = after(&mut served, Duration::from_millis(500));
        assert!(members(&outputs).is_none() && written(&outputs).is_none());
        join(&mut served, *port);
    }
    let outputs = after(&mut served, Duration::from_millis(3_900));
    assert!(members(&outputs).is_none(), "it is not quiet long enough");
    let mut outputs = after(&mut served, Duration::from_millis(200));
    assert_eq!(members(&outputs).unwrap()[0].receivers.len(), asked);
    assert!(served.now.since(lost) < Duration::from_secs(15));
    outputs.extend(after(&mut served, Duration::from_secs(2)));
    assert!(written(&outputs).is_some(), "now it is whole");

    // Hosts that join for ever do not delay the tables for ever.
    lose(&mut served, asked);
    let lost = served.now;
    for port in all.iter().cycle() {
        let outputs = after(&mut served, Duration::from_secs(1));
        if members(&outputs).is_some() {
            break;
        }
        let record = membership(gid(*port));
        served.ask(&ask(method::SET, CREATE, &record));
        served.ask(&ask(method::DELETE, JOIN, &record));
    }
    let waited = served.now.since(lost).as_secs();
    assert!((14..=17).contains(&waited), "{waited} s");
}

#[test]
fn a_fabric_that_comes_up_keeps_nobody_waiting() {
    let mut served = Served::new(FABRIC, 0, SaSettings::default());
    let all = ports(&served.snapshot);
    join(&mut served, all[0]);
    assert_eq!(told(&mut served)[0].receivers, [all[0]]);
}
