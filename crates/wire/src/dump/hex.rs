//! Bytes in hexadecimal.

use std::fmt::Write;

/// Adds `bytes`, 16 a line, each line with its offset; nothing for no bytes.
pub(super) fn write(bytes: &[u8], out: &mut String) {
    for (index, line) in bytes.chunks(16).enumerate() {
        let _ = write!(out, "  {:04x}:", index * 16);
        for byte in line {
            let _ = write!(out, " {byte:02x}");
        }
        out.push('\n');
    }
}
