//! Ports that stand out.

use std::cmp::Reverse;

use weft_fabric::{Guid, Lid, PortNum, Tick};
use weft_wire::pa::{
    FocusMultiPort, FocusMultiReq, FocusPort, FocusPortsReq, FocusTuple, ImageId, VfFocusPort,
    VfFocusPortsReq, select, status,
};
use weft_wire::text::Text;

use super::groups::Set;
use super::images::Found;
use super::{Records, Refusal, Unanswered};
use crate::pm::Pm;
use crate::pm::categories::Scene;
use crate::pm::image::{Image, Reading};

/// State of a port's counters (`STL_PA_FOCUS_STATUS_*`).
mod state {
    pub(super) const OK: u8 = 0;
    pub(super) const IGNORED: u8 = 1;
    pub(super) const FAILED: u8 = 2;
    pub(super) const NO_NEIGHBOR: u8 = 3;
    pub(super) const CLEARED: u8 = 4;
}

/// State of a port's counters; none for the unknown end of a link.
pub(super) fn status_of(image: &Image, place: Option<usize>) -> u8 {
    let Some(place) = place else {
        return state::NO_NEIGHBOR;
    };
    match image.reading(place) {
        Reading::Skipped => state::IGNORED,
        Reading::Failed | Reading::ClearFailed => state::FAILED,
        Reading::Done if image.is_cleared_by_others(place) => state::CLEARED,
        Reading::Done => state::OK,
    }
}

/// Quantity by which ports are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measure {
    Utilization,
    PacketRate,
    Category(usize),
    FabricUtilization,
    FabricPacketRate,
    FabricCongestion,
    FabricBubble,
}

/// Criterion by which ports are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// Those whose counters are in this state.
    State(u8),
    /// The highest first.
    Highest(Measure),
    /// The lowest first.
    Lowest(Measure),
}

impl Choice {
    /// Criterion of a client's request; `fabric` allows those of a virtual fabric.
    fn of(value: u32, fabric: bool) -> Result<Self, Refusal> {
        let category = |value: u32| Measure::Category((value & 0xF) as usize - 1);
        let choice = match value {
            select::UNEXPECTED_CLEAR => Self::State(state::CLEARED),
            select::NO_RESPONSE => Self::State(state::FAILED),
            select::SKIPPED => Self::State(state::IGNORED),
            select::UTIL_HIGH => Self::Highest(Measure::Utilization),
            select::UTIL_PKTS_HIGH => Self::Highest(Measure::PacketRate),
            select::UTIL_LOW => Self::Lowest(Measure::Utilization),
            select::INTEGRITY..=select::ROUTING => Self::Highest(category(value)),
            select::VF_UTIL_HIGH if fabric => Self::Highest(Measure::FabricUtilization),
            select::VF_UTIL_PKTS_HIGH if fabric => Self::Highest(Measure::FabricPacketRate),
            select::VF_UTIL_LOW if fabric => Self::Lowest(Measure::FabricUtilization),
            select::VF_CONGESTION if fabric => Self::Highest(Measure::FabricCongestion),
            select::VF_BUBBLE if fabric => Self::Highest(Measure::FabricBubble),
            _ => return Err(status::INVALID_PARAMETER),
        };
        Ok(choice)
    }
}

/// A link with the value of each of its ends.
#[derive(Debug, Clone, Copy)]
struct Item {
    place: usize,
    neighbor: Option<usize>,
    value: u64,
    neighbor_value: u64,
    lid: Lid,
}

/// A client's request: set of ports, criterion, and number.
struct Query {
    set: Set,
    choice: Choice,
    start: usize,
    range: usize,
}

impl Pm {
    pub(super) fn focus_ports(
        &mut self,
        now: Tick,
        ask: &FocusPortsReq,
    ) -> Result<Records, Unanswered> {
        check_range(ask.range)?;
        let choice = Choice::of(ask.select, false)?;
        let Found { image, id } = self.image(now, &ask.image_id)?;
        let query = Query {
            set: Set::group(&image, &ask.group_name)?,
            choice,
            start: ask.start as usize,
            range: ask.range as usize,
        };
        let items = self.focus(&image, &query)?;
        let records = items.iter().map(|item| focus_port(&image, id, item));
        Ok(Records::of(records))
    }

