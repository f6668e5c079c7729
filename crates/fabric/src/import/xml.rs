//! A piece of an XML document at a time, with its lines.

use quick_xml::Reader;
use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::ImportError;

/// Elements within elements that a document may have.
const DEPTH_MAX: usize = 16;

/// An element with all that is in it.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) text: String,
    pub(super) children: Vec<Element>,
    pub(super) line: u64,
}

impl Element {
    /// The first child of this name.
    pub(super) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// All children of this name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The line of a child, or the element's own where there is no such child.
    pub(super) fn line_of(&self, name: &str) -> u64 {
        self.child(name).map_or(self.line, |child| child.line)
    }

    fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str())
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

/// What comes next on the way through a document.
#[derive(Debug)]
pub(super) enum Step {
    /// An element starts.
    Open(Element),
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
    pub(super) fn step(&mut self) -> Result<Step, ImportError> {
        loop {
            match self.event()? {
                Piece::Open(element) => return Ok(Step::Open(element)),
                Piece::Close => return Ok(Step::Close),
                Piece::End => return Ok(Step::End),
                Piece::Text(_) => {}
            }
        }
    }

    /// All that is in an element that [`Self::step`] has opened, up to its end.
    pub(super) fn content(&mut self, root: Element) -> Result<Element, ImportError> {
        let mut open = vec![root];
        loop {
            match self.event()? {
                Piece::Open(element) => open.push(element),
                Piece::Text(text) => {
                    if let Some(element) = open.last_mut() {
                        element.text.push_str(&text);
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

    fn event(&mut self) -> Result<Piece, ImportError> {
        if std::mem::take(&mut self.empty) {
            self.depth -= 1;
            return Ok(Piece::Close);
        }
        let event = self
            .reader
            .read_event()
            .map_err(|error| self.error(&error.to_string(), "well-formed XML"))?;
        match event {
            Event::Start(start) => self.open(&start),
            Event::Empty(start) => {
                self.empty = true;
                self.open(&start)
            }
            Event::End(_) => {
                self.depth -= 1;
                Ok(Piece::Close)
            }
            Event::Text(text) => Ok(Piece::Text(text.as_ref().to_owned())),
            Event::CData(text) => Ok(Piece::Text(text.as_ref().to_owned())),
            Event::GeneralRef(name) => self.reference(&name),
            Event::Eof if self.depth == 0 => Ok(Piece::End),
            Event::Eof => Err(self.error("the document ends early", "an end for each element")),
            Event::DocType(_) => Err(self.error("a document type", "none")),
            Event::Decl(_) | Event::Comment(_) | Event::PI(_) => Ok(Piece::Text(String::new())),
        }
    }

    fn open(&mut self, start: &BytesStart<'_>) -> Result<Piece, ImportError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let what = format!("elements {} deep", self.depth);
            return Err(self.error(&what, &format!("up to {DEPTH_MAX}")));
        }
        let mut element = Element {
            name: start.name().as_ref().to_owned(),
            line: self.line(),
            ..Element::default()
        };
        for attribute in start.attributes() {
            let attribute =
                attribute.map_err(|error| self.error(&error.to_string(), "name=\"value\""))?;
            let key = attribute.key.as_ref().to_owned();
            element.attributes.push((key, attribute.value.into_owned()));
        }
        Ok(Piece::Open(element))
    }

    /// `&lt;`, `&#10;` and the like.
    fn reference(&mut self, name: &BytesRef<'_>) -> Result<Piece, ImportError> {
        let text = name.as_ref().to_owned();
        let character = name.resolve_char_ref().ok().flatten();
        let resolved = character
            .map(String::from)
            .or_else(|| resolve_xml_entity(&text).map(str::to_owned));
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
enum Piece {
    Open(Element),
    Close,
    Text(String),
    End,
}
