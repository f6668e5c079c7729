//! The emulated fabric: one agent for each node, on top of the dataplane, with faults on demand.
//!
//! The core has no I/O: datagrams and controls go into [`Emulator::handle`], datagrams come out of
//! [`Emulator::poll`], and [`Emulator::deadline`] says when it next wants [`Input::Tick`].

pub mod io;
