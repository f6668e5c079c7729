//! The C functions, thin over [`crate::session`].
//!
//! Nothing a program does may end it: null pointers and unknown numbers are answered with an error,
//! and a panic is caught at the boundary. What no library can check is that a pointer which is not
//! null is what the program says it is.

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
