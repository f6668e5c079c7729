//! Programs on hosts that use keys which are not theirs.

use std::error::Error;

use clap::{Args, Subcommand};
use serde_json::json;
use weft_emulator::control::Controller;
use weft_emulator::io::Control;
use weft_emulator::target::{Place, Target};
use weft_fabric::{Guid, PortNum};

use super::ctl::{described, print};

#[derive(Debug, Subcommand)]
pub(crate) enum UseKey {
    /// Let a program on a host send datagrams with a P_Key to a node: traps 257 and 259 where it is not let through
    #[command(name = "use-p-key")]
    Partition {
        #[command(flatten)]
        way: Way,
        /// The P_Key: 0x8001
        #[arg(value_name = "PKEY", value_parser = p_key)]
        key: u16,
    },
    /// Let a program on a host send datagrams with a Q_Key to general services of another host: trap 258 unless it is
    /// 0x80010000
    #[command(name = "use-q-key")]
    QueuePair {
        #[command(flatten)]
        way: Way,
        /// The Q_Key: 0x1234
        #[arg(value_name = "QKEY", value_parser = q_key)]
        key: u32,
    },
    /// Let a program on a host send writes with an M_Key to a node's agent: trap 256 where it is wrong
    #[command(name = "use-m-key")]
    Management {
        #[command(flatten)]
        way: Way,
        /// The M_Key: 0x1234
        #[arg(value_name = "MKEY", value_parser = hexadecimal)]
        key: u64,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Way {
    /// The host's port: node1:1
    #[arg(value_name = "PORT")]
    from: String,
    /// The node that they are for: node5
    #[arg(value_name = "NODE")]
    to: String,
    /// How many: 1 to 100000
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    count: u32,
}

impl UseKey {
    fn way(&self) -> &Way {
        let (Self::Partition { way, .. }
        | Self::QueuePair { way, .. }
        | Self::Management { way, .. }) = self;
        way
    }

    fn of(&self, (node, port): (Guid, PortNum), to: Guid) -> Control {
        let count = self.way().count;
        match *self {
            Self::Partition { key: p_key, .. } => Control::UsePKey {
                node,
                port,
                to,
                p_key,
                count,
            },
            Self::QueuePair { key: q_key, .. } => Control::UseQKey {
                node,
                port,
                to,
                q_key,
                count,
            },
            Self::Management { key: m_key, .. } => Control::UseMKey {
                node,
                port,
                to,
                m_key,
                count,
            },
        }
    }

    pub(crate) async fn run(
        &self,
        controller: &Controller,
        is_json: bool,
    ) -> Result<(), Box<dyn Error>> {
        let way = self.way();
        let from = one(controller, &way.from, true).await?;
        let to = one(controller, &way.to, false).await?;
        let host = (Guid(from.guid), PortNum(from.port.unwrap_or_default()));
        controller.control(self.of(host, Guid(to.guid))).await?;
        let done = format!("sent {} datagrams", way.count);
        match is_json {
            true => print(&serde_json::to_string_pretty(
                &json!({ "done": done, "at": [from, to] }),
            )?),
            false => print(&format!(
                "{done}: {} to {}",
                described(&from),
                described(&to)
            )),
        }
    }
}

/// The one node or port that a text names.
async fn one(controller: &Controller, text: &str, ports: bool) -> Result<Place, Box<dyn Error>> {
    let wanted = Target {
        text: text.to_owned(),
        ports,
        seed: 0,
    };
    let found = controller.places(wanted).await?;
    match &found[..] {
        [place] => Ok(place.clone()),
        found => Err(format!("'{text}' names {} places; name one", found.len()).into()),
    }
}

fn p_key(text: &str) -> Result<u16, String> {
    let value = hexadecimal(text)?;
    u16::try_from(value).map_err(|_| "0x and up to 4 hexadecimal digits".to_owned())
}

fn q_key(text: &str) -> Result<u32, String> {
    let value = hexadecimal(text)?;
    u32::try_from(value).map_err(|_| "0x and up to 8 hexadecimal digits".to_owned())
}

fn hexadecimal(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x");
    let value = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    value.ok_or("0x and up to 16 hexadecimal digits".to_owned())
}
