//! Keys, which are left out of every part of the archive: those of the fabric by their elements in opafm.xml and by
//! their values anywhere, private keys by their PEM lines, and passwords by the names of settings.

use std::path::Path;

use super::collect::read_file;

/// Elements of opafm.xml whose values are keys.
const TAGS: [&str; 2] = ["SmKey", "MKey"];
/// Parts of names of settings that are passwords, such as FF_PASSWORD of opafastfabric.conf.
const PASSWORDS: [&str; 2] = ["PASS", "SECRET"];
/// Bytes that stand in place of a key.
const MASK: &[u8] = b"(a key, left out)";
/// Shortest value that is looked for outside of its element: shorter ones are in many places by chance.
const VALUE_MIN: usize = 5;
/// Most values.
const VALUES_MAX: usize = 64;

const PEM_BEGIN: &[u8] = b"-----BEGIN ";
const PEM_KEY: &[u8] = b"PRIVATE KEY-----";
const PEM_END: &[u8] = b"-----END ";

/// The values of keys that are looked for.
#[derive(Debug, Default)]
pub(super) struct Secrets(Vec<Vec<u8>>);

impl Secrets {
    /// The keys of a configuration file, and of all others of its directory.
    pub(super) fn of(config: &Path) -> Self {
        let directory = config.parent().map(std::fs::read_dir);
        let others = directory.into_iter().flatten().flatten().flatten();
        let others = others.map(|entry| entry.path());
        let usual = std::fs::read_dir("/etc/opa-fm")
            .into_iter()
            .flatten()
            .flatten();
        let all = others.chain(usual.map(|entry| entry.path())).take(256);
        let mut secrets = Self::default();
        for file in all.chain([config.to_owned()]) {
            let name = file.to_string_lossy().into_owned();
            if name.contains(".xml")
                && let Ok(bytes) = read_file(&file)
            {
                secrets.learn(&bytes);
            }
        }
        // Longer values first: a shorter one may be a part of them.
        secrets
            .0
            .sort_by_key(|value| std::cmp::Reverse(value.len()));
        secrets
    }

    /// Notes the values of keys in a configuration, in every form in which they are printed.
    fn learn(&mut self, text: &[u8]) {
        for range in elements(text) {
            let value = String::from_utf8_lossy(&text[range]).trim().to_owned();
            let digits = value.trim_start_matches("0x").trim_start_matches("0X");
            let number = match value.len() == digits.len() {
                true => value.parse::<u64>().ok(),
                false => u64::from_str_radix(digits, 16).ok(),
            };
            let forms = number.filter(|number| *number != 0).map(|number| {
                [
                    format!("{number:x}"),
                    format!("{number:X}"),
                    number.to_string(),
                ]
            });
            let all = forms.into_iter().flatten().chain([value]);
            for value in
                all.filter(|value| value.len() >= VALUE_MIN && value != "0x0000000000000000")
            {
                let value = value.into_bytes();
                if self.0.len() < VALUES_MAX && !self.0.contains(&value) {
                    self.0.push(value);
                }
            }
        }
    }

    /// Bytes without keys.
    pub(super) fn without(&self, bytes: Vec<u8>) -> Vec<u8> {
        let mut clean = without_elements(bytes);
        for value in &self.0 {
            clean = replaced(clean, value);
        }
        without_passwords(without_pem(clean))
    }
}

fn find(bytes: &[u8], what: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let first = *what.first()?;
    let mut at = 0;
    while let Some(next) = rest[at..].iter().position(|byte| *byte == first) {
        if rest[at + next..].starts_with(what) {
            return Some(from + at + next);
        }
        at += next + 1;
    }
    None
}

/// The values of elements that have keys, in order; also of those in comments.
fn elements(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut found = Vec::new();
    for tag in TAGS {
        let begin = format!("<{tag}").into_bytes();
        let mut from = 0;
        while let Some(at) = find(text, &begin, from) {
            from = at + begin.len();
            let is_whole = matches!(text.get(from), Some(b'>' | b' ' | b'\t' | b'\r' | b'\n'));
            let open = find(text, b">", from).filter(|_| is_whole);
            let close = open.and_then(|open| find(text, b"<", open));
            if let Some((open, close)) = open.zip(close) {
                found.push(open + 1..close);
                from = close;
            }
        }
    }
    found.sort_by_key(|range| range.start);
    found
}

fn without_elements(bytes: Vec<u8>) -> Vec<u8> {
    let ranges = elements(&bytes);
    if ranges.is_empty() {
        return bytes;
    }
    let mut clean = Vec::with_capacity(bytes.len());
    let mut from = 0;
    for range in ranges.into_iter().filter(|range| !range.is_empty()) {
        clean.extend_from_slice(&bytes[from..range.start]);
        clean.extend_from_slice(MASK);
        from = range.end;
    }
    clean.extend_from_slice(&bytes[from..]);
    clean
}

