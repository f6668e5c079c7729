//! What the page in a browser shows of routes, multicast groups and virtual fabrics, as the API tells it.

use std::collections::BTreeSet;

use weft_api::client::Client;
use weft_api::v1;
use weft_interop::Fabric;

use crate::harness::{Daemon, READ_OFTEN, Start, configure, configure_adaptive, stock_config};
use crate::registrations::Site;

/// Two LIDs for each port, and adaptive routing.
fn adaptive() -> Daemon {
    let start = Start::new("fattree:16,radix=8");
    configure_adaptive(&start.dir.path().join("opafm.xml"));
    start.up()
}

fn asked(engine: &str) -> v1::GetRouteRequest {
    v1::GetRouteRequest {
        source: "node:node1 hfi1_0".to_owned(),
        destination: "node:node16 hfi1_0".to_owned(),
        engine: engine.to_owned(),
        ..v1::GetRouteRequest::default()
    }
}

async fn client(daemon: &Daemon) -> Client {
    Client::connect(&daemon.api, None).await.unwrap()
}

#[tokio::test]
async fn a_path_has_the_choices_of_switches_and_the_lanes_of_each_virtual_fabric() {
    let daemon = adaptive();
    let client = client(&daemon).await;
    let route = client.routes().get_route(asked("")).await.unwrap();
    let answer = route.into_inner();
    assert_eq!((&*answer.engine, answer.notes.len()), ("", 0));
    let paths = &answer.routes[0].paths;
    assert_eq!(paths.len(), 2, "one for each LID");
    for path in paths {
        assert!(path.complete, "{path:?}");
        let counts: Vec<usize> = path.hops.iter().map(|hop| hop.choices.len()).collect();
        // A host does not choose, an edge switch does among its links up, and only one link leads down to a host.
        assert_eq!((counts[0], counts[1]), (0, 4), "{counts:?}");
        let up = &path.hops[1];
        let own = up.from.as_ref().unwrap().port.unwrap();
        let choices = up
            .choices
            .iter()
            .map(|choice| choice.from.as_ref().unwrap());
        let ports: Vec<v1::PortId> = choices.map(|end| end.port.unwrap()).collect();
        assert!(ports.contains(&own), "{ports:?}");
        assert!(ports.iter().all(|port| port.node_guid == own.node_guid));
        assert!(
            up.choices
                .iter()
                .all(|choice| { choice.to.as_ref().unwrap().node_name.starts_with("core") })
        );
    }
    let reach = v1::CheckReachRequest {
        source: asked("").source,
        destination: asked("").destination,
    };
    let reached = client.virtual_fabrics().check_reach(reach).await.unwrap();
    let reached = reached.into_inner().reached;
    assert!(!reached.is_empty());
    let levels = &paths[0].levels;
    assert_eq!(levels.len(), reached.len());
    for (level, reached) in levels.iter().zip(&reached) {
        assert_eq!(level.virtual_fabric, reached.virtual_fabric);
        assert_eq!((level.sl, &*level.stopped_reason), (reached.sl, ""));
        let lanes: Vec<(u32, u32)> = level.lanes.iter().map(|lane| (lane.sc, lane.vl)).collect();
        let hops: Vec<(u32, u32)> = reached.hops.iter().map(|hop| (hop.sc, hop.vl)).collect();
        assert_eq!(lanes, hops);
    }
    // Several pairs have no levels.
    let many = v1::GetRouteRequest {
        destination: "nodetype:FI".to_owned(),
        ..asked("")
    };
    let many = client.routes().get_route(many).await.unwrap().into_inner();
    assert!(many.routes.len() > 1);
    assert!(
        many.routes
            .iter()
            .flat_map(|route| &route.paths)
            .all(|path| path.levels.is_empty())
    );
}

/// What a port sends of its first virtual fabric, as the API counts it.
fn sent(port: &v1::PortCounters) -> f64 {
    let rates = port.virtual_fabrics.first().and_then(|own| own.rates);
    rates.and_then(|rates| rates.xmit_data).unwrap_or(0.0)
}

#[tokio::test]
async fn paths_of_another_engine_are_told_and_nothing_changes() {
    let daemon = adaptive();
    let client = client(&daemon).await;
    let before = client
        .routes()
        .get_route(asked(""))
        .await
        .unwrap()
        .into_inner();
    let other = client
        .routes()
        .get_route(asked("opa-shortestpath"))
        .await
        .unwrap();
    let other = other.into_inner();
    assert_eq!(other.engine, "opa-shortestpath");
    let paths = &other.routes[0].paths;
    assert_eq!(paths.len(), 2);
    assert!(
        paths
            .iter()
            .all(|path| path.complete && path.hops.len() == 4)
    );
    assert!(paths.iter().all(|path| !path.levels.is_empty()));
    let after = client
        .routes()
        .get_route(asked(""))
        .await
        .unwrap()
        .into_inner();
    assert_eq!(after, before, "the routes in force stay");
    let refused = client
        .routes()
        .get_route(asked("sideways"))
        .await
        .unwrap_err();
    assert_eq!(refused.code(), tonic::Code::InvalidArgument);
    let then = v1::GetRouteRequest {
        at: Some(v1::Moment::default()),
        ..asked("dmodc")
    };
    let refused = client.routes().get_route(then).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::InvalidArgument);
}

#[test]
fn a_group_has_its_members_and_the_links_of_its_tree() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(stock_config(), dir.path().join("opafm.xml")).unwrap();
    let site = Site::of(Fabric::start("fattree:16,radix=8"));
    let daemon = site.start(dir, 0).up();
    site.join(&[2, 9]);
    site.settled();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(is_told(&daemon));
}

