//! Two managers on one fabric: the first with the settings of the first file, the second with those
//! of either.

use weft_emulator::Emulator;
use weft_emulator::io::{Control, Input as ToFabric, Output as FromFabric};
use weft_fabric::enums::SmState;
use weft_fabric::{Guid, PortNum, Tick};
use weft_manager::{Input, Manager, ManagerSettings, Output, Planner, Settings};

use super::case::Case;
use crate::common::{fabric, latency};

struct Member {
    host: (Guid, PortNum),
    settings: Settings,
    manager: Option<Manager>,
    planner: Planner,
}

impl Member {
    fn start(&mut self) {
        self.manager = Some(Manager::new(self.settings.clone(), None));
        self.planner = Planner::default();
    }

    fn role(&self) -> Option<SmState> {
        self.manager.as_ref().map(|manager| manager.status().role)
    }
}

struct Pair {
    members: [Member; 2],
    emulator: Emulator,
    now: Tick,
    roles: Vec<(Tick, [Option<SmState>; 2])>,
}

/// The roles of both over time: both start, the first one dies, comes back.
pub(super) fn roles(case: &Case, first: &ManagerSettings, second: &ManagerSettings) -> String {
    let topology = std::sync::Arc::new(fabric(case.fabric));
    let hosts: Vec<Guid> = topology.hfis().map(|(_, node)| node.guid()).collect();
    let member = |host: Guid, settings: &ManagerSettings| Member {
        host: (host, PortNum(1)),
        settings: settings.sm.clone(),
        manager: None,
        planner: Planner::default(),
    };
    let mut emulator = Emulator::new(topology, latency()).unwrap();
    for node in [hosts[0], hosts[5]] {
        let is_sm = Control::IsSm {
            node,
            port: PortNum(1),
            is_sm: true,
        };
        emulator.handle(Tick(0), ToFabric::Control(is_sm)).unwrap();
    }
    let mut pair = Pair {
        members: [member(hosts[0], first), member(hosts[5], second)],
        emulator,
        now: Tick(0),
        roles: Vec::new(),
    };
    pair.members[0].start();
    pair.run_for(3);
    pair.members[1].start();
    pair.run_for(60);
    pair.members[0].manager = None;
    pair.run_for(120);
    pair.members[0].start();
    pair.run_for(60);
    format!("{:?}", pair.roles)
}

impl Pair {
    fn run_for(&mut self, seconds: u64) {
        let until = Tick(self.now.0 + seconds * 1_000_000_000);
        for member in &mut self.members {
            if let Some(manager) = &mut member.manager {
                manager.handle(self.now, Input::Tick);
            }
        }
        loop {
            while self.exchange() {}
            let roles = [self.members[0].role(), self.members[1].role()];
            if self.roles.last().is_none_or(|(_, last)| *last != roles) {
                self.roles.push((self.now, roles));
            }
            let due = self.members.iter().flat_map(|member| {
                let manager = member.manager.as_ref().and_then(Manager::deadline);
                [manager, member.planner.deadline()]
            });
            let due = due.chain([self.emulator.deadline()]).flatten().min();
            let Some(next) = due.filter(|next| *next <= until) else {
                self.now = until;
                return;
            };
            self.now = self.now.max(next);
            self.emulator.handle(self.now, ToFabric::Tick).unwrap();
            for member in &mut self.members {
                if let Some(manager) = &mut member.manager
                    && manager.deadline().is_some_and(|due| due <= self.now)
                {
                    manager.handle(self.now, Input::Tick);
                }
            }
        }
    }

    fn exchange(&mut self) -> bool {
        let mut moved = false;
        for member in &mut self.members {
            let Some(manager) = &mut member.manager else {
                continue;
            };
            while let Some(output) = manager.poll() {
                moved = true;
                match output {
                    Output::Send(packet) => {
                        let (node, port) = member.host;
                        let send = ToFabric::Send { node, port, packet };
                        self.emulator.handle(self.now, send).unwrap();
                    }
                    Output::Plan(input) => member.planner.begin(self.now, input),
                    _ => {}
                }
            }
            while let Some(planned) = member.planner.ready(self.now) {
                moved = true;
                manager.handle(self.now, planned);
            }
        }
        while let Some(FromFabric::Deliver { node, port, packet }) = self.emulator.poll() {
            moved = true;
            let mut members = self.members.iter_mut();
            let member = members.find(|member| member.host == (node, port));
            if let Some(manager) = member.and_then(|member| member.manager.as_mut()) {
                manager.handle(self.now, Input::Received(packet));
            }
        }
        moved
    }
}
