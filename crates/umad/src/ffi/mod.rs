//! The C functions, thin over [`crate::session`].
//!
//! No call of a program may end it: null pointers and unknown numbers return an error,
//! and a panic is caught at the boundary. No library can check that a pointer other than
//! null is valid.

mod buffer;
mod device;
mod device_list;
mod fork;
mod guard;
mod memory;
mod messages;
mod process;
mod registration;
mod strings;
mod verbs;
mod verbs_absent;

pub use buffer::*;
pub use device::*;
pub use device_list::*;
pub use messages::*;
pub use registration::*;
pub use strings::*;
pub use verbs::*;
pub use verbs_absent::*;
