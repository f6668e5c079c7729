//! `weft audit`: who asked for which change, and whether the record is whole.
//!
//! | module | contents |
//! |---|---|
//! | `list` | changes as lines and as JSON |
//! | `verify` | the chain of hashes |

mod list;
mod verify;

use std::process::ExitCode;

use crate::args::{AuditCommand, Daemon};
use crate::error::CliError;

pub(crate) async fn run(daemon: &Daemon, command: &AuditCommand) -> Result<ExitCode, CliError> {
    match command {
        AuditCommand::List(args) => list::run(daemon, args).await,
        AuditCommand::Verify(args) => verify::run(daemon, args).await,
    }
}
