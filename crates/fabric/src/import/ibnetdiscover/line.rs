//! The lines of an ibnetdiscover dump.

use crate::export::unescape_name;
use crate::import::ImportError;

/// A parsed line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Nothing that matters here.
    Blank,
    /// `sysimgguid=0x…`, for the node that follows.
    System(u64),
    /// `Switch 36 "S-…" # "name" … lid 3 lmc 0`.
    Node(NodeLine<'a>),
    /// `[1] "H-…"[1] # "name" lid 4 4xEDR`, a cable of the node before.
    Port(PortLine<'a>),
}

/// Kinds of nodes in InfiniBand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Switch,
    Host,
    Router,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NodeLine<'a> {
    pub(super) kind: Kind,
    pub(super) ports: u8,
    pub(super) guid: u64,
    pub(super) comment: Comment<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PortLine<'a> {
    pub(super) port: u8,
    pub(super) peer_kind: Kind,
    pub(super) peer_guid: u64,
    pub(super) peer_port: u8,
    pub(super) comment: Comment<'a>,
}

/// The comment after `#`: every part of it is optional.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Comment<'a> {
    /// Before the quoted name.
    before: &'a str,
    /// Between the first and the last quote.
    quoted: &'a str,
    /// Behind the name.
    after: &'a str,
}

impl Comment<'_> {
    /// The quoted name.
    pub(super) fn name(&self) -> Vec<u8> {
        unescape_name(self.quoted)
    }

    /// LID and LMC on the side of the line that the node itself is on.
    pub(super) fn own_lid(&self, kind: Kind) -> (u32, u8) {
        let side = if kind == Kind::Switch {
            self.after
        } else {
            self.before
        };
        let number = |name: &str| -> Option<u32> {
            let mut words = side.split_whitespace();
            words.find(|word| *word == name)?;
            words.next()?.parse().ok()
        };
        let lmc = number("lmc").unwrap_or(0).min(7);
        (number("lid").unwrap_or(0), lmc as u8)
    }

    /// Lanes of the link: 2 of `2xHDR`, 4 by default.
    pub(super) fn lanes(&self) -> u32 {
        let word = self.after.split_whitespace().next_back();
        let lanes = word.and_then(|word| word.split_once('x')?.0.parse().ok());
        lanes.filter(|lanes| *lanes > 0).unwrap_or(4)
    }
}

const LINES: &str = "vendid=…, devid=…, sysimgguid=0x…, switchguid=…, caguid=…, \
    Switch N \"S-GUID\" # \"name\", Ca N \"H-GUID\" # \"name\", Rt N \"R-GUID\", \
    [PORT] \"S-GUID\"[PORT] # \"name\" lid N 4xEDR, or # for a comment";

/// Properties of the node that follows, of no use here.
const PROPERTIES: [&str; 5] = ["vendid", "devid", "switchguid", "caguid", "rtguid"];

pub(super) fn parse(line: u64, text: &str) -> Result<Line<'_>, ImportError> {
    let mut cursor = Cursor {
        line,
        rest: text.trim(),
    };
    let text = cursor.rest;
    if text.is_empty() || text.starts_with('#') || text.starts_with("Chassis ") {
        return Ok(Line::Blank);
    }
    if text.starts_with('[') {
        return cursor.port().map(Line::Port);
    }
    for (keyword, kind) in [
        ("Switch", Kind::Switch),
        ("Ca", Kind::Host),
        ("Rt", Kind::Router),
    ] {
        if let Some(rest) = text
            .strip_prefix(keyword)
            .filter(|rest| !rest.contains('=') || rest.contains('"'))
        {
            cursor.rest = rest;
            return cursor.node(kind).map(Line::Node);
        }
    }
    match text.split_once('=') {
        Some(("sysimgguid", value)) => cursor.system(value).map(Line::System),
        Some((name, _)) if PROPERTIES.contains(&name) => Ok(Line::Blank),
        _ => Err(cursor.error("the line", LINES)),
    }
}

