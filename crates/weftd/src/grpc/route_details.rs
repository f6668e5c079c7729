//! What RouteService tells of a path besides its links: the choices of adaptive routing, service levels and lanes, and the paths
//! that another engine would make.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task;
use tonic::Status;
use weft_api::{point_of, v1};
use weft_fabric::topology::node_type;
use weft_fabric::{Guid, Lid, PortRef, Snapshot, Topology};
use weft_manager::sm::reroute::{Basis, Change};
use weft_manager::vf::{Fabrics, LevelTo};
use weft_routing::EngineKind;

use super::last_read::LastRead;
use super::refusal::status;
use super::{Services, stopping};
use crate::request::{Request as Order, ask};

/// The routes of an engine that were asked for last: people look at one beside the route in force, and several may look at
/// once. Of 27,648 hosts they have some 80 MB.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastMade(LastRead<(EngineKind, u64, u64), Made, 1>);

/// The fabric with the routes of another engine.
#[derive(Debug)]
pub(super) struct Made {
    pub(super) snapshot: Arc<Snapshot>,
    /// The engine that made them.
    pub(super) engine: String,
    /// Fallbacks and limits met.
    pub(super) notes: Vec<String>,
}

impl Services {
    /// The fabric of now with the routes that an engine would make: made once for a generation and its settings and drains,
    /// whoever asks.
    pub(super) async fn routes_of(&self, engine: EngineKind) -> Result<Arc<Made>, Status> {
        self.must_be_master()?;
        let (done, answer) = oneshot::channel();
        let change = Change::Engine(engine);
        ask(&self.engine, Order::Basis { change, done }).map_err(|refusal| status(&refusal))?;
        let basis = answer.await.map_err(|_| stopping())?;
        let basis = basis.map_err(|error| status(&error.into()))?;
        let now = self.hub.snapshot();
        let question = (engine, now.generation, basis.epoch);
        self.last_made
            .0
            .answer(question, self.make_routes(basis, now))
            .await
    }

    async fn make_routes(&self, basis: Box<Basis>, now: Arc<Snapshot>) -> Result<Made, Status> {
        let turn = self.forecasts.enter().await;
        if !basis.has_nodes_of(&now.topology) {
            return Err(Status::unavailable(
                "the fabric changes just now: ask again in a moment",
            ));
        }
        let made = task::spawn_blocking(move || {
            let _turn = turn;
            basis.preview()
        });
        let made = made
            .await
            .map_err(|error| Status::internal(error.to_string()))?;
        let preview = made.map_err(|error| status(&error.into()))?;
        Ok(Made {
            snapshot: Arc::new(Snapshot {
                linear: preview.linear,
                groups: preview.groups,
                ..now.as_ref().clone()
            }),
            engine: preview.engine,
            notes: preview.notes,
        })
    }

    /// Adds the service levels of each path of a route. Of another manager's fabric they are not known.
    pub(super) async fn add_levels(
        &self,
        snapshot: &Arc<Snapshot>,
        route: &mut v1::Route,
    ) -> Result<(), Status> {
        if self.must_be_master().is_err() {
            return Ok(());
        }
        let topology = &snapshot.topology;
        let ends = (
            end(topology, route.source.as_ref()),
            end(topology, route.destination.as_ref()),
        );
        let (Some(source), Some(target)) = ends else {
            return Ok(());
        };
        let lids: Vec<u32> = route
            .paths
            .iter()
            .map(|path| path.destination_lid)
            .collect();
        let snapshot = Arc::clone(snapshot);
        let settings = self.query_settings.borrow().sa.clone();
        // Membership is tested by the rules of device groups.
        let work = move || {
            let fabrics = Fabrics::new(&snapshot, &settings);
            let of = |lid: &u32| {
                let levels = fabrics.levels_to(source, target, Lid(*lid)).into_iter();
                levels.map(|level| message(&fabrics, level)).collect()
            };
            lids.iter().map(of).collect::<Vec<Vec<v1::PathLevel>>>()
        };
        let found = self.workers.run(work).await?;
        for (path, levels) in route.paths.iter_mut().zip(found) {
            path.levels = levels;
        }
        Ok(())
    }
}

fn message(fabrics: &Fabrics<'_>, level: LevelTo) -> v1::PathLevel {
    let lanes = level.hops.iter().map(|hop| v1::PathLane {
        sc: hop.sc.0.into(),
        vl: hop.vl.0.into(),
    });
    let why = level.stopped.as_ref();
    v1::PathLevel {
        virtual_fabric: fabrics.name(level.fabric).to_owned(),
        sl: level.sl.0.into(),
        lanes: lanes.collect(),
        stopped_reason: why.map_or_else(String::new, |why| why.words(&fabrics.snapshot().topology)),
    }
}

/// Adds to each link of a route those that its switch may choose in its place.
pub(super) fn add_choices(snapshot: &Snapshot, route: &mut v1::Route) {
    let topology = &snapshot.topology;
    for path in &mut route.paths {
        let lid = Lid(path.destination_lid);
        for hop in &mut path.hops {
            let Some(at) = end(topology, hop.from.as_ref()) else {
                continue;
            };
            let switch = topology.switch_index(at.node);
            let group = switch.and_then(|switch| snapshot.groups.group(switch, lid));
            let ports = group.into_iter().flat_map(|ports| ports.iter());
            let choices = ports.filter_map(|port| {
                let from = PortRef { port, ..at };
                Some(v1::HopChoice {
                    from: Some(link_end(topology, from)?),
                    to: Some(link_end(topology, topology.peer(from)?)?),
                })
            });
            hop.choices = choices.collect();
        }
    }
}

/// The port of an end of a link.
fn end(topology: &Topology, end: Option<&v1::LinkEnd>) -> Option<PortRef> {
    let (guid, port): (Guid, _) = point_of(end?.port.as_ref()?)?;
    let node = topology.find(guid)?;
    Some(PortRef { node, port })
}

fn link_end(topology: &Topology, at: PortRef) -> Option<v1::LinkEnd> {
    let node = topology.node(at.node)?;
    Some(v1::LinkEnd {
        port: weft_api::port_id(topology, at),
        node_type: node_type(node).0.into(),
        node_name: node.name(),
    })
}
