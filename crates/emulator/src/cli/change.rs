//! The changes of a running fabric, and what each is of.

use std::error::Error;

use clap::Subcommand;
use clap::builder::PossibleValuesParser;
use weft_emulator::io::Control;
use weft_fabric::{Guid, Lid, PortNum};
use weft_wire::sm::NodeDescription;

use super::cables::{CableChange, NewCable};
use super::fields::{
    ClaimedFields, CountedFields, MeasuredFields, TransitFields, TrapField, description, guid,
};
use super::keys::UseKey;
use super::named::{Node, Port, PortAnd, Wanted, port};
use super::nanoseconds;
use super::traffic::Traffic;
use super::training::{TrainingFields, fraction};

/// Speeds of a lane, Gb/s.
const SLOW: &str = "12.5";
const USUAL: &str = "25";

#[derive(Debug, Subcommand)]
pub(super) enum Change {
    /// Cut the cable at a port
    LinkDown(Port),
    /// Repair the cable at a port
    LinkUp(Port),
    /// Reduce the number of working lanes of the cable at a port
    ///
    /// VALUE is the number of lanes, 1 to 4; returning lanes are used when the link next comes up.
    LinkLanes {
        #[command(flatten)]
        at: PortAnd,
        /// Only of what this port sends: the other direction keeps its lanes until the link next comes up
        #[arg(long)]
        one_way: bool,
    },
    /// Set the speed of the lanes of the cable at a port: 12.5 or 25 Gb/s
    ///
    /// The link trains again; ports at a slow cable support both speeds.
    LinkSpeed {
        /// Ports: edge1:3, node1:1, 'core*:*', 0x0011750102000001:3, or 5% of the links between switches
        #[arg(value_name = "PORT")]
        port: String,
        /// Gb/s of a lane
        #[arg(value_name = "SPEED", value_parser = PossibleValuesParser::new([SLOW, USUAL]))]
        speed: String,
    },
    /// Let the link of a port go down and come up again several times
    ///
    /// It goes down at once and is up at the end. link-down, link-up and exchange-cables end it before.
    Flap {
        #[command(flatten)]
        port: Port,
        /// How often it goes down: 1 to 1000
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
        times: u32,
        /// Time from the first change to the last: 10s, up to 3600s
        #[arg(long, value_name = "TIME", default_value = "10s", value_parser = nanoseconds)]
        over: u64,
    },
    /// Set how links come up from now on: at once without options, all links without a port
    ///
    /// A link on its way begins again.
    LinkTraining {
        /// Ports: edge1:3, node1:1, 'core*:*', 0x0011750102000001:3, or 5% of the links between switches
        #[arg(value_name = "PORT")]
        port: Option<String>,
        #[command(flatten)]
        how: TrainingFields,
    },
    /// Changes of two ports
    #[command(flatten)]
    Cables(CableChange),
    /// Pull the cable at a port out of both its ends
    PullCable(Port),
    /// Put another cable in the place of the one at a port
    ReplaceCable {
        #[command(flatten)]
        port: Port,
        #[command(flatten)]
        cable: NewCable,
    },
    /// Let the memory of the module in a port be unreadable, as while its bus hangs
    CableBusy(Port),
    /// Let it be read again
    CableReadable(Port),
    /// Let the cable at a port damage data packets: both its ports count LocalLinkIntegrityErrors
    ///
    /// VALUE is the number of damaged packets of a million, 0 to 1000000; 0 for a good cable.
    CableErrors(PortAnd),
    /// Let the cable at a port damage ever more packets, from one of a million to the number that is given
    ///
    /// cable-errors ends it.
    ErrorsRise {
        #[command(flatten)]
        port: Port,
        /// Of a million at the end: 0 to 1000000
        #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
        to: u32,
        /// Time until then: 600s, up to 3600s
        #[arg(long, value_name = "TIME", default_value = "60s", value_parser = nanoseconds)]
        over: u64,
    },
    /// Let datagrams of subnet management be lost that a port sends, not those that it receives
    LinkLoss {
        #[command(flatten)]
        port: Port,
        /// Fraction that is lost: 0 to 1; 0 ends it
        #[arg(long, value_name = "P", value_parser = fraction)]
        loss: f64,
    },
    /// Let a node report errors of a port's link
    LinkErrors {
        #[command(flatten)]
        port: Port,
        /// What of: integrity is trap 129, overrun 130, watchdog 131
        #[arg(long, value_name = "KIND", default_value = "integrity")]
        trap: TrapField,
    },
    /// Let a port count errors of its link, besides those that it has counted
    CountErrors {
        #[command(flatten)]
        port: Port,
        #[command(flatten)]
        errors: CountedFields,
    },
    /// Set what a port says about its link (LinkQualityIndicator)
    ///
    /// VALUE is 5 excellent to 1 bad.
    LinkQuality(PortAnd),
    /// Set what the module in a port measures; only cables between switches are optical
    Module {
        #[command(flatten)]
        port: Port,
        #[command(flatten)]
        measured: MeasuredFields,
    },
    /// Make a port refuse to leave Init when its link next comes up
    RefuseArm(Port),
    /// Let a port be armed again
    AllowArm(Port),
    /// Power a node off
    NodeDown(Node),
    /// Power a node on
    NodeUp(Node),
    /// Power a node off, and on again after a time: its registers are empty
    Reboot {
        #[command(flatten)]
        node: Node,
        /// The time: 30s, up to 3600s
        #[arg(long, value_name = "TIME", default_value = "10s", value_parser = nanoseconds)]
        off: u64,
    },
    /// Put another HFI or switch in the place of one
    Replace {
        #[command(flatten)]
        node: Node,
        /// GUID of the new one: 0x00117501010000ff
        #[arg(value_name = "NEW", value_parser = guid)]
        new: Guid,
    },
    /// Silence a node's agent
    Silence(Node),
    /// Let a node's agent answer again
    Speak(Node),
    /// Delay the answers of a node's agent
    Slow {
        #[command(flatten)]
        node: Node,
        /// Extra time for each request: 1s; 0 for none
        #[arg(value_name = "TIME", value_parser = nanoseconds)]
        extra: u64,
    },
    /// Let a node's agent claim something about itself, as a broken or hostile device does; what is omitted is true
    /// again
    Claim {
        #[command(flatten)]
        node: Node,
        #[command(flatten)]
        claims: ClaimedFields,
    },
    /// Let an HFI's port take another LID, as its host can do
    ///
    /// VALUE is the LID.
    TakeLid(PortAnd),
    /// Give a node another description, as its host can do: it tells of it by trap 144
    Describe {
        #[command(flatten)]
        node: Node,
        /// Up to 64 bytes, which need not be text
        #[arg(value_name = "DESCRIPTION", value_parser = description())]
        description: NodeDescription,
    },
    /// Make a node a part of another system: it tells of it by trap 145
    SystemGuid {
        #[command(flatten)]
        node: Node,
        /// SystemImageGUID: 0x00117501020000ff
        #[arg(value_name = "GUID", value_parser = guid)]
        guid: Guid,
    },
    /// Changes of a host and the node that it sends to
    #[command(flatten)]
    Keys(UseKey),
    /// Let the neighbours of a node report that its firmware is not checked
    UncheckFirmware(Node),
    /// Let them report that it is
    CheckFirmware(Node),
    /// Set faults of datagrams in transit; omitted ones are off
    Faults {
        #[command(flatten)]
        share: TransitFields,
        /// Minimum extra delay
        #[arg(long, value_name = "TIME", default_value = "0", value_parser = nanoseconds)]
        delay_min: u64,
        /// Maximum extra delay
        #[arg(long, value_name = "TIME", default_value = "0", value_parser = nanoseconds)]
        delay_max: u64,
    },
    /// Start, stop and list traffic between hosts
    #[command(subcommand)]
    Traffic(Traffic),
}

