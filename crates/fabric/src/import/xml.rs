//! A piece of an XML document at a time, with its lines.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::attributes::Attributes;
use quick_xml::events::{BytesRef, BytesStart, Event};
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
    pub(super) fn attribute(&self, name: &str) -> Option<Cow<'_, str>> {
        let mut attributes = Attributes::new(self.attributes, 0).flatten();
        let found = attributes.find(|attribute| attribute.key.as_ref() == name);
        found.map(|attribute| attribute.value)
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
        self.checked(&what, &self.attribute(attribute).unwrap_or_default())
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
    reader: Reader<&'a [u8]>,
    text: &'a str,
    counted: usize,
    line: u64,
    depth: usize,
    /// An element without content was opened and is to be closed.
    empty: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            reader: Reader::from_str(text),
            text,
            counted: 0,
            line: 1,
            depth: 0,
            empty: false,
        }
    }

    /// The line where the reader is.
    pub(super) fn line(&mut self) -> u64 {
        let position = usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX);
        let position = position.min(self.text.len());
        let passed = &self.text.as_bytes()[self.counted..position];
        self.line += passed.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.counted = position;
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
    /// with a name in `without`.
    pub(super) fn content(
        &mut self,
        root: Element<'a>,
        without: &[&str],
    ) -> Result<Element<'a>, ImportError> {
        let mut open = vec![root];
        loop {
            match self.event()? {
                Piece::Open(element) if without.contains(&element.name) => self.skip()?,
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
                Piece::End => {
                    return Err(self.error("the document ends early", "an end for each element"));
                }
            }
        }
    }

    /// Passes over an element that [`Self::step`] has opened.
    pub(super) fn skip(&mut self) -> Result<(), ImportError> {
        let outside = self.depth - 1;
        while self.depth > outside {
            if let Piece::End = self.event()? {
                return Err(self.error("the document ends early", "an end for each element"));
            }
        }
        Ok(())
    }

    fn event(&mut self) -> Result<Piece<'a>, ImportError> {
        if std::mem::take(&mut self.empty) {
            self.depth -= 1;
            return Ok(Piece::Close);
        }
        let event = self
            .reader
            .read_event()
            .map_err(|error| self.error(&error.to_string(), "well-formed XML"))?;
        match event {
            Event::Start(start) => self.open(&start, 1),
            Event::Empty(start) => {
                self.empty = true;
                self.open(&start, 2)
            }
            Event::End(_) => {
                self.depth -= 1;
                Ok(Piece::Close)
            }
            Event::Text(text) => Ok(Piece::Text(text.into_inner())),
            Event::CData(text) => Ok(Piece::Text(text.into_inner())),
            Event::GeneralRef(name) => self.reference(&name),
            Event::Eof if self.depth == 0 => Ok(Piece::End),
            Event::Eof => Err(self.error("the document ends early", "an end for each element")),
            Event::DocType(_) => Err(self.error("a document type", "none")),
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) => Ok(Piece::Text(Cow::Borrowed(""))),
        }
    }

    /// The start tag that ends `closing` bytes before the reader's place, as a part of the text.
    fn open(&mut self, start: &BytesStart<'_>, closing: usize) -> Result<Piece<'a>, ImportError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let what = format!("elements {} deep", self.depth);
            return Err(self.error(&what, &format!("up to {DEPTH_MAX}")));
        }
        let line = self.line();
        let end = self.counted.saturating_sub(closing);
        let tag = end.saturating_sub(start.len())..end;
        let (name, attributes) = self
            .text
            .get(tag)
            .and_then(|tag| tag.split_at_checked(start.name().as_ref().len()))
            .unwrap_or_default();
        Ok(Piece::Open(Element {
            name,
            attributes,
            line,
            ..Element::default()
        }))
    }

    /// `&lt;`, `&#10;` and the like.
    fn reference(&mut self, name: &BytesRef<'_>) -> Result<Piece<'a>, ImportError> {
        let text = name.as_ref().to_owned();
        let character = name.resolve_char_ref().ok().flatten();
        let resolved = character
            .map(|character| Cow::Owned(character.into()))
            .or_else(|| resolve_xml_entity(&text).map(Cow::Borrowed));
        let allowed = "&lt; &gt; &amp; &quot; &apos; &#NUMBER;";
        resolved
            .map(Piece::Text)
            .ok_or_else(|| self.error(&format!("&{text};"), allowed))
    }

    pub(super) fn error(&mut self, what: &str, allowed: &str) -> ImportError {
        ImportError::new(self.line(), what, allowed)
    }
}

/// A start, an end, or text.
enum Piece<'a> {
    Open(Element<'a>),
    Close,
    Text(Cow<'a, str>),
    End,
}
