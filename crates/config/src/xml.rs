//! XML text to a flat tree of elements, within limits: the only place that sees the parser.
//!
//! The dialect is what opafm.xml needs: elements, text, CDATA, comments, the five predefined
//! entities and character references. A DTD is refused, and with it every other entity, so that
//! no text can grow while it is read and no other file is opened.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::finding::{Problem, Rule};

/// The largest file, in bytes.
pub const MAX_BYTES: usize = 16 << 20;
/// The deepest nesting of elements.
pub const MAX_DEPTH: usize = 32;
/// The largest number of elements.
pub const MAX_ELEMENTS: usize = 500_000;

/// An element: its index in [`Document::elements`], which is also its place in document order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id(u32);

#[derive(Debug)]
struct Element<'a> {
    name: &'a str,
    text: Cow<'a, str>,
    attributes: bool,
    line: u32,
    parent: Option<Id>,
    /// The first index that is not part of this element.
    end: u32,
}

/// A parsed file. Elements lie in document order, so a subtree is a range.
#[derive(Debug, Default)]
pub(crate) struct Document<'a> {
    elements: Vec<Element<'a>>,
}

/// A well-formedness error and the byte where it was seen.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) offset: usize,
    pub(crate) problem: Problem,
}

impl<'a> Document<'a> {
    /// Reads a whole file, which has at most [`MAX_BYTES`] bytes.
    pub(crate) fn parse(source: &'a str) -> Result<Self, Malformed> {
        let mut builder = Builder::new(source)?;
        loop {
            let offset = builder.offset();
            let event = builder.reader.read_event().map_err(|error| {
                let offset = usize::try_from(builder.reader.error_position()).unwrap_or(offset);
                malformed(offset, format!("not well-formed XML: {error}"))
            })?;
            if matches!(event, Event::Eof) {
                return builder.finish();
            }
            builder.event(event, offset)?;
        }
    }

    /// The outermost element.
    pub(crate) fn root(&self) -> Id {
        Id(0)
    }

    pub(crate) fn name(&self, id: Id) -> &'a str {
        self.element(id).name
    }

    /// The text of an element, without that of its children, blanks kept.
    pub(crate) fn text(&self, id: Id) -> &str {
        &self.element(id).text
    }

    pub(crate) fn has_attributes(&self, id: Id) -> bool {
        self.element(id).attributes
    }

    /// The line of an element's start tag, from 1.
    pub(crate) fn line(&self, id: Id) -> u32 {
        self.element(id).line
    }

    /// The children of an element, in document order.
    pub(crate) fn children(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        let end = self.element(id).end;
        let mut next = id.0 + 1;
        std::iter::from_fn(move || {
            if next >= end {
                return None;
            }
            let child = Id(next);
            next = self.element(child).end;
            Some(child)
        })
    }

    /// Whether an element has a child of this name.
    pub(crate) fn has_child(&self, id: Id, name: &str) -> bool {
        self.children(id).any(|child| self.name(child) == name)
    }

    /// The last element that is reached from `top` by the names of `path`.
    pub(crate) fn find_last(&self, top: Id, path: &[&str]) -> Option<Id> {
        let Some((first, rest)) = path.split_first() else {
            return Some(top);
        };
        self.children(top)
            .filter(|&child| self.name(child) == *first)
            .filter_map(|child| self.find_last(child, rest))
            .last()
    }

    /// The path of an element, with an index where siblings share its name, and always for `Fm`.
    pub(crate) fn path(&self, id: Id) -> String {
        let mut steps = Vec::new();
        let mut at = Some(id);
        while let Some(id) = at {
            steps.push(self.step(id));
            at = self.element(id).parent;
        }
        steps.reverse();
        steps.join("/")
    }

    fn step(&self, id: Id) -> String {
        let name = self.name(id);
        let Some(parent) = self.element(id).parent else {
            return name.to_owned();
        };
        let twins = self
            .children(parent)
            .filter(|&twin| self.name(twin) == name);
        let (before, all) = twins.fold((0, 0), |(before, all), twin| {
            (before + usize::from(twin < id), all + 1)
        });
        if all > 1 || name == "Fm" {
            format!("{name}[{before}]")
        } else {
            name.to_owned()
        }
    }

    fn element(&self, id: Id) -> &Element<'a> {
        // Ids are made by this document only, from indices of this vector.
        &self.elements[id.0 as usize]
    }
}

