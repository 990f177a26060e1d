//! Series of numbers in few bytes.
//!
//! A number becomes a code of 16 bits, its place in a range. Of a series the differences of successive codes are
//! stored, seven bits in a byte, the lowest first; the eighth bit is set where more follow. A difference d is stored as
//! 2d, or −2d − 1 where it is negative. Differences count modulo 2¹⁶, and the first one from 0.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The code of the upper end of the range.
const LAST: u16 = 65_534;
/// The code of a number that is not finite or outside of the range.
const GAP: u16 = 65_535;

/// Series one after another.
#[derive(Default)]
pub(super) struct Packed {
    bytes: Vec<u8>,
}

impl Packed {
    /// Adds a series of numbers in a range.
    pub(super) fn push(&mut self, values: impl Iterator<Item = f64>, range: [f64; 2]) {
        let mut before = 0;
        for value in values {
            let code = code(value, range);
            let difference = code.wrapping_sub(before).cast_signed();
            let mut rest = ((difference << 1) ^ (difference >> 15)).cast_unsigned();
            while rest >= 0x80 {
                self.bytes.push((rest & 0x7f) as u8 | 0x80);
                rest >>= 7;
            }
            self.bytes.push(rest as u8);
            before = code;
        }
    }

    pub(super) fn to_base64(&self) -> String {
        STANDARD.encode(&self.bytes)
    }
}

fn code(value: f64, [low, high]: [f64; 2]) -> u16 {
    if !(low..=high).contains(&value) {
        return GAP;
    }
    ((value - low) / (high - low) * f64::from(LAST)).round() as u16
}

/// Returns the range that holds the finite ones of some numbers, cut to what lies in `bounds`; it is never empty.
pub(super) fn range_of(values: impl Iterator<Item = f64>, [least, most]: [f64; 2]) -> [f64; 2] {
    let inside = values.filter(|value| (least..=most).contains(value));
    let [low, high] =
        inside.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| [low.min(value), high.max(value)]);
    match high - low {
        width if width > 0.0 => [low, high],
        0.0 => [low, low + low.abs().max(1e-9)],
        _ => [0.0, 1.0],
    }
}
