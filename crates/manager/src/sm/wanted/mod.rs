//! What every port and switch should hold.

mod arbitration;
pub(crate) mod buffers;
pub(crate) mod pkeys;
pub(crate) mod port;
pub(crate) mod preemption;
pub(crate) mod qos;
pub(crate) mod switch;
