//! Each fault as steps in time.

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use weft_emulator::io::{Control, Faults, LinkTrap};
use weft_fabric::{Guid, Lid, PortRef, Topology};
use weft_wire::Layout;
use weft_wire::sm::{AttributeId, NodeDescription};
use weft_wire::text::Text;

use super::fault::Fault;
use super::files::StateFile;
use super::managers::Setting;
use super::place::{Places, any};
use crate::campaign::election::Trouble;
use crate::campaign::programs::Port;

pub(super) const MS: u64 = 1_000_000;
pub(super) const S: u64 = 1_000 * MS;

/// Something that is done.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// To the fabric or a manager.
    Trouble(Trouble),
    /// Each host of a list asks for so many paths.
    AskPaths(Vec<Port>, u32),
    /// Each host of a list joins a multicast group, or leaves it.
    Join(Vec<Port>, bool),
    /// A host sends so many datagrams that no manager understands.
    Garbage(Port, u32),
    /// The manager that is master dies in the middle of its next writes, after so many Sets.
    KillMaster(u64),
    /// The manager that is master is stopped.
    FreezeMaster,
    /// The cable of the master's host is pulled.
    CutMaster,
    /// All managers that are dead, stopped or cut off go on.
    Heal,
    /// The host of the manager that is master is paused, with its clock.
    PauseMaster,
    /// It goes on, and does not know that time has passed.
    ResumeUnaware,
    /// The clock on the wall of a manager's host is set so many seconds ahead.
    SetClock(usize, i64),
    /// The disk of a manager's host is full, or has room again.
    DiskFull(usize, bool),
    /// A manager that does not run has another file in the place of its state.
    PutState(usize, StateFile),
    /// The master sweeps.
    Sweep,
    /// All managers have another value of a setting.
    Set(Setting),
    /// All managers have the settings that they began with.
    SettingsOfBefore,
    /// A switch is drained, where that can be.
    Drain(Guid),
    /// A switch that is drained is used again.
    Undrain(Guid),
    /// Several people give the master orders about a switch and a port, at one moment.
    Contradict(Guid, Port),
}

/// A planted fault: its steps, nanoseconds from its beginning, and its end.
#[derive(Debug, Clone, Default)]
pub(super) struct Plant {
    pub(super) steps: Vec<(u64, Step)>,
    /// From here on everything has to hold again.
    pub(super) ends_ns: u64,
}

impl Plant {
    pub(super) fn step(&mut self, at: u64, step: Step) {
        self.steps.push((at, step));
        self.ends_ns = self.ends_ns.max(at);
    }

    pub(super) fn control(&mut self, at: u64, control: Control) {
        self.step(at, Step::Trouble(Trouble::Fabric(control)));
    }

    /// Something that begins now and ends in a time.
    pub(super) fn during(&mut self, until: u64, begins: Control, ends: Control) {
        self.control(0, begins);
        self.control(until, ends);
    }
}

/// Draws the steps of a fault.
pub(super) fn plant(
    fault: Fault,
    rng: &mut ChaCha8Rng,
    topology: &Topology,
    places: &Places,
) -> Plant {
    let until = rng.random_range(100 * MS..15 * S);
    let mut planter = Planter {
        until,
        topology,
        places,
        plant: Plant::default(),
    };
    planter.plant(fault, rng);
    let mut plant = planter.plant;
    plant.steps.sort_by_key(|(at, _)| *at);
    plant
}

pub(super) struct Planter<'a> {
    /// When what ends ends.
    pub(super) until: u64,
    pub(super) topology: &'a Topology,
    pub(super) places: &'a Places,
    pub(super) plant: Plant,
}

