//! A master and its standby on a fabric, and what becomes of it when the master goes.

use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use weft_emulator::io::Control;
use weft_fabric::{Guid, Lid, PortNum};

use super::daemon::{Daemon, Seat};
use super::death::Death;
use super::hosts::Host;
use super::packets::Packets;
use super::relay::Relay;
use super::watch::{Counts, knows, watch};
use crate::Failure;
use crate::managers::fabric::Fabric;
use crate::managers::programs::{Kind, Programs};

/// Longest that a standby may take: the vendor's asks three times every 5 s before it sweeps.
const PATIENCE: Duration = Duration::from_secs(180);
/// How long is waited for what must not happen.
const STAYS: Duration = Duration::from_secs(10);
/// Time in which a standby gets what its master knows.
const EVEN: Duration = Duration::from_secs(6);
/// Priorities of the first master and of the standby; in a handover the standby is the better one, but for the elevated
/// priority.
const PRIORITIES: [u8; 2] = [5, 3];
const HANDOVER_PRIORITIES: [u8; 2] = [3, 5];
/// Places of hosts among all: the managers', on different switches; members of the group; one that asks for paths to another.
const MANAGERS: [usize; 2] = [0, 40];
const MEMBERS: [usize; 4] = [101, 202, 303, 404];
const ASKS: [usize; 2] = [505, 606];

/// A running pair.
pub(super) struct Pair {
    fabric: Fabric,
    hosts: [Guid; 2],
    master: Daemon,
    // Ends with this.
    _standby: Daemon,
    relay: Option<Relay>,
    members: Vec<Host>,
    asks: (Host, Guid),
}

/// What became of it.
#[derive(Debug)]
pub(super) struct Outcome {
    /// From the death to the first request for the identity of a switch.
    pub(super) noticed: Option<Duration>,
    /// To the first Set.
    pub(super) acted: Option<Duration>,
    /// To the moment from which every port that has a link names the new master.
    pub(super) known: Option<Duration>,
    /// To the first answer that a host gets from the new master.
    pub(super) answered: Option<Duration>,
    pub(super) sets: u64,
    /// Changes of states of ports, but for those of the death itself.
    pub(super) left_active: u64,
    /// Members of the group that the new master does not know.
    pub(super) lost: usize,
    /// Requests to hosts to register again.
    pub(super) asked_again: u64,
    /// Packets between hosts, and those of them that did not arrive.
    pub(super) sent: u64,
    pub(super) packets_lost: u64,
}

impl Pair {
    pub(super) fn start(
        programs: &Programs,
        kinds: [Kind; 2],
        hosts: u64,
        death: Death,
    ) -> Result<Self, Failure> {
        let fabric = Fabric::start(hosts, 0)?;
        let all: Vec<Guid> = fabric
            .topology()
            .hfis()
            .map(|(_, node)| node.guid())
            .collect();
        let at = |place: usize| all.get(place).copied();
        let at = |place| at(place).ok_or_else(|| fabric.failed("607 hosts are needed at least"));
        let seats = [at(MANAGERS[0])?, at(MANAGERS[1])?];
        let dirs = ["master", "standby"].map(|name| fabric.dir().join(name));
        let priorities = match death {
            Death::Handover => HANDOVER_PRIORITIES,
            _ => PRIORITIES,
        };
        let seat = |place: usize, peer| Seat {
            host: seats[place],
            priority: priorities[place],
            peer,
            dir: &dirs[place],
        };
        let master = Daemon::start(programs, kinds[0], &fabric, seat(0, None))?;
        fabric.wait_until_up()?;
        let mut members = Vec::new();
        for place in MEMBERS {
            let mut host = Host::attach(&fabric, at(place)?)?;
            host.join(&fabric, members.is_empty())?;
            members.push(host);
        }
        let (mut relay, mut peer) = (None, None);
        if let (Some(api), Kind::Weft) = (master.api, kinds[1]) {
            let (started, address) = Relay::start(api).map_err(Failure::io("relay"))?;
            (relay, peer) = (Some(started), Some(address));
        }
        let standby = Daemon::start(programs, kinds[1], &fabric, seat(1, peer))?;
        fabric.wait_until_quiet()?;
        sleep(EVEN);
        fabric.wait_until_quiet()?;
        let asks = (Host::attach(&fabric, at(ASKS[0])?)?, at(ASKS[1])?);
        let pair = Self {
            hosts: seats,
            master,
            _standby: standby,
            relay,
            members,
            asks,
            fabric,
        };
        pair.has_its_first_master()?;
        Ok(pair)
    }

