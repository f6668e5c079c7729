//! Options of opareport that `weft report` knows but does not have.

/// Options of opareport without a meaning here; those that change a report are refused with a reason.
#[derive(Debug, clap::Args)]
pub(crate) struct OfOpareport {
    /// opareport: no progress reports. There are none.
    #[arg(short = 'q', long = "quiet", hide = true)]
    quiet: bool,
    /// opareport: ports that are down, too. They are always known.
    #[arg(short = 'A', long = "allports", hide = true)]
    all_ports: bool,
    #[arg(short = 'v', long = "verbose", hide = true)]
    verbose: bool,
    #[arg(short = 'p', long = "port", hide = true)]
    port: Option<String>,
    #[arg(long = "hfi", hide = true)]
    hfi: Option<String>,
    #[arg(short = 'm', long = "smadirect", hide = true)]
    sma_direct: bool,
    #[arg(short = 'M', long = "pmadirect", hide = true)]
    pma_direct: bool,
    /// opareport: read forwarding tables. They are always known.
    #[arg(short = 'r', long = "routes", hide = true)]
    routes: bool,
}

const PLACE: &str = "the daemon sends for all; it is named by --address";
const DIRECT: &str = "the daemon reads devices by itself, all reports are of what it has read last";

impl OfOpareport {
    /// The options that are given and refused, as a person writes them, with the reason.
    pub(crate) fn refused(&self) -> Option<(&'static str, &'static str)> {
        let all = [
            ("-p", self.port.is_some(), PLACE),
            ("--hfi", self.hfi.is_some(), PLACE),
            (
                "-v",
                self.verbose,
                "there is nothing more to tell; -d 3 shows more",
            ),
            ("-m", self.sma_direct, DIRECT),
            ("-M", self.pma_direct, DIRECT),
        ];
        let given = all.into_iter().find(|(_, given, _)| *given);
        given.map(|(option, _, why)| (option, why))
    }
}
