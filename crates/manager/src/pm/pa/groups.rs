//! Groups and virtual fabrics: their names, ports, nodes, links and statistics.

use weft_fabric::{PortNum, Tick};
use weft_wire::enums::NodeType;
use weft_wire::pa::{
    GroupConfigReq, GroupConfigRsp, GroupInfo, GroupLinkInfoReq, GroupLinkInfoRsp, GroupList,
    GroupList2, GroupNodeInfoReq, GroupNodeInfoRsp, ImageId, VfConfigReq, VfConfigRsp, VfInfo,
    VfList, VfList2, status,
};
use weft_wire::pm::PortMask;
use weft_wire::text::Text;

use super::focus::status_of;
use super::images::Found;
use super::statistics::{Rates, Trouble, Utilization};
use super::{Records, Refusal, Unanswered};
use crate::pm::Pm;
use crate::pm::categories::Scene;
use crate::pm::image::{Image, Reading};
use crate::pm::roster::{Member, RosterPort};
use crate::pm::settings::Categories;

/// Stands for all ports of a node.
const ALL_PORTS: PortNum = PortNum(255);

/// Ports that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Set {
    /// A group, by its bit.
    Group(usize),
    /// A virtual fabric, by its bit.
    Fabric(usize),
}

impl Set {
    /// The group of a name.
    pub(super) fn group(image: &Image, name: &Text<64>) -> Result<Self, Refusal> {
        let names = image.roster.groups.iter();
        let place = find(names.map(String::as_str), name)?;
        place.map(Self::Group).ok_or(status::NO_GROUP)
    }

    /// The virtual fabric of a name.
    pub(super) fn fabric(image: &Image, name: &Text<64>) -> Result<Self, Refusal> {
        let names = image.roster.fabrics.iter();
        let place = find(names.map(|fabric| fabric.name.as_str()), name)?;
        place.map(Self::Fabric).ok_or(status::NO_VF)
    }

    /// Whether a port is in it.
    pub(super) fn has(self, port: &RosterPort) -> bool {
        let bits = match self {
            Self::Group(index) => u32::from(port.groups)
                .checked_shr(index as u32)
                .unwrap_or(0),
            Self::Fabric(index) => port.fabrics >> index,
        };
        port.is_active && bits & 1 == 1
    }

    /// Whether the neighbour of one of its ports is in it too; a virtual fabric has no outside.
    pub(super) fn is_internal(self, port: &RosterPort) -> bool {
        match self {
            Self::Group(index) => port.internal >> index & 1 == 1,
            Self::Fabric(_) => true,
        }
    }

    /// What its ports carry and how bad their errors are, without its name and the image's identity.
    fn info(self, image: &Image, thresholds: &Categories) -> GroupInfo {
        let mut inside = Inside::default();
        let mut border = Border::default();
        let scene = Scene::new(image);
        for (place, port) in self.ports(image) {
            match self.is_internal(port) {
                true => inside.add(thresholds, &scene, place, port),
                false => border.add(thresholds, &scene, place, port),
            }
        }
        let (max_external_mbps, max_internal_mbps) =
            (border.rates.most_mbps(), inside.rates.most_mbps());
        GroupInfo {
            num_internal_ports: inside.ports,
            num_external_ports: border.ports,
            internal_util_stats: inside.used.finish(),
            send_util_stats: border.sent.finish(),
            recv_util_stats: border.received.finish(),
            internal_category_stats: inside.trouble.finish(),
            external_category_stats: border.trouble.finish(),
            max_internal_rate: inside.rates.most(),
            min_internal_rate: inside.rates.least(),
            max_external_rate: border.rates.most(),
            min_external_rate: border.rates.least(),
            max_internal_mbps,
            max_external_mbps,
            ..GroupInfo::default()
        }
    }

    /// Its ports in an image, in order.
    pub(super) fn ports(self, image: &Image) -> impl Iterator<Item = (usize, &RosterPort)> {
        let ports = image.roster.ports.iter().enumerate();
        ports.filter(move |(_, port)| self.has(port))
    }
}

impl Image {
    /// What the ports of a group carry and how bad their errors are, by the group's place in [`Roster::groups`]. As
    /// performance administration tells it, but for the group's name and the image's identity.
    ///
    /// [`Roster::groups`]: crate::pm::Roster::groups
    pub fn group(&self, group: usize, thresholds: &Categories) -> GroupInfo {
        Set::Group(group).info(self, thresholds)
    }

    /// Places of the ports of a group in the roster, in order, and whether the neighbour is in it too, or there is none.
    pub fn group_ports(&self, group: usize) -> impl Iterator<Item = (usize, bool)> {
        let set = Set::Group(group);
        set.ports(self)
            .map(move |(place, port)| (place, set.is_internal(port)))
    }
}

