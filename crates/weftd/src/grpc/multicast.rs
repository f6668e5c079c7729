//! MulticastService.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tonic::{Request, Response, Status};
use weft_api::v1;
use weft_api::v1::multicast_service_server::MulticastService;
use weft_fabric::{
    Administration, Guid, Lid, MulticastGroup, PortNum, PortRef, Snapshot, Topology,
};
use weft_report::{GroupEntry, MemberEntry, Options, gid, mcgroups};

use super::Services;
use super::facts::Facts;
use super::refusal::{not_there, wrong_field};

/// Groups, members and links of an answer where nothing is said, and at most.
const LIMIT: (usize, usize) = (1_000, 10_000);

fn bound(limit: u32) -> usize {
    let (usual, most) = LIMIT;
    match limit as usize {
        0 => usual,
        limit => limit.min(most),
    }
}

/// The group that a page comes after: its GID as answers have it, whose order is that of the text; none for the first page.
fn after(token: &str) -> Result<Option<String>, Status> {
    let half = |text: &str| {
        let digits = text
            .strip_prefix("0x")
            .filter(|digits| digits.len() == 16)?;
        u64::from_str_radix(digits, 16).ok()
    };
    let is_gid = token.split_once(':');
    let is_gid = is_gid.is_some_and(|(prefix, id)| half(prefix).and(half(id)).is_some());
    match token {
        "" => Ok(None),
        token if is_gid => Ok(Some(token.to_owned())),
        _ => Err(wrong_field(
            "page_token",
            "expected next_page_token of an answer",
        )),
    }
}

#[tonic::async_trait]
impl MulticastService for Services {
    async fn list_multicast_groups(
        &self,
        request: Request<v1::ListMulticastGroupsRequest>,
    ) -> Result<Response<v1::ListMulticastGroupsResponse>, Status> {
        let request = request.into_inner();
        let limit = bound(request.limit);
        let after = after(&request.page_token)?;
        self.must_be_master()?;
        let (snapshot, groups) = (self.hub.snapshot(), self.hub.multicast_groups());
        let generation = snapshot.generation;
        let total = groups.len() as u32;
        let rest = groups.partition_point(|group| after.as_ref() >= Some(&gid(group.mgid)));
        let rest = groups.get(rest..).unwrap_or_default();
        let (page, later) = rest.split_at(limit.min(rest.len()));
        let last = page.last().filter(|_| !later.is_empty());
        let bare = page.iter().map(|group| MulticastGroup {
            members: Vec::new(),
            ..group.clone()
        });
        let counts: Vec<u32> = page.iter().map(|one| one.members.len() as u32).collect();
        let entries = self.described(snapshot, bare.collect()).await?;
        Ok(Response::new(v1::ListMulticastGroupsResponse {
            groups: entries
                .iter()
                .zip(counts)
                .map(|(entry, members)| group_message(entry, members))
                .collect(),
            total,
            generation,
            next_page_token: last.map_or_else(String::new, |last| gid(last.mgid)),
        }))
    }

    async fn get_multicast_group(
        &self,
        request: Request<v1::GetMulticastGroupRequest>,
    ) -> Result<Response<v1::GetMulticastGroupResponse>, Status> {
        let v1::GetMulticastGroupRequest { mgid, limit } = request.into_inner();
        let limit = bound(limit);
        self.must_be_master()?;
        let (snapshot, groups) = (self.hub.snapshot(), self.hub.multicast_groups());
        let found = groups.iter().find(|group| gid(group.mgid) == mgid);
        let found = found.cloned().ok_or_else(|| {
            let what = format!("mgid: there is no multicast group '{mgid}'");
            not_there(&what, Facts::none().with("mgid", &mgid))
        })?;
        let (mlid, members) = (found.mlid, found.members.len() as u32);
        let entries = self.described(Arc::clone(&snapshot), vec![found]).await?;
        let entry = entries.into_iter().next();
        let entry = entry.ok_or_else(|| Status::internal("a group without a description"))?;
        let build = move || {
            let (tree, links) = tree(&snapshot, mlid, limit);
            let ports = ports(&snapshot.topology, &entry);
            let listed = entry.members.iter().take(limit);
            v1::GetMulticastGroupResponse {
                group: Some(group_message(&entry, members)),
                members: listed
                    .map(|member| member_message(member, &ports))
                    .collect(),
                tree,
                links,
                generation: snapshot.generation,
            }
        };
        self.workers.run(build).await.map(Response::new)
    }
}

