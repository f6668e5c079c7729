//! What the device at the other end of a link is capable of, and what the port before it reports about it.

use weft_fabric::Lid;
use weft_fabric::admission::Defect;
use weft_fabric::enums::{Mtu, PortState};
use weft_wire::sm::PortInfo;

use super::Findings;
use crate::settings::lane_levels::LaneLevels;
use crate::sm::devices::Device;
use crate::sm::settings::{AdmissionSettings, Settings};

/// The least of what all ports have to carry in one packet.
const MTU_LEAST: Mtu = Mtu::B2048;

/// A device at the end of a link, with its port there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Far<'a> {
    pub device: &'a Device,
    pub port: &'a PortInfo,
}

/// What is needed of devices.
#[derive(Debug, Clone, Copy)]
pub(in crate::sm) struct Needs<'a> {
    settings: &'a AdmissionSettings,
    /// The highest LID that may be in use.
    highest: Lid,
    /// Data lanes that each port needs.
    lanes: u8,
}

impl<'a> Needs<'a> {
    pub(in crate::sm) fn of(settings: &'a Settings) -> Self {
        Self {
            settings: &settings.admission,
            highest: settings.lids.highest,
            lanes: lanes(settings),
        }
    }

    /// What is wrong with a device behind a port of a trusted one.
    pub(super) fn judge(&self, trusted: &PortInfo, far: Far<'_>) -> Findings {
        let mut found = Findings::default();
        packet_formats(&mut found, trusted, far.port);
        self.table_size(&mut found, far.device);
        mtu(&mut found, far.port);
        self.lanes(&mut found, far.port);
        match (
            self.settings.doubts(far.device.identity.guid),
            far.device.is_switch(),
        ) {
            (true, true) => self.firmware(&mut found, trusted),
            (true, false) => lid(&mut found, trusted, far),
            (false, _) => {}
        }
        found
    }

    fn firmware(&self, found: &mut Findings, trusted: &PortInfo) {
        if self.settings.needs_checked_firmware && trusted.neighbor_fw_authen_bypass {
            let what = "the hardware before it has not checked its firmware";
            found.add(Defect::Firmware, what.to_owned());
        }
    }

    fn lanes(&self, found: &mut Findings, far: &PortInfo) {
        let (cap, needed) = (far.vl_cap, self.lanes);
        if cap < needed && !self.settings.mixes_lanes {
            found.add(
                Defect::Lanes,
                format!("it has {cap} data lanes, needed: {needed}"),
            );
        }
    }

    fn table_size(&self, found: &mut Findings, device: &Device) {
        let cap = device.observed.switch().map(|switch| switch.linear_fdb_cap);
        if let Some(cap) = cap.filter(|cap| *cap < self.highest.0) {
            found.add(
                Defect::TableSize,
                format!(
                    "its forwarding table has {cap} entries, LIDs go up to {}",
                    self.highest
                ),
            );
        }
    }
}

/// Data lanes that each port needs: one for each service level, two where `dor` has rings. Engines that use more make
/// do with fewer.
fn lanes(settings: &Settings) -> u8 {
    let levels = LaneLevels::of(&settings.levels);
    let most = settings.traffic.lanes_max;
    let each = levels
        .lanes(most)
        .min(1 + u8::from(settings.routing.has_rings()));
    levels.count().saturating_mul(each).min(most)
}

fn packet_formats(found: &mut Findings, trusted: &PortInfo, far: &PortInfo) {
    let (own, other) = (
        trusted.port_packet_formats_supported,
        far.port_packet_formats_supported,
    );
    if own & other == 0 {
        found.add(
            Defect::PacketFormats,
            format!("it supports packet formats {other:#x}, the port before it {own:#x}"),
        );
    }
}

fn mtu(found: &mut Findings, far: &PortInfo) {
    if far.mtu_cap < MTU_LEAST {
        let (cap, least) = (far.mtu_cap.bytes(), MTU_LEAST.bytes());
        found.add(
            Defect::Mtu,
            format!("its largest packets have {cap} bytes, needed: {least}"),
        );
    }
}

/// An HFI that has changed its LID itself. The manager sets the LID of an HFI and that of the port before it one
/// after the other: what it is doing itself is no finding.
fn lid(found: &mut Findings, trusted: &PortInfo, far: Far<'_>) {
    let read = far.device.identity.lids;
    let (own, reported) = (trusted.lid, read.reported);
    let is_checked = trusted.port_state == PortState::ACTIVE && own != Lid(0);
    let was_the_same = read.before.is_none_or(|before| before == own);
    let is_unchanged = far.port.lid == reported;
    let differs = own != Lid(0) && own != Lid::PERMISSIVE && own != reported;
    if is_checked && was_the_same && is_unchanged && differs {
        found.add(
            Defect::Lid,
            format!("it has LID {reported}, the port before it has {own} for it"),
        );
    }
}
