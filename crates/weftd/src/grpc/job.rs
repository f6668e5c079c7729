//! JobService: files are read on threads for blocking work, a bounded number at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::task;
use tonic::{Request, Response, Status};
use weft_api::time::{duration_ms, timestamp_ms};
use weft_api::v1;
use weft_api::v1::job_service_server::JobService;
use weft_history::{Reader, StateQuestion};
use weft_report::Point;
use weft_traffic::job::{End, Figures, Finding, JobLink, Kind, findings};

use super::Services;
use super::facts::Facts;
use super::history::{millis, status as of_history};
use super::past::{self, LastStates};
use super::refusal::{not_there, wrong_field, wrong_field_with};
use crate::event_hub::{EventHub, unix_time_ms};
use crate::job::{Asked, Comparison, Events, HOSTS_MAX, NoAnswer, Port, Readings, Told, Used};
use crate::what_if::Waiting;

/// Points of a request.
const POINTS_MAX: usize = 64;
/// Ports of the links of one job.
const PORTS_MAX: usize = 16_384;
/// Findings of an answer, and hosts that waited of each.
const FINDINGS_MAX: usize = 1_000;
const WAITING_MAX: usize = 100;
/// Links of an answer.
const LINKS_MAX: usize = 8_000;
/// Events of an answer.
const EVENTS_MAX: usize = 1_000;
/// Fabrics whose routes are looked at.
const MOMENTS_MAX: usize = 8;
/// After a change of links so long until the fabric with the new routes is recorded, milliseconds.
const RECORDED_MS: i64 = 3_000;

#[tonic::async_trait]
impl JobService for Services {
    async fn explain_job(
        &self,
        request: Request<v1::ExplainJobRequest>,
    ) -> Result<Response<v1::ExplainJobResponse>, Status> {
        let question = Question::new(request.into_inner())?;
        let (history, permit) = self.history().await?;
        let (hub, last) = (Arc::clone(&self.hub), self.last_states.clone());
        let waiting = Waiting::default();
        let stop = waiting.has_gone();
        let explained = task::spawn_blocking(move || {
            let _permit = permit;
            question.answer((&history.reader(), &last), &hub, &stop)
        });
        let explained = explained.await;
        explained
            .map_err(|error| Status::internal(error.to_string()))?
            .map(Response::new)
    }
}

/// What is asked.
struct Question {
    asked: Asked,
    /// Beginning and end, milliseconds since 1970.
    span: (i64, i64),
}

impl Question {
    fn new(request: v1::ExplainJobRequest) -> Result<Self, Status> {
        let over = |field: &str, count: usize, most: usize| {
            let what = format!("{count}; at most {most}");
            wrong_field_with(field, &what, Facts::limit(most))
        };
        let (hosts, points) = (request.hosts.len(), request.points.len());
        match (hosts, points) {
            (0, 0) => return Err(wrong_field("hosts", "no host is named, here or in points")),
            (HOSTS_MAX.., _) if hosts > HOSTS_MAX => {
                return Err(over("hosts", hosts, HOSTS_MAX));
            }
            (_, POINTS_MAX..) if points > POINTS_MAX => {
                return Err(over("points", points, POINTS_MAX));
            }
            _ => {}
        }
        let no_files = |_: &str| Err("the daemon reads no files for clients".to_owned());
        let points = request.points.iter().map(|text| {
            let point = Point::parse(text, &no_files);
            point.map_err(|error| wrong_field("points", &format!("{text}: {error}")))
        });
        let now = unix_time_ms();
        let from = request.from.as_ref();
        let from = from.ok_or_else(|| wrong_field("from", "expected the beginning of the job"))?;
        let from = millis("from", from)?;
        let to = request.to.as_ref();
        let to = to.map_or(Ok(now), |to| millis("to", to))?.min(now);
        if from >= to {
            return Err(wrong_field("from", "is not before to, or is yet to come"));
        }
        Ok(Self {
            asked: Asked {
                hosts: request.hosts.into_iter().collect(),
                points: points.collect::<Result<_, Status>>()?,
            },
            span: (from, to),
        })
    }

