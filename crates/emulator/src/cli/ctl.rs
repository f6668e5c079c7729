//! Changes a running fabric.

use std::error::Error;
use std::io::{Write, stdout};

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde_json::json;
use weft_emulator::control::Controller;
use weft_emulator::io::{Control, Faults};
use weft_emulator::target::{Place, Target};
use weft_emulator::traffic::{TrafficJob, TrafficPattern};
use weft_fabric::text::for_terminal;
use weft_fabric::{Guid, Lid, PortNum};
use weft_transport::Address;

use super::cables::{CableChange, NewCable};
use super::fields::{ClaimedFields, CountedFields, MeasuredFields, guid};
use super::nanoseconds;
use super::training::TrainingFields;

/// Speeds of a lane, Gb/s.
const SLOW: &str = "12.5";
const USUAL: &str = "25";

const EXAMPLES: &str = "\
Examples:
  weft-emulator ctl link-down edge1:19
  weft-emulator ctl link-down 5% --seed 7
  weft-emulator ctl link-lanes 'core*:*' 3
  weft-emulator ctl node-down core2
  weft-emulator ctl --connect unix:PATH silence edge1     the fabric of `weftd --emulate`: its log names the socket";

/// A change of a running fabric.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Ctl {
    /// Address of the emulator: unix:PATH or tcp:HOST:PORT
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "unix:/tmp/weft-emulator.sock",
        global = true
    )]
    connect: Address,
    /// Print what was changed as JSON
    #[arg(long, global = true)]
    json: bool,
    /// Chooses the links of a share such as 5%
    #[arg(long, global = true, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(subcommand)]
    change: Change,
}

#[derive(Debug, Subcommand)]
enum Change {
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
    /// Let a node report errors of a port's link (trap 129)
    LinkErrors(Port),
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
    /// Put another HFI in the place of one
    Replace {
        #[command(flatten)]
        node: Node,
        /// GUID of the new HFI: 0x00117501010000ff
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
    /// Let the neighbours of a node report that its firmware is not checked
    UncheckFirmware(Node),
    /// Let them report that it is
    CheckFirmware(Node),
    /// Set faults of datagrams in transit; omitted ones are off
    Faults {
        /// Fraction that are lost: 0 to 1
        #[arg(long, value_name = "P", default_value_t = 0.0)]
        loss: f64,
        /// Fraction that arrive twice: 0 to 1
        #[arg(long, value_name = "P", default_value_t = 0.0)]
        duplicate: f64,
        /// Fraction that are overtaken by later ones: 0 to 1
        #[arg(long, value_name = "P", default_value_t = 0.0)]
        reorder: f64,
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

#[derive(Debug, Subcommand)]
enum Traffic {
    /// Start traffic that runs until it is stopped
    Start(Job),
    /// Print running jobs and their throughput, as JSON
    List,
    /// Stop a job, or all jobs if none is named
    Stop {
        /// Name of the job
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
}

#[derive(Debug, Args)]
struct Job {
    /// Name of the job
    #[arg(value_name = "NAME")]
    name: String,
    /// Pattern: pairs node1:node5 node2:node6, permutation seed=7, shift by=3, uniform,
    /// hotspot to=node1 percent=50
    #[arg(value_name = "PATTERN", required = true, num_args = 1..)]
    pattern: Vec<String>,
    /// Limit for each sender, percent of a link
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0)]
    rate: f64,
    /// Payload of a packet, bytes
    #[arg(long, value_name = "BYTES", default_value_t = 8192)]
    payload: u32,
}

impl Job {
    fn job(self) -> Result<TrafficJob, Box<dyn Error>> {
        let pattern: TrafficPattern = self.pattern.join(" ").parse()?;
        Ok(TrafficJob {
            rate_percent: self.rate,
            payload: self.payload,
            ..TrafficJob::new(self.name, pattern)
        })
    }
}

#[derive(Debug, Args)]
struct Node {
    /// Nodes: a name (edge1, node1), a pattern ('core*') or a GUID (0x0011750101000001)
    #[arg(value_name = "NODE")]
    node: String,
}

#[derive(Debug, Args)]
struct Port {
    /// Ports: edge1:3, node1:1, 'core*:*', 0x0011750102000001:3, or 5% of the links between switches
    #[arg(value_name = "PORT")]
    port: String,
    /// Port number, if only a node is named before it
    #[arg(value_name = "NUMBER")]
    number: Option<u8>,
}

/// Ports, and a number that is written there.
#[derive(Debug, Args)]
struct PortAnd {
    /// Ports: edge1:3, node1:1, 'core*:*', 0x0011750102000001:3, or 5% of the links between switches
    #[arg(value_name = "PORT")]
    port: String,
    /// The number; before it the port's, if only a node is named
    #[arg(value_name = "VALUE", required = true, num_args = 1..=2)]
    values: Vec<u32>,
}

/// Nodes or ports that are changed.
struct Wanted {
    text: String,
    ports: bool,
}

impl Node {
    fn wanted(&self) -> Wanted {
        Wanted {
            text: self.node.clone(),
            ports: false,
        }
    }
}

fn port(text: &str, number: Option<u32>) -> Wanted {
    Wanted {
        text: match number {
            Some(number) => format!("{text}:{number}"),
            None => text.to_owned(),
        },
        ports: true,
    }
}

impl Port {
    fn wanted(&self) -> Wanted {
        port(&self.port, self.number.map(u32::from))
    }
}

impl PortAnd {
    fn wanted(&self) -> Wanted {
        let number = self.values.first().filter(|_| self.values.len() > 1);
        port(&self.port, number.copied())
    }

    /// The number in a range.
    fn value(&self, what: &str, allowed: std::ops::RangeInclusive<u32>) -> Result<u32, String> {
        let value = self.values.last().copied().unwrap_or_default();
        match allowed.contains(&value) {
            true => Ok(value),
            false => Err(format!(
                "{what}: {value}, allowed: {} to {}",
                allowed.start(),
                allowed.end()
            )),
        }
    }
}

impl Change {
    /// Name of the change, and what it is of; none of a query, or a change of the whole fabric.
    fn wanted(&self) -> Option<(&'static str, Wanted)> {
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
            Self::LinkErrors(at) => ("errors reported", at.wanted()),
            Self::CountErrors { port, .. } => ("errors counted", port.wanted()),
            Self::LinkQuality(at) => ("quality set", at.wanted()),
            Self::Module { port, .. } => ("module set", port.wanted()),
            Self::RefuseArm(at) => ("refuses to leave Init", at.wanted()),
            Self::AllowArm(at) => ("may be armed", at.wanted()),
            Self::NodeDown(node) => ("powered off", node.wanted()),
            Self::NodeUp(node) => ("powered on", node.wanted()),
            Self::Replace { node, .. } => ("replaced", node.wanted()),
            Self::Silence(node) => ("silent", node.wanted()),
            Self::Speak(node) => ("answers", node.wanted()),
            Self::Slow { node, .. } => ("delay set", node.wanted()),
            Self::Claim { node, .. } => ("claims set", node.wanted()),
            Self::TakeLid(at) => ("LID taken", at.wanted()),
            Self::UncheckFirmware(node) => ("firmware not checked", node.wanted()),
            Self::CheckFirmware(node) => ("firmware checked", node.wanted()),
            Self::Cables(_)
            | Self::LinkTraining { port: None, .. }
            | Self::Faults { .. }
            | Self::Traffic(_) => return None,
        })
    }

