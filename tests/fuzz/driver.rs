//! Tries a target with one input after another, and checks that none panics, hangs or takes too much memory.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, process, thread};

use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::memory;
use crate::mutate::mutated;

/// A reader of inputs.
pub struct Target {
    /// The name of the folder of its corpus.
    pub name: &'static str,
    /// Inputs to begin with, besides those of the corpus.
    pub seeds: Vec<Vec<u8>>,
    /// Parts of inputs, with spaces between them.
    pub words: &'static str,
    /// Bytes that reading an input may take at one time.
    pub memory: usize,
    /// The number of inputs that are made from the seeds in an ordinary run of the tests.
    pub cases: usize,
}

/// The time after which an input counts as one that hangs, on however slow a machine.
const LONGEST: Duration = Duration::from_secs(120);

/// Held by the running target: memory is counted for the whole program.
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
        memory::limit_address_space();
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
        let before = memory::start();
        check(&input);
        let taken = memory::peak() - before;
        assert!(taken <= memory, "{taken} bytes of memory for an input of {}, expected {memory} at most", input.len());
    }
    fs::remove_file(kept).expect("it was written");
    println!("{name}: {made} inputs in {:.1} s", began.elapsed().as_secs_f64());
}

/// Ends the program when the answer is not called for long, until it is dropped.
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

/// The inputs that are kept for a target, in the order of their names.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(name);
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("the corpus can be listed").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("the corpus can be read")).collect()
}
