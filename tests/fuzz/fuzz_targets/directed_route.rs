//! Any bytes as a directed-route packet that wanders from node to node: it arrives or is dropped,
//! in no more steps than it may have hops, and keeps its length.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| weft_fuzz_targets::directed_route::run(input));
