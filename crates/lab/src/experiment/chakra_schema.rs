//! The messages of Chakra's execution traces that the reader uses (`et_def.proto` of MLCommons, version 1), each with
//! its length before it.

use prost::Message;

use super::values::Checked;

/// Node types.
pub(super) const METADATA: i32 = 1;
pub(super) const MEM_LOAD: i32 = 2;
pub(super) const MEM_STORE: i32 = 3;
pub(super) const COMP: i32 = 4;
pub(super) const COMM_SEND: i32 = 5;
pub(super) const COMM_RECV: i32 = 6;
pub(super) const COMM_COLL: i32 = 7;

/// The first message of a trace, of which only its being there counts.
#[derive(Clone, PartialEq, Message)]
struct GlobalMetadata {
    #[prost(string, tag = "1")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(int32, tag = "3")]
    pub(super) kind: i32,
    #[prost(uint64, repeated, tag = "4")]
    pub(super) ctrl_deps: Vec<u64>,
    #[prost(uint64, repeated, tag = "5")]
    pub(super) data_deps: Vec<u64>,
    #[prost(uint64, tag = "7")]
    pub(super) duration_micros: u64,
    #[prost(message, repeated, tag = "10")]
    attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Message)]
struct Attribute {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(
        oneof = "Value",
        tags = "3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29"
    )]
    value: Option<Value>,
}

/// Values that are one number or text; of lists there is none.
#[derive(Clone, PartialEq, prost::Oneof)]
enum Value {
    #[prost(double, tag = "3")]
    Double(f64),
    #[prost(float, tag = "5")]
    Float(f32),
    #[prost(int32, tag = "7")]
    Int32(i32),
    #[prost(int64, tag = "9")]
    Int64(i64),
    #[prost(uint32, tag = "11")]
    Uint32(u32),
    #[prost(uint64, tag = "13")]
    Uint64(u64),
    #[prost(sint32, tag = "15")]
    Sint32(i32),
    #[prost(sint64, tag = "17")]
    Sint64(i64),
    #[prost(fixed32, tag = "19")]
    Fixed32(u32),
    #[prost(fixed64, tag = "21")]
    Fixed64(u64),
    #[prost(sfixed32, tag = "23")]
    Sfixed32(i32),
    #[prost(sfixed64, tag = "25")]
    Sfixed64(i64),
    #[prost(bool, tag = "27")]
    Bool(bool),
    #[prost(string, tag = "29")]
    Text(String),
}

impl Node {
    fn value(&self, name: &str) -> Option<&Value> {
        let found = self.attributes.iter().find(|one| one.name == name);
        found?.value.as_ref()
    }

    /// A number that an attribute has, of whatever type; a truth is 0 or 1.
    ///
    /// # Errors
    /// It is text, a fraction, or below 0.
    pub(super) fn number(&self, name: &str) -> Checked<Option<u64>> {
        let Some(value) = self.value(name) else {
            return Ok(None);
        };
        let number = match *value {
            Value::Int32(value) | Value::Sint32(value) | Value::Sfixed32(value) => value.try_into(),
            Value::Int64(value) | Value::Sint64(value) | Value::Sfixed64(value) => value.try_into(),
            Value::Uint32(value) | Value::Fixed32(value) => Ok(value.into()),
            Value::Uint64(value) | Value::Fixed64(value) => Ok(value),
            Value::Bool(value) => Ok(value.into()),
            Value::Double(_) | Value::Float(_) => {
                return Err(format!(
                    "{name} is a floating-point number, allowed: an integer"
                ));
            }
            Value::Text(_) => return Err(format!("{name} is text, allowed: a number")),
        };
        let number = number.map_err(|_| format!("{name} is below 0"))?;
        Ok(Some(number))
    }

    /// Text that an attribute has; that of none is empty.
    pub(super) fn text(&self, name: &str) -> &str {
        match self.value(name) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }
}

/// Nodes of a trace in their order.
pub(super) struct Nodes<'a> {
    rest: &'a [u8],
    count: usize,
}

impl<'a> Nodes<'a> {
    /// # Errors
    /// The file does not begin as a trace does.
    pub(super) fn new(mut content: &'a [u8]) -> Checked<Self> {
        let first = take(&mut content).ok_or_else(|| "the file ends in its metadata".to_owned())?;
        let read = GlobalMetadata::decode(first);
        read.map_err(|error| format!("no execution trace of Chakra: {error}"))?;
        Ok(Self {
            rest: content,
            count: 0,
        })
    }
}

impl Iterator for Nodes<'_> {
    type Item = Checked<Node>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        self.count += 1;
        let count = self.count;
        let Some(bytes) = take(&mut self.rest) else {
            self.rest = &[];
            return Some(Err(format!("the file ends in node {count}")));
        };
        let node = Node::decode(bytes);
        Some(node.map_err(|error| format!("node {count}: {error}")))
    }
}

/// A message, which has its length before it.
fn take<'a>(content: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = prost::decode_length_delimiter(&mut *content).ok()?;
    let (message, rest) = content.split_at_checked(length)?;
    *content = rest;
    Some(message)
}
