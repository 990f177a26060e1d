//! OpenWebText's packs, made small.

use std::cell::Cell;
use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::LazyLock;

use lzma_rust2::{XzOptions, XzWriter};
use proptest::prelude::*;
use tempfile::TempDir;
use valleyscope_engine::quantity::ValidationFraction;
use valleyscope_engine::random::Key;
use valleyscope_experiments::dataset::text::openwebtext::WebText;
use valleyscope_experiments::dataset::text::{
    Corpus, END_OF_TEXT, Meta, Offsets, PreparationProgress, Split, Stage, TextError, Tokenizer, TokenizerKind,
};

use super::prepare::expect;
use super::{TEXT, put, results, tokens};
use crate::doctor::Sandbox;
#[cfg(unix)]
use crate::doctor::make_fifo;
use crate::says::says;

/// Returns a folder with tokens of a text of consecutive numbers.
fn folder(kind: TokenizerKind) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..400).map(|number| format!("{number} apples.\n")).collect();
    let path = put(folder.path(), "text/counted.txt", text);
    super::make(&[path], kind, folder.path()).unwrap();
    folder
}

fn write_tokens(path: &Path, tokens: &[u16]) {
    fs::write(path, tokens.iter().flat_map(|token| token.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
}

#[test]
fn sequences_are_tokens_and_their_successors() {
    for kind in TokenizerKind::ALL {
        let folder = folder(kind);
        let corpus = Corpus::open(folder.path(), 8).unwrap();
        for split in Split::ALL {
            let all = tokens(&folder.path().join(split.file_name()));
            let last = all.len() - 9;
            let sequences = corpus.sequences(split, &[3, last as u64]).unwrap();
            assert_eq!(sequences.inputs, [&all[3..11], &all[last..last + 8]].concat());
            assert_eq!(sequences.targets, [&all[4..12], &all[last + 1..]].concat());
            assert!(corpus.sequences(split, &[last as u64 + 1]).is_err(), "it has no room there");
        }
        let sequences = corpus.sequences(Split::Train, &[0]).unwrap();
        assert!("0 apples.\n1 apples.\n2 apples.".starts_with(&corpus.tokenizer.decode(&sequences.inputs)));
    }
}

#[test]
fn offsets_depend_only_on_key_step_and_batch_and_cover_all_places() {
    let key = Key::new(7).at(1);
    let offsets = Offsets::new(key, 30, 10);
    let later = Offsets::new(key, 30, 10);
    assert_eq!(offsets.batch(900, 2, 12), later.batch(900, 2, 12));
    assert_eq!(offsets.batch(900, 2, 5), later.batch(900, 2, 12)[..5]);
    let others = [
        offsets.batch(901, 2, 12),
        offsets.batch(900, 3, 12),
        Offsets::new(Key::new(8).at(1), 30, 10).batch(900, 2, 12),
        Offsets::new(Key::new(7).at(2), 30, 10).batch(900, 2, 12),
    ];
    assert!(others.iter().all(|other| *other != offsets.batch(900, 2, 12)));

    let drawn: Vec<u64> = (0..500).flat_map(|step| offsets.batch(step, 0, 40)).collect();
    assert_eq!(drawn.iter().copied().collect::<HashSet<_>>(), (0..20).collect());
    // χ² of 20 places has 19 degrees of freedom; it exceeds 43.8 once in a thousand times.
    let expected = drawn.len() as f64 / 20.0;
    let deviation =
        |place| (drawn.iter().filter(|&&offset| offset == place).count() as f64 - expected).powi(2) / expected;
    let chi_squared: f64 = (0..20).map(deviation).sum();
    assert!(chi_squared < 43.8, "{chi_squared}");
    assert_eq!(Offsets::new(key, 11, 10).batch(5, 5, 3), [0, 0, 0], "there is one place");
}

#[test]
fn evaluations_use_the_same_sequences_every_time() {
    let folder = folder(TokenizerKind::Char);
    let offsets = |split| Corpus::open(folder.path(), 8).unwrap().evaluation_offsets(split).batch(0, 3, 6);
    assert_eq!(offsets(Split::Validation), offsets(Split::Validation));
    let corpus = Corpus::open(folder.path(), 8).unwrap();
    let random = corpus.offsets(Split::Train, Key::new(0)).batch(0, 3, 6);
    assert_ne!(random, offsets(Split::Train));
    assert!(corpus.sequences(Split::Train, &random).is_ok());
}

#[test]
fn files_that_are_cut_odd_empty_or_too_short_are_refused() {
    for (bytes, parts) in [
        (0, ["an empty file", "tokens of two bytes"]),
        (333, ["333 bytes, an odd number", "valleyscope data text"]),
        (332, ["166", "as meta.json says"]),
    ] {
        let folder = folder(TokenizerKind::Gpt2);
        let file = fs::File::options().write(true).open(folder.path().join("val.bin")).unwrap();
        file.set_len(bytes).unwrap();
        let error = Corpus::open(folder.path(), 8).unwrap_err();
        says(&error, &["val.bin"]);
        says(&error, &parts);
    }
    let folder = folder(TokenizerKind::Gpt2);
    let validation = tokens(&folder.path().join("val.bin")).len();
    assert!(Corpus::open(folder.path(), validation - 1).is_ok());
    let error = Corpus::open(folder.path(), validation).unwrap_err();
    says(
        &error,
        &["val.bin", &format!("at least {} tokens", validation + 1), &format!("found {validation}"), "shorter"],
    );
    fs::remove_file(folder.path().join("train.bin")).unwrap();
    says(Corpus::open(folder.path(), 8).unwrap_err(), &["train.bin", "cannot use"]);
}

#[test]
fn tokens_beyond_the_vocabulary_are_refused_with_their_place() {
    let folder = folder(TokenizerKind::Char);
    let path = folder.path().join("train.bin");
    let mut all = tokens(&path);
    all[123] = 60_000;
    write_tokens(&path, &all);
    says(Corpus::open(folder.path(), 8).unwrap_err(), &["train.bin", "smaller than", "60000 as token 123"]);
}

#[test]
fn tokens_that_differ_from_their_description_are_refused() {
    for name in ["train.bin", "val.bin"] {
        let folder = folder(TokenizerKind::Gpt2);
        assert!(Corpus::open(folder.path(), 8).is_ok());
        let path = folder.path().join(name);
        let mut all = tokens(&path);
        all[5] ^= 1;
        write_tokens(&path, &all);
        let error = Corpus::open(folder.path(), 8).unwrap_err();
        let found = "found tokens with the SHA-256 ";
        says(&error, &[name, "the tokens of meta.json, with the SHA-256 ", found, "valleyscope data text"]);
    }
}

#[test]
fn tokens_without_a_description_count_as_gpt2s() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["train.bin", "val.bin"] {
        write_tokens(&folder.path().join(name), &[15496, 995, 50256, 31373, 995]);
    }
    let corpus = Corpus::open(folder.path(), 4).unwrap();
    assert_eq!(corpus.tokenizer.kind(), TokenizerKind::Gpt2);
    let sequences = corpus.sequences(Split::Train, &[0]).unwrap();
    assert_eq!(corpus.tokenizer.decode(&sequences.targets), " world<|endoftext|>hello world");
    put(folder.path(), "meta.pkl", "characters");
    says(Corpus::open(folder.path(), 4).unwrap_err(), &["meta.json", "meta.pkl", "valleyscope data text"]);
}

#[test]
fn tokens_of_four_or_eight_bytes_without_a_description_are_refused() {
    let folder = folder(TokenizerKind::Gpt2);
    let paths = Split::ALL.map(|split| folder.path().join(split.file_name()));
    let all = paths.each_ref().map(|path| tokens(path));
    // Where `meta.json` describes the files, their lengths are compared with it.
    for (path, tokens) in paths.iter().zip(&all) {
        fs::write(path, tokens.iter().flat_map(|token| u32::from(*token).to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    }
    says(Corpus::open(folder.path(), 8).unwrap_err(), &["train.bin", "as meta.json says"]);
    fs::remove_file(folder.path().join(Meta::FILE)).unwrap();
    let refused = |width: &str| {
        let opened = Corpus::open(folder.path(), 8).map(drop);
        for error in [opened, Corpus::check(folder.path(), 8).map(drop)].map(Result::unwrap_err) {
            says(&error, &["train.bin", "two bytes each", &format!("tokens of {width} bytes"), "convert", "np.uint16"]);
        }
    };
    refused("four");
    // Tokens of a larger vocabulary have high parts.
    let large: Vec<u32> = all[0].iter().map(|token| u32::from(*token) + 131_072).collect();
    fs::write(&paths[0], large.iter().flat_map(|token| token.to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    refused("four");
    fs::write(&paths[0], all[0].iter().flat_map(|token| u64::from(*token).to_le_bytes()).collect::<Vec<u8>>()).unwrap();
    refused("eight");
    write_tokens(&paths[0], &all[0]);
    says(Corpus::open(folder.path(), 8).unwrap_err(), &["val.bin", "tokens of four bytes"]);
    write_tokens(&paths[1], &all[1]);
    assert!(Corpus::open(folder.path(), 8).is_ok());
}

#[test]
fn a_damaged_description_is_refused() {
    let folder = folder(TokenizerKind::Char);
    let good = fs::read_to_string(folder.path().join(Meta::FILE)).unwrap();
    for (from, to, parts) in [
        ("\"char\"", "\"words\"", ["gpt2 or char", "words"]),
        ("\"vocabulary_size\": 18", "\"vocabulary_size\": 19", ["vocabulary_size of 18", "19"]),
        ("\\n .0", "\\n .00", ["in the order", "vocabulary"]),
        ("{", "", ["JSON", "meta.json"]),
    ] {
        assert!(good.contains(from), "{good}");
        fs::write(folder.path().join(Meta::FILE), good.replacen(from, to, 1)).unwrap();
        says(Corpus::open(folder.path(), 8).unwrap_err(), &parts);
    }
}

#[test]
fn fingerprints_differ_by_tokens_and_by_their_meaning() {
    let [one, same] = [0, 1].map(|_| folder(TokenizerKind::Gpt2));
    let print = |folder: &TempDir| Corpus::open(folder.path(), 8).unwrap().fingerprint().unwrap();
    assert_eq!(print(&one), print(&same));
    fs::remove_file(same.path().join(Meta::FILE)).unwrap();
    assert_eq!(print(&one), print(&same), "it does not depend on the description");
    let path = same.path().join("val.bin");
    let mut all = tokens(&path);
    all[5] ^= 1;
    write_tokens(&path, &all);
    assert_ne!(print(&one), print(&same));
    assert_ne!(print(&one), print(&folder(TokenizerKind::Char)));
}

#[cfg(unix)]
#[test]
fn files_that_are_not_regular_are_refused_at_once() {
    let folder = folder(TokenizerKind::Char);
    let path = folder.path().join("val.bin");
    fs::remove_file(&path).unwrap();
    make_fifo(&path);
    let error = Corpus::open(folder.path(), 8).unwrap_err();
    assert!(matches!(error, TextError::File { .. }));
    says(&error, &["val.bin", "a FIFO"]);
}

/// The encoder of the crate, which encodes whole texts.
static WHOLE: LazyLock<tiktoken_rs::CoreBPE> = LazyLock::new(|| tiktoken_rs::r50k_base().unwrap());

pub fn gpt2(text: &str) -> Vec<u16> {
    Tokenizer::Gpt2.encode(text).unwrap()
}

#[test]
fn gpt2_tokens_are_the_published_ones() {
    assert_eq!(gpt2("Hello world"), [15496, 995]);
    assert_eq!(gpt2("hello world"), [31373, 995]);
    assert_eq!(gpt2("Hello, I'm a language model,"), [15496, 11, 314, 1101, 257, 3303, 2746, 11]);
    let citizen = "First Citizen:\nBefore we proceed any further, hear me speak.";
    assert_eq!(gpt2(citizen), [5962, 22307, 25, 198, 8421, 356, 5120, 597, 2252, 11, 3285, 502, 2740, 13]);
    assert_eq!(gpt2("<|endoftext|>"), [27, 91, 437, 1659, 5239, 91, 29], "no text has a special meaning");
    assert_eq!(Tokenizer::Gpt2.vocabulary_size(), 50257);
    assert_eq!(gpt2("").len(), 0);
}

#[test]
fn gpt2_tokens_decode_to_text_also_where_characters_are_cut() {
    let text = "naïve 漢字 🦀\u{a0}\u{3000}end \t\r\n";
    let tokens = gpt2(text);
    assert_eq!(Tokenizer::Gpt2.decode(&tokens), text);
    let crab = gpt2("🦀");
    assert!(crab.len() > 1);
    assert_eq!(Tokenizer::Gpt2.decode(&crab[..1]), "\u{fffd}");
    assert_eq!(Tokenizer::Gpt2.decode(&[50256]), "<|endoftext|>");
    // A model's output is often wider than the vocabulary.
    assert_eq!(Tokenizer::Gpt2.decode(&[15496, 50303, 995]), "Hello\u{fffd} world");
}

#[test]
fn long_stretches_without_a_word_are_encoded() {
    for text in [" ".repeat(3 << 20) + "x", "\n".repeat(3 << 20), "漢".repeat(1 << 18), "!".repeat(1 << 20)] {
        assert_eq!(Tokenizer::Gpt2.decode(&gpt2(&text)), text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Long texts are cut before they are encoded, which does not change the tokens.
    #[test]
    fn cutting_does_not_change_tokens(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                " ", "  ", "\n", "\n\n", "\t ", "\u{a0}", "\u{3000}\u{2028}", "the", "word", "'s", "'re", "'", "12", "…",
                "é", "e\u{301}", "漢字", "🦀", "!?", "A", "\u{200b}", "١٢",
            ]),
            2000..6000,
        )
    ) {
        let text = parts.concat();
        let expected: Vec<u16> = WHOLE.encode_ordinary(&text).into_iter().map(|token| token as u16).collect();
        prop_assert_eq!(gpt2(&text), expected);
    }
}

#[test]
fn characters_are_numbered_in_unicode_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "some.txt", "héllo 🦀\n".repeat(90));
    let meta = super::make(&[path], TokenizerKind::Char, folder.path()).unwrap();
    assert_eq!((meta.vocabulary.as_deref(), meta.vocabulary_size), (Some("\n hloé🦀"), 7));
    let tokenizer = meta.tokenizer(folder.path()).unwrap();
    assert_eq!(tokenizer.encode("hé🦀\n").unwrap(), [2, 5, 6, 0]);
    assert_eq!(tokenizer.decode(&[2, 5, 6, 0, 7]), "hé🦀\n\u{fffd}");
    for unknown in ["hex", "🦋", "\0"] {
        assert!(matches!(tokenizer.encode(unknown), Err(TextError::UnknownCharacter(_))));
    }
}

#[test]
fn the_synthetic_text_is_always_the_same_and_long_enough() {
    assert!(TEXT.is_ascii() && TEXT.len() > 1_000_000, "{}", TEXT.len());
    assert_eq!(*TEXT, valleyscope_experiments::dataset::text::synthetic_text());
    assert!(gpt2(&TEXT[..100_000]).len() < 40_000, "it is made of words");
}

fn archive(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, &content[..]).unwrap();
    }
    archive.into_inner().unwrap()
}

