//! OpenWebText's packs, made small.

use std::cell::Cell;
use std::fs;
use std::io::Write;
use std::path::Path;

use lzma_rust2::{XzOptions, XzWriter};
use valleyscope_engine::quantity::ValidationFraction;
use valleyscope_experiments::dataset::text::openwebtext::WebText;
use valleyscope_experiments::dataset::text::{END_OF_TEXT, Meta, PreparationProgress, Stage, TextError, Tokenizer};

use super::command::expect;
use super::{TEXT, put, results, says, tokens};
use crate::sandbox::Sandbox;

/// Returns a tar archive of files.
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

/// Returns a pack of documents.
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
        says(&make(&folder, 0.3, &out, false).unwrap_err(), &parts);
        assert!(!out.join("train.bin").exists());
        let _ = fs::remove_dir_all(out);
    }
    put(&folder, "urlsf_subset00-1_data.xz", &good);
    put(&folder, "more.tar", archive(&[("urlsf_subset00-1_data.xz".to_owned(), good)]));
    says(&make(&folder, 0.3, &sandbox.path().join("out"), false).unwrap_err(), &["some of them twice"]);
    says(&make(sandbox.path(), 0.3, &sandbox.path().join("out"), false).unwrap_err(), &["found none", "downloaded"]);
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
