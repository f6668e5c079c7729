//! Arguments of `weft top`.

use clap::ValueEnum;

use super::At;

#[derive(Debug, clap::Args)]
pub(crate) struct Top {
    /// Print one screen of the last reading and exit.
    #[arg(long)]
    pub(crate) once: bool,
    /// Print JSON of the last reading and exit.
    #[arg(long)]
    pub(crate) json: bool,
    /// Screen to show first, or to print.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = ScreenName::Links)]
    pub(crate) screen: ScreenName,
    /// Sort order of links and ports; links have the first four.
    #[arg(long, value_enum, value_name = "COLUMN", default_value_t = SortBy::Utilization)]
    pub(crate) sort: SortBy,
    /// Number of lines to print, up to 1000.
    #[arg(short = 'n', long, value_name = "LINKS", default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) links: u32,
    #[command(flatten)]
    pub(crate) at: At,
}

/// A screen that can be asked for by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScreenName {
    /// Links, busiest first.
    Links,
    /// Groups of ports: bandwidth, and errors by category.
    Summary,
    /// Ports, busiest or worst first.
    Ports,
    /// Virtual fabrics and their bandwidth.
    Fabrics,
    /// Number of ports by utilisation.
    Histogram,
    /// The last reading itself.
    Image,
    /// Settings of the performance manager.
    Settings,
}

/// Sort order; of a link the direction with the higher value counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortBy {
    Utilization,
    Data,
    Wait,
    Congestion,
    Packets,
    Integrity,
    SmaCongestion,
    Bubble,
    Security,
    Routing,
}
