//! A preload library that replaces libibumad and the subset of libibverbs that management programs use:
//! programs written for a real HFI run, unmodified, on a host of an emulated fabric.
//!
//! | module | purpose |
//! |---|---|
//! | [`core`] | the kernel's MAD layer: agents, timeouts, RMPP, the port's state; without I/O |
//! | [`settings`] | fabric and host, from the environment |
//! | [`session`] | the socket to the fabric and the thread that reads it |
//! | `ffi` | the C functions themselves; the only place of unsafe code |
//!
//! Programs load it through `LD_PRELOAD`; the program `weft-run` sets the environment.

pub mod core;
pub mod ffi;
pub mod session;
pub mod settings;
