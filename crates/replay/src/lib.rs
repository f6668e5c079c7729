//! The black box of the subnet manager and of subnet administration: their inputs are recorded, and a replay runs the same code over them.
//!
//! | module | contents |
//! |---|---|
//! | `recorded` | a manager whose inputs are recorded, in place of [`weft_manager::Manager`] |
//! | `recorder` | inputs as bytes |
//! | `chunk` | some of them, before they are written |
//! | `call` | the inputs that are rare: the start, orders, settings |
//! | `checkpoint` | the manager's state, with which a recording goes on from another one |
//! | `outputs` | outputs as bytes |
//! | `plain` | values as bytes for them |
//! | `digest` | the digest of outputs, by which recorded and replayed ones are compared |
//! | `keys` | keys that protect the fabric, masked |
//! | `file` | the file: a header, then chunks with checksums, compressed as one stream |
//! | `inputs` | the inputs of a file, one after the other |
//! | `ordered` | the same in the order in which they came |
//! | `player` | a manager that is given inputs |
//! | `replay` | the replay of a file, step by step |
//! | `sa` | subnet administration, beside the manager in the same recording |
//! | `shorten` | a recording cut down to what a fault needs |
//!
//! Recorded is the subnet manager: datagrams, deadlines, plans that became ready, orders and settings, each
//! with its time. A recording begins with the manager's start, or where it goes on from another one with a checkpoint: the
//! manager's whole state, which only the code reads that wrote it. Plans are computed again in a replay, as they are a
//! function of their inputs. Recorded is subnet administration as well, with the snapshots of the manager by their numbers, and
//! what cable memories and congestion control told it. Performance management and the other cores are not recorded.

mod call;
mod checkpoint;
mod chunk;
mod digest;
pub mod file;
mod inputs;
mod keys;
mod ordered;
mod outputs;
mod plain;
mod player;
mod recorded;
mod recorder;
mod replay;
mod sa;
mod shorten;

pub use call::Call;
pub use checkpoint::{Checkpoint, Frozen};
pub use chunk::Chunk;
pub use file::{CORE, FileError, Header, VERSION, Writer};
pub use inputs::What;
pub use recorded::Recorded;
pub use recorder::{Recorder, Sink};
pub use replay::{Match, Replay, ReplayedManager, Step};
pub use sa::{FrozenSa, RecordedSa, SaCall, SaRest, SaWhat};
pub use shorten::{Pace, ShortenError, Shortened, Shown, shorten};
