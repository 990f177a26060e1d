//! Tokens per second made of text: `cargo bench --bench text`.
//!
//! The text is Tiny Shakespeare where `VALLEYSCOPE_DATA` names its folder, else synthetic text.

use divan::Bencher;
use divan::counter::ItemsCount;
use rayon::ThreadPoolBuilder;
use valleyscope_engine::quantity::ValidationFraction;
use valleyscope_experiments::dataset::text::TokenizerKind;
use valleyscope_experiments::dataset::text::{Preparation, TextFile, Tokenizer, synthetic_text};

fn main() {
    divan::main();
}

fn text() -> String {
    let path = std::env::var_os("VALLEYSCOPE_DATA").map(|folder| {
        let folder = std::path::PathBuf::from(folder);
        folder.join("tinyshakespeare/input.txt")
    });
    path.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_else(synthetic_text)
}

/// Measures encoding with GPT-2's tokens, on one thread.
#[divan::bench(sample_count = 10)]
fn encode(bencher: Bencher<'_, '_>) {
    let text = text();
    let tokens = Tokenizer::Gpt2.encode(&text).expect("all text can be encoded").len();
    bencher.counter(ItemsCount::new(tokens)).bench_local(|| Tokenizer::Gpt2.encode(&text));
}

/// Measures making the files of tokens from twenty copies of the text in a file.
#[divan::bench(args = [1, 2], consts = [0, 1], sample_count = 5)]
fn prepare<const KIND: usize>(bencher: Bencher<'_, '_>, threads: usize) {
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("text.txt");
    std::fs::write(&path, text().repeat(20)).expect("there is room");
    let files = [TextFile { path, name: "text.txt".to_owned() }];
    let tokenizer = TokenizerKind::ALL[KIND];
    let fraction = ValidationFraction::clamped(0.1);
    let preparation = Preparation { files: &files, tokenizer, fraction, replace: false };
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
    let make = || {
        let out = tempfile::tempdir().expect("there is room");
        pool.install(|| preparation.make(out.path(), &mut |_| (), &|| false)).expect("it is text")
    };
    let meta = make();
    bencher.counter(ItemsCount::new(meta.train.tokens + meta.val.tokens)).bench_local(make);
}
