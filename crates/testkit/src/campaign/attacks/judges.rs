//! What of an attack others notice, and what the managers tell of it.

use weft_fabric::PortNum;
use weft_fabric::enums::SmState;
use weft_manager::io::Event;

use super::Told;
use super::site::{Attacker, HARM_MAX, HONEST, Site};
use crate::campaign::judge;
use crate::oracle::multicast::{self, Group};
use crate::oracle::{Breach, Invariant, lids, reach};
use crate::view::{self, FabricView};

impl Site {
    /// Events of the honest managers since the attack began.
    pub(super) fn told(&self) -> impl Iterator<Item = &Event> {
        let honest = self
            .events
            .iter()
            .filter(|(_, number, _)| HONEST.contains(number));
        honest.map(|(.., event)| event)
    }

    /// What they tell of the attack.
    pub(super) fn is_told(&self) -> Told {
        let of_keys =
            |event: &Event| matches!(event, Event::Trap { what, .. } if what.starts_with("bad "));
        match self.names_attacker() {
            true => Told::Who,
            false if self.told().any(of_keys) => Told::What,
            false => Told::Counted,
        }
    }

    fn names_attacker(&self) -> bool {
        let Attacker {
            port, before, lid, ..
        } = self.attacker;
        let is_before = |end: &weft_manager::io::LinkEnd| (end.node, end.port) == before;
        self.told().any(|event| match event {
            Event::Trap { lid: of, what, .. } => *of == lid || what.contains(&format!("LID {lid}")),
            Event::DeviceFault { node, .. } => *node == Some(port.0),
            Event::DeviceRefused(refused) => is_before(&refused.trusted),
            Event::TrapStorm { port, .. } | Event::MulticastStorm { port, .. } => is_before(port),
            _ => false,
        })
    }

    /// The attack is over: what was written counts as harm, once, and whatever else is wrong with masters besides.
    pub(super) fn end_attack(&mut self) {
        let sets = self.written().filter(|_| !self.tells_writes);
        if let Some(sets) = sets {
            self.tells_writes = true;
            let what = format!("the attacker has written {sets}");
            self.harm(Breach::new(Invariant::OneMaster, what));
        }
    }

    /// Everything that must hold when the attack is over.
    pub(super) fn judge_in_quiet(&mut self) {
        self.end_attack();
        let mut seen = self.judge();
        seen.extend(self.judge_registers());
        seen.extend(self.bystanders.harm());
        self.harmed(seen);
    }

    /// Each rule is told once.
    pub(super) fn harmed(&mut self, seen: Vec<Breach>) {
        for breach in seen {
            if !self.broken.contains(&breach.invariant) {
                self.broken.push(breach.invariant);
                self.harm(breach);
            }
        }
    }

    fn harm(&mut self, breach: Breach) {
        if self.harm.len() < HARM_MAX {
            let at = self.cluster.now();
            self.steps.push((at, format!("harm: {breach}")));
            self.harm.push(breach);
        }
    }

    /// The registers without the attacker, whose own ways and LID nobody need keep.
    fn view(&self) -> FabricView {
        let mut view = view::read(self.cluster.emulator.network());
        let (node, port) = self.attacker.before;
        for (guid, PortNum(port)) in [(node, port), self.attacker.port] {
            let place = view.find(guid);
            let port = place
                .and_then(|place| view.nodes[place].ports.get_mut(usize::from(port))?.as_mut());
            if let Some(port) = port {
                port.permitted = false;
            }
        }
        view
    }

    /// Which P_Keys the attacker has is told by the switch's port before it, whatever is in its own table.
    fn trust_port_before(&self, view: &mut FabricView) {
        let place = |(guid, PortNum(port))| Some((view.find(guid)?, usize::from(port)));
        let (Some(own), Some(before)) = (place(self.attacker.port), place(self.attacker.before))
        else {
            return;
        };
        view.nodes[own.0].keys[own.1] = view.nodes[before.0].keys[before.1].clone();
    }

    /// One honest manager is master, and everything that it takes care of is in order.
    pub(super) fn judge(&self) -> Vec<Breach> {
        let masters = self.cluster.running().filter(|(number, manager)| {
            HONEST.contains(number) && manager.role() == SmState::MASTER
        });
        let masters: Vec<_> = masters.collect();
        let mut view = view::read(self.cluster.emulator.network());
        self.trust_port_before(&mut view);
        let [(number, master)] = masters.as_slice() else {
            let what = format!("{} of the two managers are master", masters.len());
            return vec![Breach::new(Invariant::OneMaster, what)];
        };
        let root = view.find(self.cluster.host(*number)).unwrap_or_default();
        judge::rules(&view, root, master, &self.groups(&view), &[])
    }

    /// What holds at all times: bystanders reach each other, have the LIDs that they had, and get their group's packets.
    pub(super) fn judge_registers(&self) -> Vec<Breach> {
        let view = self.view();
        let Some(root) = view.find(self.cluster.host(0)) else {
            return Vec::new();
        };
        let mut breaches = reach::check_reachable(&view, root);
        breaches.extend(reach::check_loops(&view));
        let mut now = lids::by_guid(&view);
        now.remove(&self.attacker.port.0);
        breaches.extend(lids::check_stable(&self.lids, &now));
        breaches.extend(multicast::check_delivery(&view, root, &self.groups(&view)));
        breaches
    }

    /// The bystanders' group. Others have no members that count: those of opafm.xml, and the attacker's.
    fn groups(&self, view: &FabricView) -> Vec<Group> {
        let own = self.bystanders.group();
        let rows = view.nodes.iter().map(|node| node.mft.len()).max();
        let others = (0..rows.unwrap_or(0) as u32).filter(|row| {
            let is_own = |own: &Group| own.row == *row;
            !own.as_ref().is_some_and(is_own)
        });
        let others = others.map(|row| Group {
            row,
            receivers: Vec::new(),
            senders: Vec::new(),
        });
        others.chain(own.clone()).collect()
    }
}
