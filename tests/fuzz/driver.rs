//! Tries a target with one input after another, made from valid ones, and checks that none panics, hangs or takes too
//! much memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

pub struct Target {
    pub name: &'static str,
    /// The first inputs, besides those of the corpus.
    pub seeds: Vec<Vec<u8>>,
    /// Parts of inputs, with spaces between them.
    pub words: &'static str,
    /// The largest number of bytes that reading an input may hold at one time.
    pub memory: usize,
    /// The number of inputs that are made from the seeds in an ordinary run of the tests.
    pub cases: usize,
}

/// The time after which an input counts as hanging, even on a slow machine.
const LONGEST: Duration = Duration::from_secs(120);

/// The lock of the running target, as memory is counted for the whole program.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Checks a target with its seeds, then with inputs made from them: as many as the target asks for, or for
/// `VALLEYSCOPE_FUZZ_MINUTES`. `VALLEYSCOPE_FUZZ_SEED` chooses other inputs.
///
/// The present input is in a file, which stays where the program ends early.
pub fn fuzz(target: &Target, mut check: impl FnMut(&[u8])) {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let number =
        |name| env::var(name).ok().map(|text| text.parse::<u64>().unwrap_or_else(|_| panic!("{name}: {text}")));
    let (minutes, seed) = (number("VALLEYSCOPE_FUZZ_MINUTES"), number("VALLEYSCOPE_FUZZ_SEED").unwrap_or(0));
    if minutes.is_some() {
        limit_address_space();
    }
    let Target { name, words, memory, cases, .. } = *target;
    let seeds = [&target.seeds[..], &corpus(name)].concat();
    let words: Vec<&str> = words.split_whitespace().chain(["\n"]).collect();
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{name}"));
    println!("{name}, seed {seed}: an input that fails stays in {}", kept.display());
    let (began, mut random) = (Instant::now(), StdRng::seed_from_u64(seed));
    let goes_on = |made: usize| minutes.map_or(made < cases, |minutes| began.elapsed().as_secs() < 60 * minutes);
    let beat = watch();
    let mut made = 0;
    while made < seeds.len() || goes_on(made - seeds.len()) {
        let input = seeds.get(made).cloned().unwrap_or_else(|| mutated(&seeds, &words, &mut random));
        made += 1;
        fs::write(&kept, &input).expect("there is room");
        beat();
        let before = start();
        check(&input);
        let taken = peak() - before;
        assert!(taken <= memory, "{taken} bytes of memory for an input of {}, expected {memory} at most", input.len());
    }
    fs::remove_file(kept).expect("it was written");
    println!("{name}: {made} inputs in {:.1} s", began.elapsed().as_secs_f64());
}

/// Returns a function that must be called now and then until it is dropped; otherwise the program ends.
fn watch() -> impl Fn() {
    let (sender, beats) = channel();
    thread::spawn(move || {
        loop {
            match beats.recv_timeout(LONGEST) {
                Ok(()) => {}
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    eprintln!("an input has taken more than {} s", LONGEST.as_secs());
                    process::abort();
                }
            }
        }
    });
    move || sender.send(()).expect("the thread waits for it")
}

/// Returns the stored inputs of a target, in the order of their names.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(name);
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("the corpus can be listed").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("the corpus can be read")).collect()
}

/// Numbers at the ends of ranges, and values that are not numbers.
const NUMBERS: &str = "0 -0 -1 1 2 255 256 65536 2147483648 4294967295 4294967296 18446744073709551615 \
    99999999999999999999 1e999 5e-324 NaN inf 0.1";
const BITS: [u64; 10] = [0, 1, 0x7f, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0xffff_ffff, 1 << 32, u64::MAX];

/// Returns one of the seeds with one to six changes, in which `words` may be inserted.
pub fn mutated(seeds: &[Vec<u8>], words: &[&str], random: &mut StdRng) -> Vec<u8> {
    let mut input = one_of(seeds, random).clone();
    (0..random.random_range(1..=6)).for_each(|_| mutate(&mut input, seeds, words, random));
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
            // A repetition is now and then very long.
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

/// Returns the next sequence of bytes of a kind at or after `at`.
fn run_of(input: &[u8], at: usize, is_part: impl Fn(u8) -> bool) -> std::ops::Range<usize> {
    let from = input[at..].iter().position(|byte| is_part(*byte)).map_or(input.len(), |skipped| at + skipped);
    let length = input[from..].iter().take_while(|byte| is_part(**byte)).count();
    from..from + length
}

/// The number of bytes beyond which allocations fail, which ends the program before the machine is short of memory.
const MOST: usize = 3 << 30;

static TAKEN: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// Resets the peak, and returns the number of allocated bytes.
pub fn start() -> usize {
    let taken = TAKEN.load(Relaxed);
    PEAK.store(taken, Relaxed);
    taken
}

/// Returns the largest number of bytes that were allocated at one time since the start.
pub fn peak() -> usize {
    PEAK.load(Relaxed)
}

/// Limits the program's address space, with what libraries in C allocate: libtorch takes 2 GiB of it without using
/// them.
pub fn limit_address_space() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let most = Some(8 << 30);
        setrlimit(Resource::As, Rlimit { current: most, maximum: most }).expect("the limit was higher");
    }
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: the system's allocator does all; only sizes are counted. The other methods call these.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let taken = TAKEN.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(taken, Relaxed);
        if taken > MOST {
            TAKEN.fetch_sub(layout.size(), Relaxed);
            return std::ptr::null_mut();
        }
        // SAFETY: as the caller has promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        TAKEN.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as the caller has promised.
        unsafe { System.dealloc(pointer, layout) }
    }
}
