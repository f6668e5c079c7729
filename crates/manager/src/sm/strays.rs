//! Answers without a request.
//!
//! A retried Set may arrive twice, the second time after a later write to the same place.
//! Its second answer shows the resulting value. If that equals the node's confirmed state, and no
//! other write is in flight to it, it did no harm; otherwise the node is read again.
//!
//! An unexpected answer from a node without an overdue one shows more: datagrams arrive
//! twice in this fabric. Then any write of the sweep may have, and its second answer may be lost. All nodes
//! that were written to are read again.

use weft_fabric::tables::LFT_BLOCK;
use weft_fabric::{PortNum, Tick};
use weft_wire::Layout;
use weft_wire::header::method;
use weft_wire::sm::aggregate::{Segment, segments};
use weft_wire::sm::{AttributeId, BlockModifier, PortInfo, PortModifier};
use weft_wire::smp::SmpView;

use super::Manager;
use super::confirm::table_port;
use super::devices::{Device, Devices, Lft, reported_external_port, reported_port};
use super::tables::{Kind, TableStore};
use super::wanted::port::first_difference;
use crate::ask::is_of_a_set;
use crate::io::SweepReason;

/// The attributes of a datagram, in an Aggregate or alone.
fn parts<'a>(view: &SmpView<'a>) -> Vec<Segment<'a>> {
    let modifier = view.header.attribute_modifier;
    match view.attribute() {
        AttributeId::AGGREGATE => segments(view.payload, (modifier & 0xFF) as usize)
            .flatten()
            .collect(),
        attribute => vec![Segment {
            attribute,
            error: view.status() != 0,
            modifier,
            data: view.payload,
        }],
    }
}

/// Whether a part may be of something that is not read in every sweep: a table, or PortInfo, which is
/// read with the bit that starts a configuration.
fn is_setting(part: &Segment<'_>) -> bool {
    match part.attribute {
        AttributeId::NODE_INFO
        | AttributeId::NODE_DESCRIPTION
        | AttributeId::SWITCH_INFO
        | AttributeId::PORT_STATE_INFO => false,
        AttributeId::PORT_INFO => !PortModifier::from_bits(part.modifier).start_of_sm_configuration,
        _ => true,
    }
}

/// Whether two parts may be of the same place in a node.
fn meet(a: &Segment<'_>, b: &Segment<'_>) -> bool {
    let blocks = |part: &Segment<'_>| {
        let modifier = BlockModifier::from_bits(part.modifier);
        let first = u64::from(modifier.block);
        first..first + u64::from(modifier.count)
    };
    let overlap = || blocks(a).start < blocks(b).end && blocks(b).start < blocks(a).end;
    a.attribute == b.attribute && (a.attribute != AttributeId::LINEAR_FDB || overlap())
}

/// The node at the end of an answer's directed route.
fn node_behind(devices: &Devices, view: &SmpView<'_>) -> Option<u32> {
    let route = view.directed?;
    let hops = usize::from(view.header.hop_count);
    let path = route.initial_path.iter().skip(1).take(hops);
    let path: Vec<PortNum> = path.copied().map(PortNum).collect();
    devices.behind(&path)
}

impl Manager {
    /// Processes an answer without a request. A Get that arrived twice has changed nothing.
    pub(super) fn stray(&mut self, now: Tick, view: &SmpView<'_>) {
        let Some(node) = node_behind(&self.devices, view) else {
            return;
        };
        // An overdue answer of one sweep may arrive in the next.
        let overdue = self.devices[node].health.overdue;
        self.sweep.twice |= overdue.is_none_or(|sweep| sweep + 1 < self.sweep.number);
        if !is_of_a_set(view.header.transaction_id) {
            return;
        }
        if self.changed_something(node, view) {
            let health = &mut self.devices[node].health;
            (health.doubtful, health.overwritten) = (true, true);
            self.sweep
                .request(now, SweepReason::Unfinished, &self.settings.sweeps);
        }
    }

    /// Doubts all that was written since the last sweep began, where datagrams have arrived twice; returns
    /// the number of nodes concerned.
    pub(super) fn doubt_writes(&mut self) -> usize {
        let number = self.sweep.number;
        if !std::mem::take(&mut self.sweep.twice) {
            return 0;
        }
        let health = self.devices.iter_mut().map(|device| &mut device.health);
        let written = health.filter(|health| health.written == number);
        let doubted = written.map(|health| health.doubtful = true);
        doubted.count()
    }

    /// Whether a stray answer of a Set may mean that the node holds something else than is believed.
    fn changed_something(&self, node: u32, view: &SmpView<'_>) -> bool {
        let mut settings = parts(view);
        settings.retain(is_setting);
        let done = view.status() == 0;
        let known =
            |part: &Segment<'_>| done && !part.error && is_as_believed(&self.devices, node, part);
        let under_way = self.requests.transactions.to(node);
        !settings.iter().all(known) || is_being_written(under_way, &settings)
    }
}

/// Whether a write that may be of the same place is among the requests to a node.
fn is_being_written<'a>(
    under_way: impl Iterator<Item = &'a [u8]>,
    settings: &[Segment<'_>],
) -> bool {
    let under_way = under_way.filter_map(|mad| SmpView::parse(mad).ok());
    let mut writes = under_way.filter(|asked| asked.header.method == method::SET);
    writes.any(|asked| {
        let written = parts(&asked);
        let meets = |part| written.iter().any(|other| meet(part, other));
        settings.iter().any(meets)
    })
}

/// Whether the part shows what its node is believed to hold.
fn is_as_believed(devices: &Devices, node: u32, part: &Segment<'_>) -> bool {
    let device = &devices[node];
    match part.attribute {
        AttributeId::LINEAR_FDB => is_row_as_believed(&device.observed.lft, part),
        AttributeId::PORT_INFO => is_port_as_believed(device, part),
        _ => is_table_as_believed(device, &devices.tables, part),
    }
}

fn is_table_as_believed(device: &Device, tables: &TableStore, part: &Segment<'_>) -> bool {
    let Some((kind, first, count, false)) = Kind::of(part.attribute, part.modifier) else {
        return false;
    };
    (0..count).all(|offset| {
        let port = PortNum(first.0.saturating_add(offset));
        let port = table_port(device, port, kind);
        let believed = device.observed.table(port, kind);
        let ports = device.observed.num_ports();
        let at = usize::from(offset) * kind.stride(ports);
        part.data.get(at..at + kind.len(ports)) == Some(tables.content(believed))
    })
}

fn is_row_as_believed(held: &Lft, part: &Segment<'_>) -> bool {
    let modifier = BlockModifier::from_bits(part.modifier);
    let count = usize::from(modifier.count);
    let mut blocks = (modifier.block as usize..).zip(part.data.chunks(LFT_BLOCK).take(count));
    part.data.len() >= count * LFT_BLOCK
        && blocks.all(|(block, entries)| held.block_is(block, entries))
}

fn is_port_as_believed(device: &Device, part: &Segment<'_>) -> bool {
    let modifier = PortModifier::from_bits(part.modifier);
    let port = match device.is_switch() {
        true => modifier.port,
        false => device.end_port(),
    };
    let reported = match port == device.end_port() {
        true => reported_port,
        false => reported_external_port,
    };
    let shown = PortInfo::decode(part.data).map(reported);
    let (Ok(shown), Some(held)) = (shown, device.observed.port(port)) else {
        return false;
    };
    !modifier.all_ports && modifier.count <= 1 && first_difference(&shown, held).is_none()
}
