//! WhatIfService: forecasts are computed on a thread for blocking work, one at a time, apart from sweeps.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task;
use tonic::{Request, Response, Status};
use weft_api::time::{duration_ms, timestamp_ms};
use weft_api::v1;
use weft_api::v1::get_forecast_request::Change as Asked;
use weft_api::v1::what_if_service_server::WhatIfService;
use weft_config::{Finding, Severity};
use weft_fabric::{PortRef, Snapshot, Topology};
use weft_manager::sm::reroute::{Basis, Change, Preview};
use weft_report::Selection;
use weft_traffic::foresee::{
    Doubt, Fabric, Forecast, HostChange, LINKS_MAX, LinkChange, NoForecast, PAIRS_MAX, Pair, Ports,
    Question, Traffic, forecast,
};
use weft_traffic::job::FULL;

use super::facts::Facts;
use super::history::millis;
use super::job::unread;
use super::refusal::{limit_reached, status, wrong_field, wrong_field_with};
use super::{Services, plan, select, stopping};
use crate::event_hub::unix_time_ms;
use crate::request::{Request as Order, ask};
use crate::what_if::{Counted, FLOWS_MAX, Waiting, given, of_image, of_past};

/// Links, hosts and pairs of an answer.
const LIMIT: usize = 100;
const LIMIT_MAX: usize = 10_000;
const CUT_MAX: usize = 100;
/// Points of a request.
const POINTS_MAX: usize = 1_000;
/// Share of a link's rate by which its load changes at least.
const CHANGED: f64 = 1e-3;
/// Part of a host's bandwidth that it loses at least.
const LOST: f64 = 0.01;
/// Note where switches choose by themselves.
const ADAPTIVE: &str = "routes that switches move by adaptive routing are not foreseen";

#[tonic::async_trait]
impl WhatIfService for Services {
    async fn get_forecast(
        &self,
        request: Request<v1::GetForecastRequest>,
    ) -> Result<Response<v1::GetForecastResponse>, Status> {
        let request = request.into_inner();
        let limit = match request.limit as usize {
            0 => LIMIT,
            limit @ 1..=LIMIT_MAX => limit,
            limit => {
                let what = format!("{limit}; at most {LIMIT_MAX}");
                return Err(wrong_field_with("limit", &what, Facts::limit(LIMIT_MAX)));
            }
        };
        let flows = request.traffic.len();
        if flows > FLOWS_MAX {
            let what = format!("{flows} flows; at most {FLOWS_MAX}");
            return Err(wrong_field_with("traffic", &what, Facts::limit(FLOWS_MAX)));
        }
        self.must_be_master()?;
        let waiting = Waiting::default();
        let turn = self.forecasts.enter().await;
        let (before, moment) = self.then_or_now(request.at).await?;
        let (change, lost, findings) = self.change(request.change, &before).await?;
        let Some(change) = change else {
            return Ok(Response::new(v1::GetForecastResponse {
                findings: findings.into_iter().map(v1::Finding::from).collect(),
                ..v1::GetForecastResponse::default()
            }));
        };
        let (done, answer) = oneshot::channel();
        ask(&self.engine, Order::Basis { change, done }).map_err(|refusal| status(&refusal))?;
        let basis = answer.await.map_err(|_| stopping())?;
        let mut basis = basis.map_err(|error| status(&error.into()))?;
        if moment.is_none() && !basis.has_nodes_of(&before.topology) {
            return Err(Status::unavailable(
                "the fabric changes just now: ask again in a moment",
            ));
        }
        let ports = Arc::new(Ports::new(&before.topology));
        let mut warnings = Vec::new();
        let pairs = match request.traffic.as_slice() {
            [] => None,
            flows => {
                Some(given(&before.topology, flows).map_err(|why| wrong_field("traffic", &why))?)
            }
        };
        let counted = match (&pairs, &moment) {
            (Some(_), _) => None,
            (None, None) => Some(self.counted_now(&before.topology, &ports)?),
            (None, Some(moment)) => {
                let time = moment.time.as_ref();
                let at = time.map_or(Ok(unix_time_ms()), |time| millis("at", time))?;
                Some(
                    self.counted_then(at, &before, &ports, &waiting, &mut warnings)
                        .await?,
                )
            }
        };
        if moment.is_some() {
            basis.of_another_moment(&before.topology);
        }
        let stop = waiting.has_gone();
        let times = counted
            .as_ref()
            .map(|counted| (counted.time_ms, counted.span_ms));
        let work = Work {
            basis,
            lost,
            before: Arc::clone(&before),
            ports,
            traffic: counted.map(|counted| counted.traffic).unwrap_or_default(),
            pairs,
        };
        let computed = task::spawn_blocking(move || {
            let _turn = turn;
            work.compute(&stop)
        });
        let computed = computed.await;
        let (preview, forecast) =
            computed.map_err(|error| Status::internal(error.to_string()))??;
        let told = Told {
            topology: &before.topology,
            limit,
        };
        let has_groups = !preview.groups.switches.is_empty();
        let notes = preview.notes.into_iter();
        Ok(Response::new(v1::GetForecastResponse {
            engine: preview.engine,
            notes: notes
                .chain(has_groups.then(|| ADAPTIVE.to_owned()))
                .collect(),
            findings: findings.into_iter().map(v1::Finding::from).collect(),
            counters_time: times.map(|(time, _)| timestamp_ms(time)),
            counters_span: times.map(|(_, span)| duration_ms(span)),
            generation: match moment {
                None => before.generation,
                Some(_) => 0,
            },
            moment,
            warnings,
            ..told.forecast(&forecast)
        }))
    }
}