/// Place of a name in a list; an empty one is wrong.
fn find<'a>(
    mut names: impl Iterator<Item = &'a str>,
    name: &Text<64>,
) -> Result<Option<usize>, Refusal> {
    match name.bytes() {
        b"" => Err(status::INVALID_PARAMETER),
        name => Ok(names.position(|known| Text::<64>::new(known).bytes() == name)),
    }
}

impl Pm {
    pub(super) fn group_list(&mut self, now: Tick) -> Result<Records, Unanswered> {
        let image = self.image(now, &ImageId::default())?.image;
        let names = image.roster.groups.iter();
        Ok(Records::of(names.map(|name| GroupList {
            group_name: Text::new(name),
        })))
    }

    pub(super) fn group_list2(&mut self, now: Tick, id: &ImageId) -> Result<Records, Unanswered> {
        let Found { image, id } = self.image(now, id)?;
        let names = image.roster.groups.iter();
        Ok(Records::of(names.map(|name| GroupList2 {
            group_name: Text::new(name),
            image_id: id,
        })))
    }

    pub(super) fn fabric_list(&mut self, now: Tick) -> Result<Records, Unanswered> {
        let image = self.image(now, &ImageId::default())?.image;
        let fabrics = image.roster.fabrics.iter();
        Ok(Records::of(fabrics.map(|fabric| VfList {
            vf_name: Text::new(&fabric.name),
        })))
    }

    pub(super) fn fabric_list2(&mut self, now: Tick, id: &ImageId) -> Result<Records, Unanswered> {
        let Found { image, id } = self.image(now, id)?;
        let fabrics = image.roster.fabrics.iter();
        Ok(Records::of(fabrics.map(|fabric| VfList2 {
            vf_name: Text::new(&fabric.name),
            image_id: id,
        })))
    }

    pub(super) fn group_config(
        &mut self,
        now: Tick,
        ask: &GroupConfigReq,
    ) -> Result<Records, Unanswered> {
        let Found { image, id } = self.image(now, &ask.image_id)?;
        let set = Set::group(&image, &ask.group_name)?;
        Ok(Records::of(set.ports(&image).map(|(_, port)| {
            let member = image.roster.member_of(port);
            GroupConfigRsp {
                image_id: id,
                node_guid: member.guid,
                node_desc: member.description,
                node_lid: member.lid,
                port_number: port.number,
            }
        })))
    }

    pub(super) fn fabric_config(
        &mut self,
        now: Tick,
        ask: &VfConfigReq,
    ) -> Result<Records, Unanswered> {
        let Found { image, id } = self.image(now, &ask.image_id)?;
        let set = Set::fabric(&image, &ask.vf_name)?;
        Ok(Records::of(set.ports(&image).map(|(_, port)| {
            let member = image.roster.member_of(port);
            VfConfigRsp {
                image_id: id,
                node_guid: member.guid,
                node_desc: member.description,
                node_lid: member.lid,
                port_number: port.number,
            }
        })))
    }

    pub(super) fn group_nodes(
        &mut self,
        now: Tick,
        ask: &GroupNodeInfoReq,
    ) -> Result<Records, Unanswered> {
        let Found { image, id } = self.image(now, &ask.image_id)?;
        let set = Set::group(&image, &ask.group_name)?;
        let roster = &image.roster;
        let wanted = |member: &Member| {
            (ask.node_guid.0 == 0 || ask.node_guid == member.guid)
                && (ask.node_lid.0 == 0 || ask.node_lid == member.lid)
                && (ask.node_desc.bytes().is_empty()
                    || member.description.bytes() == ask.node_desc.bytes())
        };
        let members = roster.members.iter().enumerate();
        let records = members
            .filter(|(_, member)| wanted(member))
            .map(|(index, member)| {
                let ports = roster.ports_of(index).filter(|(_, port)| set.has(port));
                GroupNodeInfoRsp {
                    image_id: id,
                    node_guid: member.guid,
                    node_desc: member.description,
                    node_lid: member.lid,
                    node_type: match member.is_switch {
                        true => NodeType::SWITCH,
                        false => NodeType::HFI,
                    },
                    port_select_mask: ports.map(|(_, port)| port.number).collect::<PortMask>(),
                }
            });
        Ok(Records::of(
            records.filter(|record| !record.port_select_mask.is_empty()),
        ))
    }