impl Change {
    /// Name of the change, and what it is of; none of a query, or a change of the whole fabric.
    pub(super) fn wanted(&self) -> Option<(&'static str, Wanted)> {
        Some(match self {
            Self::LinkDown(at) => ("cable cut", at.wanted()),
            Self::LinkUp(at) => ("cable repaired", at.wanted()),
            Self::LinkLanes { at, .. } => ("lanes set", at.wanted()),
            Self::LinkSpeed { port: at, .. } => ("speed set", port(at, None)),
            Self::Flap { port, .. } => ("goes down and up", port.wanted()),
            Self::LinkTraining { port: Some(at), .. } => ("training set", port(at, None)),
            Self::PullCable(at) => ("cable pulled", at.wanted()),
            Self::ReplaceCable { port, .. } => ("cable replaced", port.wanted()),
            Self::CableBusy(at) => ("memory unreadable", at.wanted()),
            Self::CableReadable(at) => ("memory readable", at.wanted()),
            Self::CableErrors(at) => ("errors of the cable set", at.wanted()),
            Self::ErrorsRise { port, .. } => ("errors rise", port.wanted()),
            Self::LinkLoss { port, .. } => ("loss set", port.wanted()),
            Self::LinkErrors { port, .. } => ("errors reported", port.wanted()),
            Self::Describe { node, .. } => ("described", node.wanted()),
            Self::SystemGuid { node, .. } => ("system set", node.wanted()),
            Self::CountErrors { port, .. } => ("errors counted", port.wanted()),
            Self::LinkQuality(at) => ("quality set", at.wanted()),
            Self::Module { port, .. } => ("module set", port.wanted()),
            Self::RefuseArm(at) => ("refuses to leave Init", at.wanted()),
            Self::AllowArm(at) => ("may be armed", at.wanted()),
            Self::NodeDown(node) => ("powered off", node.wanted()),
            Self::NodeUp(node) => ("powered on", node.wanted()),
            Self::Reboot { node, .. } => ("reboots", node.wanted()),
            Self::Replace { node, .. } => ("replaced", node.wanted()),
            Self::Silence(node) => ("silent", node.wanted()),
            Self::Speak(node) => ("answers", node.wanted()),
            Self::Slow { node, .. } => ("delay set", node.wanted()),
            Self::Claim { node, .. } => ("claims set", node.wanted()),
            Self::TakeLid(at) => ("LID taken", at.wanted()),
            Self::UncheckFirmware(node) => ("firmware not checked", node.wanted()),
            Self::CheckFirmware(node) => ("firmware checked", node.wanted()),
            Self::Cables(_)
            | Self::Keys(_)
            | Self::LinkTraining { port: None, .. }
            | Self::Faults { .. }
            | Self::Traffic(_) => return None,
        })
    }

