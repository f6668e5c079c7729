//! From text to a [`Point`].

use thiserror::Error;
use weft_fabric::{Guid, Lid, PortNum};

use super::words::{CABLE_KINDS, CABLE_TEXTS, CRC_MODES, MTUS, NOTES, PHYS_STATES, RATES, STATES};
use super::{CableMatch, Comparison, Glob, NodeMatch, Point, PortMatch};

/// Longest point that is read, in bytes.
pub const MAX_POINT_LEN: usize = 4096;

/// The keywords that a point can begin with.
pub const KEYWORDS: &[&str] = &[
    "gid",
    "lid",
    "portguid",
    "nodeguid",
    "systemguid",
    "node",
    "nodepat",
    "nodepatfile",
    "nodepairpatfile",
    "nodetype",
    "rate",
    "portstate",
    "portphysstate",
    "mtucap",
    "led",
    "linkcrc",
    "linkcrcNE",
    "ldr",
    "linkqual",
    "linkqualLE",
    "linkqualGE",
    "nodedetpat",
    "labelpat",
    "lengthpat",
    "cabledetpat",
    "linkdetpat",
    "portdetpat",
    "smdetpat",
    "cabinftype",
    "cabinflenpat",
    "cabinfvendnamepat",
    "cabinfvendpnpat",
    "cabinfvendrevpat",
    "cabinfvendsnpat",
    "sm",
    "route",
];

/// Keywords of the vendor's tools whose data Omni-Path fabrics do not have, with that data.
const WITHOUT_DATA: &[(&str, &str)] = &[
    ("iocguid", "I/O controllers, which Omni-Path does not have"),
    ("ioc", "I/O controllers, which Omni-Path does not have"),
    ("iocpat", "I/O controllers, which Omni-Path does not have"),
    ("ioctype", "I/O controllers, which Omni-Path does not have"),
];

/// Why a text is no point.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PointError {
    /// Nothing was given.
    #[error("the point is empty; it begins with one of {}", KEYWORDS.join(", "))]
    Empty,
    /// Too much was given.
    #[error("the point has {actual} bytes, allowed: up to {MAX_POINT_LEN}")]
    TooLong {
        /// Its length in bytes.
        actual: usize,
    },
    /// The first word is no keyword.
    #[error("point '{point}': no keyword '{keyword}'; it begins with one of {}", KEYWORDS.join(", "))]
    Keyword {
        /// The whole text.
        point: String,
        /// The text found.
        keyword: String,
    },
    /// A keyword whose data is not there.
    #[error("point '{point}': '{keyword}' needs {data}")]
    WithoutData {
        /// The whole text.
        point: String,
        /// The keyword.
        keyword: &'static str,
        /// The missing data.
        data: &'static str,
    },
    /// An unexpected part of the text.
    #[error("point '{point}', character {at}: expected {expected}, found '{found}'")]
    Unexpected {
        /// The whole text.
        point: String,
        /// Where, counted from 1 in characters.
        at: usize,
        /// The expected text.
        expected: &'static str,
        /// The text found.
        found: String,
    },
    /// A file of patterns cannot be read.
    #[error("point '{point}': cannot read '{file}': {why}")]
    File {
        /// The whole text.
        point: String,
        /// The file's name.
        file: String,
        /// The system's error, or the file's defect.
        why: String,
    },
}

/// Reads a file named in a point.
type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

const NUMBER: &str = "a number, decimal or 0x and hexadecimal digits";
const AFTER_NAME: &str =
    r#"the end or ':port:NUMBER' (a name that holds a colon goes in double quotes or with '\:')"#;