    /// The standby has not taken over already.
    fn has_its_first_master(&self) -> Result<(), Failure> {
        let [master, _] = self.hosts;
        let lid = self.lid_of(master)?;
        match self.fabric.inspect(move |emulator| knows(emulator, lid))? {
            true => Ok(()),
            false => Err(self.fabric.failed("the first manager is not master")),
        }
    }

    fn lid_of(&self, host: Guid) -> Result<Lid, Failure> {
        let lid = self.fabric.inspect(move |emulator| {
            let network = emulator.network();
            let device = network.device_at(network.find(host)?);
            let at = device.port(PortNum(1))?;
            Some(network.port(at).info().lid)
        })?;
        lid.ok_or_else(|| self.fabric.failed("a manager has no LID"))
    }

    fn counts(&self) -> Result<Counts, Failure> {
        Counts::now(&self.fabric, self.hosts[1])
    }

    /// Has the master go.
    fn strike(&self, death: Death) -> Result<(), Failure> {
        let [node, _] = self.hosts;
        let port = PortNum(1);
        match death {
            Death::Killed => self.master.signal("KILL"),
            Death::Stopped => self.master.signal("STOP"),
            Death::HostGone => {
                self.master.signal("STOP")?;
                self.fabric.control(Control::NodeDown { node })
            }
            Death::LinkCut => self.fabric.control(Control::LinkDown { node, port }),
            Death::ChannelCut => {
                self.relay.iter().for_each(Relay::cut);
                Ok(())
            }
            Death::Handover => self.master.restore_priority(),
        }
    }

    /// The master goes; what becomes of the fabric.
    pub(super) fn dies(mut self, death: Death) -> Result<Outcome, Failure> {
        let stays = death == Death::ChannelCut;
        let [_, standby] = self.hosts;
        let lid = self.lid_of(standby)?;
        let before = self.counts()?;
        let start = Instant::now();
        self.strike(death)?;
        // Changes of the death itself.
        let struck = self.counts()?;
        let patience = if stays { STAYS } else { PATIENCE };
        let until = start + patience;
        let (fabric, (host, other)) = (&self.fabric, &mut self.asks);
        let nodes = fabric.topology().hfis().map(|(_, node)| node.guid());
        let packets = Packets::between(&nodes.collect::<Vec<_>>(), &self.hosts);
        let (seen, answered) = thread::scope(|scope| {
            let asks = scope.spawn(|| host.first_answer(fabric, *other, lid, until));
            let seen = watch(fabric, (standby, lid), struck, packets, until);
            (seen, asks.join())
        });
        let seen = seen?;
        let answered = answered.map_err(|_| self.fabric.failed("a host's thread has failed"))??;
        if seen.known.is_none() && !stays {
            return Err(self.fabric.failed(format!("{death}: nobody takes over")));
        }
        self.fabric.wait_until_quiet()?;
        let after = self.counts()?;
        let mut lost = 0;
        for host in &mut self.members {
            lost += usize::from(!host.leave(&self.fabric)?);
        }
        let since = |at: Instant| at.duration_since(start);
        Ok(Outcome {
            // Where the master stays, it is the one that asks.
            noticed: seen.noticed.filter(|_| !stays).map(since),
            acted: seen.acted.map(since),
            known: seen.known.map(since),
            answered: answered.map(since),
            sets: after.sets - before.sets,
            left_active: after.state_changes - struck.state_changes,
            lost,
            asked_again: after.asked_again - before.asked_again,
            sent: seen.packets.sent,
            packets_lost: seen.packets.lost,
        })
    }
}
