//! Writing what differs: sends the requests that [`program`] makes, and takes each node from stage to
//! stage.

use std::sync::Arc;

use weft_fabric::{PortNum, Tick};
use weft_wire::sm::AttributeId;

use super::Manager;
use super::devices::{Lft, Stage};
use super::program::{self, Needs, Way, Writer, needs_comparison};
use super::tables::{Kind, TableId};
use super::wanted::port::first_difference;

/// Retries per stage for a device whose reply differs from the Set; 0 if it already failed in the
/// last sweep.
const REPEATS_MAX: u32 = 2;

impl Manager {
    /// Gives every node that answered its work.
    pub(super) fn begin_program(&mut self) {
        let number = self.sweep.number;
        for node in self.devices.numbers() {
            let device = &mut self.devices[node];
            if !device.health.works_in(number) {
                continue;
            }
            device.health.stubborn = !std::mem::take(&mut device.work.told).is_empty();
            let stage = match needs_comparison(&device.observed) {
                true => Stage::Compare,
                false => Stage::WriteNode,
            };
            self.requests.schedule.begin(node, &mut device.work, stage);
        }
    }

    /// Puts the next request of a node that is being written to into the batch; returns whether there is
    /// one.
    pub(super) fn next_write(&mut self, node: u32) -> bool {
        let is_first = self.devices[node].work.repeats == 0;
        let is_full = self.sweep.phase().is_some() && self.sweep.near.is_none();
        let rewrites = self.settings.requests.rewrites && is_first && is_full;
        self.next_difference(node, rewrites)
    }

    /// The same, with what is confirmed if it is to be written again.
    fn next_difference(&mut self, node: u32, rewrites: bool) -> bool {
        let (stage, cursor) = (
            self.devices[node].work.stage,
            self.devices[node].work.cursor,
        );
        self.start_batch(node, stage != Stage::Compare);
        self.requests.batch.skip(self.settings.requests.skips);
        let mut writer = Writer {
            needs: Needs {
                settings: &self.settings,
                plan: &self.planning.plan,
                devices: &self.devices,
                sweep: self.sweep.number,
                rewrites,
            },
            node,
            step: self.sweep.steps.step,
            cursor,
            batch: &mut self.requests.batch,
        };
        let any = program::next(&mut writer, stage);
        let cursor = writer.cursor;
        let device = &mut self.devices[node];
        device.work.cursor = cursor;
        device.observed.mft.sent_in(&self.requests.batch);
        if any && stage == Stage::WriteTable {
            let row = self.planning.plan.row(self.sweep.steps.step, node);
            device.observed.sent_row = row.map(Arc::clone);
        }
        any
    }

    /// Next stage after a finished stage of writing; returns whether the node continues at once.
    pub(super) fn after_writing(&mut self, now: Tick, node: u32) -> bool {
        let stage = self.devices[node].work.stage;
        if stage != Stage::Compare && self.is_left_over(node) {
            let device = &mut self.devices[node];
            device.work.cursor = 0;
            device.work.repeats += 1;
            let most = if device.health.stubborn {
                0
            } else {
                REPEATS_MAX
            };
            if device.work.repeats <= most {
                return true;
            }
            self.does_not_obey(now, node, stage);
            if self.devices[node].health.failed {
                return false;
            }
        }
        let skips = self.settings.requests.skips;
        if stage == Stage::WriteTable
            && !skips.cover(AttributeId::LINEAR_FDB)
            && let Some(row) = self.planning.plan.row(self.sweep.steps.step, node)
        {
            // Every block has been confirmed: share the row with the plan.
            let blocks = self.planning.plan.blocks(row);
            let row = Arc::clone(row);
            let observed = &mut self.devices[node].observed;
            (observed.lft, observed.sent_row) = (Lft::Whole { row, blocks }, None);
        }
        let way = Way {
            plan: &self.planning.plan,
            gate: self.sweep.steps.gate,
            step: self.sweep.steps.step,
            updating: self.registrations.is_updating(),
        };
        let next = program::stage_after(&self.devices[node], &way);
        self.devices[node].work.enter(next);
        next != Stage::Ready
    }

    /// Whether something of the stage that has just been gone through is still to be written.
    fn is_left_over(&mut self, node: u32) -> bool {
        let work = &mut self.devices[node].work;
        let writes = (Stage::WriteNode..=Stage::WriteMulticast).contains(&work.stage);
        if work.cursor == 0 || !work.sent || !writes {
            return false;
        }
        let cursor = std::mem::take(&mut work.cursor);
        let left = self.next_difference(node, false);
        self.devices[node].work.cursor = cursor;
        left
    }

    /// A device repeatedly confirms other values than those written.
    fn does_not_obey(&mut self, now: Tick, node: u32, stage: Stage) {
        let what = match stage {
            Stage::WriteTable => "its forwarding table".to_owned(),
            Stage::WriteMulticast => "its multicast table".to_owned(),
            Stage::WriteGroups | Stage::Resume => "its adaptive routing".to_owned(),
            _ => differing_setting(&self.needs(), node),
        };
        let told = format!("does not take over {what}");
        if self.out.fault_once(&mut self.devices[node], &told) {
            let label = self.devices[node].label();
            self.sweep.unfinished(format!("{label} {told}"));
        }
        // Ports work with a setting that differs; a table that differs leads packets astray.
        if matches!(stage, Stage::WriteTable | Stage::WriteGroups)
            || !self.needs().has_its_lid(node)
        {
            self.give_up(now, node);
        }
    }
}

/// The first setting or table of a node's ports that is not as it should be.
fn differing_setting(needs: &Needs<'_>, node: u32) -> String {
    let observed = &needs.devices[node].observed;
    let ports = || (0..=observed.num_ports()).map(PortNum);
    let setting = ports().find_map(|port| {
        let wanted = needs.wanted_port(node, port)?;
        first_difference(&wanted, observed.port(port)?).map(|found| found.of_port(port))
    });
    let table = || {
        let kinds = Kind::ALL.into_iter();
        let mut all = kinds.flat_map(|kind| ports().map(move |port| (kind, port)));
        let is_open = |(kind, port): &(Kind, PortNum)| {
            observed.port(*port).is_some()
                && needs.table_to_write(node, *port, *kind) != TableId::UNKNOWN
        };
        let (kind, port) = all.find(is_open)?;
        Some(format!("{} of its port {port}", kind.attribute()))
    };
    let found = setting.or_else(table);
    found.unwrap_or_else(|| "its SwitchInfo".to_owned())
}