fn replaced(bytes: Vec<u8>, value: &[u8]) -> Vec<u8> {
    let Some(mut at) = find(&bytes, value, 0) else {
        return bytes;
    };
    let mut clean = Vec::with_capacity(bytes.len());
    let mut from = 0;
    loop {
        clean.extend_from_slice(&bytes[from..at]);
        clean.extend_from_slice(MASK);
        from = at + value.len();
        match find(&bytes, value, from) {
            Some(next) => at = next,
            None => break,
        }
    }
    clean.extend_from_slice(&bytes[from..]);
    clean
}

/// Leaves out private keys, from their first line to their last one, or to the end where that is missing.
fn without_pem(bytes: Vec<u8>) -> Vec<u8> {
    if find(&bytes, PEM_KEY, 0).is_none() {
        return bytes;
    }
    let mut clean = Vec::with_capacity(bytes.len());
    let mut is_key = false;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let begins = find(line, PEM_BEGIN, 0).is_some() && find(line, PEM_KEY, 0).is_some();
        if begins && !is_key {
            clean.extend_from_slice(MASK);
            clean.push(b'\n');
        }
        is_key |= begins;
        if !is_key {
            clean.extend_from_slice(line);
        }
        is_key &= find(line, PEM_END, 0).is_none();
    }
    clean
}

/// Leaves out what is assigned to settings whose names tell that it is a password: `FF_PASSWORD="..."`.
fn without_passwords(bytes: Vec<u8>) -> Vec<u8> {
    let mut clean = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        match password(line) {
            Some(at) => {
                clean.extend_from_slice(&line[..at]);
                clean.extend_from_slice(MASK);
                clean.push(b'\n');
            }
            None => clean.extend_from_slice(line),
        }
    }
    clean
}

/// Where a password begins in a line.
fn password(line: &[u8]) -> Option<usize> {
    let mut assigned = line.iter().enumerate().filter(|(_, byte)| **byte == b'=');
    assigned.find_map(|(at, _)| {
        let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let name = line[..at].iter().rev().take_while(is_name).take(64);
        let name: Vec<u8> = name.map(u8::to_ascii_uppercase).collect();
        let name: Vec<u8> = name.into_iter().rev().collect();
        let is_password = PASSWORDS
            .iter()
            .any(|part| find(&name, part.as_bytes(), 0).is_some());
        is_password.then_some(at + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(config: &str, text: &str) -> String {
        let mut secrets = Secrets::default();
        secrets.learn(config.as_bytes());
        let clean = secrets.without(text.as_bytes().to_vec());
        String::from_utf8_lossy(&clean).into_owned()
    }

    #[test]
    fn keys_are_left_out_by_element_and_by_value_in_each_form() {
        let config = "<Sm><MKey>0x00000abcdef1234</MKey><!-- <SmKey >77</SmKey> --></Sm>";
        let shown = clean(config, config);
        assert_eq!(
            shown,
            "<Sm><MKey>(a key, left out)</MKey><!-- <SmKey >(a key, left out)</SmKey> --></Sm>"
        );
        for text in [
            "m_key 0xabcdef1234",
            "ABCDEF1234",
            "737894404660",
            "0x00000abcdef1234",
        ] {
            let shown = clean(config, text);
            let lower = shown.to_lowercase();
            assert!(
                !lower.contains("abcdef1234") && !shown.contains("737894404660"),
                "{shown}"
            );
        }
        assert_eq!(
            clean(config, "77 ports"),
            "77 ports",
            "too short to be looked for"
        );
        assert_eq!(clean("<MKey>0x0</MKey>", "0x0 00000"), "0x0 00000");
        assert_eq!(clean("", "<MKeys>7</MKeys>"), "<MKeys>7</MKeys>");
    }

    #[test]
    fn private_keys_are_left_out() {
        let text = "a\n-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\nb\n";
        assert_eq!(clean("", text), "a\n(a key, left out)\nb\n");
        let cut = "a\n-----BEGIN PRIVATE KEY-----\nMHc\n";
        assert_eq!(clean("", cut), "a\n(a key, left out)\n");
        let public = "-----BEGIN CERTIFICATE-----\nMHc\n-----END CERTIFICATE-----\n";
        assert_eq!(clean("", public), public);
    }

    #[test]
    fn passwords_of_settings_are_left_out() {
        let text = "export FF_PASSWORD=\"hunter2\"\nFF_ROOTPASS=x y\nFF_TIMEOUT=5\n";
        assert_eq!(
            clean("", text),
            "export FF_PASSWORD=(a key, left out)\nFF_ROOTPASS=(a key, left out)\nFF_TIMEOUT=5\n"
        );
    }
}
