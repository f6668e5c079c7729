//! The transition of all switches from their tables to the new ones: gates that all must reach
//! before any continues.

use std::sync::Arc;

use weft_fabric::{NodeId, Tick};
use weft_state::State;

use crate::sm::devices::{Devices, Lft};
use crate::sm::leftovers;
use crate::sm::plan::Plan;
use crate::sm::tables::{Kind, TableId};

/// Work that all switches must have done before any of them continues.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, State)]
pub(in crate::sm) enum Gate {
    /// Adaptive routing is suspended everywhere before the first table changes.
    Settings,
    /// All maps of service channels are as they should be before the last table is written.
    Channels,
    /// One table after the other; with a single one no switch waits for another.
    #[default]
    Tables,
    /// Adaptive routing resumes when all tables have changed.
    Resume,
}

/// Progress of the switches towards the plan's tables.
#[derive(Debug, Clone, Default, State)]
pub(in crate::sm) struct Steps {
    /// Index of the table being written.
    pub(in crate::sm) step: usize,
    /// The gate at which the switches wait.
    pub(in crate::sm) gate: Gate,
    /// Until when packets may be in buffers that were sent off before this gate; none while it does
    /// not wait for that.
    leftovers_until: Option<Tick>,
}

/// Result of a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passage {
    /// The switches go on with maps of service channels.
    Channels,
    /// The switches go on with the next table.
    Table,
    /// They resume adaptive routing.
    Resume,
    /// Linear tables and groups are done; multicast tables may go on.
    Multicast,
    /// They wait, see [`Steps::leftovers_until`].
    Later,
    /// Some switch has not taken its maps of service channels over: no further table is written.
    WithoutMaps,
    /// Nothing more is behind it.
    End,
}

impl Steps {
    /// When a step that waits for packets in buffers may be taken.
    pub(in crate::sm) fn leftovers_until(&self) -> Option<Tick> {
        self.leftovers_until
    }

    /// Nothing is waited for any more.
    pub(super) fn forget_leftovers(&mut self) {
        self.leftovers_until = None;
    }

    /// Lets the switches, all of which wait, go on to what comes next.
    pub(super) fn pass(&mut self, now: Tick, plan: &Plan, devices: &Devices) -> Passage {
        let (settles, passage) = match self.gate {
            // Where entries are drained first, what groups have sent off leaves with theirs.
            Gate::Settings if !plan.pause || devices.are_suspended() => {
                let settles = plan.settle && !plan.settle_drained;
                (settles, Self::before_table(0, plan))
            }
            Gate::Channels if have_maps(plan, devices) => (false, Passage::Table),
            Gate::Channels => (false, Passage::WithoutMaps),
            Gate::Tables if self.may_take_next(plan, devices) => {
                (plan.settle_drained, Self::before_table(self.step + 1, plan))
            }
            Gate::Tables if plan.pause => (plan.settle, Passage::Resume),
            Gate::Tables | Gate::Resume if self.step + 1 == plan.steps.len() => {
                (false, Passage::Multicast)
            }
            _ => (false, Passage::End),
        };
        if settles && !self.have_leftovers_gone(now, devices) {
            return Passage::Later;
        }
        if matches!(passage, Passage::Table | Passage::Channels) && self.gate == Gate::Tables {
            self.step += 1;
        }
        match passage {
            Passage::Table => self.gate = Gate::Tables,
            Passage::Channels => self.gate = Gate::Channels,
            Passage::Resume => self.gate = Gate::Resume,
            _ => {}
        }
        passage
    }

    /// The work before a table: none but before the last one, which is proved with the plan's maps only.
    fn before_table(step: usize, plan: &Plan) -> Passage {
        match plan.maps_channels && step + 1 == plan.steps.len() {
            true => Passage::Channels,
            false => Passage::Table,
        }
    }

    /// The gate at which switches wait first.
    pub(super) fn first_gate(plan: &Plan) -> Gate {
        match plan.pause || plan.maps_channels {
            true => Gate::Settings,
            false => Gate::Tables,
        }
    }

    /// Whether there is a further step, and all switches have confirmed the tables of this one. If
    /// one has not, drained entries stay drained until the next sweep knows its tables: it may
    /// still send those LIDs on the old path, and old and new paths together may run in a circle.
    fn may_take_next(&self, plan: &Plan, devices: &Devices) -> bool {
        self.step + 1 < plan.steps.len() && self.is_confirmed(plan, devices)
    }

    /// Whether adaptive routing may resume: all switches have confirmed their new tables. Groups are proved
    /// together with these, not with what is left of old ones.
    pub(super) fn may_resume(&self, plan: &Plan, devices: &Devices) -> bool {
        self.step + 1 == plan.steps.len() && self.is_confirmed(plan, devices)
    }

    /// Whether all switches have confirmed the tables of this step.
    fn is_confirmed(&self, plan: &Plan, devices: &Devices) -> bool {
        let confirmed = |node: &NodeId| {
            let device = &devices[*node];
            let health = &device.health;
            let unsure = health.overwritten || (health.failed && health.doubtful);
            match (&device.observed.lft, plan.row(self.step, node.0)) {
                (Lft::Whole { row: held, .. }, Some(row)) => {
                    !unsure && (Arc::ptr_eq(held, row) || held == row)
                }
                _ => false,
            }
        };
        plan.topology.switches().iter().all(confirmed)
    }

    /// Whether packets that were sent off before the switches came to this gate have left them. See
    /// [`leftovers`].
    fn have_leftovers_gone(&mut self, now: Tick, devices: &Devices) -> bool {
        let switches = devices.iter().filter_map(|device| device.observed.switch());
        let longest = switches.map(|switch| switch.life_time_value).max();
        let stay = leftovers::stay(longest.unwrap_or_default());
        *self.leftovers_until.get_or_insert(now + stay) <= now
    }
}

/// Whether all switches have confirmed their maps of service channels, but those that have failed in this
/// sweep.
fn have_maps(plan: &Plan, devices: &Devices) -> bool {
    let switches = plan.topology.switches().iter();
    let switches = switches.filter(|node| !devices[**node].health.failed);
    let mut ports = switches.flat_map(|node| {
        let observed = &devices[*node].observed;
        let ports = plan.tables[node.0 as usize].iter();
        let held = observed.port_tables.iter().map(|tables| &tables.ids);
        ports.zip(held)
    });
    let at = Kind::ScToSc.index();
    ports.all(|(wanted, held)| wanted[at] == TableId::UNKNOWN || wanted[at] == held[at])
}
