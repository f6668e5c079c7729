//! Experiments: a fabric that the manager brings up, traffic on it, and what was measured beside
//! what was published.
//!
//! | module | what it holds |
//! |---|---|
//! | [`scenario`] | what an experiment is |
//! | [`parse`] | its text form |
//! | [`stage`] | the fabric, brought up by the manager |
//! | [`place`] | which hosts talk to each other |
//! | [`perform`] | one case from beginning to end |
//! | [`links`] | what links carried |
//! | [`report`] | tables and CSV |

pub mod links;
pub mod parse;
pub mod perform;
pub mod place;
pub mod report;
mod rounds;
pub mod scenario;
pub mod stage;

pub use parse::ScenarioError;
pub use perform::{ExperimentError, Measurement, Outcome, perform, perform_all};
pub use scenario::{Case, Scenario};
