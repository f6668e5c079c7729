//! XML in opareport's layout: one element a line, four columns a level.

use std::fmt::{self, Display, Write};

use weft_fabric::Guid;
use weft_fabric::enums::NodeType;

/// Columns that an element is deeper than the one around it.
const STEP: usize = 4;

/// A value that is written as XML.
pub trait Xml {
    /// Writes its elements.
    fn xml(&self, to: &mut XmlWriter);

    /// Whether what it judges is in order; true for what judges nothing.
    fn is_good(&self) -> bool {
        true
    }
}

impl<X: Xml + ?Sized> Xml for Box<X> {
    fn xml(&self, to: &mut XmlWriter) {
        (**self).xml(to);
    }

    fn is_good(&self) -> bool {
        (**self).is_good()
    }
}

/// XML as text, in the making.
#[derive(Debug, Default)]
pub struct XmlWriter {
    out: String,
    indent: usize,
}

impl XmlWriter {
    /// What was written.
    pub fn into_text(self) -> String {
        self.out
    }

    /// Writes a line at the level that was reached.
    pub fn line(&mut self, text: fmt::Arguments<'_>) {
        let indent = self.indent;
        // Writing to a String cannot fail.
        let _ = writeln!(self.out, "{:indent$}{text}", "");
    }

    /// Writes an empty line.
    pub fn blank(&mut self) {
        self.out.push('\n');
    }

    /// Writes an element around those of `body`.
    pub fn within(&mut self, tag: &str, body: impl FnOnce(&mut Self)) {
        self.line(format_args!("<{tag}>"));
        self.deeper(1, body);
        self.line(format_args!("</{tag}>"));
    }

    /// Writes an element with attributes around those of `body`.
    pub fn within_as(
        &mut self,
        tag: &str,
        attributes: fmt::Arguments<'_>,
        body: impl FnOnce(&mut Self),
    ) {
        self.line(format_args!("<{tag} {attributes}>"));
        self.deeper(1, body);
        self.line(format_args!("</{tag}>"));
    }

    /// Writes an element with a remark after its start around those of `body`.
    pub fn within_remarked(&mut self, tag: &str, remark: &str, body: impl FnOnce(&mut Self)) {
        self.line(format_args!("<{tag}> <!-- {remark} -->"));
        self.deeper(1, body);
        self.line(format_args!("</{tag}>"));
    }

    /// Writes a text between elements, from the first column on.
    pub fn unindented(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}", Escaped(text));
    }

    /// Writes a remark from the first column on.
    pub fn remark_at_margin(&mut self, text: &str) {
        let _ = writeln!(self.out, "<!-- {text} -->");
    }

    /// Writes what `body` does so many levels deeper.
    pub fn deeper(&mut self, levels: usize, body: impl FnOnce(&mut Self)) {
        self.indent += STEP * levels;
        body(self);
        self.indent -= STEP * levels;
    }

    /// Writes an element that holds a number or another text without XML's own characters.
    pub fn value(&mut self, tag: &str, value: impl Display) {
        self.line(format_args!("<{tag}>{value}</{tag}>"));
    }

    /// Writes an element that holds a text, with escapes.
    pub fn text(&mut self, tag: &str, text: &str) {
        self.line(format_args!("<{tag}>{}</{tag}>", Escaped(text)));
    }

    /// Writes an element that holds a text where there is one.
    pub fn text_if(&mut self, tag: &str, text: Option<&str>) {
        if let Some(text) = text {
            self.text(tag, text);
        }
    }

    /// Writes the name of a code, and in a second element the code.
    pub fn coded(&mut self, tag: &str, name: &str, code: impl Display) {
        self.text(tag, name);
        self.line(format_args!("<{tag}_Int>{code}</{tag}_Int>"));
    }

    /// Writes the element of a node: what names it, then what `body` writes.
    pub fn node(
        &mut self,
        (guid, node_type, name): (Guid, NodeType, &str),
        body: impl FnOnce(&mut Self),
    ) {
        self.within_as("Node", format_args!("id=\"{guid}\""), |to| {
            to.value("NodeGUID", guid);
            to.node_type(node_type);
            to.text("NodeDesc", name);
            body(to);
        });
    }

    /// Writes the type of a node.
    pub fn node_type(&mut self, node_type: NodeType) {
        self.coded("NodeType", &node_type.to_string(), node_type.0);
    }

    /// Writes lines that were made before, each at the level that was reached.
    pub fn lines(&mut self, text: &str) {
        for line in text.lines() {
            self.line(format_args!("{line}"));
        }
    }
}

/// The attribute that names a port.
pub(crate) fn port_id(node: Guid, port: u8) -> String {
    format!("id=\"{node}:{port}\"")
}

/// A text with escapes for XML's own characters; what XML cannot hold, and what takes more than one
/// byte, is an exclamation mark, as the vendor's tools have it.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.bytes() {
            match byte {
                b'&' => f.write_str("&amp;")?,
                b'<' => f.write_str("&lt;")?,
                b'>' => f.write_str("&gt;")?,
                b'\'' => f.write_str("&apos;")?,
                b'"' => f.write_str("&quot;")?,
                b'\t' | b'\n' | b'\r' | 0x7f => write!(f, "&#x{byte:x};")?,
                0..0x20 | 0x80.. => f.write_char('!')?,
                _ => f.write_char(char::from(byte))?,
            }
        }
        Ok(())
    }
}

/// The document around reports: `options` is what the person asked for, `unix_time` (seconds since
/// 1970) when the fabric was as the reports have it.
pub fn document<'a>(
    unix_time: u64,
    options: &str,
    reports: impl IntoIterator<Item = &'a dyn Xml>,
) -> String {
    let mut to = XmlWriter::default();
    to.line(format_args!("<?xml version=\"1.0\" encoding=\"utf-8\" ?>"));
    to.line(format_args!(
        "<Report date=\"{}\" unixtime=\"{unix_time}\" options=\"{}\" >",
        weft_fabric::export::utc_date(unix_time),
        Escaped(options)
    ));
    for report in reports {
        report.xml(&mut to);
    }
    to.line(format_args!("</Report>"));
    to.into_text()
}
