//! Any bytes from a socket of the emulator.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    weft_transport::frame::fuzz_frames(input);
});