    fn answer(
        &self,
        (reader, last): (&Reader, &LastStates),
        hub: &EventHub,
        stop: &dyn Fn() -> bool,
    ) -> Result<v1::ExplainJobResponse, Status> {
        let mut warnings = BTreeSet::new();
        let mut warn = |word: String| {
            warnings.insert(word);
        };
        let name_of = |guid: u64| hub.name_of(weft_fabric::Guid(guid));
        let events = Events::read(reader, self.span, &name_of, &mut warn);
        let events = events.map_err(|error| of_history(&error))?;
        let (used, moments) = self.used((reader, last), &events, stop, &mut warn)?;
        let ports = ports(&used);
        if ports.len() > PORTS_MAX {
            let what = format!(
                "the hosts used links of {} ports; at most {PORTS_MAX}: ask for fewer hosts",
                ports.len()
            );
            return Err(wrong_field_with("hosts", &what, Facts::limit(PORTS_MAX)));
        }
        let readings = Readings::read(reader, &ports, self.span, stop, &mut warn);
        let readings = readings.map_err(|error| self.no_answer(&error))?;
        if used.hosts.len() == 1 {
            warn("one host port uses no link to another: name further hosts".to_owned());
        } else if readings.is_empty() {
            warn("no counters were read in this time, or only once".to_owned());
        }
        let links = self.links(used.links, &readings, &events);
        let about: Vec<&Told> = events.about(&ports).collect();
        let (from_ms, to_ms) = readings.span();
        // Whole seconds around it, for commands that are run by hand.
        let seconds = [from_ms.div_euclid(1000), (to_ms + 999).div_euclid(1000)];
        let times = seconds.map(|second| timestamp_ms(second * 1000).to_string());
        let span_s = (to_ms - from_ms) as f64 / 1000.0;
        let found = findings(&links, span_s, (&times[0], &times[1]));
        let (comparison, days) = match readings.comparison {
            Comparison::SameHours(days) => (v1::JobComparison::SameHours, days),
            Comparison::Before => (v1::JobComparison::Before, 0),
            Comparison::Nothing => (v1::JobComparison::None, 0),
        };
        let unknown = self.asked.hosts.difference(&used.found);
        Ok(v1::ExplainJobResponse {
            more_findings: found.len() > FINDINGS_MAX,
            findings: found
                .iter()
                .take(FINDINGS_MAX)
                .map(|one| finding(one, &links))
                .collect(),
            hosts: used
                .hosts
                .iter()
                .map(|(at, name)| named(*at, name))
                .collect(),
            unknown_hosts: unknown.cloned().collect(),
            more_events: events.more || about.len() > EVENTS_MAX,
            events: about.into_iter().take(EVENTS_MAX).map(event).collect(),
            more_links: links.len() > LINKS_MAX,
            links: shown(&links)
                .into_iter()
                .take(LINKS_MAX)
                .map(link)
                .collect(),
            from: Some(timestamp_ms(from_ms)),
            to: Some(timestamp_ms(to_ms)),
            moments,
            comparison: comparison.into(),
            days,
            warnings: warnings.into_iter().collect(),
        })
    }

    /// Hosts and links by the fabrics at the beginning, after changes, and at the end.
    fn used(
        &self,
        (reader, last): (&Reader, &LastStates),
        events: &Events,
        stop: &dyn Fn() -> bool,
        warn: &mut dyn FnMut(String),
    ) -> Result<(Used, Vec<v1::MomentShown>), Status> {
        let (from, to) = self.span;
        let changes: BTreeSet<i64> = events.changes().collect();
        let every = changes.len().div_ceil(MOMENTS_MAX - 2).max(1);
        let looked_at = changes.iter().step_by(every);
        if every > 1 {
            warn(format!(
                "of {} changes of routes in this time {} were looked at",
                changes.len(),
                looked_at.len()
            ));
        }
        let looked_at = looked_at.map(|time| (time + RECORDED_MS).min(to));
        let times: BTreeSet<i64> = looked_at.chain([from, to]).collect();
        let (mut used, mut moments) = (Used::default(), Vec::<v1::MomentShown>::new());
        let mut refused = None;
        for time in times {
            if stop() {
                return Err(self.no_answer(&NoAnswer::Stopped));
            }
            match past::read(reader, last, StateQuestion::At(time)) {
                Ok(past) => {
                    let (snapshot, moment) = (&past.state.snapshot, past.shown);
                    moment.warnings.iter().cloned().for_each(&mut *warn);
                    let is_known = moments.iter().any(|known| known.since == moment.since);
                    if !is_known {
                        let added = used.add(snapshot, &self.asked, stop);
                        added.map_err(|error| self.no_answer(&error))?;
                        moments.push(moment);
                    }
                }
                Err(status) => {
                    refused.get_or_insert(status);
                    if time == from || time == to {
                        warn(format!(
                            "the routes of {} are not known",
                            timestamp_ms(time)
                        ));
                    }
                }
            }
        }
        if let (true, Some(status)) = (moments.is_empty(), refused) {
            return Err(status);
        }
        if used.hosts.is_empty() {
            let what = "hosts: none of them was in the fabric of then; `weft report nodes --at TIME` lists what was";
            return Err(not_there(what, Facts::none().field("hosts")));
        }
        Ok((used, moments))
    }

