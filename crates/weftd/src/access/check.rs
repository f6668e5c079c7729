//! `weftd access check`: whether a file of rules can be used, and what callers may do by it, without a daemon.

use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use serde::Serialize;
use weft_api::ChangingCall;

use super::args::AccessArgs;
use super::caller::{Caller, Holder, User};
use super::limits::Described;
use super::rules::Rules;
use super::two_persons::TwoPersons;
use super::{Role, accounts, methods};
use crate::error::DaemonError;

/// Callers of one call of the program.
const CALLERS_MAX: usize = 64;

/// Commands about who may do what.
#[derive(Debug, Clone, clap::Subcommand)]
pub(crate) enum AccessCommand {
    /// Check a file of who may do what, and tell what callers may do by it; nothing is started. Exit code 2 where the
    /// daemon would refuse it.
    Check(CheckArgs),
}

/// Options of `weftd access check`.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct CheckArgs {
    /// The file; by default /etc/weft/access.toml if that exists, else the built-in rules.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Tell what this caller may do: the name of a user of this host, uid:NUMBER, loopback, or the names of one
    /// certificate with commas between them, such as cn:ci,uri:spiffe://example.org/ci. May be given several times.
    #[arg(long = "caller", value_name = "CALLER", value_parser = caller)]
    callers: Vec<Caller>,
    /// The fabric is an emulated one: without a word of the file everybody at a loopback address administers it.
    #[arg(long)]
    emulated: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What the file says.
#[derive(Debug, Serialize)]
struct Report {
    /// None for the built-in rules.
    file: Option<PathBuf>,
    loopback: Option<Role>,
    users: Option<Role>,
    certificates: Option<Role>,
    calls_per_second: u32,
    changes_per_second: u32,
    two_persons: TwoPersons,
    /// Users and groups that this host does not know.
    unknown: Vec<String>,
    limits: Vec<Described>,
    callers: Vec<Of>,
}

/// What a caller may do.
#[derive(Debug, Serialize)]
struct Of {
    identity: String,
    /// Name of a user whom this host does not know, or of none.
    known: bool,
    role: Option<Role>,
    /// The calls that may change something or need more than `view`.
    methods: Vec<&'static str>,
    /// Names of the limits that concern him.
    limits: Vec<String>,
}

impl AccessCommand {
    /// Carries it out, with the result on standard output.
    ///
    /// # Errors
    /// [`DaemonError::Usage`] where the file cannot be used.
    pub(crate) fn run(&self) -> Result<(), DaemonError> {
        let Self::Check(args) = self;
        let text = args.text().map_err(DaemonError::Usage)?;
        match io::stdout().lock().write_all(text.as_bytes()) {
            // Who reads has seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => {
                written.map_err(|error| DaemonError::Manager(format!("standard output: {error}")))
            }
        }
    }
}

impl CheckArgs {
    fn text(&self) -> Result<String, String> {
        if self.callers.len() > CALLERS_MAX {
            let count = self.callers.len();
            return Err(format!("{count} callers, at most {CALLERS_MAX} are told"));
        }
        let report = self.report()?;
        match self.json {
            true => serde_json::to_string_pretty(&report)
                .map(|text| text + "\n")
                .map_err(|error| error.to_string()),
            false => Ok(report.to_string()),
        }
    }

    fn report(&self) -> Result<Report, String> {
        let file = AccessArgs::of(self.file.clone()).file();
        let loopback = match self.emulated {
            true => Role::Administer,
            false => Role::View,
        };
        let rules = Rules::read(file.as_deref(), loopback)?;
        let stock = rules.stock();
        Ok(Report {
            loopback: rules.loopback(),
            users: stock.users,
            certificates: stock.certificates,
            calls_per_second: rules.limits().calls,
            changes_per_second: rules.limits().changes,
            two_persons: rules.two_persons(),
            unknown: rules.unknown().to_vec(),
            limits: rules
                .site_limits()
                .iter()
                .map(|one| one.describe())
                .collect(),
            callers: self
                .callers
                .iter()
                .map(|one| Of::new(one, &rules))
                .collect(),
            file,
        })
    }
}

impl Of {
    fn new(caller: &Caller, rules: &Rules) -> Self {
        let role = rules.role_of(caller);
        let limits = rules.site_limits().iter();
        let limits = limits.filter(|limit| role.is_some_and(|role| limit.is_about(caller, role)));
        Self {
            identity: caller.identity(),
            known: !matches!(caller, Caller::User(User { name: None, .. })),
            role,
            methods: methods_of(role),
            limits: limits.map(|limit| limit.name().to_owned()).collect(),
        }
    }
}

