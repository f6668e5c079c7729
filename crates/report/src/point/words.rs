//! The words that stand in points after a keyword, with what they mean.

use weft_fabric::enums::{Mtu, PhysState, PortState};
use weft_fabric::{CableKind, CableText};

use super::{Note, StateMatch};

/// Names of rates, with twice their value in Gb/s.
pub(super) const RATES: &[(&str, u32)] = &[
    ("12.5g", 25),
    ("25g", 50),
    ("37.5g", 75),
    ("50g", 100),
    ("75g", 150),
    ("100g", 200),
];

pub(super) const STATES: &[(&str, StateMatch)] = &[
    ("down", StateMatch::Is(PortState::DOWN)),
    ("init", StateMatch::Is(PortState::INIT)),
    ("armed", StateMatch::Is(PortState::ARMED)),
    ("active", StateMatch::Is(PortState::ACTIVE)),
    ("notactive", StateMatch::NotActive),
    ("initarmed", StateMatch::InitArmed),
];

pub(super) const PHYS_STATES: &[(&str, PhysState)] = &[
    ("polling", PhysState::POLLING),
    ("disabled", PhysState::DISABLED),
    ("training", PhysState::TRAINING),
    ("linkup", PhysState::LINK_UP),
    ("recovery", PhysState::RECOVERY),
    ("offline", PhysState::OFFLINE),
    ("test", PhysState::TEST),
];

pub(super) const MTUS: &[(&str, Mtu)] = &[
    ("2048", Mtu::B2048),
    ("4096", Mtu::B4096),
    ("8192", Mtu::B8192),
    ("10240", Mtu::B10240),
];

pub(super) const CRC_MODES: &[(&str, u8)] = &[
    ("14b", 1),
    ("14-bit", 1),
    ("16b", 2),
    ("16-bit", 2),
    ("48b", 4),
    ("48-bit", 4),
    ("per_lane", 8),
    ("12-16/lane", 8),
];

pub(super) const CABLE_KINDS: &[(&str, CableKind)] = &[
    ("optical", CableKind::Optical),
    ("passive_copper", CableKind::PassiveCopper),
    ("active_copper", CableKind::ActiveCopper),
    ("unknown", CableKind::Unknown),
];

pub(super) const CABLE_TEXTS: &[(&str, CableText)] = &[
    ("cabinfvendnamepat", CableText::Vendor),
    ("cabinfvendpnpat", CableText::PartNumber),
    ("cabinfvendrevpat", CableText::Revision),
    ("cabinfvendsnpat", CableText::SerialNumber),
];

pub(super) const NOTES: &[(&str, Note)] = &[
    ("labelpat", Note::CableLabel),
    ("lengthpat", Note::CableLength),
    ("cabledetpat", Note::CableDetails),
    ("linkdetpat", Note::LinkDetails),
    ("portdetpat", Note::PortDetails),
    ("smdetpat", Note::SmDetails),
];