    fn no_answer(&self, why: &NoAnswer) -> Status {
        match why {
            NoAnswer::Hosts(count) => {
                let field = match self.asked.points.is_empty() {
                    true => "hosts",
                    false => "points",
                };
                let what = format!("{count} ports of hosts; at most {HOSTS_MAX}");
                wrong_field_with(field, &what, Facts::limit(HOSTS_MAX))
            }
            other => unread(other),
        }
    }

    fn links(
        &self,
        used: BTreeMap<(Port, Port), (JobLink, f64)>,
        readings: &Readings,
        events: &Events,
    ) -> Vec<JobLink> {
        let losses = events.losses(self.span.1);
        let links = used.into_iter().map(|((from, to), (mut link, unit))| {
            readings.complete(&mut link, unit);
            if let Some((downs, down_ms)) = losses.get(&(from.min(to), from.max(to))) {
                link.downs = *downs;
                link.down_s = *down_ms as f64 / 1000.0;
            }
            link
        });
        links.collect()
    }
}

/// The status where nothing is read.
pub(super) fn unread(why: &NoAnswer) -> Status {
    match why {
        NoAnswer::Files(error) => of_history(error),
        NoAnswer::Stopped => Status::cancelled("nobody waits any more"),
        NoAnswer::Hosts(count) => Status::internal(format!("{count} ports of hosts")),
    }
}

fn ports(used: &Used) -> BTreeSet<Port> {
    let ends = used.links.keys();
    ends.flat_map(|(from, to)| [*from, *to]).collect()
}

/// Links in the order in which they are told: how much busier than usual.
fn shown(links: &[JobLink]) -> Vec<&JobLink> {
    let busier = |link: &&JobLink| {
        let rank = |figures: Option<Figures>| figures.map_or(0.0, |one| one.used.max(one.wait));
        rank(link.now) - rank(link.usual)
    };
    let mut shown: Vec<&JobLink> = links.iter().collect();
    shown.sort_by(|a, b| busier(b).total_cmp(&busier(a)));
    shown
}

fn named((guid, port): Port, name: &str) -> v1::NamedPort {
    v1::NamedPort {
        port: Some(v1::PortId {
            node_guid: guid,
            port: port.into(),
        }),
        node_name: name.to_owned(),
    }
}

fn end(end: &End) -> v1::NamedPort {
    named((end.guid, end.port), &end.name)
}

fn figures(figures: Figures) -> v1::JobFigures {
    v1::JobFigures {
        used: figures.used,
        wait: figures.wait,
    }
}

fn link(link: &JobLink) -> v1::JobLink {
    let errors = link.errors.iter().map(|errors| v1::JobErrors {
        counter: errors.counter.to_owned(),
        count: errors.count,
        usual: errors.usual,
    });
    v1::JobLink {
        from: Some(end(&link.from)),
        to: Some(end(&link.to)),
        destinations: link.destinations,
        bytes_per_second: link.capacity.unwrap_or(0.0),
        now: link.now.map(figures),
        usual: link.usual.map(figures),
        busiest: link.busiest.map(|(_, busiest)| figures(busiest)),
        busiest_time: link.busiest.map(|(time, _)| timestamp_ms(time)),
        errors: errors.collect(),
        downs: link.downs,
        down: (link.downs > 0).then(|| duration_ms((link.down_s * 1000.0) as i64)),
    }
}

fn finding(finding: &Finding, links: &[JobLink]) -> v1::JobFinding {
    let kind = match finding.kind {
        Kind::Full => v1::JobFindingKind::Full,
        Kind::SlowHost => v1::JobFindingKind::SlowHost,
        Kind::Waits => v1::JobFindingKind::Waits,
        Kind::Errors => v1::JobFindingKind::Errors,
        Kind::Down => v1::JobFindingKind::Down,
        Kind::Slow => v1::JobFindingKind::Slow,
    };
    let link = &links[finding.link];
    let waiting = finding.waiting.iter().take(WAITING_MAX);
    let waiting = waiting.map(|place| end(&links[*place].from));
    v1::JobFinding {
        kind: kind.into(),
        from: Some(end(&link.from)),
        to: Some(end(&link.to)),
        waiting: waiting.collect(),
        waiting_count: finding.waiting.len() as u32,
        cost_seconds: finding.cost_s,
        what: finding.what.clone(),
        next: finding.next.clone(),
    }
}

fn event(told: &Told) -> v1::JobEvent {
    v1::JobEvent {
        time: Some(timestamp_ms(told.row.time_ms)),
        kind: told.row.kind.clone(),
        severity: told.row.severity.clone(),
        message: told.row.message.clone(),
        ports: told.named.iter().map(|named| named.message()).collect(),
    }
}
