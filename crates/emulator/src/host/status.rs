//! Position of a program, and state of its port.

use weft_dataplane::{Network, PortIndex, PortTable};
use weft_fabric::{PortNum, hfi_port_guid};
use weft_transport::{Attach, PortStatus};
use weft_wire::Layout;
use weft_wire::bits::load;
use weft_wire::enums::LinkWidth;
use weft_wire::sm::PortInfo;

use super::AttachError;
use super::clients::Place;
use crate::Emulator;

/// Gb/s of one lane.
const LANE_RATE: u16 = 25;

/// The port that a program requests. A host may be named without the name of its HFI: `node7` for
/// `node7 hfi1_0`.
pub(super) fn place_of(emulator: &Emulator, attach: &Attach) -> Result<Place, AttachError> {
    let topology = emulator.network().topology();
    let named = |wanted: &dyn Fn(&str) -> bool| {
        let mut hfis = topology.hfis();
        hfis.find(|(_, node)| wanted(&node.description.text()))
    };
    let place = match attach {
        Attach::Node { guid, port } => (*guid, *port),
        Attach::Name { name, port } => {
            let host = |text: &str| text.split(' ').next() == Some(name);
            let found = named(&|text| text == *name).or_else(|| named(&host));
            let name = name.clone();
            (found.ok_or(AttachError::NoName { name })?.1.guid(), *port)
        }
        Attach::FirstHost => {
            let first = topology.hfis().next().ok_or(AttachError::NoHosts)?;
            (first.1.guid(), PortNum(1))
        }
        Attach::ControlOnly => return Err(AttachError::NoHosts),
    };
    emulator.hfi_port(place.0, place.1)?;
    Ok(place)
}

/// State of a port; `None` if it does not exist.
pub(super) fn port_status(emulator: &Emulator, (guid, port): Place) -> Option<PortStatus> {
    let at = emulator.hfi_port(guid, port).ok()?;
    let network = emulator.network();
    let registers = network.port(at);
    let info = registers.info();
    let node = &network.device_at(network.node_of(at)).info;
    Some(PortStatus {
        base_lid: info.lid,
        lmc: info.lmc,
        sm_lid: info.master_sm_lid,
        sm_sl: info.master_sm_sl,
        state: info.port_state.0,
        phys_state: info.phys_state.0,
        rate: rate(info),
        capability_mask: capability_mask(info),
        subnet_prefix: info.subnet_prefix,
        port_guid: hfi_port_guid(node.node_guid, port),
        node_guid: node.node_guid,
        system_guid: node.system_image_guid,
        reregistrations: registers.reregistrations(),
        p_keys: p_keys(network, at),
    })
}

fn p_keys(network: &Network, at: PortIndex) -> Vec<u16> {
    let registers = network.port(at);
    let keys = registers.table(PortTable::PKeys).chunks_exact(2);
    let keys = keys.map(|key| load(key, 0, 2) as u16);
    keys.take(usize::from(registers.p_key_cap())).collect()
}

/// Gb/s of the active width.
fn rate(info: &PortInfo) -> u16 {
    let lanes = match info.link_width_active {
        LinkWidth::X1 => 1,
        LinkWidth::X2 => 2,
        LinkWidth::X3 => 3,
        LinkWidth::X4 => 4,
        _ => 0,
    };
    lanes * LANE_RATE
}

fn capability_mask(info: &PortInfo) -> u32 {
    let mut bytes = [0; 4];
    info.capability_mask.encode(&mut bytes);
    u32::from_be_bytes(bytes)
}
