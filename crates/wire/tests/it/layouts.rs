//! Properties of every structure of the crate: the list of them is complete, fields stay inside
//! and apart, and decoding and encoding again preserves every defined bit.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use weft_wire::bits::mask;
use weft_wire::registry::{ALL, Entry};
use weft_wire::{DecodeError, FieldLayout};

/// Names of the structures that the source files under `directory` declare.
fn declared(directory: &Path, names: &mut BTreeSet<String>) {
    for item in std::fs::read_dir(directory).unwrap() {
        let path = item.unwrap().path();
        if path.is_dir() {
            declared(&path, names);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let declarations = text.lines().filter_map(|line| {
            let rest = line.strip_prefix("    pub struct ")?;
            let (name, rest) = rest.split_once(':')?;
            rest.contains(", \"").then(|| name.trim().to_owned())
        });
        names.extend(declarations);
    }
}

#[test]
fn the_list_has_every_structure_that_is_declared() {
    let mut expected = BTreeSet::new();
    declared(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut expected,
    );
    let listed: BTreeSet<String> = ALL.iter().map(|entry| entry.name.to_owned()).collect();
    assert!(
        expected.len() > 150,
        "only {} declarations found",
        expected.len()
    );
    assert_eq!(listed, expected);
    assert_eq!(ALL.len(), listed.len(), "a name is listed twice");
}

/// The bytes that hold `field`, with its bits set in a register.
fn footprint(entry: &Entry, field: &FieldLayout) -> Vec<u8> {
    let mut bytes = vec![0; entry.len];
    match field.bits {
        None => bytes[field.offset..field.offset + field.width].fill(0xFF),
        Some((msb, lsb)) => {
            let register = mask(msb, lsb).to_be_bytes();
            bytes[field.offset..field.offset + field.width]
                .copy_from_slice(&register[8 - field.width..]);
        }
    }
    bytes
}

#[test]
fn fields_stay_inside_and_apart() {
    for entry in ALL {
        let mut taken = vec![0_u8; entry.len];
        for field in entry.fields {
            for (taken, bits) in taken.iter_mut().zip(footprint(entry, field)) {
                assert_eq!(*taken & bits, 0, "{}.{} overlaps", entry.name, field.name);
                *taken |= bits;
            }
        }
    }
}

/// The bits of a structure that have a meaning: those that survive decoding and encoding.
fn defined(entry: &Entry) -> Vec<u8> {
    (entry.recode)(&vec![0xFF; entry.len]).unwrap()
}

#[test]
fn every_bit_of_every_field_survives() {
    for entry in ALL {
        let defined = defined(entry);
        let mut fields = vec![0_u8; entry.len];
        for field in entry.fields {
            for (sum, bits) in fields.iter_mut().zip(footprint(entry, field)) {
                *sum |= bits;
            }
        }
        let outside = defined
            .iter()
            .zip(&fields)
            .any(|(bits, field)| bits & !field != 0);
        assert!(!outside, "{} has bits outside its fields", entry.name);
        for field in entry.fields.iter().filter(|field| field.bits.is_some()) {
            for (bits, defined) in footprint(entry, field).iter().zip(&defined) {
                assert_eq!(
                    bits & defined,
                    *bits,
                    "{}.{} is cut",
                    entry.name,
                    field.name
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decoding_and_encoding_gives_the_defined_bits_back(
        bytes in prop::collection::vec(any::<u8>(), 1600)
    ) {
        for entry in ALL {
            let expected: Vec<u8> =
                bytes.iter().zip(defined(entry)).map(|(byte, bits)| byte & bits).collect();
            let recoded = (entry.recode)(&bytes).unwrap();
            prop_assert_eq!(&recoded, &expected, "{}", entry.name);
            prop_assert_eq!(&(entry.recode)(&recoded).unwrap(), &recoded, "{}", entry.name);
            let printed = (entry.print)(&bytes).unwrap();
            prop_assert!(printed.starts_with(entry.name), "{}", printed);
            prop_assert!(printed.lines().count() > entry.fields.len(), "{}", printed);
        }
    }

    #[test]
    fn too_few_bytes_are_an_error_that_says_so(bytes in prop::collection::vec(any::<u8>(), 0..700)) {
        for entry in ALL.iter().filter(|entry| entry.len > bytes.len()) {
            let short = DecodeError::Short {
                what: entry.name,
                needed: entry.len,
                actual: bytes.len(),
            };
            prop_assert_eq!((entry.recode)(&bytes), Err(short));
        }
    }
}
