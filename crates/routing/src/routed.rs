//! From a topology and settings to certified tables.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::{Duration, Instant};

use thiserror::Error;
use weft_fabric::{Lanes, LinearTables, PortGroupTables, Topology};
use weft_state::State;

use crate::adaptive::Groups;
use crate::certificate::{
    Certificate, Old, Proof, Refusal, Transition, transition, transition_over,
};
use crate::engine::{
    DgShortestPath, Dmodc, Dor, Engine, FatTree, Hypercube, Layered, OpaShortestPath, Plan,
    ShortestPath, UpDown, is_tree,
};
use crate::error::RouteError;
use crate::network::Network;
use crate::settings::{EngineKind, Settings};

/// The engine whose tables came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub enum EngineUsed {
    /// `shortestpath`.
    ShortestPath,
    /// `opa-shortestpath`.
    OpaShortestPath,
    /// `dmodc`.
    Dmodc,
    /// `fattree`.
    FatTree,
    /// `fattree` on paths that never turn from down to up.
    FatTreeUpDown,
    /// Least-cost paths that never turn from down to up, counted from one root.
    UpDown,
    /// `dgshortestpath`.
    DgShortestPath,
    /// `hypercube`.
    Hypercube,
    /// `dor`.
    Dor,
    /// `layered`.
    Layered,
    /// One that is not part of this crate, see [`route_by`]. The subnet manager has none, so that its state needs no name.
    Own(#[state(skip)] &'static str),
}

impl fmt::Display for EngineUsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ShortestPath => "shortestpath",
            Self::OpaShortestPath => "opa-shortestpath",
            Self::Dmodc => "dmodc",
            Self::FatTree => "fattree",
            Self::FatTreeUpDown => "fattree, up*/down* only",
            Self::UpDown => "shortestpath, up*/down* only",
            Self::DgShortestPath => "dgshortestpath",
            Self::Hypercube => "hypercube",
            Self::Dor => "dor",
            Self::Layered => "layered",
            Self::Own(name) => name,
        })
    }
}

/// Something the administrator should know about the result.
#[derive(Debug, Clone, PartialEq, Eq, State)]
pub enum Note {
    /// An engine was given up for the next one.
    Fallback {
        /// The engine given up.
        from: EngineUsed,
        /// The one tried next.
        to: EngineUsed,
        /// Why.
        why: String,
    },
    /// Switches whose group table is too small.
    GroupsLimited {
        /// Number of switches.
        switches: usize,
        /// Pairs of a switch and a LID that choose among fewer ports than they could.
        pairs: u64,
        /// Those of them that have no choice left.
        alone: u64,
    },
    /// Adaptive groups were left out because they would close a cycle.
    GroupsRefused {
        /// Why.
        why: String,
    },
    /// Adaptive routing is on, and the engine makes no groups.
    GroupsNotMade,
    /// Paths that are longer than they need be, because the least-cost ones close a credit cycle
    /// in every lane.
    Detours {
        /// LIDs of HFIs with such paths.
        lids: u64,
        /// All LIDs of HFIs.
        of: u64,
        /// Lanes that there are.
        lanes: u8,
    },
    /// Links that the configured topology does not have, left unused.
    LinksIgnored {
        /// Number of cables.
        links: u64,
        /// The first ones, in words.
        first: String,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fallback { from, to, why } => {
                write!(f, "engine \"{from}\" given up for \"{to}\": {why}")
            }
            Self::GroupsLimited {
                switches,
                pairs,
                alone,
            } => write!(
                f,
                "group tables of {switches} switches are too small: {pairs} of their entries choose among fewer ports, {alone} of these among one"
            ),
            Self::GroupsRefused { why } => write!(f, "adaptive groups left out: {why}"),
            Self::GroupsNotMade => write!(f, "this engine makes no adaptive groups"),
            Self::Detours { lids, of, lanes } => write!(
                f,
                "{lanes} lane(s) are too few: {lids} of {of} LIDs are reached by detours"
            ),
            Self::LinksIgnored { links, first } => {
                write!(
                    f,
                    "{links} links are not of the configured topology: {first}"
                )
            }
        }
    }
}

/// Certified tables.
#[derive(Debug, Clone, State)]
pub struct Routed {
    linear: Arc<LinearTables>,
    groups: Arc<PortGroupTables>,
    engine: EngineUsed,
    notes: Vec<Note>,
    #[state(skip)]
    certificate_took: Duration,
    basis: Arc<Basis>,
}

/// Inputs of rerouting.
#[derive(Debug, State)]
struct Basis {
    engine: EngineUsed,
    plan: Plan,
    groups: Option<Groups>,
    proof: Proof,
}

