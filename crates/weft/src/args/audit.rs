//! `weft audit`.

#[derive(Debug, clap::Subcommand)]
pub(crate) enum AuditCommand {
    /// List changes that were asked for.
    List(AuditList),
    /// Check that no line of the record was changed or taken out. Exit code 1 if one was.
    Verify(AuditVerify),
}

#[derive(Debug, clap::Args)]
pub(crate) struct AuditList {
    /// From this time; a day before --to by default.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) from: Option<String>,
    /// Up to this time; now by default.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) to: Option<String>,
    /// Only by this author; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) author: Vec<String>,
    /// Only those with this text in the call, the request, the reason or the refusal.
    #[arg(long, value_name = "TEXT")]
    pub(crate) text: Option<String>,
    /// Only those that were refused.
    #[arg(long)]
    pub(crate) refused: bool,
    /// Print one JSON object per line, with requests, digests and hashes.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AuditVerify {
    /// A hash that was kept elsewhere: the record must have a line with it.
    #[arg(long, value_name = "HASH")]
    pub(crate) known: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
