//! What must hold while a fault is there, and after it.

use std::collections::BTreeMap;
use std::time::Duration;

use weft_fabric::enums::PortState;
use weft_fabric::{Guid, Lid, PortNum, Tick};
use weft_manager::io::Command;

use super::place::any;
use super::{Fault, Run, STEP};
use crate::campaign::bring_up::RunError;
use crate::campaign::programs::Port;
use crate::campaign::{judge, parts};
use crate::oracle::{Breach, Invariant, counters, lids, masters, names, quiet};
use crate::view::{self, FabricView};

/// I9: from the end of a fault to a fabric in which everything holds, as in the campaign of elections.
const CONVERGED_WITHIN: Duration = Duration::from_secs(90);
/// I7: managers may take turns to write for so long after the end of a fault.
const CONTENDED_WITHIN: Duration = Duration::from_secs(25);
/// I8: for so long nothing is written once everything holds. Longer than from one sweep to the next.
const STILL: Duration = Duration::from_secs(15);
/// Time between two looks at the fabric.
const LOOK_EVERY: Duration = Duration::from_millis(250);

impl Run {
    /// I2, I7, I11 and I14, which hold at all times.
    pub(super) fn look(&mut self) {
        self.events.append(&mut self.cluster.take_events());
        self.breaches.extend(parts::illegal(&mut self.cluster));
        for mut circle in self.sets.take_circles() {
            // A sweep that began before cables were plugged in elsewhere does not know where they lead.
            circle.other_wrote = circle.other_wrote.max(self.recabled);
            let (events, in_flight) = (&self.events, self.in_flight());
            let excused =
                !self.settled && parts::could_not_know(&self.cluster, events, &circle, in_flight);
            if !excused {
                self.breaches.push(circle.breach);
            }
        }
        for (member, seen) in self.cluster.take_counted() {
            if let Some(before) = self.counted.get(&member) {
                self.breaches.extend(counters::check(before, &seen));
            }
            self.counted.insert(member, seen);
        }
        self.clients.take(&mut self.cluster);
        let wrong = self.clients.take_wrong();
        if self.judging {
            self.breaches.extend(wrong);
        }
    }

    /// Longest time from sending a Set to its execution: agents may be slow, and datagrams late.
    fn in_flight(&self) -> Duration {
        match self.cell.fault {
            Fault::SlowAgent | Fault::LateAnswers | Fault::Delay => Duration::from_secs(2),
            _ => masters::IN_FLIGHT_MAX,
        }
    }

    /// I9: within its bound there is a moment from which on everything holds, and I8: nothing is written for a while.
    pub(super) fn converge(&mut self, when: &str) -> Result<Option<Duration>, RunError> {
        let start = self.cluster.now();
        drop(self.cluster.take_writes());
        let (mut since, mut last) = (None, Vec::new());
        let mut sets = 0;
        while self.cluster.now().since(start) < CONVERGED_WITHIN {
            self.run_until(self.cluster.now() + LOOK_EVERY)?;
            let written = self.cluster.emulator.stats().sets_total();
            // Where nothing was written, what held holds.
            if since.is_none() || written != sets {
                last = self.judge();
                since = last.is_empty().then(|| self.cluster.now());
                self.settled = since.is_some();
                self.judging |= self.settled;
            }
            sets = written;
            if since.is_some_and(|since| self.cluster.now().since(since) >= STILL) {
                break;
            }
        }
        let writes = self.cluster.take_writes();
        self.breaches
            .extend(masters::check(&writes, CONTENDED_WITHIN));
        let now = self.cluster.now();
        let held = since.filter(|since: &Tick| now.since(*since) >= STILL);
        if since.is_some() && held.is_none() {
            let what = format!("the fabric is still written to {when}");
            last.push(Breach::new(Invariant::NoNeedlessSet, what));
        }
        self.breaches
            .extend(quiet::check_converged(held.is_some(), last, when));
        Ok(held.map(|at| at.since(start)))
    }

    /// Everything that must hold in quiet. The link of a port that has gone down over and over may be held back.
    pub(super) fn judge(&self) -> Vec<Breach> {
        parts::judge(&self.cluster, |view, root, master| {
            let mut view = view.clone();
            self.flapped
                .iter()
                .for_each(|port| held_back(&mut view, *port));
            let mut broken = judge::rules(&view, root, master, &[], &[]);
            broken.extend(names::check(
                self.cluster.emulator.network(),
                &master.snapshot(),
            ));
            broken
        })
    }

    /// The SA tells each host that is connected with the master a path to each of some others.
    pub(super) fn every_host_is_served(&mut self) -> Result<(), RunError> {
        let view = view::read(self.cluster.emulator.network());
        let Some(root) = self
            .master()
            .and_then(|it| view.find(self.cluster.host(it)))
        else {
            return Ok(());
        };
        let served = view.served(root);
        let is_served = |host: &&Port| view.find(host.0).is_some_and(|place| served[place]);
        let hosts: Vec<Port> = self
            .places
            .hosts
            .iter()
            .filter(is_served)
            .copied()
            .collect();
        let before = self.clients.answered;
        for from in &hosts {
            let to = *any(&mut self.rng, &hosts);
            self.clients.ask(&mut self.cluster, *from, to)?;
        }
        let until = self.cluster.now() + Duration::from_secs(1);
        while self.cluster.now() < until {
            self.cluster.run_until(self.cluster.now() + STEP)?;
            self.look();
        }
        let answered = self.clients.answered - before;
        if answered < hosts.len() as u64 {
            let what = format!("the SA answers {answered} of {} hosts", hosts.len());
            self.breaches.push(Breach::new(Invariant::Converged, what));
        }
        Ok(())
    }

    /// I8, by a sweep that is asked for.
    pub(super) fn unchanged_gets_no_set(&mut self) -> Result<(), RunError> {
        let Some(master) = self.master() else {
            return Ok(());
        };
        let before = self.cluster.emulator.stats().sets_total();
        let id = self.cluster.command(master, Command::Sweep);
        let until = self.cluster.now() + CONVERGED_WITHIN;
        let mut reply = None;
        while reply.is_none() && self.cluster.now() < until {
            self.cluster.run_until(self.cluster.now() + STEP)?;
            self.look();
            reply = self.cluster.reply(id);
        }
        if !matches!(reply, Some(Ok(_))) {
            let what = format!("the sweep of a quiet fabric: {reply:?}");
            self.breaches.push(Breach::new(Invariant::Converged, what));
        }
        let sets = self.cluster.emulator.stats().sets_total() - before;
        let needless = quiet::check_unwritten(sets, "in a sweep of an unchanged fabric");
        self.breaches.extend(needless);
        Ok(())
    }

    /// LIDs of nodes, as these hold them.
    pub(super) fn lids(&self) -> BTreeMap<Guid, Lid> {
        lids::by_guid(&view::read(self.cluster.emulator.network()))
    }
}

/// A link that is up and not armed carries no data, and need not.
fn held_back(view: &mut FabricView, (node, PortNum(port)): Port) {
    let Some(place) = view.find(node) else {
        return;
    };
    let mut end = |place: usize, port: u8| -> Option<(usize, u8)> {
        let port = view.nodes[place]
            .ports
            .get_mut(usize::from(port))?
            .as_mut()?;
        if port.state == PortState::ACTIVE {
            return None;
        }
        port.permitted = false;
        port.peer
    };
    if let Some((peer, far)) = end(place, port) {
        end(peer, far);
    }
}
