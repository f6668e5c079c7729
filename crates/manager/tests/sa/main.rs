//! Subnet administration over an emulated fabric that a manager has brought up: what each record
//! says, who may ask, and that no request makes it panic.
#![allow(clippy::unwrap_used)]

mod client;
#[path = "../common/mod.rs"]
mod common;
mod hostile;
mod paths;
mod records;
mod registered;
