//! Any datagrams at the port of a subnet manager that is about to sweep: each with a length of two
//! bytes before it.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::manager::run(input));
