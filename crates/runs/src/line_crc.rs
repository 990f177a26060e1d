//! The number and the checksum at the end of each line of `events.jsonl`:
//!
//! ```text
//! {"event":"stopped","step":40,"time":"2026-03-01T12:00:00Z","wall_s":1.5,"line":17,"crc":3735928559}
//! ```
//!
//! `line` is the line's place in the file, counted from 1; `crc` is the CRC-32 (that of zip) of all bytes of the line
//! before `,"crc":`. So a changed byte is noticed, and missing lines are distinguished from a file that ends early.
//! Lines of other programs may have neither, and count as intact if they are events.

const LINE: &[u8] = br#","line":"#;
const CRC: &[u8] = br#","crc":"#;
/// The largest length of the two fields with their values.
const LONGEST: usize = 64;
/// The largest number of a line: no file has that many lines, and all programs read smaller integers in JSON exactly.
const LARGEST: u64 = 1 << 53;

/// The state of a line according to its last fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineCrc {
    /// Neither number nor checksum, as in lines of other programs.
    Absent,
    /// Unchanged bytes, written as the line of this number.
    Intact(u64),
    /// Changed bytes.
    Damaged,
}

/// Appends a number and a checksum to an object in JSON.
pub fn with_crc(object: &str, number: u64) -> String {
    let open = object.strip_suffix('}').expect("an event is an object");
    let mut line = format!("{open},\"line\":{number}");
    let sum = crc32fast::hash(line.as_bytes());
    line.push_str(&format!(",\"crc\":{sum}}}"));
    line
}

/// Checks the last fields of a line without its newline.
pub(super) fn check(line: &[u8]) -> LineCrc {
    if let Some((number, covered, sum)) = fields(line) {
        let intact = number <= LARGEST && u64::from(crc32fast::hash(covered)) == sum;
        return if intact { LineCrc::Intact(number) } else { LineCrc::Damaged };
    }
    // Texts have a backslash before quotation marks, so these are names of fields.
    let end = &line[line.len().saturating_sub(LONGEST)..];
    let has = |name: &[u8]| end.windows(name.len() - 1).any(|part| part == &name[1..]);
    if has(LINE) || has(CRC) { LineCrc::Damaged } else { LineCrc::Absent }
}

/// Splits a line into its number, the bytes that the checksum covers, and the checksum.
fn fields(line: &[u8]) -> Option<(u64, &[u8], u64)> {
    let (covered, sum) = last_field(line.strip_suffix(b"}")?, CRC)?;
    let (_, number) = last_field(covered, LINE)?;
    Some((number, covered, sum))
}

/// Splits a text into the part before its last field and the integer in that field, which must have the given name.
fn last_field<'l>(text: &'l [u8], name: &[u8]) -> Option<(&'l [u8], u64)> {
    let digits = text.iter().rev().take(LONGEST).take_while(|byte| byte.is_ascii_digit()).count();
    let (before, digits) = text.split_at(text.len() - digits);
    let number = std::str::from_utf8(digits).ok()?.parse().ok()?;
    Some((before.strip_suffix(name)?, number))
}
