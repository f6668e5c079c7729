//! What people order the master to do, and what they may expect of it.

use weft_dataplane::Network;
use weft_fabric::enums::PortState;
use weft_fabric::{Guid, PortNum};
use weft_manager::Event;
use weft_manager::io::{Command, PortAction, PortOrder};
use weft_manager::sm::Settings;
use weft_manager::sm::drains::Drain;
use weft_manager::sm::reroute::{Change, Condition, RerouteError};
use weft_routing::EngineKind;

use super::fault::Fault;
use super::managers::Setting;
use super::{Run, State, THIRD};
use crate::campaign::programs::Port;
use crate::oracle::{Breach, Invariant};

/// What was ordered, until it is judged.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// Settings of all managers, where they have changed.
    before: Option<Vec<Settings>>,
    /// The switch that the master has promised to keep drained.
    drained: Option<Guid>,
    /// Commands that are to be answered.
    commands: Vec<u64>,
    /// Ports of which the last order was to enable them.
    enabled: Vec<Port>,
}

impl Run {
    /// Puts another value of a setting in force at all managers.
    pub(super) fn set(&mut self, setting: Setting) {
        let all = 0..=THIRD;
        let now: Vec<Settings> = all
            .map(|member| self.cluster.settings(member).clone())
            .collect();
        for (member, settings) in now.iter().enumerate() {
            let mut settings = settings.clone();
            setting.put(&mut settings);
            self.cluster.reconfigure(member, settings);
        }
        self.orders.before.get_or_insert(now);
    }

    pub(super) fn settings_of_before(&mut self) {
        for (member, settings) in self.orders.before.iter().flatten().enumerate() {
            self.cluster.reconfigure(member, settings.clone());
        }
    }

    /// Plans a change at the master and puts it in force; whether that was done.
    fn order(&mut self, change: Change) -> Option<Result<(), RerouteError>> {
        let master = self.master()?;
        let basis = match self.cluster.basis(master, change)? {
            Ok(basis) => basis,
            Err(error) => return Some(Err(error)),
        };
        if let Err(error) = basis.plan() {
            return Some(Err(error));
        }
        let condition = Condition::Epoch(basis.epoch);
        self.cluster.adopt(master, &condition, basis.wanted)
    }

    pub(super) fn drain(&mut self, switch: Guid) {
        let done = self.order(Change::Drain(Drain::Switch(switch)));
        // One that has just taken over hands on what nobody takes.
        if done == Some(Ok(())) && self.cell.state != State::Failover {
            self.orders.drained = Some(switch);
        }
    }

    pub(super) fn undrain(&mut self, switch: Guid) {
        let drain = Drain::Switch(switch);
        let led = self.led();
        let is_drained =
            led.is_some_and(|(_, manager)| manager.arrangement().drains.contains(&drain));
        if !is_drained && self.orders.drained == Some(switch) {
            let what = format!("{switch} was drained, and no manager knows it any more");
            self.breaches.push(Breach::new(Invariant::Drained, what));
        }
        self.orders.drained = None;
        if let (true, Some(Err(error))) = (is_drained, self.order(Change::Undrain(drain))) {
            let what = format!("{switch} cannot be used again: {error}");
            self.breaches.push(Breach::new(Invariant::Drained, what));
        }
    }

    /// Two plans of one state, of which only one may come into force, and orders about a port, of which the last one counts.
    pub(super) fn contradict(&mut self, switch: Guid, port: Port) {
        let Some(master) = self.master() else {
            return;
        };
        let changes = [
            Change::Drain(Drain::Switch(switch)),
            Change::Engine(EngineKind::ShortestPath),
            Change::Engine(EngineKind::Dmodc),
        ];
        let planned = changes.map(|change| {
            let basis = self.cluster.basis(master, change)?.ok()?;
            basis.plan().ok()?;
            Some(basis)
        });
        let mut adopted = 0;
        for basis in planned.into_iter().flatten() {
            let condition = Condition::Epoch(basis.epoch);
            match self.cluster.adopt(master, &condition, basis.wanted) {
                Some(Ok(())) => adopted += 1,
                Some(Err(RerouteError::Stale)) if adopted > 0 => {}
                other => self.steps.push((
                    self.cluster.now(),
                    format!("  an order has come to nothing: {other:?}"),
                )),
            }
        }
        if adopted > 1 {
            let what = format!("{adopted} plans of one state are in force");
            self.breaches.push(Breach::new(Invariant::AsPlanned, what));
        }
        let order = |action| Command::Port(PortOrder::new(port, action));
        let commands = [
            order(PortAction::Disable),
            Command::Sweep,
            order(PortAction::Enable),
            order(PortAction::Disable),
            order(PortAction::Bounce),
            order(PortAction::Enable),
        ];
        let ids = commands.map(|command| self.cluster.command(master, command));
        self.orders.commands.extend(ids);
        self.orders.enabled.push(port);
    }

