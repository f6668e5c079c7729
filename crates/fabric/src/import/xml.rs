//! A piece of an XML document at a time, with its lines: elements, attributes, text with references to characters, remarks.
//! A document type is refused.

use std::borrow::Cow;

use memchr::{memchr, memchr2, memmem};
use quick_xml::escape::resolve_xml_entity;
use weft_wire::sm::NodeDescription;

use super::ImportError;
use crate::export::unescape_name;

/// Elements within elements that a document may have.
const DEPTH_MAX: usize = 16;

/// An element with all that is in it.
#[derive(Debug, Default)]
pub(super) struct Element<'a> {
    pub(super) name: &'a str,
    /// Text after the name in the start tag.
    attributes: &'a str,
    /// Text before the first child.
    pub(super) text: Cow<'a, str>,
    children: Vec<Self>,
    pub(super) line: u64,
}

impl<'a> Element<'a> {
    fn push_text(&mut self, text: Cow<'a, str>) {
        if !self.children.is_empty() {
            return;
        }
        if self.text.is_empty() {
            self.text = text;
        } else {
            self.text.to_mut().push_str(&text);
        }
    }

    /// The first child of this name.
    pub(super) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// All children of this name.
    pub(super) fn all<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The line of a child, or the element's own where there is no such child.
    pub(super) fn line_of(&self, name: &str) -> u64 {
        self.child(name).map_or(self.line, |child| child.line)
    }

    /// The value of an attribute, none where there is no such one.
    pub(super) fn attribute(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.attributes;
        loop {
            let (found, value) = rest.split_once('=')?;
            let value = value.trim_ascii_start();
            let quote = value
                .chars()
                .next()
                .filter(|first| matches!(first, '"' | '\''))?;
            let (value, after) = value[1..].split_once(quote)?;
            if found.trim_ascii() == name {
                return Some(value);
            }
            rest = after;
        }
    }

    /// The number that a child holds, or nothing where there is no such child.
    pub(super) fn optional<T: TryFrom<u64>>(&self, name: &str) -> Result<Option<T>, ImportError> {
        self.child(name).map(Element::number).transpose()
    }

    /// The number that a child must hold.
    pub(super) fn required<T: TryFrom<u64>>(&self, name: &str) -> Result<T, ImportError> {
        self.optional(name)?.ok_or_else(|| {
            let what = format!("<{}> has no <{name}>", self.name);
            ImportError::new(self.line, what, "one")
        })
    }

    /// The number that the element holds, decimal or after 0x hexadecimal.
    pub(super) fn number<T: TryFrom<u64>>(&self) -> Result<T, ImportError> {
        self.checked(&format!("<{}>", self.name), &self.text)
    }

    /// The number that an attribute must hold.
    pub(super) fn numbered<T: TryFrom<u64>>(&self, attribute: &str) -> Result<T, ImportError> {
        let what = format!("attribute {attribute} of <{}>", self.name);
        self.checked(&what, self.attribute(attribute).unwrap_or_default())
    }

    /// The description that `<NodeDesc>` holds, empty where there is none.
    pub(super) fn description(&self) -> NodeDescription {
        let text = self.child("NodeDesc").map_or("", |child| &child.text);
        let mut description = NodeDescription::default();
        let name = unescape_name(text)
            .into_iter()
            .take_while(|byte| *byte != 0);
        let field = description.node_string.iter_mut();
        field.zip(name).for_each(|(to, from)| *to = from);
        description
    }

    fn checked<T: TryFrom<u64>>(&self, what: &str, text: &str) -> Result<T, ImportError> {
        let number = parse_number(text.trim()).and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| {
            let shown: String = text.trim().chars().take(40).collect();
            let top = u64::MAX >> (64 - 8 * size_of::<T>().clamp(1, 8));
            ImportError::new(
                self.line,
                format!("{what} is {shown:?}"),
                format!("0 to {top:#x}"),
            )
        })
    }
}

fn parse_number(text: &str) -> Option<u64> {
    let (digits, radix) = text
        .strip_prefix("0x")
        .map_or((text, 10), |digits| (digits, 16));
    let plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    plain
        .then(|| u64::from_str_radix(digits, radix).ok())
        .flatten()
}

