//! `weft port`.

use std::path::PathBuf;

use clap::ValueEnum;

pub(super) const DISABLE: &str = "\
Refused before anything is sent if the ports together cut off a part of the fabric, unless --force is given; the \
manager's own link is never disabled. Reason, author and time are kept until the port is enabled: \
`weft port list --disabled`.";

pub(super) const LINK: &str = "\
A link that is up trains again. If the link policy of opafm.xml refuses the width or speed, routes leave the link out; \
where that cuts off a part of the fabric it is refused unless --force is given. A port keeps its widths and speeds \
until it is set again or its device is reset.";

/// Which ports, and who asks why.
#[derive(Debug, clap::Args)]
pub(crate) struct PortArgs {
    #[command(flatten)]
    pub(crate) choice: PortChoice,
    /// Why, for the log and those who list it: at most 200 bytes.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
    /// Also where a part of the fabric is cut off.
    #[arg(long)]
    pub(crate) force: bool,
    /// Only print what would be done, and what is refused.
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
pub(crate) struct PortChoice {
    /// The port: a point such as 'node:edge1:port:3'.
    #[arg(value_name = "POINT", conflicts_with = "from")]
    pub(crate) point: Option<String>,
    /// Apply to all ports of the point, even if there are several.
    #[arg(long, requires = "point")]
    pub(crate) all: bool,
    /// Ports or links of a file as opaextractsellinks, opaextractbadlinks and opadisableports write it:
    /// GUID;PORT;TYPE;NAME, once or twice, and a reason; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PortLed {
    /// What the beacon is to be.
    #[arg(value_name = "ON|OFF")]
    pub(crate) to: OnOff,
    #[command(flatten)]
    pub(crate) ports: PortArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnOff {
    On,
    Off,
}

#[derive(Debug, clap::Args)]
#[group(id = "setting", required = true, multiple = true, args = ["width", "speed"])]
pub(crate) struct PortLink {
    #[command(flatten)]
    pub(crate) ports: PortArgs,
    /// Widths to enable, such as 4x or 1x,2x.
    #[arg(long, value_name = "WIDTHS", value_parser = widths)]
    pub(crate) width: Option<u32>,
    /// Speeds to enable: 25g, 12.5g.
    #[arg(long, value_name = "SPEEDS", value_parser = speeds)]
    pub(crate) speed: Option<u32>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct PortList {
    /// Only ports with an end of their cable in it: a point such as 'node:edge1'.
    #[arg(value_name = "POINT")]
    pub(crate) point: Option<String>,
    /// Those that are disabled, or were by this manager.
    #[arg(long, required = true)]
    pub(crate) disabled: bool,
    /// Print JSON.
    #[arg(long, conflicts_with = "csv")]
    pub(crate) json: bool,
    /// Print lines as opadisableports writes them, which opaenableports and --from read.
    #[arg(long)]
    pub(crate) csv: bool,
}

/// Bits of LinkWidth.
fn widths(text: &str) -> Result<u32, String> {
    let wrong = "expected 1x, 2x, 3x or 4x, or several of them with commas";
    bits(text, &[("1x", 1), ("2x", 2), ("3x", 4), ("4x", 8)], wrong)
}

/// Bits of LinkSpeed.
fn speeds(text: &str) -> Result<u32, String> {
    let wrong = "expected 12.5g or 25g, or both with a comma";
    bits(text, &[("12.5g", 1), ("25g", 2)], wrong)
}

fn bits(text: &str, names: &[(&str, u32)], wrong: &str) -> Result<u32, String> {
    let each = text.split(',').map(|part| {
        let part = part.trim();
        let found = names
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(part));
        found.map(|(_, bit)| bit)
    });
    each.sum::<Option<u32>>()
        .filter(|bits| names.iter().all(|(_, bit)| bits / bit % 2 <= 1))
        .filter(|bits| *bits <= names.iter().map(|(_, bit)| bit).sum())
        .ok_or_else(|| wrong.to_owned())
}
