//! Agents: each translates datagrams for its node to registers and back.
//!
//! | module | attributes |
//! |---|---|
//! | [`sma`] | subnet management: headers, keys, aggregates |
//! | `attributes`, `port`, `maps`, `forwarding`, `congestion`, `cable` | the attributes of subnet management |
//! | [`ib`] | the InfiniBand form of NodeInfo, by which drivers recognise an Omni-Path port |
//! | [`pma`] | performance management |

mod attributes;
mod cable;
mod congestion;
mod forwarding;
pub(crate) mod ib;
mod maps;
pub(crate) mod pma;
mod port;
pub(crate) mod sma;

use crate::claims::Claims;
use weft_dataplane::{Device, Network, PortIndex, Refused};
use weft_fabric::{NodeId, PortNum, Tick};
use weft_wire::header::status;

/// Why an agent refuses a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The node does not have the attribute, or not with that method.
    Unsupported,
    /// A field or the attribute modifier has a value that is not allowed.
    Invalid,
}

impl Failure {
    /// The status for it.
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::Unsupported => status::UNSUPPORTED_METHOD_ATTRIB,
            Self::Invalid => status::INVALID_ATTRIB,
        }
    }
}

impl From<Refused> for Failure {
    fn from(_: Refused) -> Self {
        Self::Invalid
    }
}

/// A request for one attribute.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    /// The requested node.
    pub(crate) node: NodeId,
    /// The port that sent the request.
    pub(crate) from: PortIndex,
    /// The port that the request came in by.
    pub(crate) ingress: PortIndex,
    /// Attribute modifier.
    pub(crate) modifier: u32,
    /// Set, not Get.
    pub(crate) set: bool,
    /// M_Keys are answered with zero.
    pub(crate) hide_m_key: bool,
    /// When.
    pub(crate) now: Tick,
    /// What the node claims in place of the truth.
    pub(crate) claims: Claims,
}

impl Request {
    fn device<'a>(&self, network: &'a Network) -> &'a Device {
        network.device_at(self.node)
    }

    /// Refuses methods other than Get.
    fn read_only(&self) -> Result<(), Failure> {
        if self.set {
            Err(Failure::Unsupported)
        } else {
            Ok(())
        }
    }

    /// Refuses a modifier other than 0.
    fn plain(&self) -> Result<(), Failure> {
        if self.modifier == 0 {
            Ok(())
        } else {
            Err(Failure::Invalid)
        }
    }

    /// Refuses nodes that do not forward.
    fn switch_only(&self, network: &Network) -> Result<(), Failure> {
        if self.device(network).is_switch() {
            Ok(())
        } else {
            Err(Failure::Unsupported)
        }
    }

    /// The ports that a modifier means: `count` from `first` on, all the rest with `all` in a Set.
    /// For an HFI it is the port that the request came in by, whatever `first` says.
    fn ports(
        &self,
        network: &Network,
        first: PortNum,
        count: u8,
        all: bool,
    ) -> Result<Ports, Failure> {
        let device = self.device(network);
        if all && (!self.set || count != 1) || count == 0 {
            return Err(Failure::Invalid);
        }
        if !device.is_switch() {
            return if count == 1 {
                Ok(Ports::one(network.number_of(self.ingress)))
            } else {
                Err(Failure::Invalid)
            };
        }
        let asked = first.0.checked_add(count - 1).map(PortNum);
        let last = device.last_port();
        match asked.filter(|asked| *asked <= last) {
            Some(asked) => Ok(Ports {
                first,
                last: if all { last } else { asked },
                same: all,
            }),
            None => Err(Failure::Invalid),
        }
    }
}

/// Ports that an attribute is read from or written to.
#[derive(Debug, Clone, Copy)]
struct Ports {
    first: PortNum,
    last: PortNum,
    /// All get the same block.
    same: bool,
}

impl Ports {
    fn one(port: PortNum) -> Self {
        Self {
            first: port,
            last: port,
            same: false,
        }
    }

    /// Each port with the number of its block.
    fn blocks(self, device: &Device) -> impl Iterator<Item = (PortIndex, usize)> + use<> {
        let (first, same) = (self.first.0, self.same);
        let start = device.port(self.first);
        let ports = device.ports().skip_while(move |port| Some(port.1) != start);
        ports
            .take(usize::from(self.last.0 - first) + 1)
            .enumerate()
            .map(move |(place, (_, at))| (at, if same { 0 } else { place }))
    }

    /// Number of blocks in the datagram.
    fn count(self) -> usize {
        if self.same {
            1
        } else {
            usize::from(self.last.0 - self.first.0) + 1
        }
    }
}
