//! Any text as the description of a fabric; what is read is written the same way.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::fabric_spec::run(input));
