//! Which roles callers have: the file of `--access`, or the built-in rules.

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Deserializer};

use super::caller::{Caller, User};
use super::limits::{LIMITS_MAX, Limit};
use super::two_persons::TwoPersons;
use super::{Role, accounts};
use crate::config::read_at_most;

/// The largest file of rules, in bytes.
const FILE_MAX: u64 = 1 << 20;
/// The group whose members operate where no file says otherwise.
const OPERATORS: &str = "weft-operators";
/// What may stand before the name of a certificate.
const KINDS: [&str; 3] = ["cn:", "dns:", "uri:"];
/// Calls and changes of one caller in a second: least, most, and where no file says otherwise.
const CALLS: (u32, u32, u32) = (1, 1_000_000, 1_000);
const CHANGES: (u32, u32, u32) = (1, 1_000_000, 100);

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    #[serde(deserialize_with = "least")]
    loopback: Option<Option<Role>>,
    #[serde(deserialize_with = "least")]
    users: Option<Option<Role>>,
    #[serde(deserialize_with = "least")]
    certificates: Option<Option<Role>>,
    view: Named,
    operate: Named,
    administer: Named,
    limits: FileLimits,
    plans: FilePlans,
    #[serde(rename = "limit")]
    site_limits: Vec<Limit>,
}

/// Who has a role by name.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Named {
    users: Vec<String>,
    groups: Vec<String>,
    certificates: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FileLimits {
    calls_per_second: Option<u32>,
    changes_per_second: Option<u32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FilePlans {
    two_persons: TwoPersons,
}

/// How many calls one caller may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Calls of all kinds in a second.
    pub(super) calls: u32,
    /// Of these, calls that may change something.
    pub(super) changes: u32,
}

/// Roles of those whom no rule names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stock {
    pub(super) users: Option<Role>,
    pub(super) certificates: Option<Role>,
}

/// Which roles callers have.
#[derive(Debug)]
pub(super) struct Rules {
    loopback: Option<Role>,
    /// Other users of this host, and other holders of certificates.
    users: Option<Role>,
    certificates: Option<Role>,
    /// Numbers of users and groups, and names of certificates.
    uids: Vec<(u32, Role)>,
    gids: Vec<(u32, Role)>,
    names: Vec<(String, Role)>,
    /// Users and groups that this host does not know.
    unknown: Vec<String>,
    limits: Limits,
    two_persons: TwoPersons,
    site_limits: Vec<Limit>,
}

impl Rules {
    /// Reads the file; without one, the built-in rules. `loopback` is the role of loopback where the file does not say.
    pub(super) fn read(file: Option<&Path>, loopback: Role) -> Result<Self, String> {
        let Some(path) = file else {
            let mut rules = Self::of(File::default(), loopback)?;
            let operators = accounts::gid(OPERATORS);
            rules
                .gids
                .extend(operators.map(|group| (group, Role::Operate)));
            return Ok(rules);
        };
        let about = |why: String| format!("who may do what, {}: {why}", path.display());
        let bytes = read_at_most(path, FILE_MAX).map_err(about)?;
        let text = String::from_utf8(bytes).map_err(|error| about(error.to_string()))?;
        Self::parse(&text, loopback).map_err(about)
    }

