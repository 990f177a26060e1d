//! Inputs made from good ones: damaged, cut, put together and blown up.

use rand::RngExt;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// Numbers at the ends of ranges, and values that are no numbers.
const NUMBERS: &str = "0 -0 -1 1 2 255 256 65536 2147483648 4294967295 4294967296 18446744073709551615 \
    99999999999999999999 1e999 5e-324 NaN inf 0.1";
const BITS: [u64; 10] = [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 32, u64::MAX];

/// One of the seeds with one to six changes. `words` are parts of such inputs.
pub fn mutated(seeds: &[Vec<u8>], words: &[&str], random: &mut StdRng) -> Vec<u8> {
    let mut input = one_of(seeds, random).clone();
    for _ in 0..random.random_range(1..=6) {
        mutate(&mut input, seeds, words, random);
    }
    input
}

fn one_of<'a, T>(all: &'a [T], random: &mut StdRng) -> &'a T {
    all.choose(random).expect("there is one")
}

fn mutate(input: &mut Vec<u8>, seeds: &[Vec<u8>], words: &[&str], random: &mut StdRng) {
    let at = random.random_range(0..=input.len());
    let end = input.len().min(at + random.random_range(1..=40));
    let (place, new) = match random.random_range(0..10) {
        0 => (at..end, Vec::new()),
        1 => (at..input.len(), Vec::new()),
        2 => (at..at, one_of(words, random).as_bytes().to_vec()),
        3 => {
            let is_part = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'-');
            (run_of(input, at, is_part), one_of(&NUMBERS.split(' ').collect::<Vec<_>>(), random).as_bytes().to_vec())
        }
        4 => {
            let is_part = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
            (run_of(input, at, is_part), one_of(words, random).as_bytes().to_vec())
        }
        5 => {
            let other = one_of(seeds, random);
            let from = random.random_range(0..=other.len());
            let to = other.len().min(from + random.random_range(0..400));
            (at..end, other[from..to].to_vec())
        }
        6 => {
            // Now and then very often.
            let most = if random.random_ratio(1, 50) { 100_000 } else { 1000 };
            (at..at, input[at..end].repeat(random.random_range(0..=most / (end - at).max(1))))
        }
        7 => {
            let mut bytes = one_of(&BITS, random).to_le_bytes()[..1 << random.random_range(0..4)].to_vec();
            if random.random() {
                bytes.reverse();
            }
            (at..input.len().min(at + bytes.len()), bytes)
        }
        8 => (at..end, (0..random.random_range(0..=8)).map(|_| random.random()).collect()),
        _ => {
            let flipped = input.get(at).map(|byte| byte ^ (1 << random.random_range(0..8)));
            (at..input.len().min(at + 1), flipped.into_iter().collect())
        }
    };
    input.splice(place, new);
}

/// The next run of bytes of a kind at or behind `at`.
fn run_of(input: &[u8], at: usize, is_part: impl Fn(u8) -> bool) -> std::ops::Range<usize> {
    let from = input[at..].iter().position(|byte| is_part(*byte)).map_or(input.len(), |skipped| at + skipped);
    let length = input[from..].iter().take_while(|byte| is_part(**byte)).count();
    from..from + length
}
