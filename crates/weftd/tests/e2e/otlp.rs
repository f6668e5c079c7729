//! Spans of sweeps and requests, as a collector gets them, and a daemon whose collector is away.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::runtime::Runtime;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Request, Response, Status};

use crate::harness::{Start, free_address, wait_for};

const REQUEST: &str = "weft.v1.SweepService/StartSweep";

/// Spans that have come.
type Spans = Arc<Mutex<Vec<Span>>>;

struct Collector(Spans);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: Request<ExportTraceServiceRequest>,
    ) -> Result<Response<ExportTraceServiceResponse>, Status> {
        let of_daemon = request.into_inner().resource_spans;
        let scopes = of_daemon.into_iter().flat_map(|of| of.scope_spans);
        let spans = scopes.flat_map(|scope| scope.spans);
        self.0.lock().unwrap().extend(spans);
        Ok(Response::new(ExportTraceServiceResponse::default()))
    }
}

/// A collector on a free port; it stops with the runtime.
fn collector() -> (Runtime, SocketAddr, Spans) {
    let runtime = Runtime::new().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0"));
    let listener = listener.unwrap();
    let address = listener.local_addr().unwrap();
    let spans = Spans::default();
    let service = TraceServiceServer::new(Collector(Arc::clone(&spans)));
    let serving = tonic::transport::Server::builder()
        .add_service(service)
        .serve_with_incoming(TcpListenerStream::new(listener));
    runtime.spawn(serving);
    (runtime, address, spans)
}

#[test]
fn a_collector_sees_sweeps_with_their_phases_and_the_request_that_caused_one() {
    let (_runtime, address, spans) = collector();
    let url = format!("http://{address}");
    let daemon = Start::new("fattree:16,radix=8")
        .args(&["--otlp-endpoint", &url])
        .up();
    daemon.weft_ok(&["sweep", "--wait"]);
    let (sweep, spans) = wait_for(|| {
        let spans = spans.lock().unwrap().clone();
        let request = spans.iter().find(|span| span.name == REQUEST)?;
        let is_caused = |span: &&Span| {
            let mut links = span.links.iter();
            span.name == "sweep" && links.any(|link| link.span_id == request.span_id)
        };
        Some((spans.iter().find(is_caused)?.clone(), spans))
    });
    let phases: Vec<&Span> = spans
        .iter()
        .filter(|span| span.parent_span_id == sweep.span_id)
        .collect();
    let names: Vec<&str> = phases.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["discover", "plan", "program", "activate"]);
    for phase in &phases {
        assert_eq!(phase.trace_id, sweep.trace_id);
        assert!(phase.start_time_unix_nano >= sweep.start_time_unix_nano);
        assert!(phase.end_time_unix_nano <= sweep.end_time_unix_nano);
    }
    let all = spans.iter().filter(|span| span.name == "sweep").count();
    assert!(all >= 2, "the first sweep has a span too");
    wait_for(|| {
        let metrics = daemon.scrape();
        metrics
            .contains("weft_otlp_spans_total{result=\"dropped\"} 0")
            .then_some(())
    });
}

#[test]
fn a_collector_that_is_away_costs_a_warning_and_spans() {
    let url = format!("http://{}", free_address());
    let daemon = Start::new("one-switch:4")
        .args(&["--otlp-endpoint", &url])
        .up();
    for _ in 0..3 {
        daemon.weft_ok(&["sweep", "--wait"]);
    }
    wait_for(|| {
        let metrics = daemon.scrape();
        let line = metrics
            .lines()
            .find_map(|line| line.strip_prefix("weft_otlp_spans_total{result=\"dropped\"} "))?;
        (line.parse::<u64>().unwrap() > 0).then_some(())
    });
    let log = daemon.log();
    assert_eq!(log.matches("takes no spans").count(), 1, "{log}");
}

#[test]
fn without_a_collector_there_are_no_spans_and_a_far_one_is_refused() {
    let daemon = Start::new("one-switch:4").up();
    assert!(!daemon.scrape().contains("otlp"));
    let mut far = Start::new("one-switch:4").args(&["--otlp-endpoint", "http://192.0.2.1:4317"]);
    let ran = far.command.output().unwrap();
    assert_eq!(ran.status.code(), Some(2));
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(told.contains("http://127.0.0.1:4317"), "{told}");
}
