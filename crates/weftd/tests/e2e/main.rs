//! The daemon and its client as programs, over real sockets and signals.
#![allow(clippy::unwrap_used)]

mod configuration;
mod harness;
mod lifecycle;
mod live;
mod notify;
mod plans;
mod ports;
mod process;
mod refusals;
mod reports;
mod services;
mod tls;
mod watch;