/// The line of a byte of a text, from 1.
pub(crate) fn line_at(source: &[u8], offset: usize) -> u32 {
    let before = &source[..offset.min(source.len())];
    u32::try_from(before.iter().filter(|&&byte| byte == b'\n').count())
        .map_or(u32::MAX, |count| count.saturating_add(1))
}

fn malformed(offset: usize, message: impl Into<String>) -> Malformed {
    Malformed {
        offset,
        problem: Problem::new(Rule::Xml, message),
    }
}

struct Builder<'a> {
    source: &'a str,
    reader: Reader<&'a [u8]>,
    document: Document<'a>,
    open: Vec<Id>,
    /// Bytes of a byte order mark before the text that the reader sees.
    skipped: usize,
    declared: bool,
    /// The byte up to which lines are counted, and the line there.
    counted: (usize, u32),
}

impl<'a> Builder<'a> {
    fn new(source: &'a str) -> Result<Self, Malformed> {
        if let Some(offset) = source.find(is_forbidden) {
            return Err(malformed(offset, "a control character, which XML forbids"));
        }
        let text = source.strip_prefix('\u{feff}').unwrap_or(source);
        let mut reader = Reader::from_str(text);
        reader.config_mut().check_comments = true;
        let skipped = source.len() - text.len();
        let document = Document::default();
        Ok(Self {
            source,
            reader,
            document,
            open: Vec::new(),
            skipped,
            declared: false,
            counted: (0, 1),
        })
    }

