//! Mastership by a key in etcd, where a site has more managers than a pair: the one whose lease holds the key is to be
//! master, the others stand by. Where etcd cannot be reached, the fabric goes on, and datagrams decide.
//!
//! | module | contents |
//! |---|---|
//! | `args` | options |
//! | `place` | the address: servers and fabric |
//! | `user` | the file with user and password |
//! | `holder` | what the key says of the manager that holds it |
//! | `session` | lease and key, by one connection |
//! | `copy` | the keys of the state, and what their heads say |
//! | `keeper` | the master writes its state |
//! | `reader` | a standby reads it |
//! | `candidate` | the task that asks for the key and tells the manager |
//! | `shown` | what is known of it, for people and metrics |

mod args;
mod candidate;
mod copy;
mod holder;
mod keeper;
mod place;
mod reader;
mod session;
mod shown;
mod user;

pub(crate) use args::{EtcdArgs, Settings};
pub(crate) use candidate::{Candidate, Lease};
pub(crate) use shown::Mandates;
