//! Any text as a scenario.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::scenario::run(input));
