//! Programming as a pure difference: the remaining work of a node, from its confirmed state, the plan and
//! the settings. Nothing here changes the manager, which sends the resulting request and
//! records the answer.
//!
//! | module | contents |
//! |---|---|
//! | `needs` | intended state of a port or a switch, and the part to write |
//! | `writer` | a request under construction for one node |
//! | `compare` | reads of tables in use before this manager |
//! | `settings` | PortInfo, SwitchInfo and the tables of ports |
//! | `tables` | linear tables and adaptive groups |
//! | `multicast` | multicast tables |
//! | `states` | arming and activating ports, and asking hosts to register again |

mod compare;
mod multicast;
mod needs;
mod settings;
mod states;
mod tables;
mod writer;

use super::Manager;
use super::devices::{Device, Stage};
use super::plan::Plan;
use super::sweep::Gate;

pub(super) use compare::{is_live, needs_comparison};
pub(super) use needs::Needs;
pub(super) use writer::Writer;

impl Manager {
    /// Current inputs of writes.
    pub(super) fn needs(&self) -> Needs<'_> {
        Needs {
            settings: &self.settings,
            plan: &self.planning.plan,
            devices: &self.devices,
            sweep: self.sweep.number,
            rewrites: false,
        }
    }
}

/// Puts the next request of a stage of writing into the batch, as much as fits; returns whether there is
/// one.
pub(super) fn next(writer: &mut Writer<'_>, stage: Stage) -> bool {
    match stage {
        Stage::Compare => writer.compare(),
        Stage::WriteNode => writer.write_node(),
        Stage::WritePorts => writer.write_ports(),
        Stage::WriteKeys => writer.write_keys(),
        Stage::WriteChannels => writer.write_channels(),
        Stage::WriteTable => writer.write_table(),
        Stage::WriteGroups => writer.write_groups(),
        Stage::Resume => writer.resume(),
        Stage::WriteMulticast => writer.write_multicast(),
        Stage::Arm => writer.arm(),
        Stage::Activate => writer.activate(),
        Stage::Reregister => writer.register(),
        _ => false,
    }
}

/// Inputs of the order of stages, besides the node.
#[derive(Debug)]
pub(super) struct Way<'a> {
    pub plan: &'a Plan,
    /// The gate at which all switches wait.
    pub gate: Gate,
    /// Index of the linear table being written.
    pub step: usize,
    /// Only multicast tables are written, between sweeps.
    pub updating: bool,
}

/// The stage after one of writing whose items are all done; [`Stage::Ready`] waits for the others.
pub(super) fn stage_after(device: &Device, way: &Way<'_>) -> Stage {
    let after_settings = match way.gate {
        Gate::Settings => Stage::Ready,
        _ => Stage::WriteTable,
    };
    match device.work.stage {
        Stage::Compare => Stage::WriteNode,
        Stage::WriteNode if !device.is_switch() => Stage::Ready,
        // Nothing has changed at its ports.
        Stage::WriteNode if device.work.kept => after_settings,
        Stage::WriteNode => Stage::WritePorts,
        Stage::WritePorts => after_settings,
        Stage::WriteChannels => Stage::Ready,
        Stage::WriteTable if way.step + 1 < way.plan.steps.len() => Stage::Ready,
        Stage::WriteTable => Stage::WriteGroups,
        Stage::WriteGroups if way.plan.pause => Stage::Ready,
        Stage::WriteGroups => Stage::Resume,
        Stage::Resume => Stage::WriteMulticast,
        Stage::WriteMulticast if way.updating => Stage::Idle,
        Stage::WriteMulticast => Stage::Arm,
        _ => Stage::Ready,
    }
}

#[cfg(test)]
mod tests;
