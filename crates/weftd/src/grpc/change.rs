//! ChangeService: files are read on threads for blocking work, a bounded number at a time.

use std::sync::Arc;

use tokio::task;
use tonic::{Request, Response, Status};
use weft_api::v1;
use weft_api::v1::change_service_server::ChangeService;
use weft_api::v1::explain_change_request::Subject as AskedWhy;
use weft_api::v1::list_changes_request::Object as AskedAbout;
use weft_fabric::{Guid, Snapshot};
use weft_report::{NodeMatch, Point};

use super::facts::Facts;
use super::history::{millis, span, status};
use super::refusal::{not_there, wrong_field, wrong_field_with};
use super::{Services, place_of, select};
use crate::changes::{self, End, Gone, Object, Parts, Question, Sources, Subject};
use crate::event_hub::{EventHub, unix_time_ms};

/// Changes of one answer, by default and at most.
const CHANGES: usize = 100;
const CHANGES_MAX: usize = 1_000;
/// Longest name of a virtual fabric in a request, bytes.
const NAME_MAX: usize = 256;

#[tonic::async_trait]
impl ChangeService for Services {
    async fn list_changes(
        &self,
        request: Request<v1::ListChangesRequest>,
    ) -> Result<Response<v1::ListChangesResponse>, Status> {
        let request = request.into_inner();
        let question = self.question(&request)?;
        let point = match request.object {
            Some(AskedAbout::Point(point)) => point,
            _ => String::new(),
        };
        let listed = self
            .read_past(move |sources| changes::list(sources, question))
            .await?;
        let listed = listed.map_err(|error| status(&error))?;
        if listed.is_unknown {
            let facts = Facts::none().field("point").with("point", &point);
            let why = format!("point: no {point} in the fabric, and none in events of the past");
            return Err(not_there(&why, facts));
        }
        Ok(Response::new(v1::ListChangesResponse {
            changes: listed.changes,
            more: listed.more,
            warnings: listed.warnings,
        }))
    }

    async fn explain_change(
        &self,
        request: Request<v1::ExplainChangeRequest>,
    ) -> Result<Response<v1::ExplainChangeResponse>, Status> {
        let request = request.into_inner();
        let to = request.to.as_ref();
        let to = to.map_or(Ok(unix_time_ms()), |to| millis("to", to))?;
        let then = request.to.map(|time| v1::Moment {
            moment: Some(v1::moment::Moment::Time(time)),
        });
        // The ends of a way may be gone since.
        let then = then.filter(|_| matches!(request.subject, Some(AskedWhy::Route(_))));
        let (snapshot, _) = self.then_or_now(then).await?;
        let subject = self.subject(request.subject, &snapshot)?;
        let explained = self
            .read_past(move |sources| changes::explain(sources, subject, to))
            .await?;
        let explained = explained.map_err(|error| status(&error))?;
        if let Some(why) = explained.unknown {
            return Err(not_there(&why, Facts::none()));
        }
        Ok(Response::new(v1::ExplainChangeResponse {
            causes: explained.causes,
            warnings: explained.warnings,
        }))
    }
}

impl Services {
    fn question(&self, request: &v1::ListChangesRequest) -> Result<Question, Status> {
        let limit = match request.limit as usize {
            0 => CHANGES,
            limit @ 1..=CHANGES_MAX => limit,
            limit => {
                let what = format!("{limit}; at most {CHANGES_MAX}");
                return Err(wrong_field_with("limit", &what, Facts::limit(CHANGES_MAX)));
            }
        };
        Ok(Question {
            object: self.object(request.object.as_ref())?,
            // All that is kept, where nothing is said.
            span_ms: span(request.from, request.to, i64::MAX)?,
            limit,
        })
    }

