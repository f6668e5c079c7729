#![allow(clippy::unwrap_used)]

use tokio::runtime::Handle;
use weft_fabric::{Guid, PortNum};
use weft_manager::sm::Settings;
use weft_transport::{FromFabric, pair};
use weft_wire::sm::AttributeId;
use weft_wire::smp::{DirectedRoute, Smp};

use super::*;
use crate::clears::clears;
use crate::event_hub::InForce;
use crate::health::Health;
use crate::otlp::Tracer;
use crate::planner::planner;
use crate::port_counters::PortSeries;
use crate::port_metrics::IMAGES_MAX;
use crate::query_thread::{QuerySettings, feeds};
use crate::remote_write::RemoteWrites;
use crate::store::Saved;

/// A request that the manager answers at once.
fn question() -> Packet {
    let asked = Smp::get(AttributeId::SM_INFO, 0, 1, 0);
    let mut mad = Vec::new();
    asked.write_directed(&DirectedRoute::new(&[]).unwrap(), &[0; 64], &mut mad);
    Packet::directed(mad)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_nothing_can_be_sent_nothing_is_taken_in_beyond_the_bound() {
    const BATCH: usize = TO_SEND_MAX / 4;
    let hub = Arc::new(EventHub::new(InForce::default()));
    let (images, _images) = mpsc::channel(IMAGES_MAX);
    let settings = watch::Sender::new(QuerySettings::default());
    let (cables, _memories) = watch::channel(Arc::default());
    let (_feeds, to_queries, lines) = feeds(
        hub.clone(),
        settings.subscribe(),
        images,
        cables,
        None,
        clears().1,
    );
    let saved = watch::channel(Saved::everything()).1;
    let series = PortSeries::new(Vec::new(), Arc::default());
    let metrics = Arc::new(Metrics::new(crate::metrics::Sources {
        hub: hub.clone(),
        port_metrics: Arc::default(),
        port_series: series,
        saved,
        health: Health::without_pages(),
        tracer: Tracer::default(),
        history: None,
        remote_writes: RemoteWrites::default(),
        tls: None,
        peering: crate::peer::Peering::default(),
        mandates: crate::etcd::Mandates::default(),
    }));
    let dispatch = MadDispatch::new(Handle::current(), lines, hub.clone());
    let manager = Recorded::new(Tick(0), Settings::default(), None, None);
    let persist = watch::Sender::default();
    let (plans, _planner) = planner();
    let mut engine = Engine::new(manager, plans, hub, metrics, persist, dispatch, to_queries);
    // A fabric that takes one message in, and no more.
    let (connection, endpoint) = pair(Guid(1), PortNum(1), 1);
    let line = engine.dispatch.connect(connection).await;
    let (_requests, mut requests) = mpsc::channel(1);
    let (stop, mut stopping) = watch::channel(false);
    let driving = async {
        engine.drive(line, &mut requests, &mut stopping).await;
        engine.to_send.len()
    };
    let asking = async {
        let batch = vec![question(); BATCH];
        let mut given = 0;
        for size in std::iter::repeat_n(BATCH, 12).chain(std::iter::repeat_n(1, 4096)) {
            let questions = FromFabric::Packets(batch[..size].to_vec());
            let sent = endpoint.sender.send(questions);
            if time::timeout(Duration::from_secs(2), sent).await.is_err() {
                break;
            }
            given += size;
        }
        stop.send_replace(true);
        given
    };
    let (waiting, given) = tokio::join!(driving, asking);
    assert!(waiting >= TO_SEND_MAX, "{waiting}");
    assert!(waiting < TO_SEND_MAX + 2 * BATCH, "{waiting} of {given}");
    assert!(
        given > waiting,
        "the rest waits where it is bounded: {given}"
    );
}
