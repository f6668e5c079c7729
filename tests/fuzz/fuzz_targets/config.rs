//! Any bytes as an opafm.xml.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let checked = weft_config::check(input, "opafm.xml");
    assert_eq!(checked.config.is_none(), checked.errors().next().is_some());
});
