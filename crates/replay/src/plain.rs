//! Values as bytes for a digest, without names of fields: two values of a type have the same bytes only where they are alike.

use std::fmt;

use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
    SerializeTuple, SerializeTupleStruct, SerializeTupleVariant, Serializer,
};

/// Before each part of a value of which it is not known how many it has, and after the last.
const MORE: u8 = 1;
const END: u8 = 0;

/// Puts the bytes of a value behind others. Returns false where the value refuses: what it has put up to there stays.
pub(crate) fn put(value: &impl Serialize, to: &mut Vec<u8>) -> bool {
    value.serialize(Plain(to)).is_ok()
}

/// Why a value refuses, in its own words.
#[derive(Debug)]
struct Refusal(String);

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

impl Error for Refusal {
    fn custom<T: fmt::Display>(words: T) -> Self {
        Self(words.to_string())
    }
}

type Done = Result<(), Refusal>;

struct Plain<'a>(&'a mut Vec<u8>);

impl Plain<'_> {
    fn put(self, bytes: &[u8]) -> Done {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    /// A part of a value.
    fn part<T: Serialize + ?Sized>(&mut self, part: &T) -> Done {
        part.serialize(Plain(self.0))
    }
}

/// Methods that put a number.
macro_rules! numbers {
    ($($method:ident: $type:ty),+) => {
        $(fn $method(self, number: $type) -> Done {
            self.put(&number.to_le_bytes())
        })+
    };
}

impl<'a> Serializer for Plain<'a> {
    type Ok = ();
    type Error = Refusal;
    type SerializeSeq = Listed<'a>;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Listed<'a>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    numbers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64, serialize_i128: i128,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
        serialize_f32: f32, serialize_f64: f64
    );

    fn serialize_bool(self, is_true: bool) -> Done {
        self.put(&[u8::from(is_true)])
    }

    fn serialize_char(self, letter: char) -> Done {
        self.put(&u32::from(letter).to_le_bytes())
    }

    fn serialize_str(self, text: &str) -> Done {
        self.serialize_bytes(text.as_bytes())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Done {
        self.0.extend_from_slice(&bytes.len().to_le_bytes());
        self.put(bytes)
    }

    fn serialize_none(self) -> Done {
        self.put(&[END])
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        self.0.push(MORE);
        value.serialize(self)
    }

    fn serialize_unit(self) -> Done {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Done {
        Ok(())
    }

    fn serialize_unit_variant(self, _: &'static str, variant: u32, _: &'static str) -> Done {
        self.serialize_u32(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        value: &T,
    ) -> Done {
        self.0.extend_from_slice(&variant.to_le_bytes());
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Listed<'a>, Refusal> {
        Ok(Listed(self))
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Refusal> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Refusal> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        variant: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Refusal> {
        self.0.extend_from_slice(&variant.to_le_bytes());
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Listed<'a>, Refusal> {
        Ok(Listed(self))
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Refusal> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        name: &'static str,
        variant: u32,
        variant_name: &'static str,
        len: usize,
    ) -> Result<Self, Refusal> {
        self.serialize_tuple_variant(name, variant, variant_name, len)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// A list or a map, whose parts are counted by what is between them.
struct Listed<'a>(Plain<'a>);

impl Listed<'_> {
    fn next<T: Serialize + ?Sized>(&mut self, part: &T) -> Done {
        self.0.0.push(MORE);
        self.0.part(part)
    }

    fn end_all(self) -> Done {
        self.0.put(&[END])
    }
}

impl SerializeSeq for Listed<'_> {
    type Ok = ();
    type Error = Refusal;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, part: &T) -> Done {
        self.next(part)
    }

    fn end(self) -> Done {
        self.end_all()
    }
}

impl SerializeMap for Listed<'_> {
    type Ok = ();
    type Error = Refusal;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        self.next(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.0.part(value)
    }

    fn end(self) -> Done {
        self.end_all()
    }
}

/// Values whose type says how many parts they have.
macro_rules! parts {
    ($($kind:ident: $method:ident),+) => {
        $(impl $kind for Plain<'_> {
            type Ok = ();
            type Error = Refusal;

            fn $method<T: Serialize + ?Sized>(&mut self, part: &T) -> Done {
                self.part(part)
            }

            fn end(self) -> Done {
                Ok(())
            }
        })+
    };
}

parts!(
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
);

/// The same with names, which say nothing more; a field that is left out does.
macro_rules! fields {
    ($($kind:ident),+) => {
        $(impl $kind for Plain<'_> {
            type Ok = ();
            type Error = Refusal;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, _: &'static str, field: &T) -> Done {
                self.0.push(MORE);
                self.part(field)
            }

            fn skip_field(&mut self, _: &'static str) -> Done {
                self.0.push(END);
                Ok(())
            }

            fn end(self) -> Done {
                Ok(())
            }
        })+
    };
}

fields!(SerializeStruct, SerializeStructVariant);

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;

    use super::put;

    /// All shapes of a value.
    #[derive(Debug, Clone, Serialize)]
    enum Shape {
        Unit,
        One(u8),
        Two(u8, Option<u8>),
        Named {
            #[serde(skip_serializing_if = "Option::is_none")]
            left_out: Option<u8>,
            text: String,
        },
        Lists(Vec<Vec<u8>>),
        Map(BTreeMap<String, String>),
    }

    #[test]
    fn values_that_are_not_alike_have_other_bytes() {
        let named = |left_out, text: &str| Shape::Named {
            left_out,
            text: text.to_owned(),
        };
        let map = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            Shape::Map(
                pairs
                    .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                    .collect(),
            )
        };
        let all = [
            Shape::Unit,
            Shape::One(0),
            Shape::One(1),
            Shape::Two(0, None),
            Shape::Two(0, Some(0)),
            Shape::Two(1, None),
            named(None, ""),
            named(Some(0), ""),
            named(None, "\0"),
            Shape::Lists(vec![]),
            Shape::Lists(vec![vec![]]),
            Shape::Lists(vec![vec![], vec![]]),
            Shape::Lists(vec![vec![0]]),
            Shape::Lists(vec![vec![0], vec![]]),
            Shape::Lists(vec![vec![], vec![0]]),
            Shape::Lists(vec![vec![0, 0]]),
            map(&[]),
            map(&[("a", "")]),
            map(&[("", "a")]),
            map(&[("", ""), ("a", "")]),
        ];
        let bytes = |of: &[&Shape]| {
            let mut bytes = Vec::new();
            assert!(of.iter().all(|shape| put(*shape, &mut bytes)));
            bytes
        };
        for (number, one) in all.iter().enumerate() {
            for (other_number, other) in all.iter().enumerate() {
                let is_same = bytes(&[one]) == bytes(&[other]);
                assert_eq!(is_same, number == other_number, "{one:?}, {other:?}");
                // Nor do they where something follows.
                let followed = bytes(&[one, other]) == bytes(&[other, one]);
                assert_eq!(followed, number == other_number, "{one:?}, {other:?}");
            }
        }
    }
}
