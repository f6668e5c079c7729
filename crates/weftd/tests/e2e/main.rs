//! The daemon and its client as programs, over real sockets and signals.
#![allow(clippy::unwrap_used)]

mod admission;
mod configuration;
mod deadlines;
mod degraded;
mod emulator;
mod exposition;
mod fm;
mod harness;
mod hfi;
mod hostile_names;
mod keys;
mod lifecycle;
mod live;
mod logs;
mod lost;
mod notify;
mod opafmcmd;
mod outputs;
mod plans;
mod ports;
mod process;
mod quarantine;
mod refusals;
mod registrations;
mod reports;
mod services;
mod tls;
mod topology;
mod unit;
mod vf;
mod watch;