/// The group that hosts 3 and 10 have joined.
async fn is_told(daemon: &Daemon) {
    let client = client(daemon).await;
    let every = v1::ListMulticastGroupsRequest::default();
    let listed = client.multicast().list_multicast_groups(every).await;
    let listed = listed.unwrap().into_inner();
    assert_eq!(listed.total as usize, listed.groups.len());
    assert_eq!(listed.next_page_token, "");
    let mut pages = Vec::new();
    let mut page_token = String::new();
    loop {
        let one = v1::ListMulticastGroupsRequest {
            limit: 1,
            page_token,
        };
        let page = client.multicast().list_multicast_groups(one).await;
        let page = page.unwrap().into_inner();
        assert_eq!(page.total, listed.total);
        pages.extend(page.groups);
        page_token = page.next_page_token;
        if page_token.is_empty() {
            break;
        }
    }
    assert!(pages.len() > 1, "there is more than one page");
    assert_eq!(pages, listed.groups);
    for page_token in ["nonsense", "0x1:0x2"] {
        let wrong = v1::ListMulticastGroupsRequest {
            page_token: page_token.to_owned(),
            ..v1::ListMulticastGroupsRequest::default()
        };
        let refused = client.multicast().list_multicast_groups(wrong).await;
        assert_eq!(refused.unwrap_err().code(), tonic::Code::InvalidArgument);
    }
    let group = listed
        .groups
        .iter()
        .find(|group| group.members == 2)
        .unwrap();
    assert_eq!(group.mgid, "0xff12401b80010000:0x00000000ffffffff");
    assert!(group.mlid >= 0xF000_0000, "{:#x}", group.mlid);
    let asked = |mgid: &str, limit| v1::GetMulticastGroupRequest {
        mgid: mgid.to_owned(),
        limit,
    };
    let found = client
        .multicast()
        .get_multicast_group(asked(&group.mgid, 0))
        .await;
    let found = found.unwrap().into_inner();
    assert_eq!(found.group.as_ref(), Some(group));
    let names = found.members.iter().map(|member| {
        assert!(member.full && member.receives && !member.sends_only);
        member.port.as_ref().unwrap().node_name.clone()
    });
    let names: Vec<String> = names.collect();
    assert_eq!(names, ["node3 hfi1_0", "node10 hfi1_0"]);
    // The members' own links, after a tree of switches: one link less than switches.
    assert_eq!(found.links as usize, found.tree.len());
    let name = |end: &Option<v1::NamedPort>| end.as_ref().unwrap().node_name.clone();
    let (switches, hosts) = found.tree.split_at(found.tree.len() - 2);
    assert!(switches.iter().all(|link| link.from_a && link.from_b));
    let joined: BTreeSet<String> = switches
        .iter()
        .flat_map(|link| [name(&link.a), name(&link.b)])
        .collect();
    assert_eq!(joined.len(), switches.len() + 1, "{:?}", found.tree);
    for link in hosts {
        let ends = [name(&link.a), name(&link.b)];
        assert!(ends.iter().any(|end| names.contains(end)), "{ends:?}");
        assert!(ends.iter().any(|end| joined.contains(end)), "{ends:?}");
        assert!(link.from_a != link.from_b, "a host sends by itself");
    }
    let first = client
        .multicast()
        .get_multicast_group(asked(&group.mgid, 1))
        .await;
    let first = first.unwrap().into_inner();
    assert_eq!((first.tree.len(), first.members.len()), (1, 1));
    assert_eq!(first.links, found.links);
    let none = client
        .multicast()
        .get_multicast_group(asked("0x0:0x0", 0))
        .await;
    assert_eq!(none.unwrap_err().code(), tonic::Code::NotFound);
}

#[tokio::test]
async fn ports_that_carry_a_virtual_fabric_come_by_what_they_send() {
    let start = Start::new("fattree:16,radix=8");
    configure(&start.dir.path().join("opafm.xml"), &READ_OFTEN);
    let daemon = start.up();
    daemon.weft_ok(&[
        "emulator",
        "traffic",
        "start",
        "job",
        "pairs",
        "node9:node16",
    ]);
    let client = client(&daemon).await;
    let request = |name: &str, limit| v1::ListVirtualFabricPortsRequest {
        name: name.to_owned(),
        limit,
    };
    let mut busy = None;
    for _ in 0..100 {
        let listed = client
            .counters()
            .list_virtual_fabric_ports(request("Default", 5))
            .await;
        busy = listed
            .ok()
            .map(tonic::Response::into_inner)
            .filter(|listed| listed.ports.first().is_some_and(|port| sent(port) > 1e6));
        if busy.is_some() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    let busy = busy.expect("somebody sends");
    assert_eq!(busy.ports.len(), 5);
    assert!(busy.carrying > 40, "{}", busy.carrying);
    let names: Vec<&str> = busy
        .ports
        .iter()
        .map(|port| &*port.virtual_fabrics[0].name)
        .collect();
    assert_eq!(names, ["Default"; 5]);
    let by_sent: Vec<f64> = busy.ports.iter().map(sent).collect();
    assert!(by_sent.is_sorted_by(|one, next| one >= next), "{by_sent:?}");
    let first = busy.ports[0].port.as_ref().unwrap();
    assert!(
        ["node9 hfi1_0", "edge3", "edge4"].contains(&&*first.node_name)
            || first.node_name.starts_with("core"),
        "{first:?}"
    );
    let none = client
        .counters()
        .list_virtual_fabric_ports(request("Nobody", 0))
        .await;
    assert_eq!(none.unwrap_err().code(), tonic::Code::NotFound);
}
