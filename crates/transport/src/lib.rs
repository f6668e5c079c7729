//! Connections that carry management datagrams between a program and the fabric.
//!
//! A program holds a [`Connection`]: datagrams of one HFI port, in batches, in both directions. Its other
//! end is an [`Endpoint`] in the same process, a socket opened by [`connect`], or a local HFI
//! ([`umad::open`]). Sockets carry [`frame`]s.

pub mod address;
pub mod client;
pub mod connection;
pub mod document;
pub mod frame;
pub mod port;
pub mod umad;

pub use address::{Address, AddressError};
pub use client::{ConnectError, connect, request_control};
pub use connection::{
    Closed, Connection, ConnectionReceiver, ConnectionSender, Endpoint, FromFabric, ToFabric, pair,
};
pub use document::Document;
pub use frame::{Attach, Decoder, Frame, FrameError, Hello, Welcome};
pub use port::{PortStatus, Registration};
