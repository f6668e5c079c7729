//! The structures that libibumad (`umad.h`) and libibverbs (`verbs.h`) share with programs, as their
//! public headers lay them out on 64-bit Linux.
//!
//! A structure is declared once, with `c_struct!`; the table of offsets that the tests compare with
//! the installed headers comes from that declaration. Numbers of several bytes are big-endian
//! where a comment says so, otherwise in the machine's order.

mod layout;
pub mod umad;
pub mod verbs;

pub use layout::{Constant, Field, Structure};

/// Every structure, for the comparison with the headers.
pub const STRUCTURES: &[&Structure] = &[
    &umad::MadAddr::LAYOUT,
    &umad::UserMad::LAYOUT,
    &umad::UmadPort::LAYOUT,
    &umad::UmadCa::LAYOUT,
    &umad::RegAttr::LAYOUT,
    &umad::DeviceNode::LAYOUT,
    &verbs::IbvDevice::LAYOUT,
    &verbs::IbvContext::LAYOUT,
    &verbs::IbvAsyncEvent::LAYOUT,
];

/// Every number that has a name in the headers.
pub const CONSTANTS: &[&[Constant]] = &[umad::CONSTANTS, verbs::CONSTANTS];
