//! A limit of the file of rules: which calls it concerns, and what it asks of them.

use std::fmt;
use std::sync::OnceLock;

use serde::{Deserialize, Deserializer, Serialize, de};
use weft_api::ChangingCall;
use weft_manager::sm::disabled::LISTED_MAX;

use super::Foreseen;
use super::times::{Day, Hours, Moment, Times};
use crate::access::caller::NAMELESS;
use crate::access::{Caller, Role, methods};

/// Longest name of a limit, bytes.
const NAME_MAX: usize = 100;

/// A method that changes something of a fabric or of its manager, by its name without the service's.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Method(&'static str);

impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let mut names = changing().iter().map(|(name, _)| *name);
        names.find(|name| *name == text).map(Self).ok_or_else(|| {
            let names: Vec<&str> = changing().iter().map(|(name, _)| *name).collect();
            let names = names.join(", ");
            de::Error::custom(format!(
                "'{text}' is no method that a limit can concern; expected one of {names}"
            ))
        })
    }
}

/// Methods that limits can concern, and whether each has a place for a reason: those that change something, and need more
/// than `view`.
fn changing() -> &'static [(&'static str, bool)] {
    static FOUND: OnceLock<Vec<(&str, bool)>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let all = methods::above_view().filter_map(|full| {
            let (_, name) = full.rsplit_once('/')?;
            let call = ChangingCall::of(&format!("/{full}"))?;
            Some((name, call.takes_reason()))
        });
        all.collect()
    })
}

/// Whether a method has a place for a reason.
fn takes_reason(method: &str) -> bool {
    changing().contains(&(method, true))
}

/// Whether a name may be a caller's, or that of a certificate.
fn is_identity(name: &str) -> bool {
    let named = ["user:", "uid:", "cn:", "dns:", "uri:"];
    let mut named = named.iter().filter_map(|kind| name.strip_prefix(kind));
    named.any(|name| !name.is_empty()) || ["loopback", NAMELESS].contains(&name)
}

/// How much of the fabric may be out of use at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
struct AtMost {
    drained_switches: Option<u32>,
    drained_links: Option<u32>,
    disabled_ports: Option<u32>,
}

/// A limit as the file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: String,
    #[serde(default)]
    roles: Vec<Role>,
    #[serde(default)]
    callers: Vec<String>,
    #[serde(default)]
    methods: Vec<Method>,
    #[serde(default)]
    days: Vec<Day>,
    #[serde(default)]
    hours: Vec<Hours>,
    #[serde(default)]
    reason: bool,
    drained_switches: Option<u32>,
    drained_links: Option<u32>,
    disabled_ports: Option<u32>,
    #[serde(default = "yes")]
    enforce: bool,
}

fn yes() -> bool {
    true
}

/// A limit. What it does not name it does not ask about: without roles it concerns every role, and so on.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Written")]
pub(in crate::access) struct Limit {
    name: String,
    roles: Vec<Role>,
    callers: Vec<String>,
    methods: Vec<Method>,
    times: Times,
    asks: Asks,
    /// Whether it refuses calls, or the log alone says that it would.
    enforce: bool,
}

/// A limit for people and programs.
#[derive(Debug, Serialize)]
pub(in crate::access) struct Described {
    name: String,
    /// Whom it concerns; everybody where both are empty.
    roles: Vec<Role>,
    callers: Vec<String>,
    /// When it holds.
    #[serde(flatten)]
    times: Times,
    /// The methods that it refuses, or that need a reason; none where it counts.
    methods: Vec<&'static str>,
    reason: bool,
    #[serde(flatten)]
    at_most: AtMost,
    enforce: bool,
}