    /// What people see in the end: every command was answered, ports are as the last one wanted them, settings are in force,
    /// of an engine that does not fit they are told, and what an earlier version has written is read.
    pub(super) fn judge_orders(&mut self) {
        let commands = std::mem::take(&mut self.orders.commands);
        let lost = commands
            .iter()
            .filter(|id| self.cluster.reply(**id).is_none());
        let lost = lost.count();
        if lost > 0 {
            let what = format!("{lost} of {} orders have no answer", commands.len());
            self.breaches.push(Breach::new(Invariant::Converged, what));
        }
        let network = self.cluster.emulator.network();
        let off = self
            .orders
            .enabled
            .iter()
            .filter(|port| is_down(network, **port));
        let off: Vec<Breach> = off
            .map(|(node, port)| {
                let what = format!("port {port} of {node} was enabled last, and is down");
                Breach::new(Invariant::TablesAsIntended, what)
            })
            .collect();
        self.breaches.extend(off);
        let refused = self
            .events
            .iter()
            .find_map(|(_, member, event)| match event {
                Event::StateRefused { why } => Some((member, why)),
                _ => None,
            });
        if let (Fault::OldState, Some((member, why))) = (self.cell.fault, refused) {
            let what = format!("manager {member} does not read an earlier version's state: {why}");
            self.breaches
                .push(Breach::new(Invariant::LidsInOrder, what));
        }
        if self.orders.before.is_some() || self.cell.fault == Fault::OtherShape {
            let unlike = self.settings_in_force();
            self.breaches.extend(unlike);
        }
    }

    fn settings_in_force(&self) -> Option<Breach> {
        let (master, manager) = self.led()?;
        let settings = self.cluster.settings(master);
        let life = settings.traffic.hoq_life;
        let network = self.cluster.emulator.network();
        let other = network.devices().filter(|(_, device)| device.is_switch());
        let other = other.flat_map(|(_, device)| {
            let guid = device.info.node_guid;
            device.ports().map(move |(number, at)| (guid, number, at))
        });
        let mut other = other.filter(|(_, number, at)| {
            let info = network.port(*at).info();
            *number != PortNum(0)
                && network.state(*at) == PortState::ACTIVE
                && info.xmit_q[0].hoq_life != life
        });
        if let Some((node, port, _)) = other.next() {
            let what = format!("HoqLife {life} is not in force at port {port} of {node}");
            return Some(Breach::new(Invariant::TablesAsIntended, what));
        }
        let adaptive = settings.routing.adaptive.is_some();
        if let Some((node, held)) = adaptive_otherwise(network, adaptive) {
            let on = |on| if on { "on" } else { "off" };
            let (held, adaptive) = (on(held), on(adaptive));
            let what =
                format!("adaptive routing is {adaptive} in the settings and {held} at {node}");
            return Some(Breach::new(Invariant::TablesAsIntended, what));
        }
        let wanted = settings.routing.engine;
        let mut named = EngineKind::NAMED.iter();
        let (name, _) = named.find(|(_, kind)| *kind == wanted)?;
        let engine = manager.status().engine;
        let ended = self.events.iter().rev().find_map(|(_, member, event)| {
            let of_master = *member == master;
            match event {
                Event::SweepEnded(report) if of_master => Some(report.routing.clone()),
                _ => None,
            }
        });
        let is_told = ended.is_some_and(|said| said.contains(&format!("\"{name}\" given up")));
        let fits = wanted == EngineKind::Automatic || engine == *name;
        (!fits && !is_told).then(|| {
            let what =
                format!("the engine is {engine}, not {name}, and the sweep does not say why");
            Breach::new(Invariant::AsPlanned, what)
        })
    }
}

/// A switch with an active link that is capable of adaptive routing and does not do as it should, and whether it routes so.
fn adaptive_otherwise(network: &Network, adaptive: bool) -> Option<(Guid, bool)> {
    let mut switches = network.devices().filter_map(|(id, device)| {
        let info = network.switch(id)?.info();
        let is_used = device
            .ports()
            .any(|(number, at)| number != PortNum(0) && network.state(at) == PortState::ACTIVE);
        let is_concerned = is_used && info.is_adaptive_routing_supported;
        is_concerned.then_some((device.info.node_guid, info.ar_enable && !info.ar_pause))
    });
    switches.find(|(_, held)| *held != adaptive)
}

fn is_down(network: &Network, (node, port): Port) -> bool {
    let at = network
        .find(node)
        .and_then(|id| network.device_at(id).port(port));
    at.is_none_or(|at| network.state(at) == PortState::DOWN)
}