    pub(super) fn group_links(
        &mut self,
        now: Tick,
        ask: &GroupLinkInfoReq,
    ) -> Result<Records, Unanswered> {
        let Found { image, id } = self.image(now, &ask.image_id)?;
        let set = Set::group(&image, &ask.group_name)?;
        let one = ask.lid.0 != 0;
        let port = match (one, ask.port) {
            (true, PortNum(0)) | (false, _) => ALL_PORTS,
            (true, port) => port,
        };
        let roster = &image.roster;
        if one && port != ALL_PORTS {
            let member = roster
                .members
                .iter()
                .position(|member| member.lid == ask.lid);
            let exists = member.is_none_or(|member| roster.port_of(member, port).is_some());
            if !exists {
                return Err(status::INVALID_PARAMETER.into());
            }
        }
        let links = set.ports(&image).filter_map(|(place, from)| {
            let other = from.neighbor? as usize;
            let (lid, to) = (roster.member_of(from).lid, roster.ports.get(other)?);
            let to_lid = roster.member_of(to).lid;
            let wanted = match one {
                true => lid == ask.lid && (port == ALL_PORTS || port == from.number),
                // A link inside the group is listed once, from its end with the lower LID.
                false => !set.is_internal(from) || lid <= to_lid,
            };
            wanted.then(|| GroupLinkInfoRsp {
                image_id: id,
                from_lid: lid,
                to_lid,
                from_port: from.number,
                to_port: to.number,
                mtu: from.mtu,
                active_speed: from.speed,
                tx_link_width_downgrade_active: from.width_tx,
                rx_link_width_downgrade_active: from.width_rx,
                local_status: status_of(&image, Some(place)),
                neighbor_status: status_of(&image, Some(other)),
            })
        });
        Ok(Records::of(links))
    }

    pub(super) fn group_info(
        &mut self,
        now: Tick,
        ask: &GroupConfigReq,
    ) -> Result<Records, Unanswered> {
        let Found { image, id } = self.image(now, &ask.image_id)?;
        let set = Set::group(&image, &ask.group_name)?;
        Ok(Records::one(GroupInfo {
            group_name: ask.group_name,
            image_id: id,
            ..set.info(&image, &self.settings.thresholds)
        }))
    }

    pub(super) fn fabric_info(
        &mut self,
        now: Tick,
        ask: &VfConfigReq,
    ) -> Result<Records, Unanswered> {
        let Found { image, id } = self.image(now, &ask.image_id)?;
        let set = Set::fabric(&image, &ask.vf_name)?;
        let scene = Scene::new(&image);
        let mut inside = Inside::default();
        for (place, port) in set.ports(&image) {
            inside.add(&self.settings.thresholds, &scene, place, port);
        }
        Ok(Records::one(VfInfo {
            vf_name: ask.vf_name,
            image_id: id,
            num_ports: inside.ports,
            internal_util_stats: inside.used.finish(),
            internal_category_stats: inside.trouble.finish(),
            max_internal_rate: inside.rates.most(),
            min_internal_rate: inside.rates.least(),
            max_internal_mbps: inside.rates.most_mbps(),
        }))
    }
}

/// Ports whose neighbours are in the group too.
#[derive(Default)]
struct Inside {
    ports: u32,
    used: Utilization,
    trouble: Trouble,
    rates: Rates,
}

impl Inside {
    fn add(&mut self, thresholds: &Categories, scene: &Scene<'_>, place: usize, port: &RosterPort) {
        self.ports += 1;
        if !scene.is_read(place) {
            self.used.add_failed();
        }
        if port.neighbor.is_none() && port.number != PortNum(0) {
            self.used.add_without_neighbor();
        }
        self.used.add(scene, Some(place));
        let ends = std::iter::once(place);
        self.trouble.add(scene, ends, thresholds);
        self.rates.add(scene.static_rate(place));
    }
}

/// Ports whose neighbours are outside the group.
#[derive(Default)]
struct Border {
    ports: u32,
    sent: Utilization,
    received: Utilization,
    trouble: Trouble,
    rates: Rates,
}

impl Border {
    fn add(&mut self, thresholds: &Categories, scene: &Scene<'_>, place: usize, port: &RosterPort) {
        self.ports += 1;
        let other = port.neighbor.map(|other| other as usize);
        if !scene.is_read(place) {
            self.sent.add_failed();
        }
        match other {
            None => self.received.add_without_neighbor(),
            Some(other) if !scene.is_read(other) => self.received.add_failed(),
            Some(_) => {}
        }
        self.sent.add(scene, Some(place));
        self.received.add(scene, other);
        let ends = std::iter::once(place).chain(other);
        self.trouble.add(scene, ends, thresholds);
        self.rates.add(scene.static_rate(place));
    }
}

impl Scene<'_> {
    /// Whether a port's counters were read.
    fn is_read(&self, place: usize) -> bool {
        self.image().reading(place) == Reading::Done
    }
}
