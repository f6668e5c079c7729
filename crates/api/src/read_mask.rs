//! Field masks of lists: which fields of its items a client wants (`read_mask`).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use prost::Message;
use prost::encoding::{
    DecodeContext, WireType, decode_key, decode_varint, encode_key, encode_varint, skip_field,
};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FieldMask, FileDescriptorSet};
use thiserror::Error;

use crate::DESCRIPTORS;

/// Most paths of a mask.
const PATHS_MAX: usize = 100;

static MESSAGES: LazyLock<BTreeMap<String, DescriptorProto>> = LazyLock::new(|| {
    let set = FileDescriptorSet::decode(DESCRIPTORS).unwrap_or_default();
    let files = set.file.into_iter();
    let messages = files.flat_map(|file| {
        let package = file.package().to_owned();
        let messages = file.message_type.into_iter();
        messages.map(move |message| (format!(".{package}.{}", message.name()), message))
    });
    messages.collect()
});

/// A mask that names what is not there.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum WrongMask {
    /// A path that names no field.
    #[error("no field is called {path:?}; allowed: {allowed}")]
    Unknown {
        /// The path.
        path: String,
        /// The fields of the message in which it was looked for, by name.
        allowed: String,
    },
    /// Too many paths.
    #[error("{count} paths, allowed are up to {PATHS_MAX}")]
    Many {
        /// Their number.
        count: usize,
    },
}

/// Which fields of a message are wanted, by their numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadMask {
    /// None for all.
    fields: Option<BTreeMap<u32, ReadMask>>,
}

impl ReadMask {
    /// A mask of a message of `weft.v1`: paths such as `name` and `port.node_guid`. All fields where it is absent, empty,
    /// or has `*`.
    ///
    /// # Errors
    /// [`WrongMask`].
    pub fn new(message: &str, mask: Option<&FieldMask>) -> Result<Self, WrongMask> {
        let paths = mask.map_or(&[][..], |mask| &mask.paths);
        if paths.len() > PATHS_MAX {
            return Err(WrongMask::Many { count: paths.len() });
        }
        if paths.is_empty() || paths.iter().any(|path| path == "*") {
            return Ok(Self::default());
        }
        let mut wanted = Self {
            fields: Some(BTreeMap::new()),
        };
        for path in paths {
            wanted.add(&format!(".weft.v1.{message}"), path, path)?;
        }
        Ok(wanted)
    }

    /// Adds what `rest`, the end of `path`, names in a message.
    fn add(&mut self, message: &str, rest: &str, path: &str) -> Result<(), WrongMask> {
        let descriptor = MESSAGES.get(message);
        let fields = descriptor.map_or(&[][..], |message| &message.field);
        let (name, deeper) = match rest.split_once('.') {
            Some((name, deeper)) => (name, Some(deeper)),
            None => (rest, None),
        };
        let field = fields.iter().find(|field| field.name() == name);
        let field = field.filter(|field| deeper.is_none() || is_message(field));
        let field = field.ok_or_else(|| WrongMask::Unknown {
            path: path.to_owned(),
            allowed: allowed(fields, deeper.is_some()),
        })?;
        // Where all fields are wanted already, one of them adds nothing.
        let number = field.number() as u32;
        match (&mut self.fields, deeper) {
            (None, None) => {}
            (None, Some(deeper)) => return Self::nothing().add(field.type_name(), deeper, path),
            (Some(all), None) => {
                all.insert(number, Self::default());
            }
            (Some(all), Some(deeper)) => {
                let inner = all.entry(number).or_insert_with(Self::nothing);
                return inner.add(field.type_name(), deeper, path);
            }
        }
        Ok(())
    }

    fn nothing() -> Self {
        Self {
            fields: Some(BTreeMap::new()),
        }
    }

    /// The message with the wanted fields alone; the others have their defaults.
    pub fn of<M: Message + Default>(&self, message: M) -> M {
        if self.fields.is_none() {
            return message;
        }
        let mut kept = Vec::new();
        // What was encoded is decoded again.
        match self.keep(&message.encode_to_vec(), &mut kept) {
            Some(()) => M::decode(&kept[..]).unwrap_or_default(),
            None => M::default(),
        }
    }