impl Point {
    /// Understands a point. `read_file` gives the text of a file that a `nodepatfile` or
    /// `nodepairpatfile` names, or says why it cannot.
    ///
    /// # Errors
    /// [`PointError`] with the expected text.
    pub fn parse(text: &str, read_file: ReadFile<'_>) -> Result<Self, PointError> {
        if text.len() > MAX_POINT_LEN {
            return Err(PointError::TooLong { actual: text.len() });
        }
        if text.trim().is_empty() {
            return Err(PointError::Empty);
        }
        let mut parser = Parser {
            text,
            at: 0,
            read_file,
        };
        let point = parser.point(true)?;
        match parser.rest() {
            "" => Ok(point),
            _ => Err(parser.unexpected("the end")),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    /// Bytes read, always at a character's start.
    at: usize,
    read_file: ReadFile<'a>,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn unexpected(&self, expected: &'static str) -> PointError {
        PointError::Unexpected {
            point: self.text.to_owned(),
            at: self.text[..self.at].chars().count() + 1,
            expected,
            found: self.rest().to_owned(),
        }
    }

    /// Takes `prefix` where it stands next.
    fn eat(&mut self, prefix: &str) -> bool {
        let found = self.rest().starts_with(prefix);
        self.at += if found { prefix.len() } else { 0 };
        found
    }

    fn colon(&mut self, expected: &'static str) -> Result<(), PointError> {
        match self.eat(":") {
            true => Ok(()),
            false => Err(self.unexpected(expected)),
        }
    }

    /// Everything up to the next colon.
    fn word(&mut self) -> &'a str {
        let rest = self.rest();
        let word = rest.split(':').next().unwrap_or(rest);
        self.at += word.len();
        word
    }

    fn point(&mut self, route_allowed: bool) -> Result<Point, PointError> {
        let keyword = self.word();
        match keyword {
            "sm" => Ok(Point::Sm),
            "ldr" => self.link_down_reason(),
            "route" if route_allowed => self.route(),
            "gid" => self.gid(),
            "lid" => self.lid(),
            "portguid" => Ok(Point::PortGuid(Guid(self.value_number(u64::MAX)?))),
            "nodeguid" => {
                let guid = Guid(self.value_number(u64::MAX)?);
                self.with_port(NodeMatch::Guid(guid))
            }
            "systemguid" => {
                let guid = Guid(self.value_number(u64::MAX)?);
                self.with_port(NodeMatch::System(guid))
            }
            "node" => {
                let name = unescape(&self.value_name()?);
                self.with_port(NodeMatch::Name(name))
            }
            "nodepat" => {
                let pattern = Glob::new(&self.value_name()?);
                self.with_port(NodeMatch::Pattern(pattern))
            }
            "nodedetpat" => {
                let pattern = Glob::new(&self.value_name()?);
                self.with_port(NodeMatch::Details(pattern))
            }
            "nodetype" => {
                let switch = self.one_of(&[("FI", false), ("SW", true)], "FI or SW")?;
                self.with_port(NodeMatch::Type { switch })
            }
            "cabinftype" => {
                let kind = self.one_of(
                    CABLE_KINDS,
                    "optical, passive_copper, active_copper or unknown",
                )?;
                Ok(Point::Cable(CableMatch::Kind(kind)))
            }
            "cabinflenpat" => {
                // The vendor's tools take a length with its unit or without.
                let metres = self.value_name()?;
                let metres = metres.split('m').next().unwrap_or_default();
                Ok(Point::Cable(CableMatch::Length(Glob::new(metres))))
            }
            "nodepatfile" => self.pattern_file(),
            "nodepairpatfile" => self.pair_file(),
            _ => self.pattern(keyword),
        }
    }

    /// A point about texts of a topology file or of a cable, else about what a port reports.
    fn pattern(&mut self, keyword: &str) -> Result<Point, PointError> {
        if let Some((_, note)) = NOTES.iter().find(|(name, _)| *name == keyword) {
            return Ok(Point::Noted(*note, Glob::new(&self.value_name()?)));
        }
        let Some((_, field)) = CABLE_TEXTS.iter().find(|(name, _)| *name == keyword) else {
            return self.port_match(keyword);
        };
        let pattern = Glob::new(&self.value_name()?);
        Ok(Point::Cable(CableMatch::Text(*field, pattern)))
    }

