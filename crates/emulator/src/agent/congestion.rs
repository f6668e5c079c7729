//! Congestion control: capabilities of the node, its settings and its logs.

use weft_dataplane::Network;
use weft_dataplane::device::CCT_BLOCKS;
use weft_fabric::Tick;
use weft_wire::Layout;
use weft_wire::bits::store;
use weft_wire::sm::{CctModifier, CongestionInfo, PortModifier};

use super::{Failure, Request};

/// Events that a log can hold (`STL_NUM_CONGESTION_LOG_ENTRIES`).
const LOG_LEN: u8 = 96;
/// A log's type: 1 switch, 2 HFI.
const LOG_SWITCH: u8 = 1;
const LOG_HFI: u8 = 2;
/// Nanoseconds of a log's clock.
const LOG_CLOCK_NS: u64 = 1024;
/// Bytes of one block of an HFI's control table.
const CCT_BLOCK: usize = 128;
/// Bytes of CCTI_Limit before it.
const CCTI_LIMIT: usize = 2;
/// Bytes of one port's setting on a switch.
const PORT_SETTING: usize = 4;

fn hfi_only(network: &Network, request: &Request) -> Result<(), Failure> {
    match request.switch_only(network) {
        Ok(()) => Err(Failure::Unsupported),
        Err(_) => Ok(()),
    }
}

pub(super) fn info(network: &Network, request: &Request, data: &mut [u8]) -> Result<(), Failure> {
    request.read_only()?;
    request.plain()?;
    let switch = request.device(network).is_switch();
    let info = CongestionInfo {
        control_table_cap: if switch { 0 } else { CCT_BLOCKS },
        congestion_log_length: LOG_LEN,
        ..CongestionInfo::default()
    };
    info.encode(data);
    Ok(())
}

pub(super) fn switch_log(
    network: &Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    request.switch_only(network)?;
    log(request, LOG_SWITCH, data)
}

pub(super) fn hfi_log(
    network: &Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    hfi_only(network, request)?;
    log(request, LOG_HFI, data)
}

/// A log without events: nothing marks packets as congested yet, so none ever happened.
fn log(request: &Request, kind: u8, data: &mut [u8]) -> Result<(), Failure> {
    request.read_only()?;
    request.plain()?;
    let Tick(now) = request.now;
    data.fill(0);
    store(data, 0, 1, u64::from(kind));
    store(data, 4, 4, (now / LOG_CLOCK_NS) & u64::from(u32::MAX));
    Ok(())
}

pub(super) fn switch_setting(
    network: &mut Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    request.switch_only(network)?;
    setting(network, request, data)
}

pub(super) fn hfi_setting(
    network: &mut Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    hfi_only(network, request)?;
    setting(network, request, data)
}

fn setting(network: &mut Network, request: &Request, data: &mut [u8]) -> Result<(), Failure> {
    request.plain()?;
    if request.set {
        network.write_congestion_setting(request.node, 0, data);
    }
    copy(data, request.device(network).congestion_setting());
    Ok(())
}

pub(super) fn port_setting(
    network: &mut Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    request.switch_only(network)?;
    let modifier = PortModifier::from_bits(request.modifier);
    let ports = request.ports(network, modifier.port, modifier.count, false)?;
    let offset = usize::from(ports.first.0) * PORT_SETTING;
    if request.set {
        network.write_congestion_table(request.node, offset, data);
    }
    let table = request.device(network).congestion_table();
    copy(data, table.get(offset..).unwrap_or_default());
    Ok(())
}

pub(super) fn control_table(
    network: &mut Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    hfi_only(network, request)?;
    let modifier = CctModifier::from_bits(request.modifier);
    if u16::from(modifier.block) + u16::from(modifier.count) > u16::from(CCT_BLOCKS) {
        return Err(Failure::Invalid);
    }
    let offset = CCTI_LIMIT + usize::from(modifier.block) * CCT_BLOCK;
    let (limit, blocks) = data.split_at_mut(CCTI_LIMIT.min(data.len()));
    if request.set {
        network.write_congestion_table(request.node, 0, limit);
        network.write_congestion_table(request.node, offset, blocks);
    }
    let table = request.device(network).congestion_table();
    copy(limit, table);
    copy(blocks, table.get(offset..).unwrap_or_default());
    Ok(())
}

fn copy(to: &mut [u8], from: &[u8]) {
    let len = to.len().min(from.len());
    to[..len].copy_from_slice(&from[..len]);
    to[len..].fill(0);
}
