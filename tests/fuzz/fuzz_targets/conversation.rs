//! Many datagrams, one after the other, for the agents of an emulated fabric.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::conversation::run(input));
