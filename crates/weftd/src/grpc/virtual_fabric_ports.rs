//! The ports that carry packets of a virtual fabric, with what they carry of it.

use tonic::Status;
use weft_api::v1;
use weft_manager::pm::{Image, Roster};
use weft_manager::port_totals::PortTotals;

use super::Services;
use super::counters::{none_yet, wanted};
use super::facts::Facts;
use super::refusal::not_there;

/// Ports of an answer where nothing is said, and at most.
const PORTS: (usize, usize) = (100, 1_000);

impl Services {
    pub(super) async fn virtual_fabric_ports(
        &self,
        request: v1::ListVirtualFabricPortsRequest,
    ) -> Result<v1::ListVirtualFabricPortsResponse, Status> {
        let totals = self.totals()?;
        let attachment = self.attachment_at(None);
        // At many ports that takes milliseconds.
        let listed = self.workers.run(move || list(&totals, &request)).await??;
        Ok(v1::ListVirtualFabricPortsResponse {
            attachment,
            ..listed
        })
    }
}

fn list(
    totals: &PortTotals,
    request: &v1::ListVirtualFabricPortsRequest,
) -> Result<v1::ListVirtualFabricPortsResponse, Status> {
    let image = totals.image().ok_or_else(none_yet)?;
    let name = &request.name;
    let mut bits = 0..image.roster.fabrics.len();
    let bit = bits.find(|bit| image.roster.fabrics[*bit].name == *name);
    let bit = bit.ok_or_else(|| {
        let what = format!("name: no virtual fabric '{name}' carries traffic");
        not_there(&what, Facts::none().with("name", name))
    })?;
    let carrying = carrying(image, bit);
    let (usual, most) = PORTS;
    let limit = match request.limit as usize {
        0 => usual,
        limit => limit.min(most),
    };
    let selection = v1::CounterSelection {
        virtual_fabrics: true,
        ..v1::CounterSelection::default()
    };
    let wanted = wanted(Some(&selection))?;
    let ports = carrying.iter().take(limit).filter_map(|place| {
        let mut port = v1::PortCounters::of(totals, *place, wanted)?;
        port.virtual_fabrics.retain(|fabric| fabric.name == *name);
        Some(port)
    });
    Ok(v1::ListVirtualFabricPortsResponse {
        image: Some(v1::CounterImage::of(image)),
        carrying: carrying.len() as u32,
        ports: ports.collect(),
        attachment: None,
    })
}

/// Places of the ports that may carry packets of a virtual fabric, by what they have sent on its lanes since the image before;
/// equal ones by GUID and number.
fn carrying(image: &Image, bit: usize) -> Vec<usize> {
    let roster = &image.roster;
    let lanes = roster.fabrics[bit].lanes;
    let places = 0..roster.ports.len();
    let carries = places.filter(|place| roster.ports[*place].fabrics >> bit & 1 == 1);
    let sent = |place| -> u64 {
        let own = image
            .lane_deltas(place)
            .filter(|(vl, _)| lanes >> vl.0 & 1 == 1);
        // The first counter of a lane is data sent.
        own.map(|(_, counted)| counted[0]).sum()
    };
    let mut found: Vec<_> = carries
        .map(|place| (u64::MAX - sent(place), key(roster, place), place))
        .collect();
    found.sort_unstable();
    found.into_iter().map(|(_, _, place)| place).collect()
}

fn key(roster: &Roster, place: usize) -> super::Key {
    let port = &roster.ports[place];
    (roster.member_of(port).guid.0, port.number.0)
}
