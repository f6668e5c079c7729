//! The fabric's devices as hardware: registers, links and forwarding.
//!
//! A [`Network`] holds every switch and HFI of a [`weft_fabric::Topology`]: the registers that
//! agents read and write, the links' state machines, the forwarding of a datagram hop by hop
//! through the programmed tables, and the counters that this moves. It knows no management
//! protocol: agents translate datagrams to registers.
//!
//! | module | contents |
//! |---|---|
//! | [`counters`] | performance counters of ports and their VLs |
//! | [`tables`] | tables whose contents many ports have in common |
//! | [`registers`] | registers of a port |
//! | [`switch`] | registers of a switch |
//! | [`device`] | registers that all nodes have |
//! | [`network`] | all devices, and their ports by index |
//! | [`link`] | link state machine |
//! | [`training`] | links that take their time to come up |
//! | [`settings`] | writes to a port's registers |
//! | [`forward`] | the path of a packet |
//! | [`circles`] | data packets that circle |
//! | [`bad_cables`] | cables that damage packets |
//! | [`lossy_links`] | links that lose management datagrams in one direction |
//! | [`cable_memory`] | what cables say of themselves |
//! | [`cable_speed`] | cables whose lanes are slower than usual |
//! | [`exchanged_cables`] | cables that someone plugs into each other's port |
//! | [`plugged_cables`] | cables that someone pulls or plugs in |
//! | [`optics`] | what modules of optical cables measure |
//! | [`constants`] | measured or specified properties of components, each with its source |
//! | [`packets`] | packets in virtual time: lanes, credits, lifetimes, adaptive routes |
//! | [`traffic`] | traffic patterns |
//! | [`fluid`] | rates of flows that share links fairly, without packets |

pub mod bad_cables;
pub mod cable_memory;
pub mod cable_speed;
pub mod circles;
pub mod constants;
pub mod counters;
pub mod device;
pub mod exchanged_cables;
pub mod fluid;
pub mod forward;
pub mod link;
pub mod lossy_links;
pub mod network;
pub mod optics;
pub mod packets;
mod partition;
pub mod plugged_cables;
pub mod registers;
pub mod settings;
pub mod switch;
pub mod tables;
pub mod traffic;
pub mod training;

pub use counters::{Counter, VlCounter};
pub use device::Device;
pub use forward::{Arrival, Channel, Dropped};
pub use network::{Network, PortIndex};
pub use registers::{PortRegisters, PortTable};
pub use settings::Refused;
pub use switch::SwitchRegisters;