    fn object(&self, asked: Option<&AskedAbout>) -> Result<Object, Status> {
        Ok(match asked {
            None => Object::Everything,
            Some(AskedAbout::Point(point)) => Object::Parts(self.parts("point", point)?),
            Some(AskedAbout::PlanId(plan)) => Object::Plan(*plan),
            Some(AskedAbout::VirtualFabric(name)) if name.len() > NAME_MAX => {
                let what = format!("a name of {} bytes; at most {NAME_MAX}", name.len());
                let facts = Facts::limit(NAME_MAX);
                return Err(wrong_field_with("virtual_fabric", &what, facts));
            }
            Some(AskedAbout::VirtualFabric(name)) => Object::VirtualFabric(name.clone()),
        })
    }

    fn subject(&self, asked: Option<AskedWhy>, snapshot: &Snapshot) -> Result<Subject, Status> {
        match asked {
            None => Err(wrong_field(
                "subject",
                "expected an event, a point or the ends of a route",
            )),
            Some(AskedWhy::EventId(token)) => {
                let (run, sequence) = place_of(&token).ok_or_else(|| {
                    wrong_field(
                        "event_id",
                        "expected the event_id of a change or a resume_token",
                    )
                })?;
                Ok(Subject::Event(run, sequence))
            }
            Some(AskedWhy::Point(point)) => Ok(Subject::Parts(self.parts("point", &point)?)),
            Some(AskedWhy::Route(ends)) => {
                let from = end(snapshot, "source", &ends.source)?;
                let to = end(snapshot, "destination", &ends.destination)?;
                Ok(Subject::Route(from, to))
            }
        }
    }

    /// The nodes and ports of a point, also of a node that is gone.
    pub(super) fn parts(&self, field: &str, text: &str) -> Result<Parts, Status> {
        let snapshot = self.hub.snapshot();
        match select(&snapshot, field, text) {
            Ok(selection) => Ok(Parts::of(&selection, &snapshot)),
            Err(refusal) => gone(text).ok_or(refusal),
        }
    }

    /// Reads the past on a thread for blocking work, when it is its turn.
    pub(super) async fn read_past<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Sources<'_>) -> T + Send + 'static,
    ) -> Result<T, Status> {
        let audit = self.audit.dir().map(ToOwned::to_owned);
        let history = self.history.as_ref().map(|history| history.reader());
        if audit.is_none() && history.is_none() {
            return Err(Status::failed_precondition(
                "weftd keeps neither a record of changes nor a history: it runs without a state directory",
            ));
        }
        let permit = self.history_readers.enter().await?;
        let hub = Arc::clone(&self.hub);
        let read = task::spawn_blocking(move || {
            let _permit = permit;
            let name_of = |guid| name(&hub, guid);
            read(&Sources {
                history,
                audit,
                name_of: &name_of,
            })
        });
        read.await
            .map_err(|error| Status::internal(error.to_string()))
    }
}

fn name(hub: &EventHub, guid: u64) -> String {
    hub.name_of(Guid(guid))
}

/// The one port with a LID that a point names.
fn end(snapshot: &Snapshot, field: &str, text: &str) -> Result<End, Status> {
    let selection = select(snapshot, field, text)?;
    let ports = selection.end_ports(snapshot);
    let [at] = ports.as_slice() else {
        let count = ports.len();
        let what = format!("{text} names {count} ports that have LIDs, allowed: one");
        return Err(wrong_field(field, &what));
    };
    let node = snapshot.topology.node(at.node);
    let node = node.ok_or_else(|| Status::internal("a port without a node"))?;
    Ok(End {
        node: node.guid(),
        port: at.port,
        name: format!("{}:{}", node.name(), at.port),
    })
}

/// The node that a point names by its name or GUID, where it is not in the fabric any more.
fn gone(text: &str) -> Option<Parts> {
    let no_files = |_: &str| Err("the daemon reads no files for clients".to_owned());
    let (nodes, port) = match Point::parse(text, &no_files).ok()? {
        Point::Nodes(nodes) => (nodes, None),
        Point::NodePort(nodes, port) => (nodes, Some(port)),
        _ => return None,
    };
    match nodes {
        NodeMatch::Guid(guid) => Some(Parts::of_guid(guid, port)),
        NodeMatch::Name(name) => Some(Parts::of_gone(Gone { name, port })),
        _ => None,
    }
}