struct Cursor<'a> {
    line: u64,
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    fn node(&mut self, kind: Kind) -> Result<NodeLine<'a>, ImportError> {
        let ports = self.number("number of ports", 254)?;
        let (named, guid) = self.quoted_guid()?;
        if named != kind {
            return Err(self.error(
                "the kind of the GUID",
                "S- for Switch, H- for Ca, R- for Rt",
            ));
        }
        let comment = self.comment();
        Ok(NodeLine {
            kind,
            ports,
            guid,
            comment,
        })
    }

    fn port(&mut self) -> Result<PortLine<'a>, ImportError> {
        let port = self.port_number()?;
        let (peer_kind, peer_guid) = self.quoted_guid()?;
        let peer_port = self.port_number()?;
        let comment = self.comment();
        Ok(PortLine {
            port,
            peer_kind,
            peer_guid,
            peer_port,
            comment,
        })
    }

    /// `[1]`, perhaps with `[ext 3]` and the port's GUID in parentheses behind it.
    fn port_number(&mut self) -> Result<u8, ImportError> {
        self.expect("[")?;
        let port = self.number("port", 254)?;
        self.expect("]")?;
        for (open, close) in [("[", ']'), ("(", ')')] {
            if let Some(inside) = self.rest.trim_start().strip_prefix(open) {
                let end = inside
                    .find(close)
                    .ok_or_else(|| self.error("the port", "[PORT](GUID)"))?;
                self.rest = &inside[end + 1..];
            }
        }
        if port == 0 {
            return Err(self.error("port 0", "1 to 254"));
        }
        Ok(port)
    }

    /// `"S-0123456789abcdef"`.
    fn quoted_guid(&mut self) -> Result<(Kind, u64), ImportError> {
        const ALLOWED: &str = "\"S-, \"H- or \"R-, up to 16 hexadecimal digits, \"";
        self.expect("\"")?;
        let end = self
            .rest
            .find('"')
            .ok_or_else(|| self.error("the GUID", ALLOWED))?;
        let (text, rest) = self.rest.split_at(end);
        let kind = match text.get(..2) {
            Some("S-") => Kind::Switch,
            Some("H-") => Kind::Host,
            Some("R-") => Kind::Router,
            _ => return Err(self.error("the GUID", ALLOWED)),
        };
        let guid = hexadecimal(&text[2..]).ok_or_else(|| self.error("the GUID", ALLOWED))?;
        self.rest = &rest[1..];
        Ok((kind, guid))
    }

    fn system(&self, value: &str) -> Result<u64, ImportError> {
        let digits = value.trim().strip_prefix("0x").and_then(hexadecimal);
        digits.ok_or_else(|| self.error("sysimgguid", "0x and up to 16 hexadecimal digits"))
    }

    fn number(&mut self, what: &str, max: u8) -> Result<u8, ImportError> {
        let text = self.rest.trim_start();
        let end = text
            .find(|digit: char| !digit.is_ascii_digit())
            .unwrap_or(text.len());
        let (digits, rest) = text.split_at(end);
        let number = digits.parse().ok().filter(|number| *number <= max);
        let number = number.ok_or_else(|| self.error(what, &format!("0 to {max}")))?;
        self.rest = rest;
        Ok(number)
    }

    fn expect(&mut self, token: &str) -> Result<(), ImportError> {
        let rest = self.rest.trim_start().strip_prefix(token);
        self.rest = rest.ok_or_else(|| self.error("the line", token))?;
        Ok(())
    }

    fn comment(&mut self) -> Comment<'a> {
        let Some((_, text)) = self.rest.split_once('#') else {
            return Comment::default();
        };
        match (text.find('"'), text.rfind('"')) {
            (Some(first), Some(last)) if first < last => Comment {
                before: &text[..first],
                quoted: &text[first + 1..last],
                after: &text[last + 1..],
            },
            _ => Comment {
                before: text,
                quoted: "",
                after: text,
            },
        }
    }

    fn error(&self, what: &str, allowed: &str) -> ImportError {
        let found: String = self.rest.trim_start().chars().take(40).collect();
        ImportError::new(self.line, format!("{what} is {found:?}"), allowed)
    }
}

fn hexadecimal(digits: &str) -> Option<u64> {
    let plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    plain
        .then(|| u64::from_str_radix(digits, 16).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn port(text: &str) -> PortLine<'_> {
        match parse(1, text).unwrap() {
            Line::Port(port) => port,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn tabs_may_be_lost() {
        for text in [
            "[1]\t\"S-0002c903\"[20](2c903)\t\t# \"MF0;a:MCS8500/L16/U2\" lid 175 2xHDR",
            "[1]\"S-0002c903\"[20] # \"MF0;a:MCS8500/L16/U2\" lid 175 2xHDR",
            "  [1] (1a) \"S-0002c903\" [20] [ext 5] # \"MF0;a:MCS8500/L16/U2\" lid 175 2xHDR",
        ] {
            let line = port(text);
            assert_eq!(
                (line.port, line.peer_kind, line.peer_guid, line.peer_port),
                (1, Kind::Switch, 0x2c903, 20)
            );
            assert_eq!(line.comment.name(), b"MF0;a:MCS8500/L16/U2");
            assert_eq!(line.comment.lanes(), 2);
        }
    }

    #[test]
    fn an_hca_s_own_lid_stands_before_the_name() {
        let line = port("[1](c4)\t\"S-c0\"[2]\t\t# lid 693 lmc 2 \"a \"b\" c\" lid 193 4xHDR");
        assert_eq!(line.comment.own_lid(Kind::Host), (693, 2));
        assert_eq!(line.comment.name(), b"a \"b\" c");
    }

    #[test]
    fn garbage_is_named() {
        for (text, what) in [
            ("hello", "the line is \"hello\""),
            ("[x]", "port is \"x]\""),
            ("[1] S-00", "the line is \"S-00\""),
            ("[255] \"S-00\"[1]", "port is \"255] \\\"S-00\\\"[1]\""),
            ("[1] \"S-00\"[0]", "port 0 is \"\""),
            ("[1] \"X-00\"[1]", "the GUID is \"X-00\\\"[1]\""),
            (
                "[1] \"S-123456789012345678\"[1]",
                "the GUID is \"S-123456789012345678\\\"[1]\"",
            ),
            ("Switch 36 \"H-00\"", "the kind of the GUID is \"\""),
            ("Ca", "number of ports is \"\""),
            ("sysimgguid=12", "sysimgguid is \"sysimgguid=12\""),
            ("[1](", "the port is \"(\""),
        ] {
            let error = parse(7, text).unwrap_err();
            assert_eq!((error.line, error.what.as_str()), (7, what));
        }
    }
}
