//! Big-endian registers and the bit ranges inside them.

/// The big-endian register of `width` bytes (1, 2, 4 or 8) at `offset`.
///
/// The caller has checked that `bytes` reaches that far; bytes beyond the end read as zero.
#[inline(always)]
pub fn load(bytes: &[u8], offset: usize, width: usize) -> u64 {
    let mut value = 0;
    for index in 0..width {
        value = value << 8 | bytes.get(offset + index).copied().map_or(0, u64::from);
    }
    value
}

/// Writes `value` as the big-endian register of `width` bytes at `offset`; what does not fit in
/// `bytes` is left out.
#[inline(always)]
pub fn store(bytes: &mut [u8], offset: usize, width: usize, value: u64) {
    for index in 0..width {
        if let Some(byte) = bytes.get_mut(offset + index) {
            *byte = (value >> (8 * (width - 1 - index))) as u8;
        }
    }
}

/// A mask of the bits `msb..=lsb`, in place.
#[inline(always)]
pub const fn mask(msb: u32, lsb: u32) -> u64 {
    (u64::MAX >> (63 - (msb - lsb))) << lsb
}

/// The bits `msb..=lsb` of the register at `offset`.
#[inline(always)]
pub fn load_bits(bytes: &[u8], offset: usize, width: usize, msb: u32, lsb: u32) -> u64 {
    (load(bytes, offset, width) & mask(msb, lsb)) >> lsb
}

/// Writes the bits `msb..=lsb` of the register at `offset` and keeps the others; a value too large
/// for the range is truncated.
#[inline(always)]
pub fn store_bits(bytes: &mut [u8], offset: usize, width: usize, msb: u32, lsb: u32, value: u64) {
    let keep = load(bytes, offset, width) & !mask(msb, lsb);
    store(bytes, offset, width, keep | (value << lsb & mask(msb, lsb)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_ranges_are_counted_from_the_lowest_bit_of_a_big_endian_register() {
        let mut bytes = [0x12, 0x34, 0x56, 0x78];
        for (width, msb, lsb, expected) in [
            (4, 31, 24, 0x12),
            (4, 7, 0, 0x78),
            (4, 19, 12, 0x45),
            (2, 15, 15, 0),
            (2, 12, 12, 1),
        ] {
            assert_eq!(load_bits(&bytes, 0, width, msb, lsb), expected);
        }
        store_bits(&mut bytes, 0, 4, 19, 12, 0xFFAB);
        assert_eq!(bytes, [0x12, 0x3A, 0xB6, 0x78], "too large a value is cut");
    }

    #[test]
    fn bytes_beyond_the_end_read_as_zero_and_are_not_written() {
        let mut bytes = [0xFF; 3];
        assert_eq!(load(&bytes, 2, 4), 0xFF00_0000);
        store(&mut bytes, 2, 4, 0x0102_0304);
        assert_eq!(bytes, [0xFF, 0xFF, 0x01]);
        assert_eq!((mask(63, 0), mask(0, 0), mask(7, 4)), (u64::MAX, 1, 0xF0));
    }
}