fn pack(documents: &[Vec<u8>]) -> Vec<u8> {
    let named = documents.iter().enumerate().map(|(index, text)| (format!("{index:07}-page.txt"), text.clone()));
    let mut writer = XzWriter::new(Vec::new(), XzOptions::with_preset(1)).unwrap();
    writer.write_all(&archive(&named.collect::<Vec<_>>())).unwrap();
    writer.finish().unwrap()
}

/// Returns the documents of a pack of this number.
fn documents(number: usize) -> Vec<Vec<u8>> {
    let document = |place: usize| TEXT[number * 5_000 + place * 311..][..300].trim().as_bytes().to_vec();
    (0..12).map(document).collect()
}

/// Packs with their names.
fn packs(count: usize) -> Vec<(String, Vec<u8>)> {
    (0..count)
        .map(|number| (format!("openwebtext/urlsf_subset{number:02}-1_data.xz"), pack(&documents(number))))
        .collect()
}

fn make(folder: &Path, fraction: f64, out: &Path, cancelled: bool) -> Result<Meta, TextError> {
    let text = WebText { folder, fraction: ValidationFraction::clamped(fraction), replace: false };
    let is_tokenizing = Cell::new(false);
    let mut progress = |at: PreparationProgress| is_tokenizing.set(at.stage == Stage::Tokenizing);
    text.make(out, &mut progress, &|| cancelled && is_tokenizing.get())
}