    /// The change of a node or port.
    pub(super) fn at(&self, node: Guid, port: PortNum) -> Result<Control, Box<dyn Error>> {
        let small = |value: u32| u8::try_from(value).unwrap_or(u8::MAX);
        let refuse_arm = |refuse| Control::RefuseArm { node, port, refuse };
        let busy = |busy| Control::CableBusy { node, port, busy };
        let silence = |silent| Control::Silence { node, silent };
        let firmware = |unchecked| Control::UncheckedFirmware { node, unchecked };
        Ok(match self {
            Self::LinkDown(_) => Control::LinkDown { node, port },
            Self::LinkUp(_) => Control::LinkUp { node, port },
            Self::LinkLanes { at, one_way } => {
                let lanes = small(at.value("lanes", 1..=4)?);
                match one_way {
                    true => Control::LinkLanesOut { node, port, lanes },
                    false => Control::LinkLanes { node, port, lanes },
                }
            }
            Self::LinkSpeed { speed, .. } => Control::LinkSlow {
                node,
                port,
                slow: speed == SLOW,
            },
            Self::Flap { times, over, .. } => Control::Flap {
                node,
                port,
                times: *times,
                over_ns: *over,
            },
            Self::LinkTraining { how, .. } => Control::LinkTraining {
                at: Some((node, port)),
                how: how.into(),
            },
            Self::PullCable(_) => Control::PullCable { node, port },
            Self::ReplaceCable { cable, .. } => Control::ReplaceCable {
                node,
                port,
                serial: cable.serial.clone(),
                part: cable.part.clone(),
            },
            Self::CableBusy(_) => busy(true),
            Self::CableReadable(_) => busy(false),
            Self::CableErrors(at) => Control::CableErrors {
                node,
                port,
                errors: at.value("damaged packets of a million", 0..=1_000_000)?,
            },
            Self::ErrorsRise { to, over, .. } => Control::ErrorsRise {
                node,
                port,
                to: *to,
                over_ns: *over,
            },
            Self::LinkLoss { loss, .. } => Control::LinkLoss {
                node,
                port,
                loss: *loss,
            },
            Self::LinkErrors { trap, .. } => Control::LinkErrors {
                node,
                port,
                trap: (*trap).into(),
            },
            Self::Describe { description, .. } => Control::Describe {
                node,
                description: *description,
            },
            Self::SystemGuid { guid, .. } => Control::SystemGuid { node, guid: *guid },
            Self::CountErrors { errors, .. } => Control::CountErrors {
                node,
                port,
                errors: errors.into(),
            },
            Self::LinkQuality(at) => Control::LinkQuality {
                node,
                port,
                quality: small(at.value("quality", 1..=5)?),
            },
            Self::Module { measured, .. } => Control::Module {
                node,
                port,
                measured: measured.into(),
            },
            Self::RefuseArm(_) => refuse_arm(true),
            Self::AllowArm(_) => refuse_arm(false),
            Self::NodeDown(_) => Control::NodeDown { node },
            Self::NodeUp(_) => Control::NodeUp { node },
            Self::Reboot { off, .. } => Control::Reboot { node, off_ns: *off },
            Self::Replace { new, .. } => Control::Replace { node, new: *new },
            Self::Silence(_) => silence(true),
            Self::Speak(_) => silence(false),
            Self::Slow { extra, .. } => Control::Slow {
                node,
                extra_ns: *extra,
            },
            Self::Claim { claims, .. } => Control::Claim {
                node,
                claims: claims.into(),
            },
            Self::TakeLid(at) => Control::TakeLid {
                node,
                port,
                lid: Lid(at.value("LID", 0..=u32::MAX)?),
            },
            Self::UncheckFirmware(_) => firmware(true),
            Self::CheckFirmware(_) => firmware(false),
            Self::Cables(_) | Self::Keys(_) | Self::Faults { .. } | Self::Traffic(_) => {
                return Err("not a change of a node".into());
            }
        })
    }

    /// A change of the whole fabric, with what is said of it; `None` for a query.
    pub(super) fn of_all(self) -> Result<Option<(Control, String)>, Box<dyn Error>> {
        Ok(Some(match self {
            Self::Traffic(traffic) => return traffic.change(),
            Self::LinkTraining { how, .. } => (
                Control::LinkTraining {
                    at: None,
                    how: (&how).into(),
                },
                "training of all links set".to_owned(),
            ),
            Self::Faults {
                share,
                delay_min,
                delay_max,
            } => (
                Control::Faults(share.faults(delay_min, delay_max)),
                "faults of datagrams set".to_owned(),
            ),
            _ => return Ok(None),
        }))
    }
}
