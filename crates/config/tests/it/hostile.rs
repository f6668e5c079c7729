//! No input makes the check panic, run long, or accept nonsense.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use weft_config::{MAX_BYTES, MAX_DEPTH, MAX_ELEMENTS, MAX_FINDINGS, Rule, check};

fn own() -> String {
    std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../config/opafm.xml"
    ))
    .unwrap()
}

#[test]
fn broken_files_are_refused_with_one_finding() {
    let cases: &[(&str, &[u8], u32)] = &[
        ("empty", b"", 1),
        ("blank", b" \n ", 2),
        ("no XML", b"\nhello", 1),
        ("not UTF-8", b"<Config>\n\xff</Config>", 2),
        ("a NUL", b"<Config>\n\0</Config>", 2),
        ("unclosed", b"<Config>\n<Common>\n", 3),
        ("crossed", b"<Config>\n<Common></Config></Common>", 2),
        ("closed twice", b"<Config></Config>\n</Config>", 2),
        ("two roots", b"<Config></Config>\n<Config/>", 2),
        ("text after", b"<Config></Config>\nx", 1),
        ("bare ampersand", b"<Config>\n& </Config>", 2),
        ("unknown entity", b"<Config>\n&x;</Config>", 2),
        (
            "entity of a control character",
            b"<Config>\n&#1;</Config>",
            2,
        ),
        (
            "twice the attribute",
            b"<Config>\n<a b='1' b='1'/></Config>",
            2,
        ),
        ("name", b"<Config>\n<1/></Config>", 2),
        ("comment", b"<Config>\n<!-- a -- b --></Config>", 2),
        (
            "late declaration",
            b"<Config>\n<?xml version='1.0'?></Config>",
            2,
        ),
        (
            "Latin-1",
            b"<?xml version='1.0' encoding='ISO-8859-1'?><Config/>",
            1,
        ),
    ];
    for (name, bytes, line) in cases {
        let checked = check(bytes, "t.xml");
        assert!(checked.config.is_none(), "{name}");
        assert_eq!(checked.findings.len(), 1, "{name}: {:?}", checked.findings);
        assert_eq!(
            checked.findings[0].line, *line,
            "{name}: {:?}",
            checked.findings
        );
    }
}

#[test]
fn entities_cannot_grow_or_open_files() {
    let laughs = "<?xml version='1.0'?><!DOCTYPE Config [<!ENTITY a 'ha'><!ENTITY b '&a;&a;'>]><Config>&b;</Config>";
    let outside = "<?xml version='1.0'?><!DOCTYPE Config [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><Config>&a;</Config>";
    for text in [laughs, outside] {
        let checked = check(text, "t.xml");
        assert!(checked.config.is_none());
        assert_eq!(checked.findings[0].rule, Rule::StrictXml);
    }
}

#[test]
fn limits_hold() {
    let deep = "<a>".repeat(MAX_DEPTH + 1);
    let many = format!("<Config>{}</Config>", "<a/>".repeat(MAX_ELEMENTS));
    let large = " ".repeat(MAX_BYTES + 1);
    for (text, what) in [(deep, "deeper"), (many, "elements"), (large, "bytes")] {
        let checked = check(text, "t.xml");
        assert!(
            checked.findings[0].message.contains(what),
            "{:?}",
            checked.findings
        );
    }
}

#[test]
fn findings_are_limited() {
    let text = format!("<Config>{}</Config>", "<a/>".repeat(100_000));
    let checked = check(text, "t.xml");
    assert_eq!(checked.findings.len(), MAX_FINDINGS + 1);
    assert!(checked.config.is_none());
}

/// Elements that nothing knows, each with a name of its own.
fn strangers(count: usize) -> String {
    (0..count)
        .map(|number| format!("<stranger{number}/>"))
        .collect()
}

/// A file with so much in `Common` and in `Sm`, which is read again for each `Fm`.
fn with_common(common: &str, sm: &str) -> String {
    let fm = "<Fm><Shared/><Sm/><Fe/><Pm/></Fm>".repeat(8);
    format!("<Config><Common>{common}<Shared/><Sm>{sm}</Sm><Fe/><Pm/></Common>{fm}</Config>")
}