impl fmt::Display for Described {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", self.name)?;
        let whom = self.roles.iter().map(|role| role.name().to_owned());
        let whom: Vec<String> = whom.chain(self.callers.iter().cloned()).collect();
        if !whom.is_empty() {
            write!(f, ", {}", whom.join(", "))?;
        }
        let times = self.times.to_string();
        if !times.is_empty() {
            write!(f, ", {times}")?;
        }
        let AtMost {
            drained_switches,
            drained_links,
            disabled_ports,
        } = self.at_most;
        let counted = [
            (drained_switches, "drained switches"),
            (drained_links, "drained links"),
            (disabled_ports, "disabled ports"),
        ];
        let counted = counted.iter();
        let counted =
            counted.filter_map(|(most, what)| Some(format!("at most {} {what}", (*most)?)));
        let counted: Vec<String> = counted.collect();
        match (self.reason, counted.is_empty()) {
            (true, _) => write!(f, ": asks for a reason")?,
            (false, false) => write!(f, ": {}", counted.join(", "))?,
            (false, true) => write!(f, ": refuses")?,
        }
        if counted.is_empty() {
            let of_all = self.methods.len() == changing().len();
            match (of_all, self.reason) {
                (true, _) => write!(f, " for all changes")?,
                (false, true) => write!(f, " for {}", self.methods.join(", "))?,
                (false, false) => write!(f, " {}", self.methods.join(", "))?,
            }
        }
        match self.enforce {
            true => Ok(()),
            false => write!(f, " (only told, not enforced)"),
        }
    }
}

/// What a limit asks of the calls that it concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// That they are not made.
    None,
    /// A reason.
    Reason,
    /// That they leave no more than this out of use.
    AtMost(AtMost),
}

impl TryFrom<Written> for Limit {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let at_most = AtMost {
            drained_switches: written.drained_switches,
            drained_links: written.drained_links,
            disabled_ports: written.disabled_ports,
        };
        let counts = at_most != AtMost::default();
        let Written { name, methods, .. } = written;
        let is_name = !name.trim().is_empty() && name.len() <= NAME_MAX;
        if !is_name || name.contains(char::is_control) {
            return Err(format!(
                "name: expected 1 to {NAME_MAX} bytes without control characters"
            ));
        }
        let about = |why: &str| Err(format!("'{name}': {why}"));
        if counts && (written.reason || !methods.is_empty()) {
            return about(
                "drained_switches, drained_links and disabled_ports concern whatever would raise them; give methods or \
                 reason in a [[limit]] of their own",
            );
        }
        let ports = written.disabled_ports.unwrap_or(0) as usize;
        if ports >= LISTED_MAX {
            return about(&format!("disabled_ports: expected less than {LISTED_MAX}"));
        }
        if let Some(other) = written.callers.iter().find(|name| !is_identity(name)) {
            return about(&format!(
                "callers: '{other}' is no identity; expected one as of user:NAME, uid:NUMBER, cn:NAME, dns:NAME, uri:URI or loopback"
            ));
        }
        let without = methods.iter().find(|method| !takes_reason(method.0));
        if let (true, Some(Method(without))) = (written.reason, without) {
            return about(&format!(
                "reason: {without} takes none; leave it out of methods"
            ));
        }
        Ok(Self {
            name,
            roles: written.roles,
            callers: written.callers,
            methods,
            times: Times {
                days: written.days,
                hours: written.hours,
            },
            asks: match (counts, written.reason) {
                (true, _) => Asks::AtMost(at_most),
                (false, true) => Asks::Reason,
                (false, false) => Asks::None,
            },
            enforce: written.enforce,
        })
    }
}

/// A call as limits see it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call<'a> {
    pub(super) caller: &'a Caller,
    pub(super) role: Role,
    /// Name of the method, without the service's.
    pub(super) method: &'a str,
    pub(super) at: Moment,
}

impl Limit {
    pub(in crate::access) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it may concern calls of this caller in this role.
    pub(in crate::access) fn is_about(&self, caller: &Caller, role: Role) -> bool {
        let is_role = self.roles.is_empty() || self.roles.contains(&role);
        let mut callers = self.callers.iter();
        is_role && (self.callers.is_empty() || callers.any(|name| caller.is_called(name)))
    }

