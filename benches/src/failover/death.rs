//! Ways in which a master goes.

use std::fmt;

use clap::ValueEnum;

/// What happens to a master.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Death {
    /// Its process is killed.
    Killed,
    /// Its process is stopped, and says nothing more.
    Stopped,
    /// Its host is gone: nothing is heard of the process, and its port has no power.
    HostGone,
    /// The cable at its port is cut.
    LinkCut,
    /// The channel of the pair beside the fabric is cut; the master stays.
    ChannelCut,
    /// An operator has the better manager take over.
    Handover,
}

impl fmt::Display for Death {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Killed => "kill -9",
            Self::Stopped => "SIGSTOP",
            Self::HostGone => "host gone",
            Self::LinkCut => "link cut",
            Self::ChannelCut => "channel cut",
            Self::Handover => "handover",
        })
    }
}