#[test]
fn each_document_ends_with_the_end_of_text_token_in_any_packing() {
    let sandbox = tempfile::tempdir().unwrap();
    let packs = packs(3);
    put(sandbox.path(), "one/openwebtext.tar.xz", archive(&packs));
    for (name, content) in &packs {
        put(sandbox.path(), &format!("loose/{name}"), content);
    }
    put(sandbox.path(), "several/subsets/urlsf_subset02.tar", archive(&packs[2..]));
    put(sandbox.path(), "several/subsets/urlsf_subset03.tar", archive(&packs[..2]));
    let bins = ["one", "loose", "several"].map(|layout| {
        let out = sandbox.path().join(format!("{layout}-out"));
        let meta = make(&sandbox.path().join(layout), 0.3, &out, false).unwrap();
        assert_eq!((meta.tokenizer.as_str(), meta.vocabulary_size), ("gpt2", 50257));
        let [train, val, _] = results(&out);
        [train, val]
    });
    assert!(bins.iter().all(|bin| *bin == bins[0]), "the layout leaves a trace");

    let out = sandbox.path().join("one-out");
    let expected: Vec<String> =
        (0..3).flat_map(documents).map(|document| String::from_utf8(document).unwrap()).collect();
    let found = ["train.bin", "val.bin"].map(|name| {
        let tokens = tokens(&out.join(name));
        assert_eq!(tokens.last(), Some(&END_OF_TEXT));
        let parts = tokens[..tokens.len() - 1].split(|&token| token == END_OF_TEXT);
        parts.map(|part| Tokenizer::Gpt2.decode(part)).collect::<Vec<_>>()
    });
    assert!(found[0].len() + found[1].len() == 36 && found[1].len() > 2, "{} and {}", found[0].len(), found[1].len());
    // Each document is in one of the files, in its order.
    let [mut train, mut val] = found.map(|documents| documents.into_iter().peekable());
    for document in expected {
        let next = if train.peek() == Some(&document) { train.next() } else { val.next() };
        assert_eq!(next, Some(document));
    }
}

