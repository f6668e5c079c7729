//! Any datagrams to a receiver and to a sender of messages of several segments: the receiver keeps
//! its limit, the sender ends.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::rmpp::run(input));