    pub(super) fn fabric_focus_ports(
        &mut self,
        now: Tick,
        ask: &VfFocusPortsReq,
    ) -> Result<Records, Unanswered> {
        check_range(ask.range)?;
        let choice = Choice::of(ask.select, true)?;
        let of_lanes = matches!(
            choice,
            Choice::Highest(measure) | Choice::Lowest(measure) if measure.is_of_lanes()
        );
        if of_lanes && !self.settings.process.lanes {
            return Err(status::NO_DATA.into());
        }
        let Found { image, id } = self.image(now, &ask.image_id)?;
        let query = Query {
            set: Set::fabric(&image, &ask.vf_name)?,
            choice,
            start: ask.start as usize,
            range: ask.range as usize,
        };
        let items = self.focus(&image, &query)?;
        let records = items.iter().map(|item| {
            let port = focus_port(&image, id, item);
            VfFocusPort {
                image_id: port.image_id,
                node_lid: port.node_lid,
                port_number: port.port_number,
                rate: port.rate,
                max_vl_mtu: port.max_vl_mtu,
                local_status: port.local_status,
                neighbor_status: port.neighbor_status,
                value: port.value,
                node_guid: port.node_guid,
                node_desc: port.node_desc,
                neighbor_lid: port.neighbor_lid,
                neighbor_port_number: port.neighbor_port_number,
                neighbor_value: port.neighbor_value,
                neighbor_guid: port.neighbor_guid,
                neighbor_node_desc: port.neighbor_node_desc,
            }
        });
        Ok(Records::of(records))
    }

    /// The items that a query is about, in its order.
    fn focus(&self, image: &Image, query: &Query) -> Result<Vec<Item>, Refusal> {
        let items = match query.choice {
            Choice::State(state) => {
                let items = in_state(image, query.set, state);
                if !items.is_empty() && query.start >= items.len() {
                    return Err(status::INVALID_PARAMETER);
                }
                items
            }
            Choice::Highest(measure) => {
                let mut items = self.measured(image, query.set, measure);
                items.sort_by_key(|item| (Reverse(item.value.max(item.neighbor_value)), item.lid));
                items
            }
            Choice::Lowest(measure) => {
                let mut items = self.measured(image, query.set, measure);
                items.sort_by_key(|item| (item.value.min(item.neighbor_value), item.lid));
                items
            }
        };
        let window = items.into_iter().skip(query.start).take(query.range);
        Ok(window.collect())
    }

    /// Every link of a set once, with its values.
    fn measured(&self, image: &Image, set: Set, measure: Measure) -> Vec<Item> {
        let scene = Scene::new(image);
        let lanes = match set {
            Set::Fabric(index) => image.roster.fabrics[index].lanes,
            Set::Group(_) => 0,
        };
        let value = |place: usize| u64::from(measure.of(&scene, place, lanes));
        let items = set.ports(image).filter_map(|(place, _)| {
            let item = item(image, place);
            is_listed_here(image, set, &item).then(|| Item {
                value: value(place),
                neighbor_value: item.neighbor.map_or(0, value),
                ..item
            })
        });
        items.collect()
    }

    pub(super) fn focus_multi(
        &mut self,
        now: Tick,
        ask: &FocusMultiReq,
    ) -> Result<Records, Unanswered> {
        check_range(ask.range)?;
        let conditions = Conditions::of(&ask.tuple, ask.logical_operator)?;
        let Found { image, id } = self.image(now, &ask.image_id)?;
        let set = Set::group(&image, &ask.group_name)?;
        let scene = Scene::new(&image);
        let matching = set.ports(&image).filter_map(|(place, port)| {
            // This query is about links, of which a switch's port 0 is no end.
            let item = item(&image, place);
            if port.number == PortNum(0) || !is_listed_here(&image, set, &item) {
                return None;
            }
            let own = conditions.values(&scene, place);
            let other = item.neighbor.map(|place| conditions.values(&scene, place));
            let own_matches = conditions.hold(&own);
            let other_matches =
                set.is_internal(port) && other.is_some_and(|other| conditions.hold(&other));
            let values = (own, other.unwrap_or_default());
            (own_matches || other_matches).then_some((item, values))
        });
        let window = matching.skip(ask.start as usize).take(ask.range as usize);
        let records = window.map(|(item, values)| focus_multi_port(&image, id, &item, &values));
        Ok(Records::of(records))
    }
}

fn check_range(range: u32) -> Result<(), Refusal> {
    match range {
        0 => Err(status::INVALID_PARAMETER),
        _ => Ok(()),
    }
}

