//! The server's side of the page in a browser: its files, who may load them, and the fabric as columns of bytes.
//!
//! The page itself is TypeScript, in `crates/web/page`; what is made of it is committed in `crates/web/assets`, and
//! `crates/web/page/check` proves that it is what the sources give.
//!
//! | module | contents |
//! |---|---|
//! | `assets` | the files of the page |
//! | `door` | which requests of browsers are answered, and the headers of all answers |
//! | `layout` | nodes and cables in the order of the columns |
//! | `missing` | what the page of health misses, and what is gone with that |
//! | `gone` | the places of nodes that are gone |
//! | `columns` | one byte for each port |
//! | `board` | the columns of now and those before, for readers that ask again and again |

mod assets;
mod board;
mod columns;
mod door;
mod gone;
mod layout;
mod missing;

pub use board::{Board, Counted, Known, Shown, ToCount};
pub use columns::{Change, Columns, Kind, Shares, marks, states};
pub use door::{LINK, Reach, serve, turn_away};
pub use layout::{Layout, NO_PEER};
