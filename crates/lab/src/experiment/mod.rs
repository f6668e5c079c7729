//! Experiments: a fabric that the manager brings up, traffic on it, and what was measured beside
//! what was published.
//!
//! | module | what it holds |
//! |---|---|
//! | [`scenario`] | what an experiment is |
//! | [`fabric`] | its fabric, described or read |
//! | [`parse`], `parse_…` | its text form |
//! | `size` | how large a case may be |
//! | [`stage`] | the fabric, brought up by the manager |
//! | `faults`, `managed` | what happens to it while traffic goes on, and the manager with it |
//! | [`place`] | which hosts talk to each other |
//! | [`mod@perform`] | cases from beginning to end, and compared with each other |
//! | `task` | messages as a case or a job describes them |
//! | `measure` | what is measured in one run of messages |
//! | `rounds`, `spectrum` | all pairs of ranks: who meets when, and what their latencies say |
//! | `stream` | the same of packets by a pattern |
//! | `deadlock` | packets that wait for each other, in words |
//! | `bisection` | what flows get in random matchings and shifts |
//! | `bound` | what a link allows |
//! | [`published`] | what was published about a measurement |
//! | [`links`] | what links carried |
//! | [`report`] | tables and CSV |
//! | [`chart`], `scale` | plots and their axes |
//! | [`keep`] | outcomes as text, to go on later |

mod bisection;
mod bound;
pub mod chart;
mod deadlock;
pub mod fabric;
mod faults;
pub mod keep;
pub mod links;
mod managed;
mod measure;
pub mod parse;
mod parse_beside;
mod parse_case;
mod parse_check;
mod parse_fault;
mod parse_levels;
mod parse_published;
mod parse_sweep;
mod parse_traffic;
pub mod perform;
pub mod place;
pub mod published;
pub mod report;
mod rounds;
mod scale;
pub mod scenario;
mod size;
mod spectrum;
pub mod stage;
mod stream;
mod task;
mod values;

pub use parse::ScenarioError;
pub use perform::{ExperimentError, Measurement, Outcome, compare, perform, perform_all};
pub use scenario::{Case, Scenario};
