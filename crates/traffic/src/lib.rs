//! What links carry, from routes and counters: the links that some hosts use, and what they cost a job.
//!
//! Nothing here asks a device, a clock or a file.
//!
//! | module | contents |
//! |---|---|
//! | [`link`] | rates of links |
//! | [`between`] | the links that hosts use to reach each other |
//! | [`job`] | what these links cost a job, compared with usual times |

pub mod between;
pub mod job;
pub mod link;

pub use between::links_between;
