//! Inputs made from valid ones: damaged, cut, joined and enlarged.

/// Random numbers that are the same everywhere and forever (SplitMix64), so that a number identifies a case.
pub struct Random(u64);

impl Random {
    pub fn of(seed: u64, case: u64) -> Random {
        let mut random = Random(seed ^ case.wrapping_mul(0xd134_2543_de82_ef95));
        random.next();
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `end`; 0 where that is 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    pub fn one_of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }
}

/// Numbers near limits and overflows.
const NUMBERS: [&str; 22] = [
    "0",
    "-0",
    "-1",
    "1",
    "2",
    "255",
    "256",
    "65535",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775808",
    "18446744073709551615",
    "99999999999999999999",
    "1e308",
    "1e999",
    "-1e999",
    "5e-324",
    "NaN",
    "inf",
    "0.1",
];
const WHOLE: [u64; 12] =
    [0, 1, 0x7f, 0xff, 0x100, 0x7fff, 0xffff, 0x10000, 0x7fff_ffff, 0xffff_ffff, 1 << 32, u64::MAX];

/// Returns one of the seeds with one to six changes, in which `words` may be inserted.
pub fn mutated(seeds: &[Vec<u8>], words: &[&str], random: &mut Random) -> Vec<u8> {
    let mut input = seeds[random.below(seeds.len())].clone();
    for _ in 0..=random.below(6) {
        mutate(&mut input, seeds, words, random);
    }
    input
}

fn mutate(input: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[&str], random: &mut Random) {
    let length = input.len();
    let at = random.below(length + 1);
    let end = length.min(at + 1 + random.below(40));
    let filled = at < length;
    match random.below(13) {
        0 if filled => input[at] ^= 1 << random.below(8),
        1 if filled => input[at] = random.next() as u8,
        2 => drop(input.splice(at..at, random.next().to_le_bytes())),
        3 => drop(input.drain(at..end)),
        4 => {
            let part = input[at..end].to_vec();
            let to = random.below(length + 1);
            input.splice(to..to, part);
        }
        5 => {
            let other = &seeds[random.below(seeds.len())];
            let from = random.below(other.len());
            let to = other.len().min(from + random.below(400));
            input.splice(at..end, other[from..to].iter().copied());
        }
        6 if !words.is_empty() => drop(input.splice(at..at, random.one_of(words).bytes())),
        7 => {
            if let Some((from, to)) = run_of(input, at, |byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-')) {
                input.splice(from..to, random.one_of(&NUMBERS).bytes());
            }
        }
        8 => {
            if let Some((from, to)) = run_of(input, at, |byte| byte.is_ascii_alphabetic() || byte == b'_') {
                let new = if words.is_empty() { "x" } else { random.one_of(words) };
                input.splice(from..to, new.bytes());
            }
        }
        9 => {
            let number = WHOLE[random.below(WHOLE.len())];
            let width = 1 << random.below(4);
            let mut bytes = number.to_le_bytes()[..width].to_vec();
            if random.below(2) == 0 {
                bytes.reverse();
            }
            let end = length.min(at + width);
            input.splice(at..end, bytes);
        }
        10 => input.truncate(at),
        11 if filled => {
            let part = input[at..end].to_vec();
            // A repetition is now and then very long.
            let most = if random.below(50) == 0 { 100_000 } else { 1000 };
            let count = random.below(most / part.len() + 2);
            input.splice(at..at, part.repeat(count));
        }
        _ if filled => {
            let other = random.below(length);
            input.swap(at, other);
        }
        _ => {}
    }
}

/// Returns the next sequence of bytes of a kind at or after `at`.
fn run_of(input: &[u8], at: usize, of: impl Fn(u8) -> bool) -> Option<(usize, usize)> {
    let from = at + input[at..].iter().position(|byte| of(*byte))?;
    let length = input[from..].iter().position(|byte| !of(*byte)).unwrap_or(input.len() - from);
    Some((from, from + length))
}
