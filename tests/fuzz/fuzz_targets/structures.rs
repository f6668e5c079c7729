//! Any bytes as any structure: decoding twice gives the same as once, printing works, and too few
//! bytes are an error.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::structures::run(input));