    /// What it says.
    pub(in crate::access) fn describe(&self) -> Described {
        let reason = self.asks == Asks::Reason;
        let at_most = match self.asks {
            Asks::AtMost(at_most) => at_most,
            Asks::None | Asks::Reason => AtMost::default(),
        };
        let all = || {
            let all = changing().iter();
            all.filter(|(_, takes)| *takes || !reason)
                .map(|(name, _)| *name)
        };
        let methods = match (self.asks, self.methods.as_slice()) {
            (Asks::AtMost(_), _) => Vec::new(),
            (_, []) => all().collect(),
            (_, named) => named.iter().map(|one| one.0).collect(),
        };
        Described {
            name: self.name.clone(),
            roles: self.roles.clone(),
            callers: self.callers.clone(),
            times: self.times.clone(),
            methods,
            reason,
            at_most,
            enforce: self.enforce,
        }
    }

    pub(super) fn is_enforced(&self) -> bool {
        self.enforce
    }

    fn concerns(&self, call: &Call<'_>) -> bool {
        let Call {
            caller,
            role,
            method,
            at,
        } = call;
        let is_method = match self.methods.as_slice() {
            [] => changing().iter().any(|(name, _)| name == method),
            methods => methods.iter().any(|one| one.0 == *method),
        };
        self.is_about(caller, *role) && is_method && self.times.has(*at)
    }

    /// Why a call is not to be made, whatever it would do; `reason` is whether it has one.
    pub(super) fn forbids(&self, call: &Call<'_>, reason: bool) -> Option<String> {
        let why = match self.asks {
            Asks::None => "allows none now",
            Asks::Reason if !reason && takes_reason(call.method) => "asks for a reason (--reason)",
            Asks::Reason | Asks::AtMost(_) => return None,
        };
        self.concerns(call).then(|| why.to_owned())
    }

    /// Whether it counts what a call would leave out of use.
    pub(super) fn counts(&self, call: &Call<'_>) -> bool {
        matches!(self.asks, Asks::AtMost(_)) && self.concerns(call)
    }

    /// Whether it counts disabled ports.
    pub(super) fn counts_ports(&self) -> bool {
        matches!(
            self.asks,
            Asks::AtMost(AtMost {
                disabled_ports: Some(_),
                ..
            })
        )
    }

