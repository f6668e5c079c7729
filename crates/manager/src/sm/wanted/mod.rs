//! Intended registers of every port and switch.

mod arbitration;
pub(crate) mod buffers;
pub(crate) mod pkeys;
pub(crate) mod port;
pub(crate) mod preemption;
pub(crate) mod qos;
pub(crate) mod switch;
