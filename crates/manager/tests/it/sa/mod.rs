//! Subnet administration over an emulated fabric that a manager has brought up: content of each
//! record, access rights, and that no request makes it panic.
#![allow(clippy::unwrap_used)]

pub(crate) mod client;
mod hostile;
mod kept;
mod paths;
mod quotas;
mod records;
pub(crate) mod registered;
