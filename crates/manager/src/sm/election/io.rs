//! Inputs, view and actions of an election.

use std::collections::BTreeSet;

use weft_fabric::{Guid, Lid, PortNum};
use weft_state::State;
use weft_wire::enums::SmState;
use weft_wire::sm::{SmInfo, SmInfoControl};
use weft_wire::smp::SmpView;

use super::Mandate;
use super::others::Peer;
use crate::sm::settings::ElectionSettings;

/// State of the manager and its own port, for the election.
#[derive(Debug, Clone, Copy)]
pub(in crate::sm) struct View {
    pub settings: ElectionSettings,
    /// Who asks now has the M_Key of this manager's port, as another manager of the site does.
    pub asker_has_m_key: bool,
    /// GUID of the manager's own port; 0 while it is not known.
    pub own_port: Guid,
    /// Whether that port has a link.
    pub own_link: bool,
    /// MasterSMLID of that port.
    pub own_master_lid: Lid,
    /// LID that this manager has given that port.
    pub own_lid: Lid,
    /// Number of the current sweep, or of the last one.
    pub sweep: u64,
    /// Whether a sweep is running.
    pub sweeping: bool,
    /// Whether it examines everything, not only reported changes.
    pub whole: bool,
    /// A request may be sent now.
    pub has_room: bool,
}

/// Kind of request to another manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq, State)]
pub(in crate::sm) enum Question {
    /// A standby's poll of the master.
    Poll,
    /// A poll of a master that may be gone.
    Check,
    /// The request to another manager to take over.
    Handover,
    /// A notification of another manager; its answer changes nothing.
    Notice,
}

/// Inputs of an election.
#[derive(Debug)]
pub(in crate::sm) enum Input<'a> {
    /// The manager has an input.
    Begun,
    /// Time has passed.
    Tick,
    /// Another manager sends Get or Set of SMInfo.
    Asked(&'a SmpView<'a>),
    /// Discovery has found a manager.
    Found(Peer),
    /// The manager that was discovered on this port does not answer: it counts as absent.
    NotFound(Guid),
    /// The master on this port may be gone, for this reason.
    Suspected(Guid, &'a str),
    /// This standby is behind its master, or is not any more.
    Behind(bool),
    /// This standby has other settings than its master, or has them no more.
    OtherSettings(bool),
    /// The standbys that have a copy of what this master has promised; none where no copies are made.
    Copied(Option<BTreeSet<Guid>>),
    /// What is known of the mandate to be master.
    Mandated(Mandate),
    /// Another manager has become master, for this reason.
    Replaced(&'static str),
    /// A manager has reported its SMInfo, or its agent that none runs there.
    Answered(Question, Option<SmInfo>),
    NotAnswered(Question),
}

/// Actions of an election.
#[derive(Debug, Clone)]
pub(in crate::sm) enum Act {
    /// Send Get(SMInfo), or a Set with its action.
    Send {
        path: Box<[PortNum]>,
        control: Option<SmInfoControl>,
        info: SmInfo,
        question: Question,
    },
    /// Answer [`Input::Asked`] with this status.
    Answer { status: u16, info: SmInfo },
    /// The manager has another role, or is standby to another master; or its role is reported again.
    Role {
        role: SmState,
        master: Option<Guid>,
        /// Why, where that is news.
        news: Option<String>,
        /// It has become master.
        takes_over: bool,
    },
    /// All nodes are to be read again: another manager may have written anywhere.
    Doubt,
    /// A sweep is to follow.
    Sweep,
    /// No node has anything more to do in this sweep.
    DropWork,
    /// Publish the master to readers.
    Publish,
    /// Registrations of the master that a standby was told may be old.
    DoubtRegistrations,
    /// The sweep's report is to say this.
    Unfinished(String),
    /// A node breaks the rules.
    Fault { node: Guid, what: &'static str },
}

/// Result of a discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sm) enum Verdict {
    /// Plan and write.
    Lead,
    /// Continue, as master from now on: first, switches are to report changes to this manager.
    Won,
    /// The sweep ends here, nothing is written.
    Rest,
}