impl Services {
    /// Groups as reports describe them.
    async fn described(
        &self,
        snapshot: Arc<Snapshot>,
        groups: Vec<MulticastGroup>,
    ) -> Result<Vec<GroupEntry>, Status> {
        let describe = move || {
            let administration = Administration {
                groups: Arc::new(groups),
                ..Administration::default()
            };
            let snapshot = Snapshot {
                administration: Arc::new(administration),
                ..snapshot.as_ref().clone()
            };
            mcgroups(&snapshot, &Options::default()).groups
        };
        self.workers.run(describe).await
    }
}

fn group_message(entry: &GroupEntry, members: u32) -> v1::MulticastGroup {
    v1::MulticastGroup {
        mgid: entry.mgid.clone(),
        mlid: entry.mlid,
        pkey: entry.pkey.into(),
        q_key: entry.q_key,
        mtu: entry.mtu,
        rate: entry.rate.to_owned(),
        sl: entry.sl.into(),
        permanent: entry.permanent,
        members,
    }
}

/// The ports of a group's members, by GUID.
fn ports(topology: &Topology, entry: &GroupEntry) -> BTreeMap<Guid, v1::NamedPort> {
    let wanted: BTreeSet<Guid> = entry.members.iter().map(|one| one.port_guid).collect();
    let own = topology.nodes().flat_map(|(id, node)| {
        let guids = node
            .ports()
            .filter_map(|(port, _)| Some((node.port_guid(port)?, port)));
        guids
            .map(|(guid, port)| (guid, PortRef { node: id, port }))
            .collect::<Vec<_>>()
    });
    own.filter(|(guid, _)| wanted.contains(guid))
        .filter_map(|(guid, at)| Some((guid, named(topology, at)?)))
        .collect()
}

fn named(topology: &Topology, at: PortRef) -> Option<v1::NamedPort> {
    Some(v1::NamedPort {
        port: weft_api::port_id(topology, at),
        node_name: topology.node(at.node)?.name(),
    })
}

fn member_message(
    member: &MemberEntry,
    ports: &BTreeMap<Guid, v1::NamedPort>,
) -> v1::MulticastMember {
    v1::MulticastMember {
        gid: member.port_gid.clone(),
        port: ports.get(&member.port_guid).cloned(),
        full: member.full,
        receives: member.full || member.non,
        sends_only: !member.full && !member.non,
    }
}

/// The first links on which switches send packets to a multicast LID, those between switches before others, and how many there
/// are.
fn tree(snapshot: &Snapshot, mlid: Lid, limit: usize) -> (Vec<v1::MulticastLink>, u32) {
    let topology = &snapshot.topology;
    let sends = |at: PortRef| {
        let switch = topology.switch_index(at.node);
        switch.is_some_and(|switch| snapshot.multicast.ports(switch, mlid).contains(at.port))
    };
    let mut links: BTreeSet<(bool, PortRef, PortRef)> = BTreeSet::new();
    for switch in topology.switches() {
        let Some(index) = topology.switch_index(*switch) else {
            continue;
        };
        let ports = snapshot.multicast.ports(index, mlid);
        for port in ports.iter().filter(|port| *port != PortNum(0)) {
            let from = PortRef {
                node: *switch,
                port,
            };
            if let Some(to) = topology.peer(from) {
                let is_host = topology.switch_index(to.node).is_none();
                links.insert((is_host, from.min(to), from.max(to)));
            }
        }
    }
    let count = links.len() as u32;
    let listed = links.into_iter().take(limit);
    let listed = listed.map(|(_, a, b)| v1::MulticastLink {
        a: named(topology, a),
        b: named(topology, b),
        from_a: sends(a),
        from_b: sends(b),
    });
    (listed.collect(), count)
}
