//! `<PortInfo>` of an opareport snapshot.

use weft_wire::enums::{LinkInitReason, LinkSpeed, LinkWidth, Mtu, PhysState, PortState, PortType};
use weft_wire::id::{Guid, Lid, Lmc, PortNum, Sl};
use weft_wire::sm::{CapabilityMask, CapabilityMask3, PortInfo};
use weft_wire::{Block, Layout};

use crate::import::ImportError;
use crate::import::xml::Element;

/// The port's PortInfo: `base` with everything that the element says. The port's state, LID, LMC
/// and active width and speed must be there.
pub(super) fn port_info(element: &Element<'_>, base: PortInfo) -> Result<PortInfo, ImportError> {
    let mut info = registers(element, base)?;
    info.lid = Lid(element.required("LID")?);
    info.lmc = Lmc(at_most(element, "LMC", Lmc::MAX.0)?);
    info.port_state = PortState(at_most(element, "PortState_Int", 4)?);
    info.phys_state = PhysState(at_most(element, "PhysState_Int", 15)?);
    info.link_width_active = LinkWidth(element.required("LinkWidthActive_Int")?);
    info.link_speed_active = LinkSpeed(element.required("LinkSpeedActive_Int")?);
    addresses(element, &mut info)?;
    links(element, &mut info)?;
    lanes(element, &mut info)?;
    limits(element, &mut info)?;
    neighbor(element, &mut info)?;
    Ok(info)
}

/// A number that must be there and has a limit of its own.
fn at_most(element: &Element<'_>, name: &str, max: u8) -> Result<u8, ImportError> {
    let value: u8 = element.required(name)?;
    let line = element.line_of(name);
    let allowed = || format!("0 to {max}");
    (value <= max)
        .then_some(value)
        .ok_or_else(|| ImportError::new(line, format!("<{name}> is {value}"), allowed()))
}

/// Fields that the snapshot holds as whole registers, by their offset in `STL_PORT_INFO`.
fn registers(element: &Element<'_>, base: PortInfo) -> Result<PortInfo, ImportError> {
    let mut bytes = base.to_bytes();
    for (name, at) in [("PortStates", 16), ("BufferUnits", 100)] {
        if let Some(value) = element.optional::<u32>(name)? {
            value.store(&mut bytes[at..]);
        }
    }
    for (name, at) in [
        ("PortLinkMode_Int", 68),
        ("PortLTPCRCMode_Int", 70),
        ("DiagCode", 232),
    ] {
        if let Some(value) = element.optional::<u16>(name)? {
            value.store(&mut bytes[at..]);
        }
    }
    let interleave = element
        .child("FlitControl")
        .and_then(|flit| flit.child("Interleave"));
    if let Some(interleave) = interleave {
        interleave.number::<u16>()?.store(&mut bytes[78..]);
    }
    // As many bytes as PortInfo has.
    Ok(PortInfo::decode(&bytes).unwrap_or(base))
}

/// Overwrites a field when the element has the number.
fn set<T: TryFrom<u64>, F>(
    element: &Element<'_>,
    name: &str,
    field: &mut F,
    make: impl Fn(T) -> F,
) -> Result<(), ImportError> {
    if let Some(value) = element.optional(name)? {
        *field = make(value);
    }
    Ok(())
}

/// Fields that are plain numbers, flags (`bool`) or newtypes: `"Element" => field: type as Newtype`.
macro_rules! fields {
    ($element:ident, $info:ident, $( $name:literal => $field:ident : $ty:ty $(as $make:expr)? ),* $(,)?) => {
        $( set($element, $name, &mut $info.$field, |value: $ty| fields!(@make value $(, $make)?))?; )*
    };
    (@make $value:ident) => { $value };
    (@make $value:ident, $make:expr) => { ($make)($value) };
}

fn flag(value: u8) -> bool {
    value != 0
}

fn addresses(element: &Element<'_>, info: &mut PortInfo) -> Result<(), ImportError> {
    fields!(element, info,
        "M_Key" => m_key: u64,
        "SubnetPrefix" => subnet_prefix: u64,
        "SMLID" => master_sm_lid: u32 as Lid,
        "SMSL" => master_sm_sl: u8 as Sl,
        "CapabilityMask" => capability_mask: u32 as CapabilityMask::from_bits,
        "CapabilityMask3" => capability_mask3: u16 as CapabilityMask3::from_bits,
        "Lease" => m_key_lease_period: u16,
        "Protect_Int" => m_key_protect_bits: u8,
        "InitReason_Int" => link_init_reason: u8 as LinkInitReason,
        "PortType_Int" => port_type: u8 as PortType,
    );
    bytes(element, "IPAddrIPV6", &mut info.ip_addr_ipv6)?;
    bytes(element, "IPAddrIPV4", &mut info.ip_addr_ipv4)
}

fn bytes(element: &Element<'_>, name: &str, field: &mut [u8]) -> Result<(), ImportError> {
    let Some(child) = element.child(name) else {
        return Ok(());
    };
    read_bytes(child, field)
}

/// Two hexadecimal digits a byte.
pub(super) fn read_bytes(element: &Element<'_>, field: &mut [u8]) -> Result<(), ImportError> {
    let digits = element.text.trim().as_bytes();
    let whole = digits.len() == 2 * field.len() && digits.iter().all(u8::is_ascii_hexdigit);
    if !whole {
        let what = format!("<{}> is {:?}", element.name, element.text.trim());
        let allowed = format!("{} hexadecimal digits", 2 * field.len());
        return Err(ImportError::new(element.line, what, allowed));
    }
    let value = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
    for (byte, pair) in field.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0]) << 4 | value(pair[1]);
    }
    Ok(())
}

