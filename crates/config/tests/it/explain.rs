//! Elements explained, with the line that their value comes from.

#![allow(clippy::unwrap_used)]

use weft_config::explain::{explain, find, nearest};
use weft_config::{check, reference};

const TEXT: &str = "<Config>
  <Common>
    <VirtualFabrics><VirtualFabric><Name>a</Name><Enable>0</Enable><HoqLife>1ms</HoqLife></VirtualFabric></VirtualFabrics>
    <Shared><Priority>3</Priority></Shared>
    <Sm>
      <SmKey>0x5ec2e70ddba11001</SmKey>
      <HoqLife>8ms</HoqLife>
      <HoqLife_Int>9</HoqLife_Int>
    </Sm>
    <Fe/><Pm/>
  </Common>
  <Fm><Shared><Name>one</Name></Shared><Sm/><Fe/><Pm/></Fm>
  <Fm>
    <Shared><Name>two</Name><Priority>4</Priority></Shared>
    <Sm><HoqLife>16ms</HoqLife></Sm><Fe/><Pm/>
  </Fm>
</Config>";

/// Value, line and element of each value of a name.
fn values(name: &str, instance: usize) -> Vec<(Option<String>, Option<u32>, Option<String>)> {
    let config = check(TEXT, "t.xml").config.unwrap();
    let explained = explain(name, TEXT, &config, instance);
    let values = explained.into_iter().flat_map(|one| one.values);
    values.map(|one| (one.value, one.line, one.from)).collect()
}

fn one(name: &str, instance: usize) -> (String, u32, String) {
    let found = values(name, instance);
    let [(Some(value), Some(line), Some(from))] = &found[..] else {
        panic!("{name}: {found:?}");
    };
    (value.clone(), *line, from.clone())
}

#[test]
fn the_last_word_is_found_in_every_layer_and_spelling() {
    let common = |tag: &str| format!("Config/Common/{tag}");
    assert_eq!(
        one("Sm/HoqLife", 0),
        ("2ms".to_owned(), 8, common("Sm/HoqLife_Int"))
    );
    assert_eq!(
        one("sm/hoqlife", 1),
        ("16ms".to_owned(), 15, "Config/Fm[1]/Sm/HoqLife".to_owned())
    );
    assert_eq!(
        one("Sm/Priority", 0),
        ("3".to_owned(), 4, common("Shared/Priority"))
    );
    assert_eq!(
        one("Sm/Priority", 1),
        (
            "4".to_owned(),
            14,
            "Config/Fm[1]/Shared/Priority".to_owned()
        )
    );
    // The section's own Start, not that of Shared.
    assert_eq!(values("Sm/Start", 0), [(Some("1".to_owned()), None, None)]);
}

#[test]
fn keys_are_not_shown_and_objects_have_a_value_each() {
    assert_eq!(
        values("SmKey", 0),
        [(None, Some(6), Some("Config/Common/Sm/SmKey".to_owned()))]
    );
    assert_eq!(values("MKey", 0), [(None, None, None)]);
    let (value, line, _) = one("VirtualFabric/HoqLife", 0);
    assert_eq!((value.as_str(), line), ("1ms", 3));
    assert_eq!(values("QOSGroup/HoqLife", 0), []);
}

#[test]
fn every_element_is_found_by_its_path_and_a_wrong_name_suggests_one() {
    for row in reference() {
        assert!(find(&row.path).contains(&row), "{}", row.path);
    }
    assert!(find("HoqLif").is_empty());
    assert_eq!(nearest("Sm/HoqLif").as_deref(), Some("HoqLife"));
    assert_eq!(nearest("x"), None);
}
