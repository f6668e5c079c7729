//! Any bytes as the payload of an Aggregate: read, answered in place, built again.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::aggregate::run(input));