fn links(element: &Element<'_>, info: &mut PortInfo) -> Result<(), ImportError> {
    fields!(element, info,
        "LinkWidthEnabled_Int" => link_width_enabled: u16 as LinkWidth,
        "LinkWidthSupported_Int" => link_width_supported: u16 as LinkWidth,
        "LinkWidthDowngradeEnabled_Int" => link_width_downgrade_enabled: u16 as LinkWidth,
        "LinkWidthDowngradeSupported_Int" => link_width_downgrade_supported: u16 as LinkWidth,
        "LinkWidthDowngradeTxActive_Int" => link_width_downgrade_tx_active: u16 as LinkWidth,
        "LinkWidthDowngradeRxActive_Int" => link_width_downgrade_rx_active: u16 as LinkWidth,
        "PortPacketFormatsSupported" => port_packet_formats_supported: u16,
        "PortPacketFormatsEnabled" => port_packet_formats_enabled: u16,
        "LinkSpeedEnabled_Int" => link_speed_enabled: u16 as LinkSpeed,
        "LinkSpeedSupported_Int" => link_speed_supported: u16 as LinkSpeed,
    );
    Ok(())
}

fn lanes(element: &Element<'_>, info: &mut PortInfo) -> Result<(), ImportError> {
    fields!(element, info,
        "VLsActive_Int" => operational_vl: u8,
        "VLsSupported_Int" => vl_cap: u8,
        "VLArbHighLimit" => vl_high_limit: u16,
        "VLArbHighCap" => vl_arbitration_high_cap: u8,
        "VLArbLowCap" => vl_arbitration_low_cap: u8,
        "VLFlowControlDisabledMask" => flow_control_mask: u32,
        "MulticastMask" => multicast_mask: u8,
        "CollectiveMask" => collective_mask: u8,
    );
    if let Some(bytes) = element.child("MTUSupported") {
        info.mtu_cap = mtu(bytes)?;
    }
    for pair in element.all("NeighborMTU") {
        let codes = pair.number()?;
        *slot(pair, &mut info.neighbor_mtu.0)? = codes;
    }
    for stall in element
        .child("VLStalls")
        .iter()
        .flat_map(|list| list.all("VLStall"))
    {
        let count = stall.number()?;
        slot(stall, &mut info.xmit_q)?.vl_stall_count = count;
    }
    for life in element
        .child("HoQLifes")
        .iter()
        .flat_map(|list| list.all("HoQLife_Int"))
    {
        let code = life.number()?;
        slot(life, &mut info.xmit_q)?.hoq_life = code;
    }
    Ok(())
}

/// The place in a list that attribute `VL` names.
fn slot<'a, T>(element: &Element<'_>, list: &'a mut [T]) -> Result<&'a mut T, ImportError> {
    // Zero-padded decimal.
    let index: usize = element.numbered("VL")?;
    let allowed = format!("0 to {}", list.len() - 1);
    let what = format!("attribute VL of <{}> is {index}", element.name);
    list.get_mut(index)
        .ok_or_else(|| ImportError::new(element.line, what, allowed))
}

pub(super) fn mtu(element: &Element<'_>) -> Result<Mtu, ImportError> {
    let bytes: u32 = element.number()?;
    let mut codes = (0..=7).map(Mtu);
    codes.find(|code| code.bytes() == bytes).ok_or_else(|| {
        let what = format!("<{}> is {bytes}", element.name);
        ImportError::new(
            element.line,
            what,
            "0, 256, 512, 1024, 2048, 4096, 8192, 10240",
        )
    })
}

fn limits(element: &Element<'_>, info: &mut PortInfo) -> Result<(), ImportError> {
    fields!(element, info,
        "P_KeyEnforcementInbound_Int" => partition_enforcement_inbound: u8 as flag,
        "P_KeyEnforcementOutbound_Int" => partition_enforcement_outbound: u8 as flag,
        "ViolationsM_Key" => violations_m_key: u16,
        "ViolationsP_Key" => violations_p_key: u16,
        "ViolationsQ_Key" => violations_q_key: u16,
        "OverallBufferSpace" => overall_buffer_space: u16,
        "ReplayDepthBuffer" => buffer_depth: u8,
        "ReplayDepthWire" => wire_depth: u8,
        "SubnetTimeout_Int" => subnet_timeout: u8,
        "RespTimeout_Int" => resp_time_value: u8,
        "SubnetClientReregister_Int" => client_reregister: u8 as flag,
        "SubnetMulticastPKeyTrapSuppressionEnabled_Int"
            => multicast_p_key_trap_suppression_enabled: u8,
        "PassThroughControlDRControl_Int" => pass_through_dr_control: u8 as flag,
    );
    let preemption = element
        .child("FlitControl")
        .and_then(|flit| flit.child("Preemption"));
    let Some(element) = preemption else {
        return Ok(());
    };
    fields!(element, info,
        "MinInitial" => preemption_min_initial: u16,
        "MinTail" => preemption_min_tail: u16,
        "LargePktLimit" => preemption_large_pkt_limit: u8,
        "SmallPktLimit" => preemption_small_pkt_limit: u8,
        "MaxSmallPktLimit" => preemption_max_small_pkt_limit: u8,
        "PreemptionLimit" => preemption_limit: u8,
    );
    Ok(())
}

fn neighbor(element: &Element<'_>, info: &mut PortInfo) -> Result<(), ImportError> {
    fields!(element, info,
        "NeighborNodeGUID" => neighbor_node_guid: u64 as Guid,
        "NeighborPortNum" => neighbor_port_num: u8 as PortNum,
    );
    Ok(())
}
