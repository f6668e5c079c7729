//! Experiments: a fabric that the manager brings up, traffic on it, and measurements compared with
//! published figures.
//!
//! | module | contents |
//! |---|---|
//! | [`scenario`] | description of an experiment |
//! | [`fabric`] | its fabric, described or read |
//! | [`parse`], `parse_…` | its text form |
//! | `traffic_file` | traffic from files: pairs, matrices, GOAL, SimGrid's traces, Chakra's |
//! | [`collectives`] | collectives made of messages |
//! | `registry` | what scenarios can name, and programs can add: collectives and metrics |
//! | `size` | size limits of a case |
//! | [`stage`] | the fabric, brought up by the manager |
//! | `lid_order` | LIDs that hosts hold before the manager begins |
//! | `faults`, `managed` | faults during traffic, and the manager's reaction |
//! | [`place`] | choice of communicating hosts |
//! | `placement`, `placement_slurm` | hosts of the case's own traffic and of each job, and as Slurm gives them out |
//! | [`mod@perform`] | cases from beginning to end, and compared with each other |
//! | `task` | messages as a case or a job describes them |
//! | `measure` | measurements of one run of messages |
//! | `rounds`, `spectrum` | all pairs of ranks: their rounds, and statistics of their latencies |
//! | `stream` | measurements of packets by a pattern |
//! | [`hardware`], `hardware_numbers` | properties of the hardware that a scenario may set, and the numbers among them |
//! | `assumed`, [`tornado`] | assumed constants, and what results hang on |
//! | `deadlock` | descriptions of packets that wait for each other |
//! | `bisection` | throughput of flows in random matchings and shifts |
//! | `bound` | bounds set by a link |
//! | [`published`] | published figures of a measurement |
//! | [`links`] | loads of links |
//! | [`intervals`], `watch` | what happened in each interval of time |
//! | [`report`] | tables and CSV |
//! | `rows` | results as rows of tables |
//! | [`json_lines`](fn@json_lines) | them as JSON Lines |
//! | [`parquet_tables`](fn@parquet_tables) | them as files of Parquet |
//! | [`chart`], `chart_bars`, `chart_latencies`, `chart_tornado`, `scale` | plots and their axes |
//! | [`outcome_store`] | outcomes as text, to resume later |

mod assumed;
mod bisection;
mod bound;
mod chakra_schema;
pub mod chart;
mod chart_bars;
mod chart_latencies;
mod chart_tornado;
pub mod collectives;
mod deadlock;
pub mod fabric;
mod faults;
pub mod hardware;
mod hardware_numbers;
pub mod intervals;
mod json_lines;
mod lid_order;
pub mod links;
mod managed;
mod measure;
pub mod outcome_store;
mod parquet_tables;
pub mod parse;
mod parse_beside;
mod parse_case;
mod parse_chakra;
mod parse_check;
mod parse_fault;
mod parse_goal;
mod parse_goal_binary;
mod parse_levels;
mod parse_published;
mod parse_sweep;
mod parse_ti;
mod parse_traffic;
mod parse_variables;
pub mod perform;
pub mod place;
mod placement;
mod placement_slurm;
pub mod published;
mod registry;
pub mod report;
mod rounds;
mod rows;
mod scale;
pub mod scenario;
mod size;
mod spectrum;
pub mod stage;
mod stream;
mod task;
pub mod tornado;
mod traffic_file;
mod values;
mod watch;

pub use json_lines::json_lines;
pub use parquet_tables::parquet_tables;
pub use parse::ScenarioError;
pub use perform::{
    ExperimentError, Latencies, Measurement, Outcome, compare, perform, perform_all,
};
pub use registry::{Metric, Registry};
pub use scenario::{Case, Scenario};