    fn parse(text: &str, loopback: Role) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
        Self::of(file, loopback)
    }

    fn of(file: File, loopback: Role) -> Result<Self, String> {
        let mut rules = Self {
            loopback: file.loopback.unwrap_or(Some(loopback)),
            users: file.users.unwrap_or(Some(Role::View)),
            certificates: file.certificates.unwrap_or(Some(Role::View)),
            uids: vec![(0, Role::Administer)],
            gids: Vec::new(),
            names: Vec::new(),
            unknown: Vec::new(),
            limits: Limits {
                calls: limit("calls_per_second", file.limits.calls_per_second, CALLS)?,
                changes: limit(
                    "changes_per_second",
                    file.limits.changes_per_second,
                    CHANGES,
                )?,
            },
            two_persons: file.plans.two_persons,
            site_limits: named_apart(file.site_limits)?,
        };
        for (role, named) in [
            (Role::View, &file.view),
            (Role::Operate, &file.operate),
            (Role::Administer, &file.administer),
        ] {
            rules.add(role, named)?;
        }
        Ok(rules)
    }

    /// With a user who administers whatever the file says, as the daemon's own does.
    pub(super) fn administered_by(mut self, uid: u32) -> Self {
        self.uids.push((uid, Role::Administer));
        self
    }

    fn add(&mut self, role: Role, named: &Named) -> Result<(), String> {
        for name in &named.users {
            match accounts::uid(name) {
                Some(user) => self.uids.push((user, role)),
                None => self.unknown.push(format!("user {name}")),
            }
        }
        for name in &named.groups {
            match accounts::gid(name) {
                Some(group) => self.gids.push((group, role)),
                None => self.unknown.push(format!("group {name}")),
            }
        }
        for name in &named.certificates {
            let known = KINDS.iter().find_map(|kind| name.strip_prefix(kind));
            if known.is_none_or(str::is_empty) {
                return Err(format!(
                    "[{}] certificates: '{name}' is no name of a certificate; expected cn:NAME, dns:NAME or uri:URI, \
                     such as uri:spiffe://example.org/ci",
                    role.name()
                ));
            }
            self.names.push((name.clone(), role));
        }
        Ok(())
    }

    /// The highest role that a rule gives a caller.
    pub(super) fn role_of(&self, caller: &Caller) -> Option<Role> {
        match caller {
            Caller::Loopback(_) => self.loopback,
            Caller::Stranger(_) => None,
            // The role of who asked for the link, as it is now.
            Caller::Guest(guest) => {
                let role = self.role_of(&guest.who);
                role.map(|role| role.min(guest.at_most))
            }
            Caller::User(user) => self.of_user(user).max(self.users),
            Caller::Holder(holder) => {
                let named = self.names.iter();
                let named = named.filter(|(name, _)| holder.names.contains(name));
                named.map(|(_, role)| *role).max().max(self.certificates)
            }
        }
    }

    fn of_user(&self, user: &User) -> Option<Role> {
        let own = self.uids.iter().filter(|(uid, _)| *uid == user.uid);
        let groups = self.gids.iter();
        let groups = groups.filter(|(gid, _)| user.groups.contains(gid));
        own.chain(groups).map(|(_, role)| *role).max()
    }

    /// What users and holders of certificates may whom no rule names.
    pub(super) fn stock(&self) -> Stock {
        Stock {
            users: self.users,
            certificates: self.certificates,
        }
    }

    /// What everybody at a loopback address may.
    pub(super) fn loopback(&self) -> Option<Role> {
        self.loopback
    }

    /// Users and groups that this host does not know.
    pub(super) fn unknown(&self) -> &[String] {
        &self.unknown
    }

    pub(super) fn limits(&self) -> Limits {
        self.limits
    }

    /// What the site allows beyond roles.
    pub(super) fn site_limits(&self) -> &[Limit] {
        &self.site_limits
    }

    /// Which plans need a second person.
    pub(super) fn two_persons(&self) -> TwoPersons {
        self.two_persons
    }
}

/// A role, or `none`.
fn least<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<Role>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Word {
        None,
        View,
        Operate,
        Administer,
    }
    Ok(Some(match Word::deserialize(from)? {
        Word::None => None,
        Word::View => Some(Role::View),
        Word::Operate => Some(Role::Operate),
        Word::Administer => Some(Role::Administer),
    }))
}

