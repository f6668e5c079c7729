//! What agents answer after a sweep to those that read cables and write congestion control, between
//! snapshots, other settings and time that passes.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::answers::run(input));
