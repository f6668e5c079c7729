//! Changes a running fabric.

use std::error::Error;
use std::io::{Write, stdout};

use clap::{Args, Subcommand};
use weft_emulator::Claims;
use weft_emulator::control::Controller;
use weft_emulator::io::{Control, Faults};
use weft_emulator::traffic::{TrafficJob, TrafficPattern};
use weft_fabric::{Guid, Lid, PortNum};
use weft_transport::Address;

use super::nanoseconds;

/// A change of a running fabric.
#[derive(Debug, Args)]
pub(crate) struct Ctl {
    /// Address of the emulator: unix:PATH or tcp:HOST:PORT
    #[arg(
        long,
        value_name = "ADDRESS",
        default_value = "unix:/tmp/weft-emulator.sock"
    )]
    connect: Address,
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
    LinkLanes {
        #[command(flatten)]
        port: Port,
        /// Number of lanes: 1 to 4; returning lanes are used when the link next comes up
        #[arg(value_name = "LANES", value_parser = clap::value_parser!(u8).range(1..=4))]
        lanes: u8,
    },
    /// Let a node report errors of a port's link (trap 129)
    LinkErrors(Port),
    /// Make a port refuse to leave Init when its link next comes up
    RefuseArm(Port),
    /// Let a port be armed again
    AllowArm(Port),
    /// Power a node off
    NodeDown(Node),
    /// Power a node on
    NodeUp(Node),
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
    TakeLid {
        #[command(flatten)]
        port: Port,
        /// The LID
        #[arg(value_name = "LID", value_parser = clap::value_parser!(u32))]
        lid: u32,
    },
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
    /// GUID of the node: 0x0011750101000001
    #[arg(value_name = "GUID", value_parser = guid)]
    guid: Guid,
}

impl Node {
    fn firmware(&self, unchecked: bool) -> Control {
        Control::UncheckedFirmware {
            node: self.guid,
            unchecked,
        }
    }
}

#[derive(Debug, Args)]
struct Port {
    #[command(flatten)]
    node: Node,
    /// Port number
    #[arg(value_name = "PORT")]
    port: u8,
}

impl Port {
    fn refuse_arm(&self, refuse: bool) -> Control {
        Control::RefuseArm {
            node: self.node.guid,
            port: PortNum(self.port),
            refuse,
        }
    }
}

#[derive(Debug, Args)]
struct ClaimedFields {
    /// NodeGUID: 0x0011750101000001
    #[arg(long, value_name = "GUID", value_parser = guid)]
    node_guid: Option<Guid>,
    /// PortGUID
    #[arg(long, value_name = "GUID", value_parser = guid)]
    port_guid: Option<Guid>,
    /// Largest packet, as in PortInfo: 1 is 256 bytes, 5 is 4096
    #[arg(long, value_name = "CODE", value_parser = clap::value_parser!(u8).range(0..=15))]
    mtu: Option<u8>,
    /// Data lanes
    #[arg(long, value_name = "LANES", value_parser = clap::value_parser!(u8).range(0..=31))]
    lanes: Option<u8>,
    /// Packet formats by bit: 1 8B, 2 9B, 4 10B, 8 16B
    #[arg(long, value_name = "BITS")]
    packet_formats: Option<u16>,
    /// Entries of a switch's forwarding table
    #[arg(long, value_name = "ENTRIES")]
    table_size: Option<u32>,
}

impl From<ClaimedFields> for Claims {
    fn from(claim: ClaimedFields) -> Self {
        Self {
            node_guid: claim.node_guid,
            port_guid: claim.port_guid,
            mtu: claim.mtu,
            lanes: claim.lanes,
            packet_formats: claim.packet_formats,
            table_size: claim.table_size,
        }
    }
}

fn guid(text: &str) -> Result<Guid, String> {
    let digits = text.strip_prefix("0x");
    let value = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    value
        .map(Guid)
        .ok_or("0x and up to 16 hexadecimal digits".to_owned())
}

impl Change {
    /// The change; `None` for a query.
    fn control(self) -> Result<Option<Control>, Box<dyn Error>> {
        let control = match self {
            Self::Traffic(Traffic::List) => return Ok(None),
            Self::Traffic(Traffic::Start(job)) => Control::TrafficStart(job.job()?),
            Self::Traffic(Traffic::Stop { name }) => Control::TrafficStop { name },
            Self::LinkDown(at) => Control::LinkDown {
                node: at.node.guid,
                port: PortNum(at.port),
            },
            Self::LinkUp(at) => Control::LinkUp {
                node: at.node.guid,
                port: PortNum(at.port),
            },
            Self::LinkLanes { port: at, lanes } => Control::LinkLanes {
                node: at.node.guid,
                port: PortNum(at.port),
                lanes,
            },
            Self::LinkErrors(at) => Control::LinkErrors {
                node: at.node.guid,
                port: PortNum(at.port),
            },
            Self::RefuseArm(at) => at.refuse_arm(true),
            Self::AllowArm(at) => at.refuse_arm(false),
            Self::NodeDown(Node { guid: node }) => Control::NodeDown { node },
            Self::NodeUp(Node { guid: node }) => Control::NodeUp { node },
            Self::Silence(Node { guid: node }) => Control::Silence { node, silent: true },
            Self::Speak(Node { guid: node }) => Control::Silence {
                node,
                silent: false,
            },
            Self::Slow { node, extra } => Control::Slow {
                node: node.guid,
                extra_ns: extra,
            },
            Self::Claim { node, claims } => Control::Claim {
                node: node.guid,
                claims: claims.into(),
            },
            Self::TakeLid { port: at, lid } => Control::TakeLid {
                node: at.node.guid,
                port: PortNum(at.port),
                lid: Lid(lid),
            },
            Self::UncheckFirmware(node) => node.firmware(true),
            Self::CheckFirmware(node) => node.firmware(false),
            Self::Faults {
                loss,
                duplicate,
                reorder,
                delay_min,
                delay_max,
            } => Control::Faults(Faults {
                loss,
                duplicate,
                reorder,
                delay_min_ns: delay_min,
                delay_max_ns: delay_max,
            }),
        };
        Ok(Some(control))
    }
}

pub(crate) async fn run(ctl: Ctl) -> Result<(), Box<dyn Error>> {
    let controller = Controller::Socket(ctl.connect);
    match ctl.change.control()? {
        Some(control) => controller.control(control).await?,
        None => {
            let report = controller.traffic().await?;
            let text = serde_json::to_string_pretty(&report)?;
            writeln!(stdout(), "{text}").map_err(|error| format!("cannot write: {error}"))?;
        }
    }
    Ok(())
}