/// Limits, each of which has a name of its own.
fn named_apart(limits: Vec<Limit>) -> Result<Vec<Limit>, String> {
    if limits.len() > LIMITS_MAX {
        return Err(format!(
            "{} [[limit]] are more than {LIMITS_MAX}, the most",
            limits.len()
        ));
    }
    let names: BTreeSet<&str> = limits.iter().map(Limit::name).collect();
    match names.len() == limits.len() {
        true => Ok(limits),
        false => Err("two [[limit]] have the same name; refusals name a limit by it".to_owned()),
    }
}

fn limit(name: &str, given: Option<u32>, range: (u32, u32, u32)) -> Result<u32, String> {
    let (least, most, stock) = range;
    match given.unwrap_or(stock) {
        value if (least..=most).contains(&value) => Ok(value),
        value => Err(format!(
            "[limits] {name}: {value} is not from {least} to {most}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;
    use crate::access::Holder;

    fn user(uid: u32, groups: &[u32]) -> Caller {
        Caller::User(User {
            uid,
            name: None,
            groups: groups.to_vec(),
        })
    }

    fn address() -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], 9))
    }

    fn holder(names: &[&str]) -> Caller {
        Caller::Holder(Holder {
            address: address(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            ends: 0,
        })
    }

    fn parse(text: &str) -> Rules {
        Rules::parse(text, Role::View).expect("rules")
    }

    #[test]
    fn without_a_file_everybody_reads_and_root_administers() {
        let rules = Rules::read(None, Role::View).expect("built in");
        assert_eq!(rules.role_of(&user(0, &[])), Some(Role::Administer));
        assert_eq!(rules.role_of(&user(4_000_122, &[])), Some(Role::View));
        assert_eq!(rules.role_of(&user(4_000_123, &[0])), Some(Role::View));
        assert_eq!(rules.role_of(&holder(&["cn:root"])), Some(Role::View));
        let loopback = Caller::Loopback(address());
        assert_eq!(rules.role_of(&loopback), Some(Role::View));
        let owned = rules.administered_by(4_000_122);
        assert_eq!(owned.role_of(&user(4_000_122, &[])), Some(Role::Administer));
        let emulated = Rules::read(None, Role::Administer).expect("built in");
        assert_eq!(emulated.role_of(&loopback), Some(Role::Administer));
    }

    #[test]
    fn the_highest_of_the_roles_that_apply_counts() {
        let rules = parse(
            "loopback = \"none\"\nusers = \"none\"\ncertificates = \"none\"\n\
             [view]\nusers = [\"5001\"]\ngroups = [\"6000\"]\n\
             [operate]\ngroups = [\"6001\"]\ncertificates = [\"cn:ci\"]\n\
             [administer]\ncertificates = [\"uri:spiffe://a/b\", \"dns:fm.example\"]\n",
        );
        for (caller, role) in [
            (Caller::Loopback(address()), None),
            (user(5000, &[]), None),
            (user(5001, &[]), Some(Role::View)),
            (user(5001, &[6001]), Some(Role::Operate)),
            (user(5000, &[1, 6000, 6001]), Some(Role::Operate)),
            (user(0, &[]), Some(Role::Administer)),
            (holder(&[]), None),
            (holder(&["cn:CI", "dns:ci"]), None),
            (holder(&["cn:ci"]), Some(Role::Operate)),
            (holder(&["cn:spiffe://a/b"]), None),
            (
                holder(&["uri:spiffe://a/b", "cn:ci"]),
                Some(Role::Administer),
            ),
        ] {
            assert_eq!(rules.role_of(&caller), role, "{caller:?}");
        }
    }

    #[test]
    fn who_is_not_known_on_this_host_is_told() {
        let rules =
            parse("[operate]\nusers = [\"no such user\", \"root\"]\ngroups = [\"no such group\"]");
        assert_eq!(
            rules.unknown(),
            ["user no such user", "group no such group"]
        );
    }

    #[test]
    fn what_a_file_must_not_have_is_named() {
        for (text, expected) in [
            ("loopbak = \"view\"", "unknown field `loopbak`"),
            ("loopback = \"root\"", "expected one of `none`"),
            ("loopback = 3", "line 1"),
            ("[operate]\nuser = []", "unknown field `user`"),
            (
                "[operate]\ncertificates = [\"ci\"]",
                "'ci' is no name of a certificate; expected cn:",
            ),
            ("[view]\ncertificates = [\"uri:\"]", "[view] certificates"),
            (
                "[limits]\ncalls_per_second = 0",
                "calls_per_second: 0 is not from 1 to 1000000",
            ),
            ("[limits]\nchanges_per_second = -1", "line 2"),
            ("[plans]\ntwo_persons = true", "line 2"),
            (
                "[plans]\ntwo_persons = \"drains\"",
                "expected one of `none`, `settings`, `all`",
            ),
            ("[view", "line 1"),
            ("[[limit]]", "missing field `name`"),
            ("[[limit]]\nname = \" \"", "name: expected 1 to 100 bytes"),
            (
                "[[limit]]\nname = \"a\"\nday = [\"fri\"]",
                "unknown field `day`",
            ),
            (
                "[[limit]]\nname = \"a\"\nmethods = [\"Drain\"]",
                "'Drain' is no method that a limit can concern; expected one of SetCable,",
            ),
            (
                "[[limit]]\nname = \"a\"\n\nmethods = [\"GetFabric\"]",
                "line 4",
            ),
            (
                "[[limit]]\nname = \"a\"\nroles = [\"root\"]",
                "expected one of `view`",
            ),
            ("[[limit]]\nname = \"a\"\ndrained_switches = -1", "line 3"),
            (
                "\n[[limit]]\nname = \"a\"\nmethods = [\"ApplyRoutePlan\"]\ndrained_switches = 2",
                "line 2",
            ),
            (
                "[[limit]]\nname = \"a\"\nreason = true\ndisabled_ports = 2",
                "'a': drained_switches, drained_links and disabled_ports concern",
            ),
            (
                "[[limit]]\nname = \"a\"\nreason = true\nmethods = [\"SetPorts\", \"SetLogLevel\"]",
                "'a': reason: SetLogLevel takes none",
            ),
            (
                "[[limit]]\nname = \"a\"\n[[limit]]\nname = \"a\"",
                "two [[limit]] have the same name",
            ),
            (
                "[[limit]]\nname = \"a\"\n[[limit]]\nname = \"b\"\nhours = [\"9-17\"]",
                "line 5",
            ),
        ] {
            let why = Rules::parse(text, Role::View).expect_err(text);
            assert!(why.contains(expected), "{text}: {why}");
        }
    }

    #[test]
    fn there_are_no_more_limits_than_the_most() {
        let many = |count: usize| {
            let limits = (0..count).map(|number| format!("[[limit]]\nname = \"{number}\"\n"));
            Rules::parse(&limits.collect::<String>(), Role::View)
        };
        assert_eq!(many(LIMITS_MAX).expect("so many").site_limits().len(), 64);
        let why = many(LIMITS_MAX + 1).expect_err("one more");
        assert!(why.contains("65 [[limit]] are more than 64"), "{why}");
    }

    #[test]
    fn the_example_has_the_built_in_rules() {
        let example = parse(include_str!("../../../../config/access.toml"));
        let built_in = Rules::read(None, Role::View).expect("built in");
        assert_eq!(example.limits(), built_in.limits());
        assert_eq!(example.loopback(), built_in.loopback());
        assert_eq!(example.two_persons(), built_in.two_persons());
        assert!(example.site_limits().is_empty());
        for caller in [
            user(0, &[]),
            user(5000, &[7]),
            holder(&["cn:x"]),
            Caller::Loopback(address()),
        ] {
            assert_eq!(
                example.role_of(&caller),
                built_in.role_of(&caller),
                "{caller:?}"
            );
        }
    }
}
