//! Omni-Path management datagrams (MADs), byte-exact and without I/O.
//!
//! Every structure on the wire is declared once with the macro `layout!`: the declaration generates the value
//! type, its decoder, its encoder, its pretty-printer, and a table of the fields' offsets that the
//! tests compare with the vendor's headers.
//!
//! Decoding checks lengths first and never panics; the reader validates field values,
//! so that `encode(decode(x)) == x` for every defined bit.

mod layout;

pub mod bits;
pub mod class_port_info;
pub mod dbsync;
pub mod dump;
pub mod enums;
pub mod error;
pub mod header;
pub mod id;
pub mod pa;
pub mod packet;
pub mod pcap;
pub mod pm;
pub mod print;
pub mod registry;
pub mod rmpp;
pub mod sa;
pub mod sm;
pub mod smp;
pub mod text;

pub use error::DecodeError;
pub use layout::{Block, Field, FieldLayout, Layout};
