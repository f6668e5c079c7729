//! The API as a program of its own calls it: pages, health, reflection, refusals.

use tonic::transport::Channel;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use weft_api::client::Client;
use weft_api::v1;

use crate::harness::Daemon;

async fn channel(daemon: &Daemon) -> Channel {
    Channel::from_shared(daemon.api.clone())
        .unwrap()
        .connect()
        .await
        .unwrap()
}

#[tokio::test]
async fn health_and_reflection_answer() {
    let daemon = Daemon::up("one-switch:2");
    let mut health = HealthClient::new(channel(&daemon).await);
    for service in ["", "weft.v1.FabricService", "weft.v1.PortService"] {
        let request = HealthCheckRequest {
            service: service.to_owned(),
        };
        let status = health.check(request).await.unwrap().into_inner().status;
        assert_eq!(status, 1, "{service} is SERVING");
    }
    let mut reflection = ServerReflectionClient::new(channel(&daemon).await);
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let answers = reflection
        .server_reflection_info(tokio_stream::iter([request]))
        .await;
    let answer = answers
        .unwrap()
        .into_inner()
        .message()
        .await
        .unwrap()
        .unwrap();
    let Some(MessageResponse::ListServicesResponse(list)) = answer.message_response else {
        panic!("{answer:?}");
    };
    let names: Vec<String> = list
        .service
        .into_iter()
        .map(|service| service.name)
        .collect();
    for service in [
        "v1.Fabric",
        "v1.Route",
        "v1.Port",
        "v1.Sweep",
        "v1.Config",
        "v1.Watch",
        "v1.Perf",
        "emulator.v1.Emulator",
    ] {
        let name = format!("weft.{service}Service");
        assert!(names.contains(&name), "{name} in {names:?}");
    }
}

#[tokio::test]
async fn lists_come_in_pages() {
    let daemon = Daemon::up("fattree:16");
    let client = Client::connect(&daemon.api, None).await.unwrap();
    let mut guids = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = v1::ListNodesRequest {
            page_size: 7,
            page_token,
            ..Default::default()
        };
        let page = client
            .fabric()
            .list_nodes(request)
            .await
            .unwrap()
            .into_inner();
        assert!(page.nodes.len() <= 7);
        guids.extend(page.nodes.iter().map(|node| node.guid));
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert_eq!(guids.len(), 18);
    assert!(guids.is_sorted_by(|a, b| a < b));
    let focus = "portstate:active".to_owned();
    let request = v1::ListPortsRequest {
        focus,
        page_size: 500,
        ..Default::default()
    };
    let ports = client
        .fabric()
        .list_ports(request)
        .await
        .unwrap()
        .into_inner()
        .ports;
    assert_eq!(
        ports.iter().filter(|port| port.neighbor.is_some()).count(),
        80
    );
    let request = v1::ListForwardingRequest::default();
    let tables = client
        .fabric()
        .list_forwarding(request)
        .await
        .unwrap()
        .into_inner()
        .tables;
    assert_eq!(tables.len(), 2);
    let links = client
        .fabric()
        .list_links(v1::ListLinksRequest::default())
        .await
        .unwrap();
    assert_eq!(links.into_inner().links.len(), 40);
    let snapshot = client.snapshot().await.unwrap();
    assert_eq!(snapshot.topology.links().count(), 40);
    assert_eq!(snapshot.linear.len(), 2);
}

#[tokio::test]
async fn requests_that_make_no_sense_are_refused() {
    let daemon = Daemon::up("one-switch:3");
    let client = Client::connect(&daemon.api, None).await.unwrap();
    let page_token = "nonsense".to_owned();
    let request = v1::ListNodesRequest {
        page_token,
        ..Default::default()
    };
    let refused = client.fabric().list_nodes(request).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::InvalidArgument);
    let request = v1::GetRouteRequest {
        source: "lid:1".into(),
        destination: "nodepatfile:/etc/passwd".into(),
        ..v1::GetRouteRequest::default()
    };
    let refused = client.routes().get_route(request).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::InvalidArgument);
    assert!(
        refused.message().contains("reads no files for clients"),
        "{}",
        refused.message()
    );
    let request = v1::GetRouteRequest {
        source: "lid:1".into(),
        destination: "lid:77".into(),
        ..v1::GetRouteRequest::default()
    };
    assert_eq!(
        client.routes().get_route(request).await.unwrap_err().code(),
        tonic::Code::NotFound
    );
    let refused = client
        .fabric()
        .export_fabric(v1::ExportFabricRequest::default())
        .await
        .unwrap_err();
    assert_eq!(refused.code(), tonic::Code::InvalidArgument);
    for (port, action, code) in [
        (None, v1::PortAction::Disable, tonic::Code::InvalidArgument),
        (Some((1, 1)), v1::PortAction::Disable, tonic::Code::NotFound),
        (
            Some((1, 1)),
            v1::PortAction::Unspecified,
            tonic::Code::InvalidArgument,
        ),
        (
            Some((1, 300)),
            v1::PortAction::Enable,
            tonic::Code::InvalidArgument,
        ),
    ] {
        let port = port.map(|(node_guid, port)| v1::PortId { node_guid, port });
        let action = action.into();
        let request = v1::SetPortStateRequest {
            port,
            action,
            validate_only: true,
            ..Default::default()
        };
        assert_eq!(
            client
                .ports()
                .set_port_state(request)
                .await
                .unwrap_err()
                .code(),
            code
        );
    }
    let request = v1::ValidateConfigRequest {
        text: "<Config>".into(),
    };
    let findings = client
        .config()
        .validate_config(request)
        .await
        .unwrap()
        .into_inner()
        .findings;
    assert!(!findings.is_empty());
}

#[tokio::test]
async fn routes_as_data() {
    let daemon = Daemon::up("fattree:64");
    let client = Client::connect(&daemon.api, None).await.unwrap();
    let (source, destination) = (
        "node:node1 hfi1_0".to_owned(),
        "node:node64 hfi1_0".to_owned(),
    );
    let request = v1::GetRouteRequest {
        source,
        destination,
        ..v1::GetRouteRequest::default()
    };
    let routes = client
        .routes()
        .get_route(request)
        .await
        .unwrap()
        .into_inner()
        .routes;
    let path = &routes[0].paths[0];
    assert!(path.complete, "{path:?}");
    assert_eq!(path.hops.len(), 4, "two links up, two down");
    assert_eq!(path.hops[3].to.as_ref().unwrap().node_name, "node64 hfi1_0");
    let sweep = client
        .sweeps()
        .get_sweep(v1::GetSweepRequest { number: 1 })
        .await
        .unwrap();
    let sweep = sweep.into_inner().sweep.unwrap();
    assert_eq!((sweep.reason(), sweep.hfis), (v1::SweepReason::Start, 64));
}
