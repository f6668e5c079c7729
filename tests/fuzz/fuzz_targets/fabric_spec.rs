//! Any text as the description of a fabric; a parsed one is written back unchanged.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::fabric_spec::run(input));
