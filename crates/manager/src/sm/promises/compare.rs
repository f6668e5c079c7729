//! What a device holds, and what it confirmed.

use weft_fabric::PortNum;
use weft_fabric::tables::LFT_BLOCK;
use weft_wire::sm::{AttributeId, BlockModifier, MulticastModifier};

use crate::ask::batch::Reply;
use crate::sm::confirm::table_port;
use crate::sm::devices::Device;
use crate::sm::mft::{self, BLOCK_LEN};
use crate::sm::tables::{Kind, TableId, TableStore};

/// The first entry that is not as it was confirmed, in words.
pub(super) fn difference(
    device: &Device,
    tables: &TableStore,
    reply: &Reply<'_>,
) -> Option<String> {
    match reply.attribute {
        AttributeId::LINEAR_FDB => linear(device, reply),
        AttributeId::MULTICAST_FDB => multicast(device, reply),
        _ => of_ports(device, tables, reply),
    }
}

fn linear(device: &Device, reply: &Reply<'_>) -> Option<String> {
    let modifier = BlockModifier::from_bits(reply.modifier);
    let blocks = reply.data.chunks_exact(LFT_BLOCK);
    let mut blocks = (modifier.block as usize..).zip(blocks.take(modifier.count.into()));
    let lft = &device.observed.lft;
    let found = blocks.find_map(|(block, entries)| lft.difference(block, entries))?;
    Some(found.to_string())
}

fn multicast(device: &Device, reply: &Reply<'_>) -> Option<String> {
    let modifier = MulticastModifier::from_bits(reply.modifier);
    let blocks = reply.data.chunks_exact(BLOCK_LEN);
    let mut blocks = (modifier.block as usize..).zip(blocks.take(modifier.count.into()));
    let position = modifier.position.into();
    let table = &device.observed.mft;
    let found =
        blocks.find_map(|(block, rows)| table.difference(block, position, &mft::decode(rows)))?;
    Some(found.to_string())
}

fn of_ports(device: &Device, tables: &TableStore, reply: &Reply<'_>) -> Option<String> {
    let (kind, first, count, _) = Kind::of(reply.attribute, reply.modifier)?;
    let external = device.observed.num_ports();
    let held = reply.data.chunks(kind.stride(external).max(1));
    let mut held = (0..count).zip(held);
    held.find_map(|(offset, held)| {
        let port = PortNum(first.0.saturating_add(offset));
        let port = table_port(device, port, kind);
        let id = device.observed.table(port, kind);
        let confirmed = (id != TableId::UNKNOWN).then(|| tables.content(id))?;
        let mut bytes = confirmed.iter().zip(held).enumerate();
        let (at, (confirmed, held)) = bytes.find(|(_, (confirmed, held))| confirmed != held)?;
        Some(format!(
            "it had confirmed {confirmed:#04x} for byte {at} of {} of port {port} and holds {held:#04x}",
            reply.attribute
        ))
    })
}
