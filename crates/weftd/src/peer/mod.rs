//! Two of these daemons as a pair: the master hands on what outlasts a restart, so that a standby knows after a
//! takeover what it would know after a restart of the master; and it gives signs of life, so that the standby looks
//! at once where they end.
//!
//! Who is master is decided in the fabric. What comes by this channel only has a standby look there.
//!
//! | module | contents |
//! |---|---|
//! | `args` | options |
//! | `parts` | the parts of the state, and their numbers |
//! | `pieces` | parts as messages |
//! | `offer` | what this daemon hands on, and to whom |
//! | `serve` | the stream to a follower |
//! | `follow` | the stream from another daemon |
//! | `promised` | its registrations, told again where the manager doubts them |
//! | `pairing` | both at the start of the daemon |
//! | `plan` | a plan that ends with its master |
//! | `settings` | what both are to have in opafm.xml, and what differs |
//! | `versions` | settings that an older one of the two does not know |
//! | `unlike` | a standby whose settings are not its master's |
//! | `shown` | how far each is, for people and metrics |

mod args;
mod follow;
mod offer;
mod pairing;
mod parts;
mod pieces;
mod plan;
mod promised;
mod serve;
mod settings;
mod shown;
mod unlike;
mod versions;

pub(crate) use args::{Peer, PeerArgs};
pub(crate) use follow::{Following, Takers, follow};
pub(crate) use offer::Offer;
pub(crate) use pairing::{Pairing, offer_settings, offer_state, tell_copied};
pub(crate) use parts::{Part, PartKind};
pub(crate) use pieces::{Assembler, pieces};
pub(crate) use plan::{offer_plan, tell_ended};
pub(crate) use serve::{PeerStream, stream};
pub(crate) use settings::Settings;
pub(crate) use shown::Peering;
pub(crate) use unlike::Unlike;
