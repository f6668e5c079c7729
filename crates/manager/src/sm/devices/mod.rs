//! The manager's model of the fabric's nodes.
//!
//! | module | contents |
//! |---|---|
//! | `all` | all nodes, by number and by GUID |
//! | `device` | one node: its identity and route, and the three parts below |
//! | `observed`, `lft` | its confirmed state |
//! | `work` | its work in the current sweep |
//! | `health` | its reliability |

mod all;
mod device;
mod health;
mod lft;
mod observed;
mod work;

pub(super) use all::{Devices, is_up};
pub(super) use device::{Device, Identity, LidReading};
pub(super) use lft::Lft;
pub(super) use observed::{
    Observed, PortTables, TABLE_KINDS, reported_external_port, reported_port,
};
pub(super) use work::{IdentityAnswers, Stage, Work};
