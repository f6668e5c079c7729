#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use weft_config::link_rules::LinkRules;
use weft_fabric::Guid;
use weft_fabric::enums::SmState;
use weft_manager::sm::drains::{Drain, Drains};
use weft_manager::sm::reroute::Change;
use weft_routing::EngineKind;

use super::super::{Control, usual_deadline};
use super::*;
use crate::event_hub::InForce;

const STOCK: &str = include_str!("../../../../config/opafm.xml");
/// A setting of the subnet manager, and one of the performance manager alone.
const SM: (&str, &str) = (
    "<SweepInterval>300</SweepInterval>",
    "<SweepInterval>600</SweepInterval>",
);
const PM: (&str, &str) = (
    "<SweepInterval>10</SweepInterval>",
    "<SweepInterval>20</SweepInterval>",
);

fn with((from, to): (&str, &str)) -> String {
    assert_eq!(STOCK.matches(from).count(), 1, "{from}");
    STOCK.replace(from, to)
}

fn version(text: &str) -> Version {
    let usable = Source::of_tests(None)
        .check(text.to_owned(), LinkRules::default())
        .usable
        .unwrap();
    let (settings, configuration) = usable.split();
    Version {
        arrangement: Arrangement {
            settings,
            drains: Drains::new(),
        },
        configuration: Arc::new(configuration),
    }
}

/// An actor whose manager is the test.
struct Door {
    control: Control,
    engine: mpsc::Sender<Request>,
    requests: mpsc::Receiver<Request>,
    saved: watch::Sender<Saved>,
    hub: Arc<EventHub>,
    queries: watch::Receiver<QuerySettings>,
    dir: TempDir,
    _stop: watch::Sender<bool>,
}

impl Door {
    /// Starts with the stock configuration in force, these plans, and a queue of `room` requests.
    fn open(plans: &[Version], room: usize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("opafm.xml");
        std::fs::write(&file, STOCK).unwrap();
        let source = Source::of_tests(Some(file));
        let usable = source.load().unwrap().usable.unwrap();
        let (engine, requests) = mpsc::channel(room);
        let (saved, on_disk) = watch::channel(Saved::default());
        let hub = Arc::new(EventHub::new(InForce::default()));
        let queries = watch::Sender::new(usable.queries.clone());
        let drift = Drift::open(None, &source, &usable);
        let (_, configuration) = usable.split();
        let in_force = queries.subscribe();
        let (control, mut actor) = Control::new(Parts {
            source,
            hub: hub.clone(),
            engine: engine.clone(),
            queries,
            saved: on_disk,
            drift,
            log: Log::of_tests(),
            configuration,
        });
        for (wanted, epoch) in plans.iter().zip(7..) {
            actor.plans.keep(Plan {
                epoch,
                revision: 0,
                wanted: wanted.clone(),
                what: "a change".to_owned(),
                ports: Vec::new(),
                is_outdated: false,
            });
        }
        let (stop, stopping) = Stopping::new();
        tokio::spawn(actor.run(stopping));
        Self {
            control,
            engine,
            requests,
            saved,
            hub,
            queries: in_force,
            dir,
            _stop: stop,
        }
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("opafm.xml")
    }

    fn apply(&self, id: u64) -> JoinHandle<Result<u64, Refusal>> {
        let control = self.control.clone();
        tokio::spawn(async move {
            let applied = control.apply(id, Origin::default(), usual_deadline()).await;
            applied.map(|applied| applied.sweep)
        })
    }

    fn roll_back(&self) -> JoinHandle<Result<Undone, Refusal>> {
        let control = self.control.clone();
        tokio::spawn(async move {
            control
                .roll_back(0, Origin::default(), usual_deadline())
                .await
        })
    }

    /// The arrangement that the manager is to put in force, and where to answer.
    async fn adopts(&mut self) -> (Arrangement, oneshot::Sender<Result<Adopted, RerouteError>>) {
        match self.requests.recv().await {
            Some(Request::Adopt { wanted, done, .. }) => (*wanted, done),
            _ => panic!("something else is asked"),
        }
    }

