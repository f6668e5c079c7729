//! A preload library in place of libibumad and of what management programs use of libibverbs:
//! programs written for a real HFI, run unmodified, sit on a host of an emulated fabric.
//!
//! | module | what it is |
//! |---|---|
//! | [`core`] | what a kernel's MAD layer does: agents, time-outs, RMPP, the port's state; without I/O |
//! | [`settings`] | which fabric and which host, from the environment |
//! | [`session`] | the socket to the fabric and the thread that reads it |
//! | `ffi` | the C functions themselves; the only place of unsafe code |
//!
//! A program gets there by `LD_PRELOAD`; the program `weft-run` sets the environment.

pub mod core;
pub mod ffi;
pub mod session;
pub mod settings;
