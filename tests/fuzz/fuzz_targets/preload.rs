//! A program behind the preload library and the fabric before it, both of which do anything.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::preload::run(input));