impl Measure {
    fn is_of_lanes(self) -> bool {
        matches!(
            self,
            Self::FabricUtilization
                | Self::FabricPacketRate
                | Self::FabricCongestion
                | Self::FabricBubble
        )
    }

    /// The value of a port; `lanes` are those of the virtual fabric.
    fn of(self, scene: &Scene<'_>, place: usize, lanes: u32) -> u32 {
        match self {
            Self::Utilization => scene.utilization(place, scene.send_mbps(place)),
            Self::PacketRate => scene.send_kpps(place),
            Self::Category(category) => {
                let values = scene.categories(place).values();
                values.get(category).copied().unwrap_or(0)
            }
            Self::FabricUtilization => scene.utilization(place, scene.fabric_mbps(place, lanes)),
            Self::FabricPacketRate => scene.fabric_kpps(place, lanes),
            Self::FabricCongestion => scene.fabric_congestion(place, lanes),
            Self::FabricBubble => scene.fabric_bubble(place, lanes),
        }
    }
}

/// A port and its neighbour, without values.
fn item(image: &Image, place: usize) -> Item {
    let port = &image.roster.ports[place];
    Item {
        place,
        neighbor: port.neighbor.map(|other| other as usize),
        value: 0,
        neighbor_value: 0,
        lid: image.roster.member_of(port).lid,
    }
}

/// A link whose ends are both in the set is listed once, from its end with the lower LID.
fn is_listed_here(image: &Image, set: Set, item: &Item) -> bool {
    let port = &image.roster.ports[item.place];
    let other = item.neighbor.map(|other| &image.roster.ports[other]);
    let lower = other.is_none_or(|other| item.lid <= image.roster.member_of(other).lid);
    lower || port.number == PortNum(0) || !set.is_internal(port)
}

/// Ports in a state; a link with both ends in it once, from its end with the lower LID.
fn in_state(image: &Image, set: Set, state: u8) -> Vec<Item> {
    let items = set.ports(image).map(|(place, _)| item(image, place));
    items
        .filter(|item| {
            let other = item.neighbor.map(|other| &image.roster.ports[other]);
            let lower = other.is_some_and(|other| item.lid < image.roster.member_of(other).lid);
            status_of(image, Some(item.place)) == state
                && (neighbor_status(image, item) != state || lower)
        })
        .collect()
}

/// A switch's port 0 has no neighbour and misses none.
fn neighbor_status(image: &Image, item: &Item) -> u8 {
    match image.roster.ports[item.place].number {
        PortNum(0) => state::OK,
        _ => status_of(image, item.neighbor),
    }
}

/// One end of a link.
#[derive(Default)]
struct End {
    lid: Lid,
    port: PortNum,
    guid: Guid,
    name: Text<64>,
}

fn end(image: &Image, place: usize) -> End {
    let port = &image.roster.ports[place];
    let member = image.roster.member_of(port);
    End {
        lid: member.lid,
        port: port.number,
        guid: member.guid,
        name: member.description,
    }
}

fn focus_port(image: &Image, id: ImageId, item: &Item) -> FocusPort {
    let own = end(image, item.place);
    let other = item
        .neighbor
        .map(|place| end(image, place))
        .unwrap_or_default();
    let port = &image.roster.ports[item.place];
    FocusPort {
        image_id: id,
        node_lid: own.lid,
        port_number: own.port,
        rate: crate::rates::of_link(port.speed, port.width_rx),
        max_vl_mtu: port.mtu,
        local_status: status_of(image, Some(item.place)),
        neighbor_status: neighbor_status(image, item),
        value: item.value,
        node_guid: own.guid,
        node_desc: own.name,
        neighbor_lid: other.lid,
        neighbor_port_number: other.port,
        neighbor_value: item.neighbor_value,
        neighbor_guid: other.guid,
        neighbor_node_desc: other.name,
    }
}

/// Values of a port, one for each condition.
type Values = [u64; 8];

fn focus_multi_port(
    image: &Image,
    id: ImageId,
    item: &Item,
    values: &(Values, Values),
) -> FocusMultiPort {
    let port = focus_port(image, id, item);
    FocusMultiPort {
        image_id: port.image_id,
        node_lid: port.node_lid,
        port_number: port.port_number,
        rate: port.rate,
        max_vl_mtu: port.max_vl_mtu,
        local_status: port.local_status,
        neighbor_status: port.neighbor_status,
        value: values.0,
        node_guid: port.node_guid,
        node_desc: port.node_desc,
        neighbor_lid: port.neighbor_lid,
        neighbor_port_number: port.neighbor_port_number,
        neighbor_value: values.1,
        neighbor_guid: port.neighbor_guid,
        neighbor_node_desc: port.neighbor_node_desc,
    }
}

