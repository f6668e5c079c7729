//! `docs/configuration.md` matches the code.

#![allow(clippy::unwrap_used)]

fn documentation() -> String {
    std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/configuration.md"
    ))
    .unwrap()
}

fn assert_part(name: &str, expected: &str) {
    let text = documentation();
    let (_, rest) = text
        .split_once(&format!("<!-- {name}: generated -->\n"))
        .unwrap();
    let (part, _) = rest.split_once(&format!("<!-- {name}: end -->")).unwrap();
    let command = "cargo run -p weft-config --example reference";
    assert_eq!(
        part.trim(),
        expected.trim(),
        "docs/configuration.md is out of date: {command}"
    );
}

#[test]
fn every_tag_is_documented() {
    assert_part("tags", &weft_config::reference_markdown());
    assert!(weft_config::reference().len() > 350);
}

#[test]
fn every_rule_that_goes_further_than_the_vendor_is_documented() {
    assert_part("stricter", &weft_config::stricter_markdown());
}

#[test]
fn every_tag_says_what_it_does() {
    for row in weft_config::reference() {
        assert!(row.meaning.len() > 3, "{}", row.path);
        assert!(!row.path.contains("//"), "{}", row.path);
    }
}
