//! Any bytes as a datagram: dumped, and when they are a subnet management packet, answered.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::datagram::run(input));
