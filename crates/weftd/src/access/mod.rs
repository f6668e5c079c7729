//! Who may do what: who calls, which role that gives him, and which role a method needs.
//!
//! | module | contents |
//! |---|---|
//! | `methods` | the role that each method of the API needs |
//! | `caller` | who calls, as the connection proves it |
//! | `accounts` | users and groups of this host |
//! | `rules` | which roles callers have, from the file of `--access` |
//! | `admit` | decides on each call before it is carried out |
//! | `rate` | how many calls each caller may make |
//! | `limits` | what a site allows beyond roles: when, with which reason, how much at once |
//! | `two_persons` | plans that somebody else applies than who made them |
//! | `check` | `weftd access check`: a file of rules without a daemon |
//! | `args` | the options |

mod accounts;
mod admit;
mod args;
mod caller;
mod check;
mod limits;
mod methods;
mod rate;
mod rules;
mod two_persons;

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tracing::{error, info, warn};

use crate::error::DaemonError;
pub(crate) use admit::{admit, not_too_often, require};
pub(crate) use args::AccessArgs;
pub(crate) use caller::{Caller, Client, ConnectionId, Guest, Holder, User, caller_of, client_of};
pub(crate) use check::AccessCommand;
use limits::OneByOne;
pub(crate) use limits::{Bounds, Change, Foreseen, HasReason, Limited};
use rate::Rates;
use rules::Rules;
use two_persons::Makers;
pub(crate) use two_persons::PlanKind;

/// What a caller may do; each role includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// Read what an ordinary user may see.
    View,
    /// Change ports, routes and counters, and read the record of changes.
    Operate,
    /// Change how the manager itself runs.
    Administer,
}

impl Role {
    /// All of them, the least first.
    const ALL: [Self; 3] = [Self::View, Self::Operate, Self::Administer];

    /// Its name in files and messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Operate => "operate",
            Self::Administer => "administer",
        }
    }

    /// The one with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// Decides who may do what. The rules change when their file is read again; calls in progress go on.
#[derive(Debug, Clone)]
pub(crate) struct Access(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    args: AccessArgs,
    /// Whether the fabric is an emulated one, which decides what loopback may where no file says so.
    emulated: bool,
    rules: RwLock<Arc<Rules>>,
    rates: Rates,
    makers: Mutex<Makers>,
    one_by_one: OneByOne,
}

impl Access {
    /// Reads the rules.
    ///
    /// # Errors
    /// [`DaemonError::Usage`] where the file cannot be used.
    pub(crate) fn open(args: &AccessArgs, emulated: bool) -> Result<Self, DaemonError> {
        let rules = read(args, emulated).map_err(DaemonError::Usage)?;
        let access = Self(Arc::new(Inner {
            args: args.clone(),
            emulated,
            rules: RwLock::new(Arc::new(rules)),
            rates: Rates::default(),
            makers: Mutex::default(),
            one_by_one: OneByOne::default(),
        }));
        access.tell();
        Ok(access)
    }

    /// Reads the file again; where it cannot be used, the rules stay as they are and the log says so.
    pub(crate) async fn reload(&self) {
        let inner = Arc::clone(&self.0);
        let reading = spawn_blocking(move || read(&inner.args, inner.emulated));
        let read = match reading.await {
            Ok(read) => read,
            Err(error) => Err(error.to_string()),
        };
        match read {
            Ok(rules) => {
                let mut held = self.0.rules.write().unwrap_or_else(PoisonError::into_inner);
                *held = Arc::new(rules);
                drop(held);
                self.tell();
            }
            Err(why) => error!(
                event = "access_rules",
                applied = false,
                "the new rules of who may do what are refused, the old ones stay in force: {why}"
            ),
        }
    }

    /// The role of a caller; none where he may not even read.
    pub(crate) fn role_of(&self, caller: &Caller) -> Option<Role> {
        self.rules().role_of(caller)
    }

    /// What everybody at a loopback address may.
    pub(crate) fn loopback(&self) -> Option<Role> {
        self.rules().loopback()
    }

    /// Where the rules are, in words.
    fn place(&self) -> String {
        match self.0.args.file() {
            Some(file) => file.display().to_string(),
            None => format!("{} (or --access FILE)", args::STOCK),
        }
    }

    fn rules(&self) -> Arc<Rules> {
        let rules = self.0.rules.read();
        Arc::clone(&rules.unwrap_or_else(PoisonError::into_inner))
    }

    fn tell(&self) {
        let rules = self.rules();
        let file = self.0.args.file().map(|file| file.display().to_string());
        for name in rules.unknown() {
            warn!(
                event = "access_unknown",
                "who may do what: {name} is not known on this host, so nobody has its role; SIGHUP looks again"
            );
        }
        let loopback = rules.loopback().map_or("nothing", Role::name);
        info!(
            event = "access_rules",
            applied = true,
            file,
            loopback,
            "who may do what: {}; loopback without a certificate: {loopback}",
            file.as_deref().unwrap_or("built-in rules")
        );
    }
}

fn read(args: &AccessArgs, emulated: bool) -> Result<Rules, String> {
    let loopback = match emulated {
        true => Role::Administer,
        false => Role::View,
    };
    let rules = Rules::read(args.file().as_deref(), loopback)?;
    Ok(rules.administered_by(accounts::own()))
}