    fn offset(&self) -> usize {
        self.skipped + usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX / 2)
    }

    fn event(&mut self, event: Event<'a>, offset: usize) -> Result<(), Malformed> {
        match event {
            Event::Start(tag) => self.start(&tag, offset),
            Event::Empty(tag) => self.start(&tag, offset).map(|()| self.end()),
            Event::End(_) => {
                self.end();
                Ok(())
            }
            Event::Text(text) => {
                if text.contains("]]>") {
                    return Err(malformed(offset, "`]]>` outside of CDATA"));
                }
                self.text(text.into_inner(), offset)
            }
            Event::CData(text) => self.text(text.into_inner(), offset),
            Event::GeneralRef(name) => {
                let name = name.into_inner();
                let text = entity(&name)
                    .ok_or_else(|| malformed(offset, format!("unknown entity `&{name};`")))?;
                self.text(Cow::Owned(text), offset)
            }
            Event::Decl(declaration) => self.declaration(declaration.encoding(), offset),
            Event::DocType(_) => Err(Malformed {
                offset,
                problem: Problem::new(
                    Rule::StrictXml,
                    "a document type declaration; none is read here",
                ),
            }),
            Event::Comment(_) | Event::PI(_) | Event::Eof => Ok(()),
        }
    }

    fn declaration(
        &mut self,
        encoding: Option<Result<Cow<'_, str>, impl std::fmt::Display>>,
        offset: usize,
    ) -> Result<(), Malformed> {
        if self.declared || offset != self.skipped {
            return Err(malformed(
                offset,
                "the XML declaration is not the first thing in the file",
            ));
        }
        self.declared = true;
        match encoding {
            Some(Err(error)) => Err(malformed(
                offset,
                format!("broken XML declaration: {error}"),
            )),
            Some(Ok(name))
                if !["utf-8", "us-ascii"]
                    .iter()
                    .any(|known| name.eq_ignore_ascii_case(known)) =>
            {
                Err(Malformed {
                    offset,
                    problem: Problem::new(
                        Rule::StrictXml,
                        format!("encoding `{name}`; only UTF-8 is read"),
                    ),
                })
            }
            _ => Ok(()),
        }
    }

    fn start(&mut self, tag: &BytesStart<'a>, offset: usize) -> Result<(), Malformed> {
        let elements = self.document.elements.len();
        if self.open.is_empty() && elements > 0 {
            return Err(malformed(offset, "a second outermost element"));
        }
        if self.open.len() >= MAX_DEPTH {
            return Err(malformed(
                offset,
                format!("elements nested deeper than {MAX_DEPTH}"),
            ));
        }
        if elements >= MAX_ELEMENTS {
            return Err(malformed(
                offset,
                format!("more than {MAX_ELEMENTS} elements"),
            ));
        }
        let length = tag.name().as_ref().len();
        let name = self
            .name_at(offset, length)
            .ok_or_else(|| malformed(offset, "the name of an element is not a name"))?;
        let mut attributes = false;
        for attribute in tag.attributes() {
            attribute.map_err(|error| malformed(offset, format!("broken attribute: {error}")))?;
            attributes = true;
        }
        let id = Id(elements as u32); // MAX_ELEMENTS is far below 2^32.
        let parent = self.open.last().copied();
        let line = self.line(offset);
        self.document.elements.push(Element {
            name,
            text: Cow::Borrowed(""),
            attributes,
            line,
            parent,
            end: 0,
        });
        self.open.push(id);
        Ok(())
    }

    fn line(&mut self, offset: usize) -> u32 {
        let (from, line) = self.counted;
        let newlines = self.source.as_bytes()[from..offset.max(from)]
            .iter()
            .filter(|&&byte| byte == b'\n')
            .count();
        self.counted = (offset.max(from), line + newlines as u32); // At most MAX_BYTES lines.
        self.counted.1
    }

    /// The name of a tag that starts at `offset`, borrowed from the source.
    fn name_at(&self, offset: usize, length: usize) -> Option<&'a str> {
        let name = self.source.get(offset + 1..offset + 1 + length)?;
        let mut characters = name.chars();
        let first = characters.next()?;
        let starts = first.is_alphabetic() || first == '_' || first == ':';
        let rest = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '-' | '.' | '\u{b7}');
        (starts && characters.all(rest)).then_some(name)
    }

    fn end(&mut self) {
        let end = self.document.elements.len() as u32;
        if let Some(id) = self.open.pop() {
            self.document.elements[id.0 as usize].end = end;
        }
    }

    fn text(&mut self, text: Cow<'a, str>, offset: usize) -> Result<(), Malformed> {
        let Some(&id) = self.open.last() else {
            return if is_blank(&text) {
                Ok(())
            } else {
                Err(malformed(offset, "text outside of the outermost element"))
            };
        };
        let element = &mut self.document.elements[id.0 as usize];
        if element.text.is_empty() {
            element.text = text;
        } else if !(is_blank(&text) && is_blank(&element.text)) {
            element.text.to_mut().push_str(&text);
        }
        Ok(())
    }

    fn finish(self) -> Result<Document<'a>, Malformed> {
        let end = self.source.len();
        if !self.open.is_empty() {
            return Err(malformed(end, "the file ends inside of an element"));
        }
        if self.document.elements.is_empty() {
            return Err(malformed(end, "the file has no element"));
        }
        Ok(self.document)
    }
}

fn is_blank(text: &str) -> bool {
    text.trim_ascii().is_empty()
}

/// Characters that XML 1.0 allows nowhere.
fn is_forbidden(character: char) -> bool {
    matches!(character, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

fn entity(name: &str) -> Option<String> {
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let code = name.strip_prefix('#')?;
            let code = match code.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => code.parse().ok()?,
            };
            char::from_u32(code).filter(|&character| !is_forbidden(character))?
        }
    };
    Some(character.to_string())
}