// Work that grows with the square of the elements would take hours here.
#[test]
fn unknown_elements_take_no_long_time() {
    let cases = [
        with_common(&strangers(400_000), ""),
        with_common("", &strangers(400_000)),
        with_common("", &"<aaaa/>".repeat(400_000)),
    ];
    for text in cases {
        let checked = check(text, "t.xml");
        assert_eq!(checked.findings.len(), MAX_FINDINGS + 1);
        assert!(checked.config.is_none());
    }
}

#[test]
fn names_that_nobody_has_take_no_long_time() {
    let name = |number: usize| format!("{number:0>63}");
    let groups: String = (0..1000)
        .map(|at| format!("<DeviceGroup><Name>{}</Name></DeviceGroup>", name(at)))
        .collect();
    let member = |at| format!("<Member>{}</Member>", name(at));
    let members: String = (1000..2000).map(member).collect();
    let fabric = format!("<VirtualFabric><Name>V</Name>{members}</VirtualFabric>");
    let fabrics = fabric.repeat(200);
    let objects =
        format!("<DeviceGroups>{groups}</DeviceGroups><VirtualFabrics>{fabrics}</VirtualFabrics>");
    let checked = check(with_common(&objects, ""), "t.xml");
    assert_eq!(checked.findings.len(), MAX_FINDINGS + 1);
}

#[test]
fn many_objects_take_no_long_time() {
    let patterns = "<NodeDesc>*[1-9]*[1-9]*[1-9]*[1-9]*x</NodeDesc>".repeat(20_000);
    let group =
        format!("<DeviceGroups><DeviceGroup><Name>D</Name>{patterns}</DeviceGroup></DeviceGroups>");
    let text = own().replacen("<DeviceGroups>", &format!("<DeviceGroups>{group}"), 1);
    assert!(check(text, "t.xml").config.is_some());
}

/// The own file with some bytes replaced, removed or doubled.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let edit = (
        any::<prop::sample::Index>(),
        0..4_u8,
        any::<u8>(),
        1..40_usize,
    );
    prop::collection::vec(edit, 1..12).prop_map(|edits| {
        let mut bytes = own().into_bytes();
        for (at, kind, byte, length) in edits {
            let at = at.index(bytes.len());
            let end = (at + length).min(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => drop(bytes.drain(at..end)),
                2 => bytes.extend_from_within(at..end),
                _ => drop(bytes.splice(at..at, std::iter::repeat_n(b'9', length))),
            }
            if bytes.is_empty() {
                bytes.push(b'<');
            }
        }
        bytes
    })
}

/// Documents that look like a configuration.
fn lookalike() -> impl Strategy<Value = String> {
    let tags: Vec<String> = weft_config::reference()
        .iter()
        .flat_map(|row| row.path.split('/').map(str::to_owned).collect::<Vec<_>>())
        .collect();
    let value = prop_oneof![
        "[0-9]{1,22}",
        "[ -~]{0,12}",
        "\\PC{0,6}",
        Just("0xffffffffffffffffffff".to_owned())
    ];
    let leaf = (prop::sample::select(tags.clone()), value)
        .prop_map(|(tag, text)| format!("<{tag}>{}</{tag}>", text.replace(['<', '&'], "")));
    let tree = leaf.prop_recursive(4, 64, 8, move |inner| {
        (
            prop::sample::select(tags.clone()),
            prop::collection::vec(inner, 0..8),
        )
            .prop_map(|(tag, inner)| format!("<{tag}>{}</{tag}>", inner.concat()))
    });
    (
        prop::collection::vec(tree.clone(), 0..8),
        prop::collection::vec(tree, 0..8),
    )
        .prop_map(|(common, fm)| {
            let empty = "<Shared/><Sm/><Fe/><Pm/>";
            format!(
                "<Config><Common>{}{empty}</Common><Fm>{}{empty}</Fm></Config>",
                common.concat(),
                fm.concat()
            )
        })
}

/// Properties of any input.
fn examine(bytes: &[u8]) {
    let checked = check(bytes, "t.xml");
    assert_eq!(checked.config.is_none(), checked.errors().next().is_some());
    if let Some(config) = checked.config {
        let again = check(config.effective_xml(), "effective.xml");
        assert_eq!(again.config, Some(config), "{:?}", again.findings);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        examine(&bytes);
    }

    #[test]
    fn arbitrary_text(text in "\\PC{0,200}") {
        examine(text.as_bytes());
    }

    #[test]
    fn mutated_files(bytes in mutated()) {
        examine(&bytes);
    }

    #[test]
    fn documents_that_look_right(text in lookalike()) {
        examine(text.as_bytes());
    }
}
