//! Agents' answers after a sweep to the readers of cables and the writers of congestion control, between
//! snapshots, other settings and passing time.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::answers::run(input));
