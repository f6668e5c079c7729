//! The effect of the limits on clients, with shorter times.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_stream::Empty;
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};
use tonic_health::pb::health_client::HealthClient;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use super::Limits;
use crate::grpc::accept::incoming;
use crate::listen::Listener;

/// Far more than these tests take on a busy machine.
const LONG: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(200);
/// What a client of HTTP/2 begins with: the preface and empty settings.
const HELLO: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// Type of the frame PING (RFC 9113, section 6.7).
const PING: u8 = 6;

/// A service that never answers, and counts the calls that it carries out.
#[derive(Debug, Clone, Default)]
struct Stuck(Arc<AtomicUsize>);

#[tonic::async_trait]
impl Health for Stuck {
    type WatchStream = Empty<Result<HealthCheckResponse, Status>>;

    async fn check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        self.0.fetch_add(1, Ordering::Relaxed);
        std::future::pending().await
    }

    async fn watch(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        Err(Status::unimplemented("no test watches"))
    }
}

/// Serves such a service.
async fn serve(limits: Limits) -> (SocketAddr, Stuck) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stuck = Stuck::default();
    let router = limits
        .server()
        .add_service(HealthServer::new(stuck.clone()));
    tokio::spawn(router.serve_with_incoming(incoming(
        vec![Listener::Tcp(listener)],
        None,
        limits,
        None,
    )));
    (address, stuck)
}

async fn client(address: SocketAddr) -> HealthClient<Channel> {
    let server = Channel::from_shared(format!("http://{address}")).unwrap();
    HealthClient::new(server.connect().await.unwrap())
}

#[tokio::test]
async fn a_call_without_an_answer_ends() {
    let (address, stuck) = serve(Limits {
        call_max: SHORT,
        ..Limits::USUAL
    })
    .await;
    let mut client = client(address).await;
    let call = timeout(LONG, client.check(HealthCheckRequest::default()));
    let status = call.await.unwrap().unwrap_err();
    assert_eq!(status.code(), Code::Cancelled, "{status}");
    assert!(status.message().contains("Timeout expired"), "{status}");
    assert_eq!(stuck.0.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn one_call_too_many_of_a_connection_waits() {
    let (address, stuck) = serve(Limits {
        calls: 3,
        ..Limits::USUAL
    })
    .await;
    let (one, mut other) = (client(address).await, client(address).await);
    let mut calls = JoinSet::new();
    for _ in 0..5 {
        let mut one = one.clone();
        calls.spawn(async move { one.check(HealthCheckRequest::default()).await });
    }
    let begun = |count| {
        let stuck = stuck.clone();
        timeout(LONG, async move {
            while stuck.0.load(Ordering::Relaxed) < count {
                sleep(SHORT / 10).await;
            }
        })
    };
    begun(3).await.unwrap();
    sleep(SHORT).await;
    assert_eq!(stuck.0.load(Ordering::Relaxed), 3, "the others wait");
    let elsewhere = tokio::spawn(async move { other.check(HealthCheckRequest::default()).await });
    begun(4)
        .await
        .expect("another connection has calls of its own");
    elsewhere.abort();
    calls.shutdown().await;
}

#[tokio::test]
async fn a_client_that_answers_no_ping_is_disconnected() {
    let (address, _) = serve(Limits {
        keepalive: (SHORT, SHORT),
        ..Limits::USUAL
    })
    .await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(HELLO).await.unwrap();
    let mut received = Vec::new();
    // A reset is an end, too.
    let _ = timeout(LONG, stream.read_to_end(&mut received))
        .await
        .expect("it is closed");
    let mut pings = 0;
    let mut rest = &received[..];
    while let [a, b, c, kind, frame @ ..] = rest {
        pings += usize::from(*kind == PING);
        let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
        rest = frame.get(5 + length..).unwrap_or_default();
    }
    assert!(pings > 0, "{received:?}");
}

#[tokio::test]
async fn a_client_that_says_nothing_is_disconnected() {
    let (address, _) = serve(Limits {
        keepalive: (SHORT, SHORT),
        ..Limits::USUAL
    })
    .await;
    for hello in [&HELLO[..0], &HELLO[..4], &HELLO[..24]] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(hello).await.unwrap();
        let end = timeout(LONG / 10, stream.read_to_end(&mut Vec::new())).await;
        assert!(end.is_ok(), "after {} bytes", hello.len());
    }
}

#[tokio::test]
async fn a_client_that_waits_for_its_answer_stays_connected() {
    let (address, _) = serve(Limits {
        keepalive: (SHORT / 2, 4 * SHORT),
        ..Limits::USUAL
    })
    .await;
    let mut client = client(address).await;
    let call = timeout(15 * SHORT, client.check(HealthCheckRequest::default()));
    assert!(call.await.is_err(), "it waits");
}