impl Basis {
    /// The network after a change of links; none where more may have changed, or where what was
    /// read before is not kept.
    fn network(&self, topology: &Topology) -> Option<Network> {
        let kept = self.plan.kept.as_deref()?;
        let changed = topology.changed_since(self.proof.nodes())?;
        kept.network().after(topology, &changed)
    }
}

impl Routed {
    /// Linear forwarding tables of all switches.
    pub fn linear(&self) -> &Arc<LinearTables> {
        &self.linear
    }

    /// Adaptive groups of all switches, empty when adaptive routing is off.
    pub fn groups(&self) -> &Arc<PortGroupTables> {
        &self.groups
    }

    /// The lane of each LID, one for all unless the engine needs more.
    pub fn lanes(&self) -> &Arc<Lanes> {
        self.linear.lanes()
    }

    /// The engine that made them.
    pub fn engine(&self) -> EngineUsed {
        self.engine
    }

    /// Fallbacks and limits met during routing.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Wall-clock time that the proof took, of the time that routing took.
    pub fn certificate_took(&self) -> Duration {
        self.certificate_took
    }

    /// The proof.
    pub fn certificate(&self) -> &Certificate {
        self.basis.proof.certificate()
    }

    /// Whether answers on the service level of the request are free of deadlock, too: an
    /// answer then travels in the lane of the requested LID. With one lane it always is; with
    /// several this follows every destination once more for each of them.
    pub fn covers_answers(&self) -> bool {
        self.basis.proof.covers_answers()
    }

    /// Transition from old tables to these: the result of [`certify_transition`](crate::certify_transition),
    /// without certifying these tables again.
    pub fn transition(&self, old: Old<'_>) -> Transition {
        transition(&self.basis.proof, old)
    }

    /// Transition while more links are up, or may come up, than these tables are made for: old
    /// entries may lead over all of `links`, which has the nodes of their topology, with the same numbers,
    /// and its links.
    pub fn transition_over(&self, links: &Topology, old: Old<'_>) -> Transition {
        transition_over(&self.basis.proof, links, old)
    }
}

/// Routes a topology whose end ports have LIDs and certifies the result. End ports without a LID
/// are left out.
///
/// # Errors
/// [`RouteError`] when LIDs are unusable or no engine's tables pass.
pub fn route(topology: &Topology, settings: &Settings) -> Result<Routed, RouteError> {
    let network = Network::new(topology)?;
    let engines = engines(topology, &network, settings);
    attempt_each((topology, &network), settings, &engines, None)
}

/// Routes after a change, with the result of [`route`] and less work: `before` is an
/// earlier result for the previous fabric. After a lost or a returned link `dmodc` recomputes
/// only the entries that can have changed, and the certificate follows only destinations whose
/// entries have; if that proves nothing, it certifies in full.
///
/// # Errors
/// See [`route`].
pub fn reroute(
    before: &Routed,
    topology: &Topology,
    settings: &Settings,
) -> Result<Routed, RouteError> {
    let basis = &*before.basis;
    let network = match basis.network(topology) {
        Some(network) => network,
        None => Network::new(topology)?,
    };
    let engines = engines(topology, &network, settings);
    let basis = Some(basis);
    attempt_each((topology, &network), settings, &engines, basis)
}

/// Routes with a custom engine; if its tables fail the certificate, with the general engines.
///
/// # Errors
/// See [`route`].
pub fn route_by(
    topology: &Topology,
    settings: &Settings,
    engine: &dyn Engine,
) -> Result<Routed, RouteError> {
    let network = Network::new(topology)?;
    let general = general(settings);
    let mut engines = vec![engine];
    engines.extend(general.iter().map(|engine| &**engine));
    attempt_each((topology, &network), settings, &engines, None)
}

fn attempt_each<E>(
    fabric: (&Topology, &Network),
    settings: &Settings,
    engines: &[E],
    before: Option<&Basis>,
) -> Result<Routed, RouteError>
where
    E: Deref,
    E::Target: Engine,
{
    let mut notes = Vec::new();
    for (index, engine) in engines.iter().enumerate() {
        let next = engines.get(index + 1).map(|next| next.name());
        let from = engine.name();
        match (attempt(fabric, settings, &**engine, before), next) {
            (Ok(mut routed), _) => {
                notes.append(&mut routed.notes);
                routed.notes = notes;
                return Ok(routed);
            }
            (Err(why), Some(to)) => notes.push(Note::Fallback {
                from,
                to,
                why: why.to_string(),
            }),
            (Err(Failure::Refused(refusal)), None) => return Err(refusal.into()),
            (Err(Failure::Unfit(why)), None) => return Err(RouteError::Unfit { why }),
        }
    }
    Err(RouteError::Unfit {
        why: "there is no engine".to_owned(),
    })
}

