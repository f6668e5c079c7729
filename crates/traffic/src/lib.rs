//! What links carry, from routes and counters: the links that some hosts use, what they cost a job, and what they would
//! carry after a change of routes.
//!
//! Nothing here asks a device, a clock or a file.
//!
//! | module | contents |
//! |---|---|
//! | [`link`] | rates of links |
//! | [`between`] | the links that hosts use to reach each other |
//! | [`job`] | what these links cost a job, compared with usual times |
//! | [`foresee`] | what links would carry after a change |

pub mod between;
pub mod foresee;
pub mod job;
pub mod link;

pub use between::links_between;