    fn port_match(&mut self, keyword: &str) -> Result<Point, PointError> {
        let ports = match keyword {
            "rate" => PortMatch::Rate {
                half_gigabits: self.one_of(RATES, "25g, 50g, 75g, 100g, 12.5g or 37.5g")?,
            },
            "portstate" => PortMatch::State(
                self.one_of(STATES, "down, init, armed, active, notactive or initarmed")?,
            ),
            "portphysstate" => PortMatch::PhysState(self.one_of(
                PHYS_STATES,
                "polling, disabled, training, linkup, recovery, offline or test",
            )?),
            "mtucap" => PortMatch::MtuCap(self.one_of(MTUS, "2048, 4096, 8192 or 10240")?),
            "led" => PortMatch::Led(self.one_of(&[("on", true), ("off", false)], "on or off")?),
            "linkcrc" | "linkcrcNE" => PortMatch::LinkCrc {
                mode: self.one_of(CRC_MODES, "14b, 16b, 48b or per_lane")?,
                negated: keyword == "linkcrcNE",
            },
            "linkqual" => self.quality(Comparison::Equal)?,
            "linkqualLE" => self.quality(Comparison::AtMost)?,
            "linkqualGE" => self.quality(Comparison::AtLeast)?,
            _ => return Err(self.no_keyword(keyword)),
        };
        Ok(Point::Ports(ports))
    }

    fn quality(&mut self, comparison: Comparison) -> Result<PortMatch, PointError> {
        let quality = self.value_number(QUALITY_MAX)?;
        Ok(PortMatch::Quality(comparison, quality as u8))
    }

    fn no_keyword(&self, keyword: &str) -> PointError {
        let point = self.text.to_owned();
        match WITHOUT_DATA.iter().find(|(name, _)| *name == keyword) {
            Some(&(keyword, data)) => PointError::WithoutData {
                point,
                keyword,
                data,
            },
            None => PointError::Keyword {
                point,
                keyword: keyword.to_owned(),
            },
        }
    }

    fn gid(&mut self) -> Result<Point, PointError> {
        let prefix = self.value_number(u64::MAX)?;
        let guid = Guid(self.value_number(u64::MAX)?);
        Ok(Point::Gid { prefix, guid })
    }

    fn lid(&mut self) -> Result<Point, PointError> {
        let lid = Lid(self.value_number(u64::from(u32::MAX))? as u32);
        if self.eat(":node") {
            return Ok(Point::Nodes(NodeMatch::Lid(lid)));
        }
        match self.port_suffix()? {
            Some(port) => Ok(Point::NodePort(NodeMatch::Lid(lid), port)),
            None => Ok(Point::Lid(lid)),
        }
    }

    fn with_port(&mut self, nodes: NodeMatch) -> Result<Point, PointError> {
        Ok(match self.port_suffix()? {
            Some(port) => Point::NodePort(nodes, port),
            None => Point::Nodes(nodes),
        })
    }

    fn port_suffix(&mut self) -> Result<Option<PortNum>, PointError> {
        if !self.eat(":port") {
            return Ok(None);
        }
        let port = self.value_number(u64::from(u8::MAX))?;
        Ok(Some(PortNum(port as u8)))
    }

    fn link_down_reason(&mut self) -> Result<Point, PointError> {
        let digit_follows = self
            .rest()
            .strip_prefix(':')
            .and_then(|rest| rest.chars().next());
        let reason = match digit_follows {
            Some('0'..='9') => Some(self.value_number(u64::from(u8::MAX))? as u8),
            _ => None,
        };
        Ok(Point::Ports(PortMatch::LinkDownReason(reason)))
    }

    fn route(&mut self) -> Result<Point, PointError> {
        self.colon("':POINT:POINT', the two ends")?;
        let from = self.point(false)?;
        self.colon("':POINT', the other end")?;
        let to = self.point(false)?;
        Ok(Point::Route(Box::new(from), Box::new(to)))
    }

