//! Changes a running fabric.

use std::error::Error;

use clap::{Args, Subcommand};
use weft_emulator::io::{Control, Faults};
use weft_fabric::{Guid, PortNum};
use weft_transport::{Address, request_control};

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

fn guid(text: &str) -> Result<Guid, String> {
    let digits = text.strip_prefix("0x");
    let value = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    value
        .map(Guid)
        .ok_or("0x and up to 16 hexadecimal digits".to_owned())
}

impl Change {
    fn control(self) -> Control {
        match self {
            Self::LinkDown(at) => Control::LinkDown {
                node: at.node.guid,
                port: PortNum(at.port),
            },
            Self::LinkUp(at) => Control::LinkUp {
                node: at.node.guid,
                port: PortNum(at.port),
            },
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
        }
    }
}

pub(crate) async fn run(ctl: Ctl) -> Result<(), Box<dyn Error>> {
    let json = serde_json::to_vec(&ctl.change.control())?;
    let reply = request_control(&ctl.connect, json).await?;
    let reply: serde_json::Value = serde_json::from_slice(&reply)?;
    match reply.get("error").and_then(|error| error.as_str()) {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}
