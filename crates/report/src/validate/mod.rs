//! Validation of what switches hold: whether packets arrive, and whether links wait for each other in a circle.
//!
//! | module | contents |
//! |---|---|
//! | `walk` | one path, hop by hop |
//! | `states` | all paths to a LID at once |
//! | `routes` | paths that do not arrive |
//! | `credit_loops` | what links wait for |
//! | `circles` | circles among dependencies |
//! | `multicast` | trees of multicast groups |
//! | `port_groups` | adaptive-routing groups |

mod circles;
mod credit_loops;
mod multicast;
mod port_groups;
mod routes;
mod states;
mod walk;

pub use credit_loops::{
    CreditLoop, CreditLoopsReport, WaitingLink, validate_credit_loops, validate_vl_credit_loops,
};
pub use multicast::{McFault, McHop, McPath, McRoutesReport, validate_mc_routes};
pub use port_groups::{PgFinding, PgHop, PgReport, PgSwitch, validate_pgs};
pub use routes::{
    IncompletePath, MAX_LISTED, PassedPort, RoutesReport, validate_routes, validate_vl_routes,
};

pub(crate) use states::{Distances, Next, State, States};
pub(crate) use walk::{first_channel, is_switch, walk};
