//! A snapshot of its pieces: what takes long, nodes and tables, is read by several threads and then put together in order.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;

use prost::Message;
use weft_fabric::{Guid, Node, Snapshot};

use super::pieces::{HEALTH, Kind, ROUTING};
use super::{Assembler, SnapshotError, read_node};
use crate::v1::{self, get_snapshot_response::Part};

/// Threads for one snapshot: others are asked for as well.
const THREADS_MAX: usize = 8;
/// Pieces that are not worth another thread.
const PIECES_MIN: usize = 1024;

/// A piece that is read.
enum Read {
    Node(Arc<Node>),
    Linear(Guid, Arc<[u8]>),
    Other(Part),
}

/// A piece by its key and value.
type Piece<'a> = (&'a [u8], &'a [u8]);

/// Makes a snapshot of its pieces; [`ROUTING`] and [`HEALTH`] are left aside.
///
/// # Errors
/// [`SnapshotError`] where they make none.
pub fn of_pieces<V: AsRef<[u8]>>(pieces: &BTreeMap<Vec<u8>, V>) -> Result<Snapshot, SnapshotError> {
    let mut assembler = Assembler::default();
    for read in side_by_side(&in_order(pieces)?) {
        match read? {
            Read::Node(node) => assembler.node_of(node)?,
            Read::Linear(guid, row) => assembler.linear_of(guid, row)?,
            Read::Other(part) => assembler.push(v1::GetSnapshotResponse { part: Some(part) })?,
        }
    }
    assembler.finish()
}

fn piece<'a, V: AsRef<[u8]>>((key, value): (&'a Vec<u8>, &'a V)) -> Piece<'a> {
    (key, value.as_ref())
}

/// Nodes in their order, everything else in that of the keys.
fn in_order<V: AsRef<[u8]>>(
    pieces: &BTreeMap<Vec<u8>, V>,
) -> Result<Vec<Piece<'_>>, SnapshotError> {
    let mut all = Vec::with_capacity(pieces.len());
    all.extend(pieces.range(..Kind::Order.key(&[])).map(piece));
    let order = pieces.get(&Kind::Order.key(&[]));
    for guid in order.map_or(&[][..], V::as_ref).chunks(size_of::<u64>()) {
        let node = pieces.get_key_value(&Kind::Node.key(guid));
        all.push(piece(node.ok_or(SnapshotError::NoPiece("a node"))?));
    }
    let others = pieces.range(Kind::Links.key(&[])..).map(piece);
    all.extend(others.filter(|(key, _)| **key != ROUTING && **key != HEALTH));
    Ok(all)
}

/// Reads pieces on several threads; they come in their order.
fn side_by_side(pieces: &[Piece<'_>]) -> Vec<Result<Read, SnapshotError>> {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let threads = threads.min(THREADS_MAX).min(pieces.len() / PIECES_MIN);
    // Pieces of a kind follow each other, and each kind takes its own time: every thread has some of each.
    let share = (pieces.len() / (threads + 1) / 16).max(1);
    let worker = |first: usize| {
        let shares = pieces.chunks(share).enumerate().skip(first);
        let mine = shares.step_by(threads + 1);
        let read = mine.map(|(at, share)| (at, share.iter().map(read).collect()));
        read.collect::<Vec<(usize, Vec<_>)>>()
    };
    let mut shares = thread::scope(|scope| {
        let spawn = |first| thread::Builder::new().spawn_scoped(scope, move || worker(first));
        let others: Vec<_> = (1..=threads)
            .map(|first| (first, spawn(first).ok()))
            .collect();
        let mut shares = worker(0);
        for (first, other) in others {
            // What has no thread is done here.
            let done = other.and_then(|other| other.join().ok());
            shares.extend(done.unwrap_or_else(|| worker(first)));
        }
        shares
    });
    shares.sort_by_key(|(at, _)| *at);
    shares.into_iter().flat_map(|(_, read)| read).collect()
}

fn read((key, value): &Piece<'_>) -> Result<Read, SnapshotError> {
    let wrong = || SnapshotError::NoPiece("a key");
    let (kind, rest) = key.split_first().ok_or_else(wrong)?;
    let kind = Kind::ALL.into_iter().find(|one| *one as u8 == *kind);
    let guid = || rest.try_into().map(u64::from_be_bytes).map_err(|_| wrong());
    let part = match kind.ok_or_else(wrong)? {
        Kind::Node => {
            let node = read_node(&v1::SnapshotNode::decode(*value)?)?;
            return Ok(Read::Node(Arc::new(node)));
        }
        Kind::Linear => return Ok(Read::Linear(Guid(guid()?), (*value).into())),
        Kind::Header => Part::Header(v1::SnapshotHeader::decode(*value)?),
        Kind::Links => Part::Links(v1::SnapshotLinks::decode(*value)?),
        Kind::PortGroups => Part::PortGroups(v1::SnapshotPortGroups::decode(*value)?),
        Kind::SubnetManager => Part::SubnetManager(v1::SubnetManager::decode(*value)?),
        Kind::Multicast => Part::Multicast(v1::SnapshotMulticast::decode(*value)?),
        Kind::Contents => Part::Tables(v1::SnapshotTables::decode(*value)?),
        Kind::PortTables => Part::PortTables(v1::SnapshotPortTables::decode(*value)?),
        Kind::Group => Part::Group(v1::SnapshotGroup::decode(*value)?),
        Kind::VirtualFabric => Part::VirtualFabric(v1::SnapshotVirtualFabric {
            record: value.to_vec(),
        }),
        Kind::DeviceGroup => {
            let name = rest.get(2 * size_of::<u32>()..).ok_or_else(wrong)?;
            Part::DeviceGroup(v1::SnapshotDeviceGroup {
                name: String::from_utf8_lossy(name).into_owned(),
                members: value.to_vec(),
            })
        }
        Kind::Quarantined => Part::Quarantined(v1::SnapshotQuarantined {
            records: value.to_vec(),
        }),
        Kind::Cables => Part::Cables(v1::SnapshotCables::decode(*value)?),
        Kind::Order | Kind::Routing | Kind::Health => return Err(wrong()),
    };
    Ok(Read::Other(part))
}