impl Services {
    /// The change, the links that would be lost, and what is found in a configuration; no change where that has errors.
    async fn change(
        &self,
        asked: Option<Asked>,
        snapshot: &Arc<Snapshot>,
    ) -> Result<(Option<Change>, BTreeSet<PortRef>, Vec<Finding>), Status> {
        let asked = asked.ok_or_else(|| {
            wrong_field("change", "expected drain, undrain, lost, engine or config")
        })?;
        let just = |change| Ok((Some(change), BTreeSet::new(), Vec::new()));
        match asked {
            Asked::Drain(target) => just(Change::Drain(plan::named("drain", &target)?)),
            Asked::Undrain(target) => just(Change::Undrain(plan::named("undrain", &target)?)),
            Asked::Engine(name) => just(Change::Engine(plan::engine(&name)?)),
            Asked::Lost(links) => {
                let snapshot = Arc::clone(snapshot);
                let lost = task::spawn_blocking(move || lost(&snapshot, &links.points)).await;
                let lost = lost.map_err(|error| Status::internal(error.to_string()))?;
                Ok((Some(Change::Keep), lost?, Vec::new()))
            }
            Asked::Config(text) => {
                let rules = self.query_settings.borrow().link_rules.unwrap_or_default();
                let control = self.control.clone();
                let loaded = task::spawn_blocking(move || control.check(text, rules)).await;
                let loaded = loaded.map_err(|error| Status::internal(error.to_string()))?;
                let is_error = |one: &Finding| one.severity == Severity::Error;
                if loaded.findings.iter().any(is_error) {
                    return Ok((None, BTreeSet::new(), loaded.findings));
                }
                let usable = loaded.usable;
                let usable = usable.map_err(|why| wrong_field("config", &String::from(why)))?;
                let (settings, _) = usable.split();
                let change = Change::Settings(Box::new(settings));
                Ok((Some(change), BTreeSet::new(), loaded.findings))
            }
        }
    }

    fn counted_now(&self, topology: &Topology, ports: &Ports) -> Result<Counted, Status> {
        let totals = self.totals()?;
        let image = totals.image().ok_or_else(super::counters::none_yet)?;
        of_image(image, topology, ports).ok_or_else(super::counters::none_yet)
    }

