//! Users and groups of this host, from wherever it has them (files, LDAP): these calls may take long.

use std::ffi::CString;

use nix::unistd::{Gid, Group, Uid, User, geteuid, getgrouplist};

/// A group that no entry has: -1 stands for none in the calls of the system.
const NOBODY: u32 = u32::MAX;

/// Name of a user and all his groups. Without an entry of his own he has no name, and only the group of his process.
pub(super) fn user(uid: u32, gid: u32) -> (Option<String>, Vec<u32>) {
    let found = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    let Some(found) = found else {
        return (None, vec![gid]);
    };
    let listed = CString::new(found.name.clone()).ok();
    let listed = listed.and_then(|name| getgrouplist(&name, found.gid).ok());
    let mut groups: Vec<u32> = listed
        .unwrap_or_default()
        .into_iter()
        .map(Gid::as_raw)
        .collect();
    groups.push(gid);
    (Some(found.name), groups)
}

/// The number of a user: of a name, or the number itself.
pub(super) fn uid(name: &str) -> Option<u32> {
    let number = || {
        User::from_name(name)
            .ok()
            .flatten()
            .map(|user| user.uid.as_raw())
    };
    name.parse().ok().or_else(number)
}

/// The number of a group: of a name, or the number itself.
pub(super) fn gid(name: &str) -> Option<u32> {
    let number = || {
        Group::from_name(name)
            .ok()
            .flatten()
            .map(|group| group.gid.as_raw())
    };
    name.parse().ok().or_else(number)
}

/// The group of a user's own; that of nobody where he has no entry.
pub(super) fn group_of(uid: u32) -> u32 {
    let found = User::from_uid(Uid::from_raw(uid)).ok().flatten();
    found.map_or(NOBODY, |user| user.gid.as_raw())
}

/// The user of this process.
pub(super) fn own() -> u32 {
    geteuid().as_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_found_with_his_group_and_who_has_no_entry_has_only_that_of_his_process() {
        let (name, groups) = user(0, 0);
        assert_eq!(name.as_deref(), Some("root"));
        assert!(groups.contains(&0), "{groups:?}");
        assert_eq!(user(4_000_000_123, 77), (None, vec![77]));
        assert_eq!(uid("root"), Some(0));
        assert_eq!(gid("root"), Some(0));
        assert_eq!(uid("1234"), Some(1234));
        assert_eq!(gid("no such group"), None);
        assert_eq!(uid("no such user"), None);
    }
}