    /// Copies the wanted fields of an encoded message.
    fn keep(&self, mut from: &[u8], to: &mut Vec<u8>) -> Option<()> {
        let Some(fields) = &self.fields else {
            to.extend_from_slice(from);
            return Some(());
        };
        while !from.is_empty() {
            let start = from;
            let (number, kind) = decode_key(&mut from).ok()?;
            let wanted = fields.get(&number);
            match wanted
                .filter(|wanted| wanted.fields.is_some() && kind == WireType::LengthDelimited)
            {
                Some(wanted) => {
                    let length = usize::try_from(decode_varint(&mut from).ok()?).ok()?;
                    let (body, rest) = from.split_at_checked(length)?;
                    let mut inner = Vec::new();
                    wanted.keep(body, &mut inner)?;
                    encode_key(number, kind, to);
                    encode_varint(inner.len() as u64, to);
                    to.extend_from_slice(&inner);
                    from = rest;
                }
                None => {
                    skip_field(kind, number, &mut from, DecodeContext::default()).ok()?;
                    if wanted.is_some() {
                        to.extend_from_slice(&start[..start.len() - from.len()]);
                    }
                }
            }
        }
        Some(())
    }
}

/// Whether paths may lead into a field: those of a list name no item of it.
fn is_message(field: &FieldDescriptorProto) -> bool {
    field.r#type() == Type::Message && field.label() != Label::Repeated
}

fn allowed(fields: &[FieldDescriptorProto], messages: bool) -> String {
    let fields = fields.iter().filter(|field| !messages || is_message(field));
    let names: Vec<&str> = fields.map(FieldDescriptorProto::name).collect();
    match names.is_empty() {
        true => "a path that ends before it".to_owned(),
        false => names.join(", "),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::time::duration;
    use crate::v1;

    fn mask(message: &str, paths: &[&str]) -> Result<ReadMask, WrongMask> {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        ReadMask::new(message, Some(&FieldMask { paths }))
    }

    fn port() -> v1::QuarantinedPort {
        v1::QuarantinedPort {
            port: Some(v1::NamedPort {
                port: Some(v1::PortId {
                    node_guid: 7,
                    port: 3,
                }),
                node_name: "edge1".to_owned(),
            }),
            quarantined: true,
            losses: 4,
            age: Some(duration(5)),
            comment: "often".to_owned(),
            ..v1::QuarantinedPort::default()
        }
    }

    #[test]
    fn only_what_is_wanted_is_kept() {
        let kept = mask("QuarantinedPort", &["port.port.node_guid", "losses", "age"]);
        let expected = v1::QuarantinedPort {
            port: Some(v1::NamedPort {
                port: Some(v1::PortId {
                    node_guid: 7,
                    port: 0,
                }),
                node_name: String::new(),
            }),
            losses: 4,
            age: Some(duration(5)),
            ..v1::QuarantinedPort::default()
        };
        assert_eq!(kept.unwrap().of(port()), expected);
        let seconds = mask("QuarantinedPort", &["age.seconds"]).unwrap();
        assert_eq!(seconds.of(port()).age, Some(duration(0)));
    }

    #[test]
    fn a_path_and_one_into_it_are_together_the_whole() {
        for paths in [["port", "port.node_name"], ["port.node_name", "port"]] {
            let kept = mask("QuarantinedPort", &paths).unwrap().of(port());
            assert_eq!(kept.port, port().port, "{paths:?}");
            assert_eq!(kept.losses, 0);
        }
    }

    #[test]
    fn no_path_and_a_star_are_everything() {
        for all in [&[][..], &["*"], &["losses", "*"]] {
            assert_eq!(mask("QuarantinedPort", all).unwrap().of(port()), port());
        }
        assert_eq!(ReadMask::new("Node", None), Ok(ReadMask::default()));
    }

    #[test]
    fn what_is_not_there_is_named_with_what_is() {
        for (path, allowed) in [
            ("lossses", "port, quarantined,"),
            ("", "port, quarantined,"),
            ("port.name", "port, node_name"),
            ("port.port.node_guid.x", "a path that ends before it"),
            ("losses.x", "port, "),
            ("port.", "port, node_name"),
            ("LOSSES", "port, quarantined,"),
        ] {
            let wrong = mask("QuarantinedPort", &[path]).unwrap_err();
            let text = wrong.to_string();
            assert!(
                text.contains(&format!("{path:?}; allowed: {allowed}")),
                "{text}"
            );
        }
        let many = vec!["losses"; 101];
        assert_eq!(
            mask("QuarantinedPort", &many),
            Err(WrongMask::Many { count: 101 })
        );
    }
}
