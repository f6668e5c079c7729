//! Any bytes from a socket of the emulator.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::frames::run(input));
