//! Runs a target on many cases, and fails if one panics, hangs, or takes too much memory.

use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::memory;
use crate::mutate::{Random, mutated};

/// A target of fuzzing.
pub struct Target {
    /// The name of the target's test, and of the folder of its corpus.
    pub name: &'static str,
    /// The first inputs, besides those of the corpus.
    pub seeds: Vec<Vec<u8>>,
    /// Words from which inputs are made.
    pub words: &'static [&'static str],
    /// The largest number of bytes that a case may hold at one time.
    pub memory: usize,
    /// The number of cases of a short run.
    pub cases: u64,
}

/// A time limit that no case exceeds unless it hangs, even on a slow machine.
const LONGEST: Duration = Duration::from_secs(120);

/// Memory is counted for the whole program, so targets run one after another.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
static CASE: AtomicU64 = AtomicU64::new(0);

/// Returns the number of the case that runs.
pub fn case() -> u64 {
    CASE.load(Ordering::Relaxed)
}

/// Checks a target with its seeds, then with its number of cases, or for the number of minutes in
/// `VALLEYSCOPE_FUZZ_MINUTES`.
///
/// `VALLEYSCOPE_FUZZ_SEED` chooses other cases, and `VALLEYSCOPE_FUZZ_CASE` repeats a single one.
pub fn fuzz(target: &Target, mut check: impl FnMut(&[u8])) {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut seeds = target.seeds.clone();
    seeds.extend(corpus(target.name));
    let number =
        |name| env::var(name).ok().map(|text| text.parse::<u64>().unwrap_or_else(|_| panic!("{name}: {text}")));
    let seed = number("VALLEYSCOPE_FUZZ_SEED").unwrap_or(0);
    let minutes = number("VALLEYSCOPE_FUZZ_MINUTES").map(|minutes| Duration::from_secs(60 * minutes));
    let mut run = |case: u64, input: &[u8]| {
        CASE.store(case, Ordering::Relaxed);
        one(target, seed, case, input, &mut check);
    };
    let of_case = |case: u64| mutated(&seeds, target.words, &mut Random::of(seed, case));
    let ended = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| watch(&ended));
        // The watch ends also if a case panics.
        let _end = End(&ended, watch.thread().clone());
        if let Some(case) = number("VALLEYSCOPE_FUZZ_CASE") {
            return run(case, &of_case(case));
        }
        for input in &seeds {
            run(0, input);
        }
        let began = Instant::now();
        let mut case = 0;
        while minutes.map_or(case < target.cases, |minutes| began.elapsed() < minutes) {
            case += 1;
            run(case, &of_case(case));
        }
        eprintln!("{}: {case} cases with the seed {seed} in {:.1} s", target.name, began.elapsed().as_secs_f64());
    });
}

fn one(target: &Target, seed: u64, case: u64, input: &[u8], check: &mut impl FnMut(&[u8])) {
    let before = memory::start();
    let outcome = catch_unwind(AssertUnwindSafe(|| check(input)));
    let taken = memory::peak() - before;
    if outcome.is_ok() && taken <= target.memory {
        return;
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}-{seed}-{case}", target.name));
    let kept = fs::write(&path, input).map_or_else(|error| error.to_string(), |()| path.display().to_string());
    eprintln!("{}: case {case} of the seed {seed} failed; its input is kept: {kept}", target.name);
    match outcome {
        Err(panic) => resume_unwind(panic),
        Ok(()) => panic!("{taken} bytes of memory for an input of {}, expected {} at most", input.len(), target.memory),
    }
}

/// Ends the program when a case takes too long.
fn watch(ended: &AtomicBool) {
    let mut seen = (u64::MAX, Instant::now());
    while !ended.load(Ordering::Relaxed) {
        thread::park_timeout(Duration::from_secs(1));
        let now = case();
        if now != seen.0 {
            seen = (now, Instant::now());
        } else if seen.1.elapsed() > LONGEST {
            eprintln!("case {now} has taken more than {} s", LONGEST.as_secs());
            std::process::abort();
        }
    }
}

struct End<'a>(&'a AtomicBool, thread::Thread);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
        self.1.unpark();
    }
}

/// Returns the stored inputs of a target, in the order of their names.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(name);
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("the corpus can be listed").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("the corpus can be read")).collect()
}
