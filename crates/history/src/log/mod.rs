//! The open log: frames that are synced one by one.
//!
//! | module | contents |
//! |---|---|
//! | `frame` | the frames of a file, and what is wrong with it |
//! | `file` | a log that is appended to, and opened again |
//! | `varint` | numbers of few bytes |
//! | `image` | a reading of the counters as a frame: what has changed since the one before |
//! | `events` | events as a frame |

mod events;
mod file;
mod frame;
mod image;
mod varint;

pub(crate) use events::{decode_events, encode_events};
pub(crate) use file::LogFile;
pub(crate) use frame::{HEADER, MAGIC, frames, payload_len};
pub(crate) use image::{Change, ImageFrame, encode_image};
pub(crate) use varint::{put, take};
