//! The managers of a fabric as cores without I/O, with inputs and outputs; the shells
//! connect both to clocks, sockets and files.
//!
//! Call [`Manager::handle`] with each input and [`Manager::poll`] until it returns nothing; call
//! [`Manager::handle`] with [`Input::Tick`] at [`Manager::deadline`].

mod ask;
pub mod cables;
pub mod congestion;
pub mod dbsync;
pub mod gsi;
pub mod io;
pub mod link_errors;
pub mod multicast;
pub mod pm;
pub mod port_totals;
mod rates;
mod refused;
pub mod sa;
pub mod settings;
pub mod sm;
pub mod vf;

pub use ask::SkippedWrites;
pub use io::{
    AUTHOR_MAX, BarredPort, Certified, Command, CommandError, DisabledPort, DisabledState,
    ErrorEntry, Event, Input, LinkChange, LinkEnd, LinkErrors, LoopSummary, MulticastStorm, Output,
    PortAction, PortNote, PortOrder, PortSide, REASON_MAX, Reply, ReportedChange, Spared, Standing,
    SweepPhase, SweepReason, SweepReport, TopologyFault, UnusedLink, UnusedReason, WrittenSwitch,
    WrittenTables,
};
pub use multicast::MulticastLid;
pub use refused::RefusedDevice;
pub use sa::{Sa, SaInput, SaOutput, SaSettings};
pub use settings::ManagerSettings;
pub use sm::plan::{PlanInput, Planned, Planner};
pub use sm::{AttributeCount, Manager, Settings, Status};