/// The methods of a role that change something, or that not everybody has.
fn methods_of(role: Option<Role>) -> Vec<&'static str> {
    let all = methods::up_to(role);
    let notable = all.filter(|(name, needed)| {
        *needed > Role::View || ChangingCall::of(&format!("/{name}")).is_some()
    });
    let names = notable.filter_map(|(name, _)| Some(name.rsplit_once('/')?.1));
    names.collect()
}

/// A caller by his name.
fn caller(text: &str) -> Result<Caller, String> {
    let certificate = ["cn:", "dns:", "uri:"];
    if text == "loopback" {
        return Ok(Caller::Loopback(nowhere()));
    }
    if certificate.iter().any(|kind| text.starts_with(kind)) {
        let names: Vec<String> = text.split(',').map(str::to_owned).collect();
        let wrong = names.iter().find(|name| {
            let named = certificate.iter().find_map(|kind| name.strip_prefix(kind));
            named.is_none_or(str::is_empty)
        });
        return match wrong {
            Some(name) => Err(format!(
                "'{name}' is no name of a certificate: cn:, dns: or uri:"
            )),
            None => Ok(Caller::Holder(Holder {
                address: nowhere(),
                names,
                ends: 0,
            })),
        };
    }
    let number = text.strip_prefix("uid:").map(|number| {
        let number = number.parse::<u32>();
        number.map_err(|_| format!("'{text}' has no number of a user"))
    });
    let uid = match number {
        Some(number) => number?,
        None => {
            let name = text.strip_prefix("user:").unwrap_or(text);
            accounts::uid(name).ok_or_else(|| format!("user '{name}' is not known on this host"))?
        }
    };
    Ok(Caller::User(User::look_up(uid, accounts::group_of(uid))))
}

/// An address of nobody.
fn nowhere() -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, 0))
}

fn name(role: Option<Role>) -> &'static str {
    role.map_or("none", Role::name)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => writeln!(f, "{} can be used", file.display())?,
            None => writeln!(f, "there is no file: the built-in rules hold")?,
        }
        let roles = [
            ("at a loopback address", self.loopback),
            ("other users of this host", self.users),
            ("other certificates", self.certificates),
        ];
        for (who, role) in roles {
            writeln!(f, "  {who}: {}", name(role))?;
        }
        let (calls, changes) = (self.calls_per_second, self.changes_per_second);
        writeln!(
            f,
            "  calls of one caller in a second: {calls}, changes {changes}"
        )?;
        let plans = match self.two_persons {
            TwoPersons::None => "none",
            TwoPersons::Settings => "those of other settings",
            TwoPersons::All => "all",
        };
        writeln!(f, "  plans that need two persons: {plans}")?;
        for unknown in &self.unknown {
            writeln!(
                f,
                "  NOT KNOWN on this host, nobody has its role: {unknown}"
            )?;
        }
        for limit in &self.limits {
            writeln!(f, "  limit {limit}")?;
        }
        self.callers.iter().try_for_each(|of| write!(f, "{of}"))
    }
}

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = match self.known {
            true => "",
            false => " (no such user on this host)",
        };
        writeln!(f, "{}{known}: {}", self.identity, name(self.role))?;
        let may = match (self.role, self.methods.is_empty()) {
            (None, _) => "nothing".to_owned(),
            (Some(_), true) => "what it reads".to_owned(),
            (Some(_), false) => folded(&self.methods),
        };
        writeln!(f, "  may call: {may}")?;
        for limit in &self.limits {
            writeln!(f, "  within the limit \"{limit}\"")?;
        }
        Ok(())
    }
}

/// Names with commas, in lines of at most 80 columns.
fn folded(names: &[&str]) -> String {
    let (mut text, mut column) = ("reads, and".to_owned(), "  may call: reads, and".len());
    for (place, one) in names.iter().enumerate() {
        let comma = if place + 1 < names.len() { "," } else { "" };
        if column + one.len() + 2 > 80 {
            text += "\n   ";
            column = 3;
        }
        // Text takes everything.
        let _ = write!(text, " {one}{comma}");
        column += one.len() + 1 + comma.len();
    }
    text
}
