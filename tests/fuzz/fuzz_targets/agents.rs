//! Any bytes as a datagram for the agents of an emulated fabric.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    weft_emulator::fuzz::fuzz_agents(input);
});
