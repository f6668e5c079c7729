//! What readers other than performance administration want of an image.

use weft_fabric::{Guid, Lid, PortNum};

use super::categories::Scene;
use super::image::{Delta, Image, Reading};
use super::settings::Categories;

/// An active port of an image.
#[derive(Debug, Clone)]
pub struct PortView<'a> {
    /// Place in the image's roster.
    pub place: usize,
    /// GUID of the node.
    pub node: Guid,
    /// LID of the node's agent.
    pub lid: Lid,
    /// Whether the node forwards.
    pub is_switch: bool,
    /// The port.
    pub port: PortNum,
    /// The other end of its cable.
    pub neighbor: Option<(Guid, PortNum)>,
    /// What came of reading it.
    pub reading: Reading,
    image: &'a Image,
}

impl PortView<'_> {
    /// What people call the node.
    pub fn name(&self) -> String {
        let port = self.image.roster.ports.get(self.place);
        let member = port.map(|port| self.image.roster.member_of(port));
        let node = member.and_then(|member| self.image.roster.node(member));
        node.map(|node| node.name()).unwrap_or_default()
    }

    /// What happened since the image before.
    pub fn delta(&self) -> Delta {
        self.image.delta(self.place)
    }

    /// Share of its link that its data took, in units of 0.1 %.
    pub fn utilization(&self) -> u32 {
        let scene = Scene::new(self.image);
        scene.utilization(self.place, scene.send_mbps(self.place))
    }

    /// How much of each kind of trouble it had.
    pub fn categories(&self) -> Categories {
        Scene::new(self.image).categories(self.place)
    }
}

impl Image {
    /// All active ports, by LID and number.
    pub fn ports(&self) -> impl Iterator<Item = PortView<'_>> {
        let ports = self.roster.ports.iter().enumerate();
        ports
            .filter(|(_, port)| port.is_active)
            .map(|(place, port)| {
                let member = self.roster.member_of(port);
                let other = port.neighbor.and_then(|other| self.name_of(other as usize));
                PortView {
                    place,
                    node: member.guid,
                    lid: member.lid,
                    is_switch: member.is_switch,
                    port: port.number,
                    neighbor: other,
                    reading: self.reading(place),
                    image: self,
                }
            })
    }

    fn name_of(&self, place: usize) -> Option<(Guid, PortNum)> {
        let port = self.roster.ports.get(place)?;
        Some((self.roster.member_of(port).guid, port.number))
    }
}