impl Planter<'_> {
    /// The other end of a cable.
    pub(super) fn far(&self, (node, port): Port) -> Option<Port> {
        let node = self.topology.find(node)?;
        let far = self.topology.peer(PortRef { node, port })?;
        Some((self.topology.node(far.node)?.guid(), far.port))
    }

    fn plant(&mut self, fault: Fault, rng: &mut ChaCha8Rng) {
        match fault {
            Fault::LinkDown
            | Fault::LinkFlaps
            | Fault::FewerLanes
            | Fault::HalfSpeed
            | Fault::ErrorsRise
            | Fault::OneWayLoss
            | Fault::Stuck
            | Fault::CableMoved
            | Fault::CablesSwapped
            | Fault::Loop => self.cable(fault, rng),
            Fault::Descriptions => self.descriptions(rng),
            Fault::DownAndUp => self.detour(rng),
            Fault::OtherShape => self.other_shape(rng),
            Fault::SmallMtu
            | Fault::SlowAgent
            | Fault::SilentAgent
            | Fault::SmallTable
            | Fault::RefusedAttribute
            | Fault::WrongNodeGuid
            | Fault::WrongPortGuid
            | Fault::LateAnswers
            | Fault::WrongSource => self.agent(fault, rng),
            Fault::SetNotApplied => self.liar(rng),
            Fault::SwitchDies | Fault::SwitchReboots | Fault::LeavesReboot | Fault::HostsReboot => {
                self.power(fault, rng)
            }
            Fault::LeafCut | Fault::HalfOfLinks | Fault::FabricsJoined => self.cuts(fault, rng),
            Fault::StolenLid
            | Fault::JoinStorm
            | Fault::PathStorm
            | Fault::Malformed
            | Fault::TrapStorm => self.hosts(fault, rng),
            Fault::Loss | Fault::Delay | Fault::Duplicates | Fault::Reorder => {
                self.wire(fault, rng);
            }
            Fault::ThirdManager
            | Fault::MasterKilled
            | Fault::MasterHangs
            | Fault::OwnPort
            | Fault::Failovers
            | Fault::OldMaster
            | Fault::StateFile
            | Fault::ClockJumps
            | Fault::OtherSettings
            | Fault::OldState
            | Fault::Contradictions => self.managers(fault, rng),
        }
    }

    /// Nodes are given names again and again: of any bytes, none, and the same ones.
    fn descriptions(&mut self, rng: &mut ChaCha8Rng) {
        for _ in 0..rng.random_range(1..=20) {
            let node = match rng.random_bool(0.5) {
                true => any(rng, &self.places.hosts).0,
                false => *any(rng, &self.places.switches),
            };
            let mut bytes = [0; NodeDescription::LEN];
            match rng.random_range(0..4) {
                0 => {}
                1 => bytes[..4].copy_from_slice(b"node"),
                _ => {
                    let len = rng.random_range(1..=bytes.len());
                    rng.fill(&mut bytes[..len]);
                }
            }
            let description = NodeDescription {
                node_string: Text(bytes),
            };
            let at = rng.random_range(0..self.until);
            self.plant
                .control(at, Control::Describe { node, description });
        }
    }

    fn agent(&mut self, fault: Fault, rng: &mut ChaCha8Rng) {
        let any_node = match rng.random_bool(0.5) {
            true => any(rng, &self.places.hosts).0,
            false => *any(rng, &self.places.switches),
        };
        let (host, _) = *any(rng, &self.places.hosts);
        let switch = *any(rng, &self.places.switches);
        let node = match fault {
            Fault::SmallTable => switch,
            Fault::WrongPortGuid => host,
            _ => any_node,
        };
        let (other, _) = *any(rng, &self.places.hosts);
        let claims = |set: &dyn Fn(&mut weft_emulator::Claims)| {
            let mut claims = weft_emulator::Claims::default();
            set(&mut claims);
            Control::Claim { node, claims }
        };
        let begins = match fault {
            Fault::SlowAgent => Control::Slow { node, extra_ns: S },
            Fault::LateAnswers => Control::Slow {
                node,
                extra_ns: rng.random_range(80 * MS..600 * MS),
            },
            Fault::SilentAgent => Control::Silence { node, silent: true },
            Fault::SmallMtu => claims(&|claims| {
                claims.mtu = Some(4);
                claims.lanes = Some(4);
            }),
            Fault::SmallTable => claims(&|claims| claims.table_size = Some(4)),
            Fault::RefusedAttribute => {
                let refused = *any(
                    rng,
                    &[
                        AttributeId::PORT_INFO,
                        AttributeId::SL_TO_SC,
                        AttributeId::VL_ARBITRATION,
                    ],
                );
                claims(&|claims| claims.refuses = Some(refused))
            }
            Fault::WrongSource => {
                let lid = Lid(rng.random_range(1..=16));
                claims(&|claims| claims.answers_from = Some(lid))
            }
            Fault::WrongNodeGuid => {
                let guid = *any(rng, &[Guid(0), other, switch]);
                claims(&|claims| claims.node_guid = Some(guid))
            }
            _ => claims(&|claims| claims.port_guid = Some(other)),
        };
        let ends = match begins {
            Control::Slow { .. } => Control::Slow { node, extra_ns: 0 },
            Control::Silence { .. } => Control::Silence {
                node,
                silent: false,
            },
            _ => claims(&|_| {}),
        };
        self.plant.during(self.until, begins, ends);
    }

    /// A node that starts again, and does not write an attribute that it says it has written: it answers with what it
    /// holds, or with what it should.
    fn liar(&mut self, rng: &mut ChaCha8Rng) {
        let node = match rng.random_bool(0.5) {
            true => any(rng, &self.places.hosts).0,
            false => *any(rng, &self.places.switches),
        };
        let attribute = *any(
            rng,
            &[
                AttributeId::PORT_INFO,
                AttributeId::SWITCH_INFO,
                AttributeId::LINEAR_FDB,
                AttributeId::P_KEY_TABLE,
                AttributeId::SL_TO_SC,
                AttributeId::SC_TO_VLT,
            ],
        );
        let pretends = rng.random_bool(0.5);
        let claims = weft_emulator::Claims {
            ignores: (!pretends).then_some(attribute),
            pretends: pretends.then_some(attribute),
            ..weft_emulator::Claims::default()
        };
        let truth = weft_emulator::Claims::default();
        let lies = Control::Claim { node, claims };
        self.plant.during(
            self.until,
            lies,
            Control::Claim {
                node,
                claims: truth,
            },
        );
        self.plant.control(1, Control::NodeDown { node });
        self.plant.control(MS, Control::NodeUp { node });
    }

    fn power(&mut self, fault: Fault, rng: &mut ChaCha8Rng) {
        let nodes: Vec<Guid> = match fault {
            Fault::LeavesReboot => self.places.leaves.clone(),
            Fault::HostsReboot => {
                let wave = self.places.wave(rng);
                wave.into_iter().map(|(node, _)| node).collect()
            }
            _ => vec![*any(rng, &self.places.switches)],
        };
        let away = match fault {
            Fault::SwitchDies => self.until,
            _ => *any(rng, &[MS, 100 * MS, 3 * S]),
        };
        for node in nodes {
            let (down, up) = (Control::NodeDown { node }, Control::NodeUp { node });
            self.plant.during(away, down, up);
        }
    }

    /// Links between switches that go at once; some come back.
    fn cuts(&mut self, fault: Fault, rng: &mut ChaCha8Rng) {
        let leaf = *any(rng, &self.places.leaves);
        let mut cut = match fault {
            Fault::HalfOfLinks => self.places.isls.clone(),
            _ => {
                let links = self.places.links_of(leaf).iter();
                links.map(|(port, _)| *port).collect()
            }
        };
        if fault == Fault::HalfOfLinks {
            cut.shuffle(rng);
            cut.truncate(self.places.isls.len() / 2);
        }
        // Long enough for a manager to become master of its part.
        let away = match fault {
            Fault::FabricsJoined => rng.random_range(15 * S..40 * S),
            _ => self.until,
        };
        let lasting = fault == Fault::HalfOfLinks && rng.random_bool(0.5);
        for (node, port) in cut {
            self.plant.control(0, Control::LinkDown { node, port });
            if !lasting {
                self.plant.control(away, Control::LinkUp { node, port });
            }
        }
    }

    fn hosts(&mut self, fault: Fault, rng: &mut ChaCha8Rng) {
        let host = *any(rng, &self.places.hosts);
        let plant = &mut self.plant;
        match fault {
            Fault::StolenLid => {
                let (node, port) = host;
                let lid = Lid(rng.random_range(1..=8));
                plant.control(0, Control::TakeLid { node, port, lid });
            }
            Fault::JoinStorm => {
                let hosts = self.places.wave(rng);
                for round in 0..20 {
                    plant.step(round * 50 * MS, Step::Join(hosts.clone(), round % 2 == 0));
                }
            }
            Fault::PathStorm => {
                let hosts = self.places.hosts.clone();
                for round in 0..5 {
                    plant.step(round * 100 * MS, Step::AskPaths(hosts.clone(), 40));
                }
            }
            Fault::Malformed => {
                for round in 0..20 {
                    plant.step(round * 10 * MS, Step::Garbage(host, 50));
                }
            }
            _ => {
                let (node, port) = self.places.cable(rng);
                for round in 0..500 {
                    plant.control(
                        round * 2 * MS,
                        Control::LinkErrors {
                            node,
                            port,
                            trap: LinkTrap::Integrity,
                        },
                    );
                }
            }
        }
    }

    fn wire(&mut self, fault: Fault, rng: &mut ChaCha8Rng) {
        let mut faults = Faults::default();
        match fault {
            Fault::Loss => faults.loss = rng.random_range(0.01..=0.9),
            Fault::Delay => {
                faults.delay_min_ns = rng.random_range(0..20 * MS);
                faults.delay_max_ns = faults.delay_min_ns + rng.random_range(0..200 * MS);
            }
            Fault::Duplicates => faults.duplicate = rng.random_range(0.1..=1.0),
            _ => {
                faults.reorder = rng.random_range(0.1..=0.9);
                faults.delay_max_ns = rng.random_range(MS..20 * MS);
            }
        }
        let (begin, end) = (Control::Faults(faults), Control::Faults(Faults::default()));
        self.plant.during(self.until, begin, end);
    }
}
