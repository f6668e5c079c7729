//! Numbers as bytes: column by column, and in it byte by byte of its values, so that what is alike stands together. Bytes
//! that are zero in all values of a column are left out.

use super::bytes::{Malformed, Reading};

/// Appends rows of numbers: how many rows there are is known to the reader.
pub(super) fn write<const N: usize>(out: &mut Vec<u8>, rows: &[[u64; N]]) {
    let mut column = Vec::with_capacity(rows.len());
    for index in 0..N {
        column.clear();
        column.extend(rows.iter().map(|row| row[index]));
        let all = column.iter().fold(0, |all, value| all | value);
        let planes = (0..8).filter(|plane| all >> (8 * plane) & 0xFF != 0);
        out.push(planes.clone().fold(0, |mask, plane| mask | 1 << plane));
        for plane in planes {
            out.extend(column.iter().map(|value| (value >> (8 * plane)) as u8));
        }
    }
}

/// Reads as many rows of numbers.
pub(super) fn read<const N: usize>(
    from: &mut Reading<'_>,
    rows: usize,
) -> Result<Vec<[u64; N]>, Malformed> {
    // Each number has a byte of its own somewhere, or none of its column has; rows are bounded by the ports.
    let mut read = vec![[0; N]; rows];
    for index in 0..N {
        let mask = from.u8()?;
        for plane in (0..8).filter(|plane| mask >> plane & 1 == 1) {
            let bytes = from.bytes(rows)?;
            for (row, byte) in read.iter_mut().zip(bytes) {
                row[index] |= u64::from(*byte) << (8 * plane);
            }
        }
    }
    Ok(read)
}
