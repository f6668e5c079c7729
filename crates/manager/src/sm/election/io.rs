//! What an election is told, what it sees, and what it wants done.

use weft_fabric::{Guid, Lid, PortNum};
use weft_wire::enums::SmState;
use weft_wire::sm::{SmInfo, SmInfoControl};
use weft_wire::smp::SmpView;

use super::others::Peer;
use crate::sm::settings::ElectionSettings;

/// What an election sees of the manager and its own port.
#[derive(Debug, Clone, Copy)]
pub(in crate::sm) struct View {
    pub settings: ElectionSettings,
    /// The key that protects ports.
    pub m_key: u64,
    /// GUID of the manager's own port; 0 while it is not known.
    pub own_port: Guid,
    /// Whether that port has a link.
    pub own_link: bool,
    /// MasterSMLID of that port.
    pub own_master_lid: Lid,
    /// LID that this manager has given that port.
    pub own_lid: Lid,
    /// Number of the sweep under way, or of the last one.
    pub sweep: u64,
    /// A sweep is under way.
    pub sweeping: bool,
    /// Which has looked everywhere, not only where something was reported.
    pub whole: bool,
    /// A request may be sent now.
    pub has_room: bool,
}

/// Who waits for an answer of another manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sm) enum Question {
    /// The question of a standby whether the master lives.
    Poll,
    /// The request to another manager to take over.
    Handover,
    /// What another manager is told; its answer changes nothing.
    Notice,
}

/// What an election is told.
#[derive(Debug)]
pub(in crate::sm) enum Input<'a> {
    /// The manager has an input.
    Begun,
    /// Time has passed.
    Tick,
    /// Another manager asks for SMInfo or sets it.
    Asked(&'a SmpView<'a>),
    /// Discovery has found a manager.
    Found(Peer),
    /// A manager that discovery has asked does not answer: it counts as absent.
    NotFound,
    /// A manager has said what it is, or its agent that none runs there.
    Answered(Question, Option<SmInfo>),
    NotAnswered(Question),
}

/// What an election wants done.
#[derive(Debug)]
pub(in crate::sm) enum Act {
    /// Get(SMInfo), or a Set with what it asks for.
    Send {
        path: Box<[PortNum]>,
        control: Option<SmInfoControl>,
        info: SmInfo,
        question: Question,
    },
    /// The answer to [`Input::Asked`], with this status.
    Answer { status: u16, info: SmInfo },
    /// The manager has another role, or stands by for another master; or is told its role again.
    Role {
        role: SmState,
        master: Option<Guid>,
        /// Why, where that is news.
        news: Option<String>,
        /// It has become master.
        takes_over: bool,
    },
    /// All nodes are to be read again: somebody else may have written anywhere.
    Doubt,
    /// A sweep is to follow.
    Sweep,
    /// No node has anything more to do in this sweep.
    DropWork,
    /// Readers are to see who is master.
    Publish,
    /// The sweep's report is to say this.
    Unfinished(String),
    /// A node breaks the rules.
    Fault { node: Guid, what: &'static str },
}

/// What follows a discovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sm) enum Verdict {
    /// Plan and write.
    Lead,
    /// The same, as master from now on: first, switches are to report changes to this manager.
    Won,
    /// The sweep ends here, nothing is written.
    Rest,
}
