//! Any bytes as an opafm.xml.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::config::run(input));
