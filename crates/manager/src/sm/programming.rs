//! Writing what differs: sends the requests that [`program`] makes, and takes each node from stage to
//! stage.

use std::sync::Arc;

use weft_fabric::{PortNum, Tick};

use super::Manager;
use super::devices::{Lft, Stage};
use super::program::{self, Needs, Way, Writer, needs_comparison};
use super::tables::{Kind, TableId};
use super::wanted::port::first_difference;

/// Times that a stage starts over for a device that does not do as told; for one that did not in the
/// sweep before, none.
const REPEATS_MAX: u32 = 2;

/// Different things that are remembered as reported of a device in one sweep; beyond that, one may be
/// reported again.
const TOLD_MAX: usize = 16;

impl Manager {
    /// What decides on writes at present.
    pub(super) fn needs(&self) -> Needs<'_> {
        Needs {
            settings: &self.settings,
            plan: &self.plan,
            devices: &self.devices,
            sweep: self.sweep.number,
        }
    }

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
            device.work.enter(stage);
            self.requests
                .schedule
                .make_ready(node, &mut self.devices[node].work);
        }
    }

    /// Puts the next request of a node that is being written to into the batch; says whether there is
    /// one.
    pub(super) fn next_write(&mut self, node: u32) -> bool {
        let (stage, cursor) = (
            self.devices[node].work.stage,
            self.devices[node].work.cursor,
        );
        self.start_batch(node, stage != Stage::Compare);
        let mut writer = Writer {
            needs: Needs {
                settings: &self.settings,
                plan: &self.plan,
                devices: &self.devices,
                sweep: self.sweep.number,
            },
            node,
            step: self.sweep.step,
            cursor,
            batch: &mut self.requests.batch,
        };
        let any = program::next(&mut writer, stage);
        let cursor = writer.cursor;
        let device = &mut self.devices[node];
        device.work.cursor = cursor;
        device.observed.mft.sent_in(&self.requests.batch);
        any
    }

    /// What follows a stage of writing that is done; says whether the node goes on at once.
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
        if stage == Stage::WriteTable
            && let Some(row) = self.plan.row(self.sweep.step, node)
        {
            // Every block has been confirmed: share the row with the plan.
            self.devices[node].observed.lft = Lft::Whole(Arc::clone(row));
        }
        let way = Way {
            plan: &self.plan,
            gate: self.sweep.gate,
            step: self.sweep.step,
            updating: self.is_updating(),
        };
        let next = program::stage_after(&self.devices[node], &way);
        self.devices[node].work.enter(next);
        next != Stage::Ready
    }

    /// Takes over the groups that were written, all of them confirmed.
    pub(super) fn after_groups(&mut self, node: u32) {
        let needs = self.needs();
        let (wanted, blocks) = (needs.wanted_groups(node), needs.group_blocks(node));
        let observed = &mut self.devices[node].observed;
        if !std::mem::take(&mut observed.groups_refused) && wanted.is_some() {
            (observed.groups, observed.group_blocks) = (wanted, blocks);
        }
    }

    /// Whether something of the stage that has just been gone through is still to be written.
    fn is_left_over(&mut self, node: u32) -> bool {
        let work = &mut self.devices[node].work;
        let writes = (Stage::WriteNode..=Stage::WriteMulticast).contains(&work.stage);
        if work.cursor == 0 || !work.sent || !writes {
            return false;
        }
        let cursor = std::mem::take(&mut work.cursor);
        let left = self.next_write(node);
        self.devices[node].work.cursor = cursor;
        left
    }

    /// A device confirms what it was told with other values, again and again.
    fn does_not_obey(&mut self, now: Tick, node: u32, stage: Stage) {
        let guid = self.devices[node].identity.guid;
        let what = match stage {
            Stage::WriteTable => "its forwarding table".to_owned(),
            Stage::WriteMulticast => "its multicast table".to_owned(),
            Stage::WriteGroups | Stage::Resume => "its adaptive routing".to_owned(),
            _ => differing_setting(&self.needs(), node),
        };
        let told = format!("does not take over {what}");
        if self.tell_once(node, &told) {
            self.sweep.unfinished(format!("node {guid} {told}"));
        }
        // Ports work with a setting that differs; a table that differs leads packets astray.
        if matches!(stage, Stage::WriteTable | Stage::WriteGroups)
            || !self.needs().has_its_lid(node)
        {
            self.give_up(now, node);
        }
    }

    /// Reports what a device does in this sweep, once; says whether that was the first time.
    pub(super) fn tell_once(&mut self, node: u32, what: &str) -> bool {
        let device = &mut self.devices[node];
        let first = !device.work.told.iter().any(|told| told == what);
        if first && device.work.told.len() < TOLD_MAX {
            device.work.told.push(what.to_owned());
        }
        if first {
            let guid = device.identity.guid;
            self.out.fault(Some(guid), what);
        }
        first
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
