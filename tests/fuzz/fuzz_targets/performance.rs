//! Any datagrams at the port of a performance manager in the midst of a sweep: answers of agents
//! and queries of clients, each with a length of two bytes before it.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::performance::run(input));
