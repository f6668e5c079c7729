//! The file with user and password for etcd.

use std::path::Path;

use crate::secret_file;

/// Most bytes of the file.
const LEN_MAX: u64 = 1024;

/// User and password of a file with one line `USER:PASSWORD`.
///
/// # Errors
/// In words without the file's content.
pub(super) fn read(file: &Path) -> Result<(String, String), String> {
    let bytes = secret_file::read(file, LEN_MAX)?;
    let text = String::from_utf8(bytes).map_err(|_| "it is no text".to_owned())?;
    let parts = text.trim_end_matches(['\r', '\n']).split_once(':');
    let usable = |text: &str| !text.is_empty() && !text.contains(char::is_control);
    match parts {
        Some((user, password)) if usable(user) && usable(password) => {
            Ok((user.to_owned(), password.to_owned()))
        }
        _ => Err("expected one line USER:PASSWORD".to_owned()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn one_line_for_its_user_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("user");
        let told = |text: &[u8], mode: u32| {
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            read(&file)
        };
        let both = ("weft".to_owned(), "hunt:er2".to_owned());
        assert_eq!(told(b"weft:hunt:er2\n", 0o600).unwrap(), both);
        for (text, mode, why) in [
            (&b"weft:hunter2"[..], 0o640, "mode 0640"),
            (b"", 0o600, "one line USER:PASSWORD"),
            (b"weft", 0o600, "one line USER:PASSWORD"),
            (b"weft:", 0o600, "one line USER:PASSWORD"),
            (b":hunter2", 0o600, "one line USER:PASSWORD"),
            (b"weft:hunter2\nmore", 0o600, "one line USER:PASSWORD"),
            (b"weft:\xff", 0o600, "no text"),
            (&[b'x'; 2000], 0o600, "longer than"),
        ] {
            let said = told(text, mode).unwrap_err();
            assert!(said.contains(why), "{said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }
}