    /// Waits until this configuration is in force.
    async fn shows(&self, version: &Version) {
        let text = &version.configuration.shown.effective;
        while self.hub.config().effective != *text {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(
            format!("{:?}", *self.queries.borrow()),
            format!("{:?}", version.configuration.queries)
        );
    }
}

fn adopted(before: &Version) -> Adopted {
    Adopted {
        before: before.arrangement.clone(),
        sweep: 3,
        state: 1,
    }
}

async fn gone<T>(client: JoinHandle<T>) {
    client.abort();
    assert!(client.await.is_err_and(|error| error.is_cancelled()));
}

#[tokio::test]
async fn a_client_that_goes_tears_no_transaction() {
    let (stock, planned) = (version(STOCK), version(&with(PM)));
    let mut door = Door::open(std::slice::from_ref(&planned), 4);
    let client = door.apply(1);
    let (wanted, done) = door.adopts().await;
    assert_eq!(wanted, planned.arrangement);
    gone(client).await;
    assert!(done.send(Ok(adopted(&stock))).is_ok());
    door.shows(&planned).await;

    let client = door.roll_back();
    let (wanted, done) = door.adopts().await;
    assert_eq!(wanted, stock.arrangement);
    gone(client).await;
    assert!(done.send(Ok(adopted(&planned))).is_ok());
    door.shows(&stock).await;
    let more = door.roll_back().await.unwrap();
    assert!(matches!(more, Err(Refusal::NothingToUndo)));

    std::fs::write(door.file(), with(PM)).unwrap();
    let control = door.control.clone();
    let client = tokio::spawn(async move { control.reload(false, usual_deadline()).await });
    let Some(Request::Reconfigure { done, .. }) = door.requests.recv().await else {
        panic!("something else is asked");
    };
    gone(client).await;
    assert!(done.send(stock.arrangement).is_ok());
    door.shows(&planned).await;
}

#[tokio::test]
async fn no_plan_is_lost_to_a_manager_that_is_busy_or_no_master() {
    let (stock, planned) = (version(STOCK), version(&with(SM)));
    let mut door = Door::open(std::slice::from_ref(&planned), 1);
    let is_busy = |result: Result<_, Refusal>| assert!(matches!(result, Err(Refusal::Busy)));
    let fill = |door: &Door| {
        let (told, _) = oneshot::channel();
        assert!(door.engine.try_send(Request::Drains(told)).is_ok());
    };
    let no_master = || RerouteError::NotMaster {
        role: SmState::STANDBY,
    };
    fill(&door);
    is_busy(door.apply(1).await.unwrap());
    door.requests.recv().await;
    let client = door.apply(1);
    let (_, done) = door.adopts().await;
    assert!(done.send(Err(no_master())).is_ok());
    assert!(client.await.unwrap().is_err());
    let client = door.apply(1);
    let (_, done) = door.adopts().await;
    assert!(done.send(Ok(adopted(&stock))).is_ok());
    assert_eq!(client.await.unwrap().unwrap(), 3);

    fill(&door);
    is_busy(door.roll_back().await.unwrap().map(|_| 0));
    door.requests.recv().await;
    let client = door.roll_back();
    let (_, done) = door.adopts().await;
    assert!(done.send(Err(no_master())).is_ok());
    assert!(client.await.unwrap().is_err());
    let client = door.roll_back();
    let (wanted, done) = door.adopts().await;
    assert_eq!(wanted, stock.arrangement);
    assert!(done.send(Ok(adopted(&planned))).is_ok());
    assert_eq!(client.await.unwrap().unwrap().what, "a change");
}

#[tokio::test]
async fn a_plan_from_before_a_reload_is_refused() {
    for change in [SM, PM] {
        let stock = version(STOCK);
        let mut door = Door::open(std::slice::from_ref(&stock), 4);
        std::fs::write(door.file(), with(change)).unwrap();
        let control = door.control.clone();
        let client = tokio::spawn(async move { control.reload(false, usual_deadline()).await });
        let Some(Request::Reconfigure { settings, done }) = door.requests.recv().await else {
            panic!("something else is asked");
        };
        let reloaded = version(&with(change));
        assert_eq!(*settings, reloaded.arrangement.settings);
        assert!(done.send(stock.arrangement).is_ok());
        assert!(client.await.unwrap().unwrap().applied);
        // Whoever tries it is told why.
        for _ in 0..2 {
            let refused = door.apply(1).await.unwrap();
            let stale = matches!(refused, Err(Refusal::Reroute(RerouteError::Stale)));
            assert!(stale, "{refused:?}");
        }
        door.shows(&reloaded).await;
    }
}

#[tokio::test]
async fn a_drain_is_acknowledged_when_it_is_on_disk() {
    let stock = version(STOCK);
    let mut drained = stock.clone();
    drained.arrangement.drains.insert(Drain::Switch(Guid(5)));
    let plans = [drained.clone(), drained];
    let mut door = Door::open(&plans, 4);
    let mut client = door.apply(1);
    let (_, done) = door.adopts().await;
    assert!(done.send(Ok(adopted(&stock))).is_ok());
    let early = tokio::time::timeout(Duration::from_millis(100), &mut client).await;
    assert!(early.is_err(), "it is not on disk yet");
    door.saved.send_modify(|saved| saved.number = 1);
    assert_eq!(client.await.unwrap().unwrap(), 3);

    door.saved.send_modify(|saved| {
        saved.number = 0;
        saved.failure = Some("No space left on device".to_owned());
    });
    let client = door.apply(2);
    let (_, done) = door.adopts().await;
    assert!(done.send(Ok(adopted(&stock))).is_ok());
    let said = client.await.unwrap().unwrap_err().to_string();
    assert!(
        said.contains("is in force: a change, but that is not on disk yet: No space"),
        "{said}"
    );
    let client = door.roll_back();
    let (wanted, _done) = door.adopts().await;
    assert_eq!(wanted, stock.arrangement, "it can be undone nevertheless");
    client.abort();
}

#[tokio::test]
async fn few_plans_are_computed_at_a_time() {
    let mut door = Door::open(&[], 4);
    let plan = |door: &Door| {
        let control = door.control.clone();
        let request =
            PlanRequest::Change(Change::Engine(EngineKind::NAMED[0].1), "engine".to_owned());
        tokio::spawn(async move {
            control
                .plan(request, Origin::default(), usual_deadline())
                .await
        })
    };
    let mut asked = Vec::new();
    let mut clients = Vec::new();
    for _ in 0..PLANNING_MAX {
        clients.push(plan(&door));
        asked.push(door.requests.recv().await.unwrap());
    }
    let refused = plan(&door).await.unwrap();
    assert!(matches!(refused, Err(Refusal::ManyPlans)));
    let Some(Request::Basis { done, .. }) = asked.pop() else {
        panic!("something else is asked");
    };
    assert!(done.send(Err(RerouteError::NoRoutes)).is_ok());
    assert!(clients.pop().unwrap().await.unwrap().is_err());
    let _again = plan(&door);
    assert!(matches!(
        door.requests.recv().await,
        Some(Request::Basis { .. })
    ));
}

#[tokio::test]
async fn what_does_not_get_its_turn_in_time_is_not_begun() {
    let stock = version(STOCK);
    let plans = [stock.clone(), stock.clone()];
    let mut door = Door::open(&plans, 4);
    let first = door.apply(1);
    let (_, done) = door.adopts().await;
    let soon = Instant::now() + Duration::from_millis(50);
    let late = door.control.apply(2, Origin::default(), soon).await;
    assert!(matches!(late, Err(Refusal::TooLate)));
    assert!(done.send(Ok(adopted(&stock))).is_ok());
    assert!(first.await.unwrap().is_ok());
    let asked = tokio::time::timeout(Duration::from_millis(100), door.requests.recv()).await;
    assert!(asked.is_err(), "the second has not begun");
}

#[tokio::test]
async fn nothing_changes_while_the_fabric_is_gone() {
    let mut door = Door::open(&[version(STOCK)], 4);
    door.hub.set_attached(false);
    for refused in [
        door.apply(1).await.unwrap().err(),
        door.roll_back().await.unwrap().err(),
    ] {
        let expected = matches!(refused, Some(Refusal::Detached(_) | Refusal::NothingToUndo));
        assert!(expected, "{refused:?}");
    }
    assert!(door.requests.try_recv().is_err());
    door.hub.set_attached(true);
    let _client = door.apply(1);
    door.adopts().await;
}

#[tokio::test]
async fn a_reload_that_changes_nothing_is_told_too() {
    let stock = version(STOCK);
    let mut door = Door::open(std::slice::from_ref(&stock), 4);
    let control = door.control.clone();
    let client = tokio::spawn(async move { control.reload(false, usual_deadline()).await });
    let Some(Request::Reconfigure { done, .. }) = door.requests.recv().await else {
        panic!("something else is asked");
    };
    assert!(done.send(stock.arrangement.clone()).is_ok());
    assert!(client.await.unwrap().unwrap().applied);
    assert_eq!(door.hub.journal().sequence(), 1);
    let client = door.apply(1);
    let (_, done) = door.adopts().await;
    assert!(done.send(Ok(adopted(&stock))).is_ok());
    assert!(
        client.await.unwrap().is_ok(),
        "the plan is as good as before"
    );
}
