//! Lists of the API: fields that are wanted, parts of the fabric, pages.

use serde_json::Value;
use tonic::{Code, Status};
use tonic_types::StatusExt;
use weft_api::client::Client;
use weft_api::{FieldMask, v1};

use crate::harness::Daemon;

/// Four edge switches with four hosts each under four cores.
const TREE: &str = "pgft:2;4,4;1,4;1,1;radix=8";

fn mask(paths: &[&str]) -> Option<FieldMask> {
    let paths = paths.iter().map(|path| (*path).to_owned()).collect();
    Some(FieldMask { paths })
}

/// That a mask is refused, with what is allowed.
#[track_caller]
fn is_refused<T: std::fmt::Debug>(answer: Result<T, Status>, allowed: &str) {
    let refused = answer.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument, "{refused:?}");
    let fields = refused.get_details_bad_request().unwrap().field_violations;
    assert_eq!(fields[0].field, "read_mask");
    let facts = refused.get_details_error_info().unwrap().metadata;
    assert_eq!(facts["path"], "nonsense");
    assert!(
        facts["allowed"].split(", ").any(|name| name == allowed),
        "{facts:?}"
    );
}

#[tokio::test]
async fn nodes_ports_and_links_have_the_fields_that_are_wanted() {
    let daemon = Daemon::up(TREE);
    let client = Client::connect(&daemon.api, None).await.unwrap();
    let mut fabric = client.fabric();
    let nodes = |paths: &[&str]| v1::ListNodesRequest {
        read_mask: mask(paths),
        ..v1::ListNodesRequest::default()
    };
    let named = fabric.list_nodes(nodes(&["name", "lid"])).await.unwrap();
    let named = named.into_inner().nodes;
    assert_eq!(named.len(), 24);
    for node in &named {
        assert!(!node.name.is_empty() && node.lid > 0, "{node:?}");
        let bare = v1::Node {
            name: node.name.clone(),
            lid: node.lid,
            ..v1::Node::default()
        };
        assert_eq!(node, &bare);
    }
    let all = fabric
        .list_nodes(nodes(&[]))
        .await
        .unwrap()
        .into_inner()
        .nodes;
    assert!(all.iter().all(|node| node.guid != 0 && node.num_ports > 0));
    is_refused(
        fabric.list_nodes(nodes(&["name", "nonsense"])).await,
        "system_image_guid",
    );

    let ports = |paths: &[&str]| v1::ListPortsRequest {
        focus: "node:edge2".to_owned(),
        read_mask: mask(paths),
        ..v1::ListPortsRequest::default()
    };
    let listed = fabric
        .list_ports(ports(&["id.port", "state"]))
        .await
        .unwrap();
    let listed = listed.into_inner().ports;
    assert_eq!(listed.len(), 9);
    for (number, port) in (0..).zip(&listed) {
        let id = v1::PortId {
            node_guid: 0,
            port: number,
        };
        assert_eq!(port.id, Some(id));
        assert!(port.neighbor.is_none() && port.mtu_cap == 0, "{port:?}");
    }
    is_refused(
        fabric.list_ports(ports(&["nonsense"])).await,
        "link_down_reason",
    );

    let links = |paths: &[&str]| v1::ListLinksRequest {
        read_mask: mask(paths),
        ..v1::ListLinksRequest::default()
    };
    let listed = fabric
        .list_links(links(&["rate"]))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(listed.links.len(), 32);
    for link in &listed.links {
        assert!(link.rate == "100g" && link.from.is_none(), "{link:?}");
    }
    is_refused(fabric.list_links(links(&["nonsense"])).await, "rate");
}

#[tokio::test]
async fn quarantine_and_disabled_ports_come_in_pages_of_a_part() {
    let daemon = Daemon::up(TREE);
    for port in [
        "node:edge1:port:5",
        "node:edge1:port:6",
        "node:edge2:port:5",
    ] {
        daemon.weft_ok(&["quarantine", "add", port, "--reason", "tests"]);
    }
    daemon.weft_ok(&["port", "disable", "node:edge3:port:7", "--reason", "dirt"]);
    daemon.weft_ok(&["port", "disable", "node:edge4:port:8", "--reason", "dust"]);
    // Only now: while commands run, nothing would answer the daemon's pings.
    let client = Client::connect(&daemon.api, None).await.unwrap();
    let mut service = client.ports();

    let mut request = v1::ListQuarantineRequest {
        page_size: 2,
        read_mask: mask(&["port.node_name", "comment"]),
        ..v1::ListQuarantineRequest::default()
    };
    let first = service.list_quarantine(request.clone()).await.unwrap();
    let first = first.into_inner();
    assert_eq!(first.ports.len(), 2);
    for entry in &first.ports {
        let port = entry.port.as_ref().unwrap();
        assert_eq!((&*port.node_name, port.port), ("edge1", None));
        assert_eq!((&*entry.comment, &*entry.reason), ("tests", ""));
    }
    request.page_token = first.next_page_token;
    let last = service.list_quarantine(request).await.unwrap().into_inner();
    assert_eq!((last.ports.len(), &*last.next_page_token), (1, ""));
    let wrong = v1::ListQuarantineRequest {
        read_mask: mask(&["nonsense"]),
        ..v1::ListQuarantineRequest::default()
    };
    is_refused(service.list_quarantine(wrong).await, "comment");
    let nobody = v1::ListQuarantineRequest {
        point: "node:nobody".to_owned(),
        ..v1::ListQuarantineRequest::default()
    };
    let refused = service.list_quarantine(nobody).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);

    let disabled = |point: &str, paths: &[&str]| v1::ListDisabledPortsRequest {
        point: point.to_owned(),
        read_mask: mask(paths),
        page_size: 1,
        ..v1::ListDisabledPortsRequest::default()
    };
    let listed = service.list_disabled_ports(disabled("", &["reason"])).await;
    let listed = listed.unwrap().into_inner();
    assert!(listed.ports.len() == 1 && !listed.next_page_token.is_empty());
    assert!(listed.ports[0].port.is_none(), "{listed:?}");
    assert_eq!(listed.ports[0].reason, "dirt");
    let listed = service
        .list_disabled_ports(disabled("node:edge4", &[]))
        .await;
    let listed = listed.unwrap().into_inner();
    assert_eq!(listed.ports[0].reason, "dust");
    assert_eq!((listed.ports.len(), &*listed.next_page_token), (1, ""));
    is_refused(
        service
            .list_disabled_ports(disabled("", &["nonsense"]))
            .await,
        "disabled_time",
    );

    let entries = |args: &[&str]| {
        let listed: Value = serde_json::from_str(&daemon.weft_ok(args)).unwrap();
        listed.as_array().unwrap().len()
    };
    assert_eq!(entries(&["quarantine", "list", "--json"]), 3);
    assert_eq!(entries(&["quarantine", "list", "node:edge1", "--json"]), 2);
    assert_eq!(
        entries(&["port", "list", "--disabled", "node:edge3", "--json"]),
        1
    );
    let none = daemon.weft_ok(&["quarantine", "list", "node:edge4"]);
    assert_eq!(
        none,
        "no port of node:edge4 is in quarantine or held back\n"
    );
    daemon.weft_fails(1, &["quarantine", "list", "node:nobody"]);
}
