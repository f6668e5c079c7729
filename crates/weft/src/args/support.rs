//! `weft support`.

use std::path::PathBuf;

pub(super) const AFTER: &str = "\
The archive has the daemon's state, configuration, fabric, events, health and metrics, and of this host its system, \
logs, HFIs and the vendor's tools' output. Its file MANIFEST lists all parts, and what could not be collected and why. Keys \
of the fabric and private keys are left out. Without a daemon the rest is collected.";

#[derive(Debug, clap::Args)]
pub(crate) struct Support {
    /// The archive to write; default: weft-support-HOST-TIME.tar.gz in the current directory.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The configuration file; default: that of the daemon, or /etc/opa-fm/opafm.xml.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Address of the daemon's metrics, HOST:PORT; default: port 9315 (that of the instance) on the daemon's host.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<String>,
}
