//! Any bytes as a file of traffic.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::traffic_file::run(input));
