//! Forwarding tables of switches.

use weft_dataplane::switch::{BLOCK, Block};
use weft_dataplane::{Network, Refused, SwitchRegisters};
use weft_wire::sm::{BlockModifier, MulticastModifier, PortGroupModifier};

use super::{Failure, Request};

/// The blocks that a request means.
#[derive(Clone, Copy)]
struct Blocks {
    first: u32,
    count: u8,
    /// Write one block to all from the first on, up to this one (not included).
    all_to: Option<u32>,
}

/// Writes the blocks of `data` if the request is a Set, and answers with the table's content.
fn access(
    network: &mut Network,
    request: &Request,
    blocks: Blocks,
    data: &mut [u8],
    get: impl Fn(&SwitchRegisters, u32) -> Result<Block, Refused>,
    set: impl Fn(&mut SwitchRegisters, u32, &Block) -> Result<(), Refused>,
) -> Result<(), Failure> {
    let switch = network.switch_mut(request.node);
    let switch = switch.ok_or(Failure::Unsupported)?;
    let end = blocks.first.saturating_add(u32::from(blocks.count));
    // All blocks must be there before one is written.
    get(switch, end.saturating_sub(1))?;
    if let Some(all_to) = blocks.all_to {
        if !request.set || blocks.count != 1 {
            return Err(Failure::Invalid);
        }
        let content = take(data)?;
        for block in blocks.first..all_to {
            set(switch, block, &content)?;
        }
    }
    for (place, bytes) in data.chunks_exact_mut(BLOCK).enumerate() {
        let block = blocks.first + place as u32;
        if request.set {
            let content = take(bytes)?;
            set(switch, block, &content)?;
        }
        bytes.copy_from_slice(&get(switch, block)?);
    }
    Ok(())
}

fn take(bytes: &[u8]) -> Result<Block, Failure> {
    let block = bytes.get(..BLOCK).and_then(|block| block.try_into().ok());
    block.ok_or(Failure::Invalid)
}

/// Blocks of a table of `entries`, `per_block` in each.
fn block_count(entries: u32, per_block: u32) -> u32 {
    entries.div_ceil(per_block)
}

pub(super) fn linear(
    network: &mut Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    let modifier = BlockModifier::from_bits(request.modifier);
    let cap = capacity(network, request, |switch| switch.info().linear_fdb_cap)?;
    access(
        network,
        request,
        blocks_of(modifier, cap),
        data,
        SwitchRegisters::linear_block,
        SwitchRegisters::set_linear_block,
    )
}

pub(super) fn port_group_fdb(
    network: &mut Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    let modifier = BlockModifier::from_bits(request.modifier);
    let cap = capacity(network, request, |switch| switch.info().port_group_fdb_cap)?;
    access(
        network,
        request,
        blocks_of(modifier, cap),
        data,
        SwitchRegisters::port_group_fdb_block,
        SwitchRegisters::set_port_group_fdb_block,
    )
}

fn capacity(
    network: &Network,
    request: &Request,
    entries: impl Fn(&SwitchRegisters) -> u32,
) -> Result<u32, Failure> {
    let switch = network.switch(request.node);
    switch.map(entries).ok_or(Failure::Unsupported)
}

fn blocks_of(modifier: BlockModifier, cap: u32) -> Blocks {
    Blocks {
        first: modifier.block,
        count: modifier.count,
        all_to: modifier.all_blocks.then(|| block_count(cap, 64)),
    }
}

pub(super) fn multicast(
    network: &mut Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    let modifier = MulticastModifier::from_bits(request.modifier);
    let cap = capacity(network, request, |switch| switch.info().multicast_fdb_cap)?;
    let position = modifier.position;
    let blocks = Blocks {
        first: modifier.block,
        count: modifier.count,
        all_to: modifier.all_blocks.then(|| block_count(cap, 8)),
    };
    access(
        network,
        request,
        blocks,
        data,
        |switch, block| switch.multicast_block(position, block),
        |switch, block, content| switch.set_multicast_block(position, block, content),
    )
}

pub(super) fn port_groups(
    network: &mut Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    let modifier = PortGroupModifier::from_bits(request.modifier);
    let cap = capacity(network, request, |switch| {
        u32::from(switch.info().port_group_cap)
    })?;
    let position = modifier.position;
    let blocks = Blocks {
        first: u32::from(modifier.block),
        count: modifier.count,
        all_to: modifier.all_blocks.then(|| block_count(cap, 8)),
    };
    access(
        network,
        request,
        blocks,
        data,
        |switch, block| switch.port_group_block(position, block.min(255) as u8),
        |switch, block, content| {
            switch.set_port_group_block(position, block.min(255) as u8, content)
        },
    )
}
