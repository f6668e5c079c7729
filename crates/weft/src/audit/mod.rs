//! `weft audit`: who asked for which change, and whether the record is whole.
//!
//! | module | contents |
//! |---|---|
//! | `list` | changes as lines and as JSON |
//! | `verify` | the chain of hashes |

mod list;
mod verify;

use std::process::ExitCode;

use crate::args::{Args, AuditCommand};
use crate::error::CliError;

pub(crate) async fn run(all: &Args, command: &AuditCommand) -> Result<ExitCode, CliError> {
    match command {
        AuditCommand::List(args) => list::run(all, args).await,
        AuditCommand::Verify(args) => verify::run(&all.daemon, args).await,
    }
}
