//! Who asks for a change, and why: for those who list changes.

use weft_api::v1;

/// Who begins an operation and why, with an identity that may be empty.
pub(crate) fn label(reason: &str, operation: &str) -> Option<v1::OperationLabel> {
    Some(v1::OperationLabel {
        operation_id: operation.to_owned(),
        author: author(),
        reason: reason.to_owned(),
    })
}

/// Who calls, and on which host, as the environment says: for those who list what was changed.
pub(crate) fn author() -> String {
    let users = ["SUDO_USER", "USER", "LOGNAME"];
    let mut named = users.iter().filter_map(|name| std::env::var(name).ok());
    let user = named.find(|user| !user.is_empty());
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let author = match (user, host.trim()) {
        (None, "") => String::new(),
        (None, host) => format!("unknown@{host}"),
        (Some(user), host) => format!("{user}@{host}"),
    };
    let seen: String = author
        .chars()
        .filter(|c| !weft_fabric::text::is_hidden(*c))
        .collect();
    seen[..seen.floor_char_boundary(100)].to_owned()
}
