//! PortInfo, PortStateInfo and LedInfo.

use weft_dataplane::{Network, PortIndex};
use weft_wire::Layout;
use weft_wire::sm::{LedInfo, PortInfo, PortModifier, PortStateInfo, Repeated};

use super::{Failure, Request};

/// The block of each port in `data`.
fn block<T: Repeated>(data: &mut [u8], place: usize) -> &mut [u8] {
    let start = place * T::STRIDE;
    let end = (start + T::LEN).min(data.len());
    data.get_mut(start..end).unwrap_or_default()
}

pub(super) fn port_info(
    network: &mut Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    let modifier = PortModifier::from_bits(request.modifier);
    let ports = request.ports(network, modifier.port, modifier.count, modifier.all_ports)?;
    let blocks = ports.blocks(request.device(network));
    if !request.set {
        for (at, place) in blocks {
            if modifier.start_of_sm_configuration {
                network.start_configuration(at);
            }
            answer_port_info(network, request, at, block::<PortInfo>(data, place));
        }
        return Ok(());
    }
    let mut result = Ok(());
    for (at, place) in blocks {
        let bytes = block::<PortInfo>(data, place);
        let done = write_port_info(network, at, bytes);
        result = result.and(done);
        // One block for many ports stays as it is until the last port has it.
        if !ports.same {
            answer_set(network, request, at, bytes);
        }
    }
    if ports.same
        && let Some(at) = request.device(network).port(ports.first)
    {
        answer_set(network, request, at, block::<PortInfo>(data, 0));
    }
    result
}

fn write_port_info(network: &mut Network, at: PortIndex, bytes: &[u8]) -> Result<(), Failure> {
    let new = PortInfo::decode(bytes).map_err(|_| Failure::Invalid)?;
    network.set_port_info(at, &new).map_err(Failure::from)
}

/// Answers a Set with the port's new state; the port does not store the request to register again,
/// but the answer repeats it.
fn answer_set(network: &Network, request: &Request, at: PortIndex, bytes: &mut [u8]) {
    let reregister = PortInfo::decode(bytes).is_ok_and(|new| new.client_reregister);
    answer_port_info(network, request, at, bytes);
    if let Some(byte) = bytes.get_mut(47) {
        *byte |= u8::from(reregister) << 7;
    }
}

fn answer_port_info(network: &Network, request: &Request, at: PortIndex, bytes: &mut [u8]) {
    let mut info = *network.port(at).info();
    info.local_port_num = network.number_of(request.ingress);
    request.claims.change_port(&mut info);
    if request.hide_m_key {
        info.m_key = 0;
    }
    info.encode(bytes);
}

pub(super) fn port_state_info(
    network: &mut Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    let modifier = PortModifier::from_bits(request.modifier);
    let ports = request.ports(network, modifier.port, modifier.count, false)?;
    let mut result = Ok(());
    let blocks = ports.blocks(request.device(network));
    for (at, place) in blocks {
        let bytes = block::<PortStateInfo>(data, place);
        if request.set {
            result = result.and(write_state(network, at, bytes));
        } else if modifier.start_of_sm_configuration {
            network.start_configuration(at);
        }
        state_of(network.port(at).info()).encode(bytes);
    }
    // A port that becomes active may activate its neighbour: the answer has the state after that.
    if request.set {
        for (at, place) in ports.blocks(request.device(network)) {
            let bytes = block::<PortStateInfo>(data, place);
            state_of(network.port(at).info()).encode(bytes);
        }
    }
    result
}

fn write_state(network: &mut Network, at: PortIndex, bytes: &[u8]) -> Result<(), Failure> {
    let new = PortStateInfo::decode(bytes).map_err(|_| Failure::Invalid)?;
    let done = network.request_state(at, new.port_state, new.phys_state);
    done.map_err(Failure::from)
}

fn state_of(info: &PortInfo) -> PortStateInfo {
    PortStateInfo {
        led_enabled: info.led_enabled,
        is_sm_configuration_started: info.is_sm_configuration_started,
        neighbor_normal: info.neighbor_normal,
        offline_disabled_reason: info.offline_disabled_reason,
        phys_state: info.phys_state,
        port_state: info.port_state,
        link_width_downgrade_tx_active: info.link_width_downgrade_tx_active,
        link_width_downgrade_rx_active: info.link_width_downgrade_rx_active,
    }
}

pub(super) fn led_info(
    network: &mut Network,
    request: &Request,
    data: &mut [u8],
) -> Result<(), Failure> {
    let modifier = PortModifier::from_bits(request.modifier);
    let ports = request.ports(network, modifier.port, modifier.count, modifier.all_ports)?;
    for (at, place) in ports.blocks(request.device(network)) {
        let bytes = block::<LedInfo>(data, place);
        if request.set {
            let new = LedInfo::decode(bytes).map_err(|_| Failure::Invalid)?;
            network.set_led(at, new.led_mask);
        }
        let led = LedInfo {
            led_mask: network.port(at).info().led_enabled,
        };
        led.encode(bytes);
    }
    Ok(())
}