#[test]
fn documents_are_cleaned_as_for_nanogpt_and_empty_ones_skipped() {
    let sandbox = tempfile::tempdir().unwrap();
    let documents = ["\n\n one\n\n\n\n\ntwo\n\nthree\n \n", " \n\n", "four"].map(|text| text.as_bytes().to_vec());
    put(sandbox.path(), "in/urlsf_subset00-1_data.xz", pack(&documents));
    let out = sandbox.path().join("out");
    make(&sandbox.path().join("in"), 0.0001, &out, false).unwrap();
    let expected = "one\n\ntwo\n\nthree<|endoftext|>four<|endoftext|>";
    assert_eq!(Tokenizer::Gpt2.decode(&tokens(&out.join("train.bin"))), expected);
}

#[test]
fn the_bytes_are_the_same_on_any_number_of_threads_and_after_any_stop() {
    let sandbox = tempfile::tempdir().unwrap();
    put(sandbox.path(), "in/openwebtext.tar.xz", archive(&packs(30)));
    let [folder, whole, stopped] = ["in", "whole", "stopped"].map(|name| sandbox.path().join(name));
    make(&folder, 0.25, &whole, false).unwrap();
    let drawn = tokens(&whole.join("val.bin")).iter().filter(|&&token| token == END_OF_TEXT).count();
    assert!((60..=120).contains(&drawn), "expected about 90 of 360 documents, found {drawn}");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let mut attempts = 0;
    while let Err(error) = pool.install(|| make(&folder, 0.25, &stopped, true)) {
        assert!(matches!(error, TextError::Cancelled), "{error}");
        attempts += 1;
    }
    assert!(attempts > 3 && results(&stopped) == results(&whole), "stopped {attempts} times");
}