/// Next item in a document.
#[derive(Debug)]
pub(super) enum Step<'a> {
    /// An element starts.
    Open(Element<'a>),
    /// The innermost element ends.
    Close,
    /// The document ends.
    End,
}

/// Goes through a document without holding it as a tree.
pub(super) struct Cursor<'a> {
    text: &'a str,
    /// Bytes that were read.
    at: usize,
    /// Bytes whose lines were counted.
    counted: usize,
    line: u64,
    /// Names of the elements that are open.
    open: Vec<&'a str>,
    /// An element without content was opened and is to be closed.
    empty: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            counted: 0,
            line: 1,
            open: Vec::new(),
            empty: false,
        }
    }

    /// The line where the reader is.
    pub(super) fn line(&mut self) -> u64 {
        let passed = &self.text.as_bytes()[self.counted..self.at];
        self.line += passed.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.counted = self.at;
        self.line
    }

    /// The next start or end of an element; text in between is passed over.
    pub(super) fn step(&mut self) -> Result<Step<'a>, ImportError> {
        loop {
            match self.event()? {
                Piece::Open(element) => return Ok(Step::Open(element)),
                Piece::Close => return Ok(Step::Close),
                Piece::End => return Ok(Step::End),
                Piece::Text(_) => {}
            }
        }
    }

    /// All that is in an element that [`Self::step`] has opened, up to its end, but for elements
    /// with a name in `without`, which have none of their own name in them.
    pub(super) fn content(
        &mut self,
        root: Element<'a>,
        without: &[&str],
    ) -> Result<Element<'a>, ImportError> {
        let mut open = vec![root];
        loop {
            match self.event()? {
                Piece::Open(element) if without.contains(&element.name) => self.leap()?,
                Piece::Open(element) => open.push(element),
                Piece::Text(text) => {
                    if let Some(element) = open.last_mut() {
                        element.push_text(text);
                    }
                }
                Piece::Close => {
                    let Some(closed) = open.pop() else {
                        return Err(self.error("an end without a start", "matching elements"));
                    };
                    match open.last_mut() {
                        Some(parent) => parent.children.push(closed),
                        None => return Ok(closed),
                    }
                }
                Piece::End => return Err(self.early()),
            }
        }
    }

    /// Passes over an element that [`Self::step`] has opened.
    pub(super) fn skip(&mut self) -> Result<(), ImportError> {
        let outside = self.open.len().saturating_sub(1);
        while self.open.len() > outside {
            self.event()?;
        }
        Ok(())
    }

    /// Passes over the element that was opened last without looking at what is in it.
    fn leap(&mut self) -> Result<(), ImportError> {
        let end = match (self.empty, self.open.last()) {
            (false, Some(name)) => format!("</{name}>"),
            _ => return self.skip(),
        };
        let found = memmem::find(&self.text.as_bytes()[self.at..], end.as_bytes());
        // An end with a space in it is found the other way.
        let Some(found) = found else {
            return self.skip();
        };
        self.at += found + end.len();
        self.open.pop();
        Ok(())
    }

    /// What is next; the end of a document only where no element is open.
    fn event(&mut self) -> Result<Piece<'a>, ImportError> {
        if std::mem::take(&mut self.empty) {
            self.open.pop();
            return Ok(Piece::Close);
        }
        let text = self.text;
        let rest = &text[self.at..];
        match rest.as_bytes() {
            [] if self.open.is_empty() => Ok(Piece::End),
            [] => Err(self.early()),
            [b'<', b'/', ..] => self.close(),
            [b'<', b'!', ..] => self.declaration(rest),
            [b'<', b'?', ..] => {
                self.pass(rest, "?>")?;
                Ok(Piece::Text(Cow::Borrowed("")))
            }
            [b'<', ..] => self.start(rest),
            [b'&', ..] => self.reference(rest),
            bytes => {
                let end = memchr2(b'<', b'&', bytes).unwrap_or(bytes.len());
                self.at += end;
                Ok(Piece::Text(Cow::Borrowed(&rest[..end])))
            }
        }
    }

    /// Reads up to the end of `end`, and gives what is before that.
    fn pass(&mut self, rest: &'a str, end: &str) -> Result<&'a str, ImportError> {
        match memmem::find(rest.as_bytes(), end.as_bytes()) {
            Some(at) => {
                self.at += at + end.len();
                Ok(&rest[..at])
            }
            None => Err(self.early()),
        }
    }

    /// A remark, text without escapes, or a document type, which is refused.
    fn declaration(&mut self, rest: &'a str) -> Result<Piece<'a>, ImportError> {
        const TEXT: &str = "<![CDATA[";
        if rest.starts_with("<!--") {
            self.pass(rest, "-->")?;
            return Ok(Piece::Text(Cow::Borrowed("")));
        }
        if rest.starts_with(TEXT) {
            let text = self.pass(rest, "]]>")?;
            return Ok(Piece::Text(Cow::Borrowed(&text[TEXT.len()..])));
        }
        Err(self.error("a document type", "none"))
    }

    fn start(&mut self, rest: &'a str) -> Result<Piece<'a>, ImportError> {
        let Some(end) = end_of_tag(rest.as_bytes()) else {
            return Err(self.early());
        };
        let (tag, is_empty) = match rest[1..end].strip_suffix('/') {
            Some(tag) => (tag, true),
            None => (&rest[1..end], false),
        };
        let ends_name = |character: char| character.is_ascii_whitespace() || character == '/';
        let (name, attributes) = tag.split_at(tag.find(ends_name).unwrap_or(tag.len()));
        self.at += end + 1;
        if name.is_empty() || name.contains(['<', '"', '\'']) {
            return Err(self.error(&format!("<{name}"), "well-formed XML"));
        }
        self.open.push(name);
        if self.open.len() > DEPTH_MAX {
            let what = format!("elements {} deep", self.open.len());
            return Err(self.error(&what, &format!("up to {DEPTH_MAX}")));
        }
        self.empty = is_empty;
        Ok(Piece::Open(Element {
            name,
            attributes,
            line: self.line(),
            ..Element::default()
        }))
    }

    fn close(&mut self) -> Result<Piece<'a>, ImportError> {
        let text = self.text;
        let rest = &text[self.at..];
        let name = self.pass(rest, ">")?[2..].trim_ascii_end();
        match self.open.pop() {
            Some(open) if open == name => Ok(Piece::Close),
            Some(open) => {
                let what = format!("</{name}> where <{open}> is open");
                Err(self.error(&what, &format!("</{open}>")))
            }
            None => Err(self.error("an end without a start", "matching elements")),
        }
    }

    /// `&lt;`, `&#10;` and the like.
    fn reference(&mut self, rest: &'a str) -> Result<Piece<'a>, ImportError> {
        let end = memchr(b';', rest.as_bytes()).filter(|end| *end <= REFERENCE_MAX);
        let name = end.map_or("", |end| &rest[1..end]);
        self.at += end.map_or(0, |end| end + 1);
        let code = name.strip_prefix('#').and_then(|code| {
            let number = match code.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => code.parse(),
            };
            number.ok().and_then(char::from_u32)
        });
        let resolved = code
            .map(|character| Cow::Owned(character.into()))
            .or_else(|| resolve_xml_entity(name).map(Cow::Borrowed));
        let allowed = "&lt; &gt; &amp; &quot; &apos; &#NUMBER;";
        resolved
            .map(Piece::Text)
            .ok_or_else(|| self.error(&format!("&{name};"), allowed))
    }

    fn early(&mut self) -> ImportError {
        self.error("the document ends early", "an end for each element")
    }

    pub(super) fn error(&mut self, what: &str, allowed: &str) -> ImportError {
        ImportError::new(self.line(), what, allowed)
    }
}

/// Longest name of a character, such as `#x10ffff`.
const REFERENCE_MAX: usize = 16;

/// Where the start tag at the beginning of a text ends: at its `>`, which is in no attribute's value.
fn end_of_tag(text: &[u8]) -> Option<usize> {
    let mut quote = None;
    text.iter().position(|byte| {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(*byte),
            (Some(open), byte) if open == *byte => quote = None,
            _ => {}
        }
        quote.is_none() && *byte == b'>'
    })
}

/// A start, an end, or text.
enum Piece<'a> {
    Open(Element<'a>),
    Close,
    Text(Cow<'a, str>),
    End,
}
