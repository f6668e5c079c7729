//! Any bytes from a socket of the emulator: a frame that was read is written as it came.

use weft_transport::frame::Decoder;

/// Runs one input.
///
/// # Panics
/// When something is found.
pub fn run(bytes: &[u8]) {
    let mut decoder = Decoder::new();
    decoder.buffer().extend_from_slice(bytes);
    while let Ok(Some(frame)) = decoder.next_frame() {
        let mut again = Vec::new();
        frame.encode(&mut again);
        let mut second = Decoder::new();
        second.buffer().extend_from_slice(&again);
        assert_eq!(second.next_frame(), Ok(Some(frame)));
    }
}