/// One condition on a value.
#[derive(Debug, Clone, Copy)]
struct Condition {
    measure: Measure,
    comparator: u8,
    argument: u64,
}

/// Conditions that a client joins.
#[derive(Debug)]
struct Conditions {
    list: Vec<Condition>,
    /// All must hold, not any.
    all: bool,
}

/// `FOCUS_PORTS_LOGICAL_OPERATOR_*`.
const ALL_OF: u8 = 1;
const ANY_OF: u8 = 2;

impl Conditions {
    /// The conditions up to the first that selects nothing; there must be one, and an operator
    /// if there are several.
    fn of(tuples: &[FocusTuple; 8], operator: u8) -> Result<Self, Refusal> {
        let measured = tuples
            .iter()
            .map(|tuple| match Choice::of(tuple.select, false) {
                Ok(Choice::Highest(measure)) => Some((measure, tuple)),
                _ => None,
            });
        let list: Vec<Condition> = measured
            .map_while(|tuple| tuple)
            .map(|(measure, tuple)| Condition {
                measure,
                comparator: tuple.comparator,
                argument: tuple.argument,
            })
            .collect();
        let compared = list.iter().all(|one| (1..=4).contains(&one.comparator));
        let joined = match operator {
            ALL_OF | ANY_OF => true,
            0 => list.len() == 1,
            _ => false,
        };
        match !list.is_empty() && compared && joined {
            true => Ok(Self {
                list,
                all: operator == ALL_OF,
            }),
            false => Err(status::INVALID_PARAMETER),
        }
    }

    fn values(&self, scene: &Scene<'_>, place: usize) -> Values {
        let mut values = Values::default();
        for (value, condition) in values.iter_mut().zip(&self.list) {
            *value = u64::from(condition.measure.of(scene, place, 0));
        }
        values
    }

    fn hold(&self, values: &Values) -> bool {
        let mut held = self.list.iter().zip(values).map(|(condition, value)| {
            let argument = &condition.argument;
            match condition.comparator {
                1 => value > argument,
                2 => value < argument,
                3 => value >= argument,
                _ => value <= argument,
            }
        });
        if self.all {
            held.all(|held| held)
        } else {
            held.any(|held| held)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn selections_are_the_vendors() {
        for (value, expected) in [
            (0x0003_0001, Choice::Highest(Measure::Category(0))),
            (0x0003_0006, Choice::Highest(Measure::Category(5))),
            (0x0002_0101, Choice::Lowest(Measure::Utilization)),
            (0x0001_0102, Choice::State(state::FAILED)),
        ] {
            assert_eq!(Choice::of(value, false), Ok(expected), "{value:#x}");
        }
        for value in [0, 0x0003_0007, 0x0002_0083, 0x0003_0009, u32::MAX] {
            let refused = Choice::of(value, false);
            assert_eq!(refused, Err(status::INVALID_PARAMETER), "{value:#x}");
        }
        let fabric = Choice::of(0x0003_0007, true);
        assert_eq!(fabric, Ok(Choice::Highest(Measure::FabricCongestion)));
    }

    #[test]
    fn conditions_are_joined_as_the_operator_says() {
        let mut tuples = [FocusTuple::default(); 8];
        tuples[0] = FocusTuple {
            select: select::INTEGRITY,
            comparator: 3,
            argument: 20,
        };
        tuples[1] = FocusTuple {
            select: select::BUBBLE,
            comparator: 2,
            argument: 10,
        };
        let hold = |operator, values: [u64; 2]| {
            let mut all = Values::default();
            all[..2].copy_from_slice(&values);
            Conditions::of(&tuples, operator).unwrap().hold(&all)
        };
        assert!(hold(ALL_OF, [20, 9]) && !hold(ALL_OF, [20, 10]));
        assert!(hold(ANY_OF, [20, 10]) && !hold(ANY_OF, [19, 10]));
        assert!(
            Conditions::of(&tuples, 0).is_err(),
            "two without an operator"
        );
        tuples[1].comparator = 9;
        assert!(Conditions::of(&tuples, ALL_OF).is_err());
        tuples[0].select = 0;
        assert!(
            Conditions::of(&tuples, ALL_OF).is_err(),
            "nothing is selected"
        );
    }
}
