//! Options of who may do what.

use std::path::{Path, PathBuf};

/// Where the rules are looked for without `--access`.
pub(super) const STOCK: &str = "/etc/weft/access.toml";

/// Options of who may do what.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct AccessArgs {
    /// Who may do what: a file like config/access.toml, read again at SIGHUP; by default /etc/weft/access.toml if that
    /// exists. Without it root and the daemon's user administer, the group weft-operators operates, other users of this
    /// host and certificates view; at a loopback address everybody views, or administers an emulated fabric.
    #[arg(long, value_name = "FILE")]
    access: Option<PathBuf>,
}

impl AccessArgs {
    /// With this file, or the stock one.
    pub(super) fn of(access: Option<PathBuf>) -> Self {
        Self { access }
    }

    /// The file of rules, none where there is none.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let stock = || Some(Path::new(STOCK)).filter(|file| file.exists());
        self.access
            .clone()
            .or_else(|| stock().map(Path::to_path_buf))
    }
}
