//! View of an image for readers other than performance administration.

use weft_fabric::{Guid, Lid, PortNum};
use weft_wire::pm::Counter;

use super::categories::Scene;
use super::image::{Delta, Image, Reading};
use super::settings::Categories;
use crate::rates;

/// Bytes of a flit.
const FLIT_BYTES: f64 = 8.0;
/// Counters of errors of a link: those of the category Integrity.
const LINK_ERRORS: [Counter; 7] = [
    Counter::LocalLinkIntegrityErrors,
    Counter::RcvErrors,
    Counter::ExcessiveBufferOverruns,
    Counter::LinkErrorRecovery,
    Counter::LinkDowned,
    Counter::UncorrectableErrors,
    Counter::FmConfigErrors,
];

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
    /// Result of reading it.
    pub reading: Reading,
    image: &'a Image,
}

impl PortView<'_> {
    /// Name of the node.
    pub fn name(&self) -> String {
        let port = self.image.roster.ports.get(self.place);
        let member = port.map(|port| self.image.roster.member_of(port));
        let node = member.and_then(|member| self.image.roster.node(member));
        node.map(|node| node.name()).unwrap_or_default()
    }

    /// Events since the previous image.
    pub fn delta(&self) -> Delta {
        self.image.delta(self.place)
    }

    /// Errors of its link that it has counted since the previous image: those that the category Integrity weighs.
    pub fn link_errors(&self) -> u64 {
        let counters = self.delta().counters;
        let counted = LINK_ERRORS.map(|counter| counters[counter as usize]);
        counted.into_iter().fold(0, u64::saturating_add)
    }

    /// Share of its link that its data took, in units of 0.1 %.
    pub fn utilization(&self) -> u32 {
        let scene = Scene::new(self.image);
        scene.utilization(self.place, scene.send_mbps(self.place))
    }

    /// Bytes a second that its link carries in the direction of sending, none where its rate is not known or it has no link.
    pub fn capacity(&self) -> Option<f64> {
        let port = self.image.roster.ports.get(self.place)?;
        let rate = rates::of_link(port.speed, port.width_tx);
        let known = port.neighbor.is_some() && rate != rates::INVALID;
        known.then(|| f64::from(rates::data_mbytes(rate)) * 1e6)
    }

    /// Its values of the categories.
    pub fn categories(&self) -> Categories {
        Scene::new(self.image).categories(self.place)
    }
}

/// Traffic sent by a port in the time that an image covers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sending {
    /// Bytes per second on the link, headers included: as sent by the port, or received by its neighbour
    /// if that is more.
    pub bytes_per_second: f64,
    /// Share of the link's rate that they are: 0 to 1.
    pub share: f64,
    /// Packets a second.
    pub packets_per_second: f64,
    /// Share of the time in which it had data to send and no credits (XmitWait): 0 to 1.
    pub wait: f64,
    /// Packets that it dropped.
    pub discards: u64,
    /// The category congestion.
    pub congestion: u32,
}

/// A link with both ends active.
#[derive(Debug, Clone)]
pub struct LinkView<'a> {
    /// The end that sent more, then the other one; of equal ones the one of the lower LID and port.
    pub ends: [PortView<'a>; 2],
    /// Traffic sent by each of them.
    pub sending: [Sending; 2],
}

impl Image {
    /// All active ports, by LID and number.
    pub fn ports(&self) -> impl Iterator<Item = PortView<'_>> {
        (0..self.roster.ports.len()).filter_map(|place| self.port(place))
    }

    /// All links with both ends active, by LID and number of the end that comes first. Nothing is
    /// sent in an image that has none before it.
    pub fn links(&self) -> impl Iterator<Item = LinkView<'_>> {
        self.ports().filter_map(|view| {
            let other = self.roster.ports.get(view.place)?.neighbor? as usize;
            let other = self.port(other).filter(|other| other.place > view.place)?;
            let sending = [self.sending(view.place), self.sending(other.place)];
            let back = sending[1].share > sending[0].share;
            Some(match back {
                false => LinkView {
                    ends: [view, other],
                    sending,
                },
                true => LinkView {
                    ends: [other, view],
                    sending: [sending[1], sending[0]],
                },
            })
        })
    }

    /// A port by its place, if it is active.
    pub fn port(&self, place: usize) -> Option<PortView<'_>> {
        let port = self.roster.ports.get(place).filter(|port| port.is_active)?;
        let member = self.roster.member_of(port);
        Some(PortView {
            place,
            node: member.guid,
            lid: member.lid,
            is_switch: member.is_switch,
            port: port.number,
            neighbor: port.neighbor.and_then(|other| self.name_of(other as usize)),
            reading: self.reading(place),
            image: self,
        })
    }

    /// What a port sent, by its place; nothing in an image that has none before it.
    pub fn sending(&self, place: usize) -> Sending {
        let scene = Scene::new(self);
        let seconds = self.span_ns as f64 / 1e9;
        if seconds == 0.0 {
            return Sending::default();
        }
        let own = self.delta(place).counters;
        let other = self
            .roster
            .ports
            .get(place)
            .and_then(|port| port.neighbor)
            .map(|other| self.delta(other as usize).counters);
        let most = |sent: Counter, received: Counter| {
            let received = other.map_or(0, |other| other[received as usize]);
            own[sent as usize].max(received) as f64
        };
        let bytes = most(Counter::XmitData, Counter::RcvData) * FLIT_BYTES;
        let waited = scene.waited(place) as f64 * FLIT_BYTES;
        let capacity = scene.capacity(place) * seconds;
        let share = |bytes: f64| match capacity > 0.0 {
            true => (bytes / capacity).min(1.0),
            false => 0.0,
        };
        Sending {
            bytes_per_second: bytes / seconds,
            share: share(bytes),
            packets_per_second: most(Counter::XmitPkts, Counter::RcvPkts) / seconds,
            wait: share(waited),
            discards: own[Counter::XmitDiscards as usize],
            congestion: scene.categories(place).congestion,
        }
    }

    fn name_of(&self, place: usize) -> Option<(Guid, PortNum)> {
        let port = self.roster.ports.get(place)?;
        Some((self.roster.member_of(port).guid, port.number))
    }
}
