//! Any bytes as an ibnetdiscover dump or an opareport snapshot.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::fabric_import::run(input));
