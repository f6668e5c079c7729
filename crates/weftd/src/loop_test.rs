//! The loop test, for clients of the API and of `opafmcmd`: orders to the manager, and the links on which its packets
//! met errors.

use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tracing::info;
use weft_fabric::PortRef;
use weft_manager::LinkEnd;
use weft_manager::pm::{Image, LinkView, PortView};
use weft_manager::sm::loop_test::{LoopTestOrder, LoopTestStatus};
use weft_manager::sm::plan::LoopPlan;
use weft_wire::pm::Counter;

use crate::control::{Asker, Refusal};
use crate::event_hub::EventHub;
use crate::request::{Request, ask};

/// Counters of errors that a bad cable causes.
const ERRORS: [Counter; 6] = [
    Counter::LocalLinkIntegrityErrors,
    Counter::RcvErrors,
    Counter::ExcessiveBufferOverruns,
    Counter::LinkErrorRecovery,
    Counter::LinkDowned,
    Counter::UncorrectableErrors,
];

/// How often, and how many times, the end of a sweep is looked for.
const LOOK: Duration = Duration::from_millis(50);
const LOOKS_MAX: u32 = 60;

/// A link between switches with errors between the last two readings of the counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BadLink {
    /// Both ends, and the errors that each of them has counted.
    pub(crate) ends: [(LinkEnd, u64); 2],
}

/// Gives the loop test an order; the number of the sweep that will have carried it out.
///
/// # Errors
/// [`Refusal`].
pub(crate) async fn order(
    hub: &EventHub,
    engine: &mpsc::Sender<Request>,
    order: LoopTestOrder,
    by: Asker,
) -> Result<u64, Refusal> {
    hub.attachment().required()?;
    let (done, answer) = oneshot::channel();
    ask(engine, Request::LoopTest { order, done })?;
    let sweep = answer.await.map_err(|_| Refusal::Stopping)??;
    info!(
        event = "loop_test_ordered",
        by = by.0,
        "{by} orders the loop test: {}",
        in_words(order)
    );
    Ok(sweep)
}

/// The loop test as it is.
///
/// # Errors
/// [`Refusal`].
pub(crate) async fn status(engine: &mpsc::Sender<Request>) -> Result<LoopTestStatus, Refusal> {
    let (told, answer) = oneshot::channel();
    ask(engine, Request::LoopTestStatus(told))?;
    let status = answer.await.map_err(|_| Refusal::Stopping)?;
    Ok(*status)
}

/// Waits until a sweep has ended, for three seconds at most.
pub(crate) async fn swept(hub: &EventHub, number: u64) {
    for _ in 0..LOOKS_MAX {
        let status = hub.status();
        if status.sweep > number || (status.sweep == number && status.phase.is_none()) {
            return;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Links between switches with errors since the image before, those with most of them first.
pub(crate) fn bad_links(image: &Image) -> Vec<BadLink> {
    let links = image
        .links()
        .filter(|link| link.ends.iter().all(|end| end.is_switch));
    let with_errors = links.filter_map(|link| bad_link(&link));
    let mut bad: Vec<BadLink> = with_errors.collect();
    // Stable: equal ones stay in order.
    bad.sort_by_key(|link| std::cmp::Reverse(link.ends[0].1 + link.ends[1].1));
    bad
}

fn bad_link(link: &LinkView<'_>) -> Option<BadLink> {
    let errors = link.ends.each_ref().map(errors);
    if errors == [0; 2] {
        return None;
    }
    let [a, b] = link.ends.each_ref().map(|end| LinkEnd {
        node: end.node,
        name: end.name(),
        port: end.port,
    });
    Some(BadLink {
        ends: [(a, errors[0]), (b, errors[1])],
    })
}

fn errors(end: &PortView<'_>) -> u64 {
    let counters = end.delta().counters;
    let errors = ERRORS.iter().map(|counter| counters[*counter as usize]);
    errors.fold(0, u64::saturating_add)
}

/// The end of a link of a plan, by name.
pub(crate) fn end(plan: &LoopPlan, port: PortRef) -> LinkEnd {
    let node = plan.topology.node(port.node);
    LinkEnd {
        node: node.map(|node| node.guid()).unwrap_or_default(),
        name: node.map(|node| node.name()).unwrap_or_default(),
        port: port.port,
    }
}

fn in_words(order: LoopTestOrder) -> String {
    match order {
        LoopTestOrder::Start { fast, packets } => {
            let mode = if fast { " in fast mode" } else { "" };
            format!("start{mode} with {packets} packets")
        }
        LoopTestOrder::Stop => "stop".to_owned(),
        LoopTestOrder::FastMode(fast) => format!("fast mode {}", on_or_off(fast)),
        LoopTestOrder::Inject(packets) => format!("inject {packets} packets"),
        LoopTestOrder::InjectAt(node) => format!("inject packets at switch {node}"),
        LoopTestOrder::InjectEachSweep(each) => {
            format!("packets in each sweep {}", on_or_off(each))
        }
        LoopTestOrder::PathLength(length) => format!("loops of up to {length} links"),
        LoopTestOrder::Redundancy(loops) => format!("{loops} loops for each link"),
    }
}

fn on_or_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}
