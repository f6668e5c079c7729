//! Clients of subnet administration that send any datagrams, between notices, sweeps and time that
//! passes.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::subnet_administration::run(input));