#[test]
fn packs_that_change_during_reading_are_refused() {
    let whole = archive(&packs(3));
    // In the first file packs are cut; in the second all are whole.
    for written in [whole[..whole.len() / 2].to_vec(), [&whole[..], b"more"].concat()] {
        let sandbox = tempfile::tempdir().unwrap();
        let path = put(sandbox.path(), "in/openwebtext.tar.xz", &whole);
        let [folder, out] = ["in", "out"].map(|name| sandbox.path().join(name));
        let text = WebText { folder: &folder, fraction: ValidationFraction::clamped(0.3), replace: false };
        let mut write = |at: PreparationProgress| {
            if at.stage == Stage::Tokenizing && at.done == 0 {
                fs::write(&path, &written).unwrap();
            }
        };
        let error = text.make(&out, &mut write, &|| false).unwrap_err();
        assert!(matches!(error, TextError::Changed(_)), "{error}");
        says(&error, &["openwebtext.tar.xz was changed while it was read"]);
        for name in ["train.bin", "val.bin", "meta.json", "train.bin.part", "val.bin.part", "unfinished.json"] {
            assert!(!out.join(name).exists(), "{name}");
        }
    }
}

#[test]
fn damaged_packs_and_other_files_are_refused_by_name() {
    let sandbox = tempfile::tempdir().unwrap();
    let folder = sandbox.path().join("in");
    let good = pack(&documents(0));
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 4;
    let latin = pack(&[b"good".to_vec(), b"caf\xe9".to_vec()]);
    for (content, parts) in [
        (flipped, ["urlsf_subset00-1_data.xz", "get that file anew"]),
        (good[..good.len() / 2].to_vec(), ["urlsf_subset00-1_data.xz", "get that file anew"]),
        (latin, ["0000001-page.txt is not UTF-8 at byte 3", "get that file anew"]),
        (b"neither tar nor xz".to_vec(), ["urlsf_subset00-1_data.xz", "cannot use"]),
    ] {
        put(&folder, "urlsf_subset00-1_data.xz", content);
        let out = sandbox.path().join("out");
        says(make(&folder, 0.3, &out, false).unwrap_err(), &parts);
        assert!(!out.join("train.bin").exists());
        let _ = fs::remove_dir_all(out);
    }
    put(&folder, "urlsf_subset00-1_data.xz", &good);
    put(&folder, "more.tar", archive(&[("urlsf_subset00-1_data.xz".to_owned(), good)]));
    says(make(&folder, 0.3, &sandbox.path().join("out"), false).unwrap_err(), &["some of them twice"]);
    says(make(sandbox.path(), 0.3, &sandbox.path().join("out"), false).unwrap_err(), &["found none", "downloaded"]);
}

#[test]
fn the_command_reads_packs_from_a_folder_or_reports_why_downloading_failed() {
    let sandbox = Sandbox::new();
    put(sandbox.path(), "in/openwebtext.tar.xz", archive(&packs(2)));
    let run = |args: &[&str]| sandbox.run(&[&["data", "openwebtext"], args].concat());
    let args = ["--out", "out", "--from", "in", "--val-fraction", "0.3"];
    expect(&run(&args), 0, &["are in out", "for training", "a vocabulary of 50257"]);
    expect(&run(&args[..4]), 2, &["is there already", "--force"]);
    expect(&run(&["--out", "other", "--from", "nowhere"]), 2, &["nowhere", "found none"]);
    expect(&run(&["--out", "other"]), 1, &["no mirror gave openwebtext.tar.xz", "zenodo.org", "try again"]);
}