/// The engines in the order in which they are tried.
fn engines<'a>(
    topology: &'a Topology,
    network: &Network,
    settings: &'a Settings,
) -> Vec<Box<dyn Engine + 'a>> {
    let spine_first = settings.spine_first;
    let fat_tree = |up_down| FatTree {
        topology,
        settings: &settings.fat_tree,
        up_down,
    };
    let dmodc = Dmodc {
        topology,
        settings: &settings.fat_tree,
    };
    let lanes = settings.lanes;
    let mut engines: Vec<Box<dyn Engine + 'a>> = Vec::new();
    match settings.engine {
        EngineKind::Automatic if is_tree(network) => engines.push(Box::new(dmodc)),
        EngineKind::Dmodc => engines.push(Box::new(dmodc)),
        EngineKind::FatTree => {
            engines.push(Box::new(fat_tree(false)));
            engines.push(Box::new(fat_tree(true)));
        }
        EngineKind::DgShortestPath => engines.push(Box::new(DgShortestPath {
            topology,
            spine_first,
            order: &settings.routing_order,
        })),
        EngineKind::Hypercube => engines.push(Box::new(Hypercube {
            settings: &settings.hypercube,
            adaptive: settings.adaptive.is_some(),
        })),
        EngineKind::Dor => engines.push(Box::new(Dor {
            settings: &settings.dor,
            lanes,
            adaptive: settings.adaptive.is_some(),
        })),
        EngineKind::OpaShortestPath => engines.push(Box::new(OpaShortestPath { spine_first })),
        EngineKind::Automatic | EngineKind::ShortestPath | EngineKind::Layered => {}
    }
    engines.extend(general(settings));
    engines
}

/// Those that fit any fabric, the last one always.
fn general(settings: &Settings) -> Vec<Box<dyn Engine>> {
    let (spine_first, lanes) = (settings.spine_first, settings.lanes);
    let is_layered = settings.engine == EngineKind::Layered;
    let mut engines: Vec<Box<dyn Engine>> = Vec::new();
    if !is_layered {
        engines.push(Box::new(ShortestPath { spine_first }));
    }
    if lanes > 1 || is_layered {
        let adaptive = settings.adaptive.is_some();
        engines.push(Box::new(Layered { lanes, adaptive }));
    }
    engines.push(Box::new(UpDown { spine_first }));
    engines
}

/// Why an engine's attempt came to nothing.
#[derive(Debug, Error)]
enum Failure {
    #[error("{0}")]
    Unfit(String),
    #[error("{0}")]
    Refused(Refusal),
}

fn attempt<E: Engine + ?Sized>(
    (topology, network): (&Topology, &Network),
    settings: &Settings,
    engine: &E,
    before: Option<&Basis>,
) -> Result<Routed, Failure> {
    let own = before.filter(|before| before.engine == engine.name());
    let mut plan = match own {
        Some(before) => engine.replan(network, &before.plan),
        None => engine.plan(network),
    }
    .map_err(Failure::Unfit)?;
    let mut notes = std::mem::take(&mut plan.notes);
    let made = settings.adaptive.and_then(|_| {
        let made = own.and_then(|before| before.groups.as_ref());
        let made = made.map(|made| (made, &plan.untouched[..]));
        Groups::new(topology, network, &plan.choices, made)
    });
    notes.extend((settings.adaptive.is_some() && made.is_none()).then_some(Note::GroupsNotMade));
    notes.extend(made.as_ref().and_then(Groups::note));
    let groups = made.as_ref().map(|made| made.tables.clone());
    let groups = Arc::new(groups.unwrap_or_default());
    let start = Instant::now();
    let (groups, proof) = prove(topology, &plan.linear, groups, before, &mut notes)?;
    Ok(Routed {
        linear: Arc::clone(&plan.linear),
        groups,
        engine: engine.name(),
        notes,
        certificate_took: start.elapsed(),
        basis: Arc::new(Basis {
            engine: engine.name(),
            plan,
            groups: made,
            proof,
        }),
    })
}

/// Certifies the tables, without their groups if only these fail.
fn prove(
    topology: &Topology,
    linear: &Arc<LinearTables>,
    groups: Arc<PortGroupTables>,
    before: Option<&Basis>,
    notes: &mut Vec<Note>,
) -> Result<(Arc<PortGroupTables>, Proof), Failure> {
    let judge = |groups: &Arc<PortGroupTables>| {
        let known = before.and_then(|before| before.proof.advance(topology, linear, groups));
        known.map_or_else(|| Proof::new(topology, linear, groups), Ok)
    };
    match judge(&groups) {
        Err(refusal) if !groups.switches.is_empty() => {
            let without = Arc::default();
            let proof = judge(&without).map_err(Failure::Refused)?;
            let why = refusal.to_string();
            notes.push(Note::GroupsRefused { why });
            Ok((without, proof))
        }
        judged => Ok((groups, judged.map_err(Failure::Refused)?)),
    }
}
