//! Changes a running fabric.

use std::error::Error;
use std::io::{Write, stdout};

use clap::{Args, Subcommand};
use weft_emulator::control::Controller;
use weft_emulator::io::{Control, Faults};
use weft_emulator::traffic::{TrafficJob, TrafficPattern};
use weft_fabric::{Guid, PortNum};
use weft_transport::Address;

use super::nanoseconds;

/// A change of a running fabric.
#[derive(Debug, Args)]
pub(crate) struct Ctl {
    /// Where the emulator listens: unix:PATH or tcp:HOST:PORT
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
    /// Mend the cable at a port
    LinkUp(Port),
    /// Leave so many of its four lanes to the cable at a port
    LinkLanes {
        #[command(flatten)]
        port: Port,
        /// How many: 1 to 4; what comes back is used when the link comes up again
        #[arg(value_name = "LANES", value_parser = clap::value_parser!(u8).range(1..=4))]
        lanes: u8,
    },
    /// Let a port refuse to leave Init when its link next comes up
    RefuseArm(Port),
    /// Let a port be armed again
    AllowArm(Port),
    /// Switch a node off
    NodeDown(Node),
    /// Switch a node on
    NodeUp(Node),
    /// Let a node's agent be silent
    Silence(Node),
    /// Let a node's agent answer again
    Speak(Node),
    /// Let a node's agent take longer for a request
    Slow {
        #[command(flatten)]
        node: Node,
        /// How much longer: 1s; 0 for no longer
        #[arg(value_name = "TIME", value_parser = nanoseconds)]
        extra: u64,
    },
    /// Set what happens to datagrams on their way; what is not given does not happen
    Faults {
        /// Part that is lost: 0 to 1
        #[arg(long, value_name = "P", default_value_t = 0.0)]
        loss: f64,
        /// Part that arrives twice: 0 to 1
        #[arg(long, value_name = "P", default_value_t = 0.0)]
        duplicate: f64,
        /// Part that is overtaken by later ones: 0 to 1
        #[arg(long, value_name = "P", default_value_t = 0.0)]
        reorder: f64,
        /// Shortest extra delay
        #[arg(long, value_name = "TIME", default_value = "0", value_parser = nanoseconds)]
        delay_min: u64,
        /// Longest extra delay
        #[arg(long, value_name = "TIME", default_value = "0", value_parser = nanoseconds)]
        delay_max: u64,
    },
    /// Let hosts send to each other, or list what they do
    #[command(subcommand)]
    Traffic(Traffic),
}

#[derive(Debug, Subcommand)]
enum Traffic {
    /// Start traffic that goes on until it is stopped
    Start(Job),
    /// Print what all jobs do now, as JSON
    List,
    /// Stop a job, or all jobs where none is named
    Stop {
        /// Its name
        #[arg(value_name = "NAME")]
        name: Option<String>,
    },
}

#[derive(Debug, Args)]
struct Job {
    /// What to call it
    #[arg(value_name = "NAME")]
    name: String,
    /// Who sends to whom: pairs node1:node5 node2:node6, permutation seed=7, shift by=3, uniform,
    /// hotspot to=node1 percent=50
    #[arg(value_name = "PATTERN", required = true, num_args = 1..)]
    pattern: Vec<String>,
    /// What each sender sends at most, percent of a link
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0)]
    rate: f64,
    /// Bytes of payload of a packet
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
    /// The node: 0x0011750101000001
    #[arg(value_name = "GUID", value_parser = guid)]
    guid: Guid,
}

#[derive(Debug, Args)]
struct Port {
    #[command(flatten)]
    node: Node,
    /// Its port
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

fn guid(text: &str) -> Result<Guid, String> {
    let digits = text.strip_prefix("0x");
    let value = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    value
        .map(Guid)
        .ok_or("0x and up to 16 hexadecimal digits".to_owned())
}

impl Change {
    /// The change; none for a question.
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
