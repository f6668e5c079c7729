//! Subscribers that do not answer, and requests of any bytes.

use std::time::Duration;

use proptest::prelude::*;
use weft_fabric::{Guid, Lid, Tick};
use weft_manager::{Sa, SaInput, SaOutput, SaSettings};
use weft_wire::Layout;
use weft_wire::class_port_info::InformInfo;
use weft_wire::header::{MadHeader, method, status as mad_status};
use weft_wire::id::Gid;
use weft_wire::sa::{IbInformInfoRecord, InformInfoRecord, attribute, status};
use weft_wire::sm::{Notice, Trap, TrapGid};

use crate::sa::client::{Ask, Served, snapshot};
use crate::sa::records::FABRIC;

fn everything(subscribe: u8) -> InformInfo {
    InformInfo {
        lid_range_begin: Lid::PERMISSIVE,
        is_generic: 1,
        subscribe,
        inform_type: 0xFFFF,
        trap_number: 64,
        producer_type: 0x00FF_FFFF,
        ..InformInfo::default()
    }
}

fn subscribe(info: &InformInfo) -> Ask {
    Ask::new(method::SET, attribute::INFORM_INFO).with(0, info)
}

fn notice(served: &Served) -> Vec<u8> {
    let gid = Gid {
        prefix: 0xFE80_0000_0000_0000,
        interface: Guid(7),
    };
    let trap = Trap::GidNowInService(TrapGid { gid });
    Notice::of(&trap, Notice::PRODUCER_SM, served.snapshot.sms[0].lid).to_bytes()
}

/// Reports among the outputs.
fn reports(served: &mut Served) -> Vec<weft_wire::packet::Packet> {
    let outputs = std::iter::from_fn(|| served.sa.poll());
    let sent = outputs.filter_map(|output| match output {
        SaOutput::Send(packet) => Some(packet),
        SaOutput::Multicast(_)
        | SaOutput::Groups(_)
        | SaOutput::Storm(_)
        | SaOutput::Stale
        | SaOutput::Persist(_) => None,
    });
    let is_report = |mad: &[u8]| MadHeader::decode(mad).unwrap().method == method::REPORT;
    sent.filter(|packet| is_report(&packet.mad)).collect()
}

#[test]
fn a_report_is_repeated_until_it_is_answered() {
    let mut served = Served::new(FABRIC, 0, SaSettings::default());
    assert_eq!(
        served.ask(&subscribe(&everything(1))).status,
        mad_status::OK
    );
    let records: Vec<InformInfoRecord> = served
        .ask(&Ask::new(method::GET_TABLE, attribute::INFORM_INFO_RECORD))
        .records();
    assert_eq!(records.len(), 1);
    let bytes = notice(&served);
    served.sa.handle(served.now, SaInput::Notice(bytes.clone()));
    let mut sent = reports(&mut served);
    assert_eq!(sent.len(), 1);
    let told = Notice::decode(&sent[0].mad[56..]).unwrap();
    assert_eq!(told.trap_number, 64);
    for _ in 0..10 {
        served.now = served.now + Duration::from_secs(2);
        served.sa.handle(served.now, SaInput::Tick);
        sent.extend(reports(&mut served));
    }
    assert_eq!(sent.len(), 3, "and no more");
    served.sa.handle(served.now, SaInput::Notice(bytes));
    let report = reports(&mut served).remove(0);
    let mut answer = report.clone();
    (answer.slid, answer.dlid) = (report.dlid, report.slid);
    answer.mad[3] = method::REPORT_RESP;
    served.sa.handle(served.now, SaInput::Received(answer));
    served.now = served.now + Duration::from_secs(2);
    served.sa.handle(served.now, SaInput::Tick);
    assert_eq!(reports(&mut served).len(), 0);
}

#[test]
fn subscriptions_are_told_in_both_forms() {
    let mut served = Served::new(FABRIC, 0, SaSettings::default());
    served.ask(&subscribe(&everything(1)));
    let ask = Ask::new(method::GET_TABLE, attribute::INFORM_INFO_RECORD);
    let wide: Vec<InformInfoRecord> = served.ask(&ask).records();
    let narrow: Vec<IbInformInfoRecord> = served.ask(&Ask { ib: true, ..ask }).records();
    let topology = &served.snapshot.topology;
    let mut ends = topology.end_ports();
    let (at, ..) = ends
        .find(|(_, lid, _)| *lid == wide[0].subscriber_lid)
        .unwrap();
    let subscriber = topology.node(at.node).unwrap().port_guid(at.port);
    assert_eq!(Some(narrow[0].subscriber_gid.interface), subscriber);
    assert_eq!((narrow.len(), narrow[0].enumeration), (1, 0));
    assert_eq!(
        narrow[0].inform_info_data.trap_number,
        wide[0].inform_info_data.trap_number
    );
}

#[test]
fn a_subscription_ends_once() {
    let mut served = Served::new(FABRIC, 0, SaSettings::default());
    assert_eq!(
        served.ask(&subscribe(&everything(1))).status,
        mad_status::OK
    );
    assert_eq!(
        served.ask(&subscribe(&everything(0))).status,
        mad_status::OK
    );
    assert_eq!(
        served.ask(&subscribe(&everything(0))).status,
        status::REQ_INVALID
    );
    let bytes = notice(&served);
    served.sa.handle(served.now, SaInput::Notice(bytes));
    assert_eq!(reports(&mut served).len(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn no_request_makes_it_panic(
        requests in prop::collection::vec(
            (0_u16..0x100, 0_u8..0x16, any::<bool>(), any::<u64>(),
             prop::collection::vec(any::<u8>(), 0..220)),
            1..200,
        ),
        notice in prop::collection::vec(any::<u8>(), 0..120),
    ) {
        let fabric = snapshot("fattree:4,radix=4", 1);
        let own = fabric.sms[0].lid;
        let mut sa = Sa::new(SaSettings::default());
        sa.handle(Tick(0), SaInput::Published(fabric));
        sa.handle(Tick(0), SaInput::Notice(notice));
        for (at, (attribute, method, ib, mask, data)) in (0_u64..).zip(requests) {
            let ask = Ask { ib, mask, data, lid: own, ..Ask::new(method, attribute) };
            let now = Tick(at * 1_000_000);
            sa.handle(now, SaInput::Received(ask.packet(at)));
            let mut sent = 0_usize;
            while sa.poll().is_some() {
                sent += 1;
            }
            prop_assert!(sent < 1_000);
        }
    }
}