    /// The change of a node or port.
    fn at(&self, node: Guid, port: PortNum) -> Result<Control, Box<dyn Error>> {
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
            Self::LinkErrors(_) => Control::LinkErrors { node, port },
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
            Self::Cables(_) | Self::Faults { .. } | Self::Traffic(_) => {
                return Err("not a change of a node".into());
            }
        })
    }

    /// A change of the whole fabric, with what is said of it; `None` for a query.
    fn of_all(self) -> Result<Option<(Control, String)>, Box<dyn Error>> {
        Ok(Some(match self {
            Self::Traffic(Traffic::Start(job)) => {
                let said = format!("traffic {} started", job.name);
                (Control::TrafficStart(job.job()?), said)
            }
            Self::Traffic(Traffic::Stop { name }) => {
                let said = match &name {
                    Some(name) => format!("traffic {name} stopped"),
                    None => "all traffic stopped".to_owned(),
                };
                (Control::TrafficStop { name }, said)
            }
            Self::LinkTraining { how, .. } => (
                Control::LinkTraining {
                    at: None,
                    how: (&how).into(),
                },
                "training of all links set".to_owned(),
            ),
            Self::Faults {
                loss,
                duplicate,
                reorder,
                delay_min,
                delay_max,
            } => {
                let faults = Faults {
                    loss,
                    duplicate,
                    reorder,
                    delay_min_ns: delay_min,
                    delay_max_ns: delay_max,
                };
                (
                    Control::Faults(faults),
                    "faults of datagrams set".to_owned(),
                )
            }
            _ => return Ok(None),
        }))
    }
}

pub(crate) async fn run(ctl: Ctl) -> Result<(), Box<dyn Error>> {
    let controller = Controller::Socket(ctl.connect);
    if let Change::Cables(change) = &ctl.change {
        return change.run(&controller, ctl.json).await;
    }
    let Some((done, wanted)) = ctl.change.wanted() else {
        return match ctl.change.of_all()? {
            Some((control, said)) => {
                controller.control(control).await?;
                match ctl.json {
                    true => print(&json!({ "done": said }).to_string()),
                    false => print(&said),
                }
            }
            None => {
                let report = controller.traffic().await?;
                print(&serde_json::to_string_pretty(&report)?)
            }
        };
    };
    let target = Target {
        text: wanted.text,
        ports: wanted.ports,
        seed: ctl.seed,
    };
    let places = controller.places(target).await?;
    for place in &places {
        let port = PortNum(place.port.unwrap_or_default());
        let control = ctl.change.at(Guid(place.guid), port)?;
        controller.control(control).await?;
        if !ctl.json {
            print(&format!("{done}: {}", described(place)))?;
        }
    }
    match ctl.json {
        true => print(&serde_json::to_string_pretty(
            &json!({ "done": done, "at": places }),
        )?),
        false => Ok(()),
    }
}

/// `edge1:3 (to core1:1)`.
pub(super) fn described(place: &Place) -> String {
    let port = place.port.map_or(String::new(), |port| format!(":{port}"));
    let far = place.far.as_ref();
    let far = far.map_or(String::new(), |(name, port)| format!(" (to {name}:{port})"));
    format!("{}{port}{far}", place.name)
}

pub(super) fn print(text: &str) -> Result<(), Box<dyn Error>> {
    writeln!(stdout(), "{}", for_terminal(text))
        .map_err(|error| format!("cannot write: {error}"))?;
    Ok(())
}
