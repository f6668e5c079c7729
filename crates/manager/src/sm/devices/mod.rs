//! The nodes of the fabric as the manager knows them.
//!
//! | module | what it is about |
//! |---|---|
//! | `all` | all nodes, by number and by GUID |
//! | `device` | one node: who it is and how it is reached, and the three parts below |
//! | `observed`, `lft` | what it has confirmed |
//! | `work` | what the sweep under way asks of it |
//! | `health` | how far it can be relied on |

mod all;
mod device;
mod health;
mod lft;
mod observed;
mod work;

pub(super) use all::Devices;
pub(super) use device::Device;
pub(super) use lft::Lft;
pub(super) use observed::{Observed, PortTables, TABLE_KINDS};
pub(super) use work::{IdentityAnswers, Stage, Work};