    /// Why what a call would do is not to be done. What leaves no more out of use than there was is always allowed.
    pub(super) fn exceeded(&self, foreseen: &Foreseen) -> Option<String> {
        let Asks::AtMost(at_most) = self.asks else {
            return None;
        };
        [
            (
                at_most.drained_switches,
                foreseen.drained_switches,
                "drained switches",
            ),
            (
                at_most.drained_links,
                foreseen.drained_links,
                "drained links",
            ),
            (
                at_most.disabled_ports,
                foreseen.disabled_ports,
                "disabled ports",
            ),
        ]
        .into_iter()
        .find_map(|(most, change, what)| {
            let most = most?;
            let is_over = change.after > most as usize && change.after > change.before;
            is_over.then(|| {
                format!(
                    "allows at most {most} {what}, and this would make {}",
                    change.after
                )
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::User;
    use crate::access::limits::Change;

    fn limit(text: &str) -> Limit {
        toml::from_str(&format!("name = \"it\"\n{text}")).expect(text)
    }

    fn caller() -> Caller {
        Caller::User(User {
            uid: 5000,
            name: Some("alice".to_owned()),
            groups: Vec::new(),
        })
    }

    fn call<'a>(caller: &'a Caller, method: &'a str) -> Call<'a> {
        Call {
            caller,
            role: Role::Operate,
            method,
            at: Moment {
                day: chrono::Weekday::Fri,
                minute: 600,
            },
        }
    }

    #[test]
    fn what_a_limit_names_has_to_apply() {
        let caller = caller();
        let call = call(&caller, "SetPorts");
        for (text, expected) in [
            ("", true),
            ("roles = [\"operate\"]", true),
            ("roles = [\"view\", \"administer\"]", false),
            ("callers = [\"user:bob\", \"user:alice\"]", true),
            ("methods = [\"SetPortState\", \"SetPorts\"]", true),
            ("methods = [\"SetPortState\"]", false),
            ("days = [\"Friday\"]", true),
            ("days = [\"Thursday\"]", false),
            ("days = [\"Friday\"]\nhours = [\"10:00-10:01\"]", true),
            ("days = [\"Friday\"]\nhours = [\"10:01-24:00\"]", false),
            ("roles = [\"operate\"]\nmethods = [\"StartSweep\"]", false),
        ] {
            let forbids = limit(text).forbids(&call, true).is_some();
            assert_eq!(forbids, expected, "{text}");
        }
    }

    #[test]
    fn what_never_holds_is_refused() {
        for (text, words) in [
            ("callers = [\"alice\"]", "'alice' is no identity"),
            ("callers = [\"user:\"]", "'user:' is no identity"),
            ("disabled_ports = 16384", "expected less than 16384"),
        ] {
            let read = toml::from_str::<Limit>(&format!("name = \"it\"\n{text}"));
            let error = read.expect_err(text).to_string();
            assert!(error.contains(words), "{error}");
        }
        limit("callers = [\"loopback\", \"uid:0\", \"dns:ci\"]\ndisabled_ports = 16383");
    }

    #[test]
    fn without_methods_all_that_change_something_are_meant_and_no_other() {
        let (caller, any) = (caller(), limit(""));
        for (method, expected) in [
            ("ApplyRoutePlan", true),
            ("ReloadConfig", true),
            ("CreateLink", false),
            ("ListAuditRecords", false),
            ("GetFabric", false),
        ] {
            let forbids = any.forbids(&call(&caller, method), true).is_some();
            assert_eq!(forbids, expected, "{method}");
        }
        let names: Vec<&str> = changing().iter().map(|(name, _)| *name).collect();
        let apart: std::collections::BTreeSet<&&str> = names.iter().collect();
        assert_eq!(apart.len(), names.len(), "a name is one method: {names:?}");
    }

    #[test]
    fn a_reason_is_asked_for_where_there_is_a_place_for_it() {
        let (caller, asks) = (caller(), limit("reason = true"));
        for (method, reason, forbidden) in [
            ("SetPorts", false, true),
            ("SetPorts", true, false),
            ("SetLogLevel", false, false),
        ] {
            let forbids = asks.forbids(&call(&caller, method), reason);
            assert_eq!(forbids.is_some(), forbidden, "{method} {reason}");
        }
    }

    #[test]
    fn what_leaves_no_more_out_of_use_is_always_allowed() {
        let at_most = limit("drained_switches = 2\ndisabled_ports = 0");
        for (switches, ports, exceeded) in [
            ((1, 2), (5, 5), None),
            (
                (2, 3),
                (0, 0),
                Some("at most 2 drained switches, and this would make 3"),
            ),
            ((4, 3), (0, 0), None),
            ((3, 3), (0, 0), None),
            (
                (0, 0),
                (0, 1),
                Some("at most 0 disabled ports, and this would make 1"),
            ),
            ((0, 0), (2, 1), None),
        ] {
            let change = |(before, after)| Change { before, after };
            let foreseen = Foreseen {
                drained_switches: change(switches),
                drained_links: change((0, 9)),
                disabled_ports: change(ports),
            };
            let why = at_most.exceeded(&foreseen);
            assert_eq!(why.is_some(), exceeded.is_some(), "{foreseen:?}");
            assert!(why.unwrap_or_default().contains(exceeded.unwrap_or("")));
        }
    }
}