    async fn counted_then(
        &self,
        at_ms: i64,
        before: &Arc<Snapshot>,
        ports: &Arc<Ports>,
        waiting: &Waiting,
        warnings: &mut Vec<String>,
    ) -> Result<Counted, Status> {
        let (history, permit) = self.history().await?;
        let (before, ports) = (Arc::clone(before), Arc::clone(ports));
        let stop = waiting.has_gone();
        let read = task::spawn_blocking(move || {
            let _permit = permit;
            let mut words = Vec::new();
            let read = of_past(
                &history.reader(),
                at_ms,
                &before.topology,
                &ports,
                &stop,
                &mut |word| words.push(word),
            );
            (read, words)
        });
        let (read, words) = read
            .await
            .map_err(|error| Status::internal(error.to_string()))?;
        warnings.extend(words);
        let read = read.map_err(|error| unread(&error))?;
        read.ok_or_else(|| {
            let time = timestamp_ms(at_ms);
            Status::failed_precondition(format!(
                "no counters of {time} are kept; `weft history` tells what is, and --traffic FILE gives the traffic"
            ))
        })
    }
}

/// Ports of links that points name; all of a node that is named whole.
fn lost(snapshot: &Snapshot, points: &[String]) -> Result<BTreeSet<PortRef>, Status> {
    match points.len() {
        0 => return Err(wrong_field("lost.points", "expected at least one point")),
        1..=POINTS_MAX => {}
        count => {
            let what = format!("{count}; at most {POINTS_MAX}");
            return Err(wrong_field_with(
                "lost.points",
                &what,
                Facts::limit(POINTS_MAX),
            ));
        }
    }
    let mut lost = BTreeSet::new();
    for point in points {
        let selection = select(snapshot, "lost.points", point)?;
        let named = linked(&snapshot.topology, &selection);
        if named.is_empty() {
            return Err(wrong_field("lost.points", &format!("{point} has no link")));
        }
        lost.extend(named);
    }
    Ok(lost)
}

/// The selected ports that have a link; of nodes, all of theirs.
fn linked(topology: &Topology, selection: &Selection) -> Vec<PortRef> {
    let has_link = |at: &PortRef| topology.peer(*at).is_some();
    match selection {
        Selection::Ports(ports) => ports.iter().copied().filter(has_link).collect(),
        Selection::Nodes(nodes) | Selection::System { nodes, .. } => {
            let ports = nodes.iter().flat_map(|node| {
                let device = topology.node(*node).into_iter();
                let ports = device.flat_map(weft_fabric::Node::external_ports);
                ports.map(|(port, _)| PortRef { node: *node, port })
            });
            ports.filter(has_link).collect()
        }
    }
}

/// All that a forecast is computed from.
struct Work {
    basis: Box<Basis>,
    lost: BTreeSet<PortRef>,
    before: Arc<Snapshot>,
    ports: Arc<Ports>,
    traffic: Traffic,
    pairs: Option<Vec<Pair>>,
}

impl Work {
    fn compute(mut self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(Preview, Forecast), Status> {
        self.basis.lose(&self.lost);
        let preview = self
            .basis
            .preview()
            .map_err(|error| status(&error.into()))?;
        let question = Question {
            before: Fabric {
                topology: &self.before.topology,
                linear: &self.before.linear,
            },
            after: Fabric {
                topology: &preview.topology,
                linear: &preview.linear,
            },
            ports: &self.ports,
            traffic: &self.traffic,
            given: self.pairs,
        };
        match forecast(question, stop) {
            Ok(forecast) => Ok((preview, forecast)),
            Err(NoForecast::Stopped) => Err(Status::cancelled("nobody waits any more")),
            Err(NoForecast::Pairs(pairs)) => {
                let what = format!(
                    "{pairs} pairs of hosts may have traffic, and at most {PAIRS_MAX} are computed: give the traffic that \
                     matters (--traffic FILE)"
                );
                Err(limit_reached(&what, PAIRS_MAX))
            }
            Err(NoForecast::Links) => {
                let what = format!(
                    "the routes of the pairs with traffic, to all LIDs that the LMC gives a port, have more than \
                     {LINKS_MAX} links: give the traffic that matters (--traffic FILE)"
                );
                Err(limit_reached(&what, LINKS_MAX))
            }
        }
    }
}

/// Makes the answer.
struct Told<'a> {
    topology: &'a Topology,
    limit: usize,
}

