//! `weft web`.

/// What the examples show.
pub(crate) const WEB: &str = "\
--link lets a browser in that nothing else tells who it is of: one on another machine without a certificate, or one at a
loopback address of a real fabric. Whoever opens the link first comes in, with your identity and the role of --role, so send
it to nobody. It is printed alone on the first line, works once, within 10 minutes, for 8 hours or until --end.

Examples:
  weft web                        the address of the page
  weft web --link                 a link to look
  weft web --link --role operate  a link to change ports and routes, for who may do that
  weft web --end                  end your links, and the sessions of browsers that came by them";

#[derive(Debug, clap::Args)]
pub(crate) struct Web {
    /// Make a link that lets one browser in, once.
    #[arg(long, group = "does")]
    pub(crate) link: bool,

    /// The role that the link gives; not more than your own.
    #[arg(
        long,
        requires = "link",
        value_parser = ["view", "operate", "administer"],
        default_value = "view",
        value_name = "ROLE"
    )]
    pub(crate) role: String,

    /// End your links, and sessions of browsers that came by them.
    #[arg(long, group = "does")]
    pub(crate) end: bool,

    /// With --end: those of everybody, which needs the role administer.
    #[arg(long, requires = "end")]
    pub(crate) everybody: bool,

    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
