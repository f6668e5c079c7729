//! Dispatch by attribute, and the attributes of the node as a whole.

use weft_dataplane::Network;
use weft_fabric::{PortNum, hfi_port_guid};
use weft_wire::Layout;
use weft_wire::sm::{AttributeId, NodeInfo, Shape, SwitchInfo, shape};

use super::{Failure, Request, cable, congestion, forwarding, maps, port};

/// Bytes that a request for `attribute` reads or writes.
pub(super) fn length(attribute: AttributeId, modifier: u32) -> Result<usize, Failure> {
    let shape: Shape = shape(attribute).ok_or(Failure::Unsupported)?;
    let count = if counted(attribute) {
        (modifier >> 24) as usize
    } else {
        1
    };
    match shape.total(count) {
        0 => Err(Failure::Invalid),
        len => Ok(len),
    }
}

/// Whether the top byte of the attribute's modifier counts blocks.
fn counted(attribute: AttributeId) -> bool {
    !matches!(
        attribute,
        AttributeId::NODE_DESCRIPTION
            | AttributeId::NODE_INFO
            | AttributeId::SWITCH_INFO
            | AttributeId::SL_TO_SC
            | AttributeId::SC_TO_SL
            | AttributeId::SM_INFO
            | AttributeId::CABLE_INFO
            | AttributeId::CONGESTION_INFO
            | AttributeId::SWITCH_CONGESTION_LOG
            | AttributeId::SWITCH_CONGESTION_SETTING
            | AttributeId::HFI_CONGESTION_LOG
            | AttributeId::HFI_CONGESTION_SETTING
    )
}

/// Reads or writes an attribute. `data` has the [`length`] of the request; afterwards it holds the
/// register contents, also if a Set was refused half way.
pub(super) fn access(
    network: &mut Network,
    request: &Request,
    attribute: AttributeId,
    data: &mut [u8],
) -> Result<(), Failure> {
    if request.set && request.claims.refuses == Some(attribute) {
        return Err(Failure::Unsupported);
    }
    if request.set && request.claims.pretends == Some(attribute) {
        return Ok(());
    }
    let request = &Request {
        set: request.set && request.claims.ignores != Some(attribute),
        ..*request
    };
    let done = carry_out(network, request, attribute, data);
    match request.set && request.claims.denies == Some(attribute) {
        true => done.and(Err(Failure::Invalid)),
        false => done,
    }
}

fn carry_out(
    network: &mut Network,
    request: &Request,
    attribute: AttributeId,
    data: &mut [u8],
) -> Result<(), Failure> {
    match attribute {
        AttributeId::NODE_DESCRIPTION => node_description(network, request, data),
        AttributeId::NODE_INFO => node_info(network, request, data),
        AttributeId::SWITCH_INFO => switch_info(network, request, data),
        AttributeId::PORT_INFO => port::port_info(network, request, data),
        AttributeId::PORT_STATE_INFO => port::port_state_info(network, request, data),
        AttributeId::LED_INFO => port::led_info(network, request, data),
        AttributeId::P_KEY_TABLE => maps::p_keys(network, request, data),
        AttributeId::SL_TO_SC | AttributeId::SC_TO_SL => {
            maps::service_level(network, request, attribute, data)
        }
        AttributeId::SC_TO_VLR | AttributeId::SC_TO_VLT | AttributeId::SC_TO_VLNT => {
            maps::lanes(network, request, attribute, data)
        }
        AttributeId::VL_ARBITRATION => maps::arbitration(network, request, data),
        AttributeId::BUFFER_CONTROL_TABLE => maps::buffer_control(network, request, data),
        AttributeId::SC_TO_SC => maps::channels(network, request, data),
        AttributeId::SC_TO_SC_MULTISET => maps::channels_multiset(network, request, data),
        AttributeId::LINEAR_FDB => forwarding::linear(network, request, data),
        AttributeId::PORT_GROUP_FDB => forwarding::port_group_fdb(network, request, data),
        AttributeId::MULTICAST_FDB => forwarding::multicast(network, request, data),
        AttributeId::PORT_GROUP_TABLE => forwarding::port_groups(network, request, data),
        AttributeId::CABLE_INFO => cable::cable_info(network, request, data),
        AttributeId::CONGESTION_INFO => congestion::info(network, request, data),
        AttributeId::SWITCH_CONGESTION_LOG => congestion::switch_log(network, request, data),
        AttributeId::HFI_CONGESTION_LOG => congestion::hfi_log(network, request, data),
        AttributeId::SWITCH_CONGESTION_SETTING => {
            congestion::switch_setting(network, request, data)
        }
        AttributeId::HFI_CONGESTION_SETTING => congestion::hfi_setting(network, request, data),
        AttributeId::SWITCH_PORT_CONGESTION_SETTING => {
            congestion::port_setting(network, request, data)
        }
        AttributeId::HFI_CONGESTION_CONTROL_TABLE => {
            congestion::control_table(network, request, data)
        }
        _ => Err(Failure::Unsupported),
    }
}

fn node_description(network: &Network, request: &Request, data: &mut [u8]) -> Result<(), Failure> {
    request.read_only()?;
    request.plain()?;
    request.device(network).description.encode(data);
    Ok(())
}

/// NodeInfo as the port that the request came in by sees it.
pub(super) fn node_info_at(network: &Network, request: &Request) -> NodeInfo {
    let device = request.device(network);
    let port = network.number_of(request.ingress);
    let mut info = device.info;
    info.local_port_num = port;
    if !device.is_switch() && port > PortNum(1) {
        info.port_guid = hfi_port_guid(info.node_guid, port);
    }
    request.claims.change_node(&mut info);
    info
}

fn node_info(network: &Network, request: &Request, data: &mut [u8]) -> Result<(), Failure> {
    request.read_only()?;
    request.plain()?;
    node_info_at(network, request).encode(data);
    Ok(())
}

fn switch_info(network: &mut Network, request: &Request, data: &mut [u8]) -> Result<(), Failure> {
    let switch = network.switch_mut(request.node);
    let switch = switch.ok_or(Failure::Unsupported)?;
    request.plain()?;
    let result = match request.set.then(|| SwitchInfo::decode(data)) {
        Some(Ok(new)) => switch.set_info(&new).map_err(Failure::from),
        Some(Err(_)) => Err(Failure::Invalid),
        None => Ok(()),
    };
    let mut info = *switch.info();
    request.claims.change_switch(&mut info);
    info.encode(data);
    result
}