impl Told<'_> {
    fn forecast(&self, forecast: &Forecast) -> v1::GetForecastResponse {
        let is_full =
            |load: f64, link: &LinkChange| link.capacity > 0.0 && load >= FULL * link.capacity;
        let fills = |link: &LinkChange| is_full(link.after, link) && !is_full(link.before, link);
        let links = forecast.links.iter();
        let full = |time: fn(&LinkChange) -> f64| {
            let full = links.clone().filter(|link| is_full(time(link), link));
            full.count() as u32
        };
        let more = |link: &LinkChange| (link.after - link.before) / link.capacity.max(1.0);
        let mut changed: Vec<&LinkChange> = links
            .clone()
            .filter(|link| more(link).abs() > CHANGED || fills(link))
            .collect();
        changed.sort_by(|a, b| {
            let fill = fills(b).cmp(&fills(a));
            fill.then(more(b).total_cmp(&more(a)))
        });
        let losing = |host: &&HostChange| loss(host) > LOST * (host.sends.0 + host.receives.0);
        let mut hosts: Vec<&HostChange> = forecast.hosts.iter().filter(losing).collect();
        hosts.sort_by(|a, b| loss(b).total_cmp(&loss(a)));
        let cut = forecast.cut.iter().take(CUT_MAX);
        v1::GetForecastResponse {
            more_links: changed.len() > self.limit,
            more_hosts: hosts.len() > self.limit,
            full_before: full(|link| link.before),
            full_after: full(|link| link.after),
            losing_hosts: hosts.len() as u32,
            links: changed
                .into_iter()
                .take(self.limit)
                .map(|link| self.link(link))
                .collect(),
            hosts: hosts
                .into_iter()
                .take(self.limit)
                .map(|host| self.host(host))
                .collect(),
            pairs: forecast.pairs as u64,
            pairs_cut_off: forecast.cut.len() as u64,
            cut_off: cut.map(|cut| self.pair(&cut.pair)).collect(),
            doubt: forecast.doubt.map(doubt),
            ..v1::GetForecastResponse::default()
        }
    }

    fn port(&self, at: PortRef) -> v1::NamedPort {
        let node = self.topology.node(at.node);
        v1::NamedPort {
            port: Some(v1::PortId {
                node_guid: node.map_or(0, |node| node.guid().0),
                port: at.port.0.into(),
            }),
            node_name: node.map_or_else(String::new, weft_fabric::Node::name),
        }
    }

    fn link(&self, link: &LinkChange) -> v1::ForecastLink {
        let share = |load: f64| load / link.capacity.max(1.0);
        v1::ForecastLink {
            from: Some(self.port(link.from)),
            to: Some(self.port(link.to)),
            bytes_per_second: link.capacity,
            before: share(link.before),
            after: share(link.after),
            wanted: share(link.wanted),
        }
    }

    fn host(&self, host: &HostChange) -> v1::ForecastHost {
        v1::ForecastHost {
            port: Some(self.port(host.at)),
            sends_before: host.sends.0,
            sends_after: host.sends.1,
            receives_before: host.receives.0,
            receives_after: host.receives.1,
        }
    }

    fn pair(&self, pair: &Pair) -> v1::TrafficPair {
        v1::TrafficPair {
            from: Some(self.port(pair.from)),
            to: Some(self.port(pair.to)),
            bytes_per_second: pair.rate,
        }
    }
}

/// Bytes a second that a host would lose in both directions.
fn loss(host: &HostChange) -> f64 {
    let lost = |(before, after): (f64, f64)| (before - after).max(0.0);
    lost(host.sends) + lost(host.receives)
}

fn doubt(doubt: Doubt) -> v1::ForecastDoubt {
    v1::ForecastDoubt {
        links: doubt.links as u32,
        median: doubt.median,
        worst: doubt.worst,
        of_all: doubt.of_all,
        unexplained: doubt.unexplained,
    }
}
