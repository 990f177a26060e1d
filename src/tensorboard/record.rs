//! TFRecord framing.
//!
//! ```text
//! u64 length | u32 masked CRC-32C of the length | the bytes | u32 masked CRC-32C of the bytes     (little-endian)
//! ```
//!
//! A checksum is masked as rotate_right(crc, 15) + 0xa282ead8 (modulo 2³²).

use std::io::{self, ErrorKind, Read, Write};

/// The largest length of a record, in bytes. Events with pictures or graphs take some megabytes.
const LONGEST: u64 = 256 << 20;
/// The largest length of a record that is decoded, in bytes: a decoded one takes up to 80 times the memory. Events with
/// scalars alone take less than this.
const LONGEST_DECODED: u64 = 4 << 20;

/// The bytes of a record besides its own.
pub(super) const FRAME: u64 = 16;

/// The next record of a file.
pub(super) enum Next {
    Record(Vec<u8>),
    /// A record with too many bytes to be decoded, of this number.
    Long(u64),
    /// The file ends here.
    End,
    /// The file ends within a record, which is still being written or was cut.
    Cut,
    /// A checksum or a length is wrong.
    Damaged,
}

fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

pub(super) fn write(out: &mut impl Write, record: &[u8]) -> io::Result<()> {
    let length = (record.len() as u64).to_le_bytes();
    out.write_all(&length)?;
    out.write_all(&masked(&length))?;
    out.write_all(record)?;
    out.write_all(&masked(record))
}

pub(super) fn read(file: &mut impl Read) -> io::Result<Next> {
    let mut length = [0; 8];
    match fill(file, &mut length)? {
        0 => return Ok(Next::End),
        8 => {}
        _ => return Ok(Next::Cut),
    }
    let mut sum = [0; 4];
    if fill(file, &mut sum)? < 4 {
        return Ok(Next::Cut);
    }
    let bytes = u64::from_le_bytes(length);
    if sum != masked(&length) || bytes > LONGEST {
        return Ok(Next::Damaged);
    }
    if bytes > LONGEST_DECODED {
        return skip(file, bytes);
    }
    // The vector grows with what is there, whatever length the file claims.
    let mut record = Vec::new();
    file.take(bytes).read_to_end(&mut record)?;
    if (record.len() as u64) < bytes || fill(file, &mut sum)? < 4 {
        return Ok(Next::Cut);
    }
    Ok(if sum == masked(&record) { Next::Record(record) } else { Next::Damaged })
}

/// Passes over a record of so many bytes and its checksum.
fn skip(file: &mut impl Read, bytes: u64) -> io::Result<Next> {
    let passed = io::copy(&mut file.take(bytes + 4), &mut io::sink())?;
    Ok(if passed == bytes + 4 { Next::Long(bytes) } else { Next::Cut })
}

/// Reads until the buffer is full or the file ends, and returns the number of bytes.
fn fill(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