    fn value_number(&mut self, max: u64) -> Result<u64, PointError> {
        self.colon("':' and a number")?;
        let start = self.at;
        let word = self.word().trim();
        let parsed = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => word.parse(),
        };
        let signed = word.contains('+');
        parsed
            .ok()
            .filter(|value| *value <= max && !signed)
            .ok_or_else(|| {
                self.at = start;
                self.unexpected(number_up_to(max))
            })
    }

    /// A name or pattern with its escapes: up to the next colon that no `\` precedes, or between
    /// double quotes.
    fn value_name(&mut self) -> Result<String, PointError> {
        self.colon("':' and a name")?;
        let quoted = self.eat("\"");
        let end = if quoted { '"' } else { ':' };
        let rest = self.rest();
        let mut escaped = false;
        let length = rest.char_indices().find_map(|(index, char)| {
            let stop = !escaped && char == end;
            escaped = !escaped && char == '\\';
            stop.then_some(index)
        });
        let length = match length {
            Some(length) => length,
            None if quoted => return Err(self.unexpected("a name that ends with '\"'")),
            None => rest.len(),
        };
        if length == 0 {
            return Err(self.unexpected("a name"));
        }
        self.at += length + usize::from(quoted);
        let next = self.rest();
        let in_route = self.text.starts_with("route:");
        if !(in_route || next.is_empty() || next.starts_with(":port:")) {
            return Err(self.unexpected(AFTER_NAME));
        }
        Ok(rest[..length].to_owned())
    }

    fn one_of<T: Copy>(
        &mut self,
        allowed: &[(&str, T)],
        expected: &'static str,
    ) -> Result<T, PointError> {
        self.colon(expected)?;
        let start = self.at;
        let word = self.word().trim();
        let found = allowed.iter().find(|(name, _)| *name == word);
        found.map(|(_, value)| *value).ok_or_else(|| {
            self.at = start;
            self.unexpected(expected)
        })
    }

    /// The lines of the file whose name follows, without comments and blank lines.
    fn file_lines(&mut self) -> Result<(String, Vec<String>), PointError> {
        self.colon("':' and a file name")?;
        let file = self.rest().to_owned();
        self.at = self.text.len();
        let text = (self.read_file)(&file).map_err(|why| self.file_error(&file, why))?;
        let lines = text.lines().map(str::trim);
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        Ok((file, lines.map(str::to_owned).collect()))
    }

    fn file_error(&self, file: &str, why: String) -> PointError {
        PointError::File {
            point: self.text.to_owned(),
            file: file.to_owned(),
            why,
        }
    }

    fn pattern_file(&mut self) -> Result<Point, PointError> {
        let (_, lines) = self.file_lines()?;
        let patterns = lines.iter().map(|line| Glob::new(line)).collect();
        Ok(Point::Nodes(NodeMatch::Patterns(patterns)))
    }

    fn pair_file(&mut self) -> Result<Point, PointError> {
        let (file, lines) = self.file_lines()?;
        let pairs = lines.iter().map(|line| match line.split_once(':') {
            Some((a, b)) => Ok((Glob::new(a), Glob::new(b))),
            None => Err(self.file_error(&file, format!("'{line}' is no PATTERN:PATTERN"))),
        });
        Ok(Point::Pairs(pairs.collect::<Result<_, _>>()?))
    }
}

/// The best quality of a link.
const QUALITY_MAX: u64 = 5;

fn number_up_to(max: u64) -> &'static str {
    match max {
        QUALITY_MAX => "a number from 0 to 5",
        255 => "a number from 0 to 255",
        0xFFFF_FFFF => "a number of up to 32 bits, decimal or 0x and hexadecimal digits",
        _ => NUMBER,
    }
}

fn unescape(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut chars = name.chars();
    while let Some(char) = chars.next() {
        out.push(if char == '\\' {
            chars.next().unwrap_or('\\')
        } else {
            char
        });
    }
    out
}
