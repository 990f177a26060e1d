//! `valleyscope data text`: its messages and exit codes.

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use sha2::{Digest, Sha256};
use valleyscope_experiments::dataset::text::{
    Corpus, END_OF_TEXT, Preparation, PreparationProgress, Split, Stage, TextError, TokenizerKind, dropped_marks, find,
};

use super::corpus::gpt2;
use super::{TEXT, make, make_some, preparation, put, results, tokens};
use crate::doctor::make_fifo;
use crate::doctor::{Sandbox, expect_error, signal, stdout, wait_until};
#[cfg(unix)]
use crate::says::says;

#[test]
fn the_first_characters_are_for_training_and_the_last_for_validation() {
    let folder = tempfile::tempdir().unwrap();
    // 1.9 million characters, some of two bytes, and several blocks.
    let text = TEXT.replace('e', "é").repeat(2);
    let path = put(folder.path(), "long.txt", &text);
    let count = text.chars().count();
    let border = text.char_indices().nth((count as f64 * 0.9) as usize).unwrap().0;
    for kind in TokenizerKind::ALL {
        let out = folder.path().join(kind.name());
        let meta = make(std::slice::from_ref(&path), kind, &out).unwrap();
        let tokenizer = meta.tokenizer(&out).unwrap();
        for (split, part) in Split::ALL.into_iter().zip([&text[..border], &text[border..]]) {
            let expected = tokenizer.encode(part).unwrap();
            assert!(tokens(&out.join(split.file_name())) == expected, "{split:?} of {kind:?}");
            assert_eq!(meta.part(split).tokens, expected.len() as u64);
        }
        assert_eq!((meta.sources.len(), meta.sources[0].bytes), (1, text.len() as u64));
    }
}

#[test]
fn only_gpt2_tokens_have_an_end_of_text_between_files() {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = folder.path();
    put(sandbox, "texts/b.txt", "second one. ");
    put(sandbox, "texts/a/x.TXT", "first one. ");
    put(sandbox, "texts/empty.txt", "");
    put(sandbox, "texts/.hidden.txt", "hidden");
    put(sandbox, "texts/notes.md", "no text");
    let named = put(sandbox, "named.md", "0123456789".repeat(80));
    let paths = [sandbox.join("texts"), named];
    let files = find(&paths).unwrap();
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["a/x.TXT", "b.txt", "empty.txt", "named.md"]);

    make(&paths, TokenizerKind::Gpt2, &sandbox.join("gpt2")).unwrap();
    // 823 characters, of which the last 83 are for validation.
    let long = "0123456789".repeat(80);
    let (train, val) = long.split_at(717);
    let documents = ["first one. ", "second one. ", train].map(gpt2);
    assert_eq!(tokens(&sandbox.join("gpt2/train.bin")), documents.join(&END_OF_TEXT));
    assert_eq!(tokens(&sandbox.join("gpt2/val.bin")), gpt2(val));

    let meta = make(&paths, TokenizerKind::Char, &sandbox.join("char")).unwrap();
    assert_eq!((meta.train.tokens, meta.val.tokens), (740, 83));
    assert_eq!(meta.sources[0].sha256.len(), 64);
}

#[test]
fn byte_order_marks_at_the_start_of_files_are_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let texts = ["naïve 漢字 ".repeat(80), "a \u{feff} within ".repeat(40), String::new()];
    let all = |mark: &str| -> Vec<PathBuf> {
        let names = ["a.txt", "b.txt", "c.txt"].map(|name| format!("text{}/{name}", mark.len()));
        names.iter().zip(&texts).map(|(name, text)| put(folder.path(), name, format!("{mark}{text}"))).collect()
    };
    for kind in TokenizerKind::ALL {
        let [marked, plain] = ["\u{feff}", ""].map(|mark| {
            let out = folder.path().join(format!("{}-{}", kind.name(), mark.len()));
            let meta = make(&all(mark), kind, &out).unwrap();
            ([results(&out)[0].clone(), results(&out)[1].clone()], meta.vocabulary, meta.sources[0].bytes)
        });
        assert_eq!((&marked.0, &marked.1, marked.2), (&plain.0, &plain.1, plain.2 + 3), "{kind:?}");
    }
    let files = find(&all("\u{feff}")).unwrap();
    says(dropped_marks(&files).unwrap(), &["a.txt and 2 more begin with a byte-order mark"]);
    assert!(dropped_marks(&files[2..]).unwrap().contains("c.txt begins with a byte-order mark"));
    assert_eq!(dropped_marks(&find(&all("")).unwrap()), None);
}

#[test]
fn the_bytes_are_the_same_on_any_number_of_threads_and_after_any_stop() {
    let folder = tempfile::tempdir().unwrap();
    let half = TEXT.len() / 2;
    let paths = [
        put(folder.path(), "one.txt", TEXT.repeat(2) + &"漢字".repeat(150_000)),
        put(folder.path(), "two.txt", &TEXT[half..]),
        put(folder.path(), "three.txt", " ".repeat(700_000) + "end"),
    ];
    for kind in TokenizerKind::ALL {
        let whole = folder.path().join(format!("whole-{}", kind.name()));
        make(&paths, kind, &whole).unwrap();
        for threads in [1, 3] {
            let stopped = folder.path().join(format!("{}-{threads}", kind.name()));
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut attempts = 0;
            loop {
                // Each attempt is cancelled after its first batch of blocks.
                let outcome = pool.install(|| make_some(&paths, kind, &stopped));
                attempts += 1;
                match outcome {
                    Ok(_) => break,
                    Err(TextError::Cancelled) => {
                        assert!(!stopped.join("train.bin").exists() && stopped.join("unfinished.json").exists());
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            assert!(attempts > 2, "it was never stopped");
            assert!(results(&stopped) == results(&whole), "{kind:?} on {threads} threads");
            let names: Vec<_> = fs::read_dir(&stopped).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert_eq!(names.len(), 4, "the lock is left beside the results: {names:?}");
        }
    }
}

#[test]
fn work_interrupted_while_renaming_files_resumes() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [put(folder.path(), "text.txt", &TEXT[..50_000])];
    let [whole, cut] = ["whole", "cut"].map(|name| folder.path().join(name));
    for out in [&whole, &cut] {
        make(&paths, TokenizerKind::Gpt2, out).unwrap();
    }
    // The state before the last file is renamed.
    let stopped = folder.path().join("stopped");
    assert!(matches!(make_some(&paths, TokenizerKind::Gpt2, &stopped), Err(TextError::Cancelled)));
    fs::copy(stopped.join("unfinished.json"), cut.join("unfinished.json")).unwrap();
    fs::rename(cut.join("val.bin"), cut.join("val.bin.part")).unwrap();
    fs::remove_file(cut.join("meta.json")).unwrap();
    make(&paths, TokenizerKind::Gpt2, &cut).unwrap();
    assert!(results(&cut) == results(&whole) && !cut.join("unfinished.json").exists());
}

#[test]
fn existing_tokens_are_neither_made_again_nor_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let [one, other] = [10_000, 20_000].map(|length| put(folder.path(), &format!("{length}.txt"), &TEXT[..length]));
    let out = folder.path().join("out");
    let made = make(std::slice::from_ref(&one), TokenizerKind::Gpt2, &out).unwrap();
    let before = results(&out);
    let time = fs::metadata(out.join("train.bin")).unwrap().modified().unwrap();
    assert_eq!(make(std::slice::from_ref(&one), TokenizerKind::Gpt2, &out).unwrap(), made);
    assert_eq!(fs::metadata(out.join("train.bin")).unwrap().modified().unwrap(), time);
    for (path, kind) in [(&other, TokenizerKind::Gpt2), (&one, TokenizerKind::Char)] {
        let error = make(std::slice::from_ref(path), kind, &out).unwrap_err();
        says(&error, &["train.bin", "is there already", "--force"]);
    }
    assert!(results(&out) == before);
    // A changed file is refused.
    fs::write(out.join("val.bin"), &before[1][2..]).unwrap();
    assert!(matches!(make(std::slice::from_ref(&one), TokenizerKind::Gpt2, &out), Err(TextError::Full(_))));
    let files = find(&[one]).unwrap();
    let replacing = Preparation { replace: true, ..preparation(&files, TokenizerKind::Gpt2) };
    replacing.make(&out, &mut |_| (), &|| false).unwrap();
    assert!(results(&out) == before);
}

#[test]
fn unfinished_tokens_of_other_text_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "text.txt", TEXT.as_str());
    let out = folder.path().join("out");
    let outcome = make_some(std::slice::from_ref(&path), TokenizerKind::Gpt2, &out);
    assert!(matches!(outcome, Err(TextError::Cancelled)) && out.join("unfinished.json").exists());
    put(folder.path(), "text.txt", TEXT.replace("Anna", "Hanna"));
    let error = make(std::slice::from_ref(&path), TokenizerKind::Gpt2, &out).unwrap_err();
    assert!(matches!(error, TextError::OtherJob(_)));
    says(&error, &["unfinished tokens of other text", "--force"]);
    let error = Corpus::open(&out, 8).unwrap_err();
    says(&error, &["finished", "resumes there"]);
}

/// `meta.json` describes the text that was tokenized.
#[test]
fn text_that_changes_during_reading_is_refused_and_leaves_nothing() {
    for (kind, to) in [(TokenizerKind::Gpt2, "Enna"), (TokenizerKind::Char, "Enna"), (TokenizerKind::Char, "€a")] {
        let folder = tempfile::tempdir().unwrap();
        let whole = TEXT.repeat(3);
        let path = put(folder.path(), "text.txt", &whole);
        let out = folder.path().join("out");
        let at = whole.rfind("Anna").unwrap();
        let changed = format!("{}{to}{}", &whole[..at], &whole[at + 4..]);
        assert_eq!(changed.len(), whole.len());
        let files = find(std::slice::from_ref(&path)).unwrap();
        let mut change = |seen: PreparationProgress| {
            if seen.stage == Stage::Tokenizing && seen.done == 0 {
                fs::write(&path, &changed).unwrap();
            }
        };
        let error = preparation(&files, kind).make(&out, &mut change, &|| false).unwrap_err();
        assert!(matches!(error, TextError::Changed(_)), "{kind:?}, {to}: {error}");
        says(&error, &["text.txt was changed while it was read", "try again"]);
        for name in ["train.bin", "val.bin", "meta.json", "train.bin.part", "val.bin.part", "unfinished.json"] {
            assert!(!out.join(name).exists(), "{kind:?}, {to}: {name}");
        }
        let meta = make(std::slice::from_ref(&path), kind, &out).unwrap();
        assert_eq!(meta.sources[0].sha256, format!("{:x}", Sha256::digest(&changed)));
    }
}

#[test]
fn unfinished_tokens_that_were_cut_are_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = put(folder.path(), "text.txt", TEXT.repeat(2));
    let paths = std::slice::from_ref(&path);
    let [whole, out] = ["whole", "out"].map(|name| folder.path().join(name));
    make(paths, TokenizerKind::Gpt2, &whole).unwrap();
    assert!(matches!(make_some(paths, TokenizerKind::Gpt2, &out), Err(TextError::Cancelled)));
    let part = out.join("train.bin.part");
    let bytes = fs::read(&part).unwrap();
    assert!(bytes.len() > 1000);
    fs::write(&part, &bytes[..1000]).unwrap();
    make(paths, TokenizerKind::Gpt2, &out).unwrap();
    assert!(results(&out) == results(&whole));
}

#[test]
fn invalid_utf8_is_reported_with_its_byte() {
    let folder = tempfile::tempdir().unwrap();
    let good = TEXT.as_bytes();
    // Errors are found also where a character lies across two parts that are read separately.
    for (before, rest, offset) in [
        (&good[..300_000], &b"\xff and more"[..], 300_000),
        (&good[..(1 << 18) - 1], "é".as_bytes(), 0),
        (&good[..(1 << 18) - 1], b"\xe6\xbc", (1 << 18) - 1),
        (&good[..5], b"\xc3", 5),
    ] {
        let path = put(folder.path(), "text.txt", [before, rest].concat());
        let out = folder.path().join("out");
        match make(&[path], TokenizerKind::Char, &out) {
            Ok(meta) => {
                assert_eq!(offset, 0);
                assert!(meta.vocabulary.unwrap().ends_with('é'));
                fs::remove_dir_all(out).unwrap();
            }
            Err(error) => {
                says(&error, &["text.txt", "UTF-8", &format!("at byte {offset}")]);
                assert!(!out.exists(), "nothing is written");
            }
        }
    }
}

#[test]
fn paths_with_no_text_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let of = |path: PathBuf| make(&[path], TokenizerKind::Gpt2, &out).unwrap_err();
    says(of(folder.path().join("nowhere")), &["nowhere", "there is nothing"]);
    put(folder.path(), "images/notes.md", "no text");
    says(of(folder.path().join("images")), &["images", ".txt", "found none"]);
    says(of(put(folder.path(), "empty.txt", "")), &["found 0 and 0", "empty.txt", "more text"]);
}

#[cfg(unix)]
#[test]
fn links_to_plain_files_are_followed_and_others_refused() {
    let folder = tempfile::tempdir().unwrap();
    let real = put(folder.path(), "real.txt", &TEXT[..5_000]);
    put(folder.path(), "texts/own.txt", &TEXT[..5_000]);
    std::os::unix::fs::symlink(&real, folder.path().join("texts/link.txt")).unwrap();
    // A loop of folders has no end.
    std::os::unix::fs::symlink(folder.path(), folder.path().join("texts/loop")).unwrap();
    let texts = folder.path().join("texts");
    let meta = make(std::slice::from_ref(&texts), TokenizerKind::Char, &folder.path().join("out")).unwrap();
    assert_eq!(meta.sources.len(), 2);
    let fifo = texts.join("pipe.txt");
    make_fifo(&fifo);
    for path in [texts, fifo] {
        let error = make(&[path], TokenizerKind::Char, &folder.path().join("other")).unwrap_err();
        says(&error, &["pipe.txt", "a FIFO"]);
    }
}

pub fn command(sandbox: &Sandbox, args: &[&str]) -> Command {
    sandbox.command(&[&["data", "text"], args].concat())
}

/// Expects an exit code, words on the error output, and nothing on the other.
#[track_caller]
pub fn expect(output: &Output, code: i32, words: &[&str]) {
    expect_error(output, code, words);
    assert_eq!(stdout(output), "");
}

#[test]
fn makes_tokens_and_reports_their_number() {
    let sandbox = Sandbox::new();
    put(sandbox.path(), "text.txt", &TEXT[..50_000]);
    let run = |args: &[&str]| command(&sandbox, args).output().unwrap();
    let output = run(&["text.txt", "--out", "char", "--tokenizer", "char", "--val-fraction", "0.2"]);
    expect(&output, 0, &["are in char: 40000 for training and 10000 for validation", "tokens a second"]);
    expect(&run(&["text.txt", "--out", "gpt2"]), 0, &["are in gpt2", "a vocabulary of 50257"]);
    let before = results(&sandbox.join("gpt2"));
    expect(&run(&["text.txt", "--out", "gpt2"]), 0, &["are in gpt2"]);
    expect(&run(&["text.txt", "--out", "gpt2", "--val-fraction", "0.3"]), 2, &["is there already", "--force"]);
    assert!(results(&sandbox.join("gpt2")) == before);
    expect(&run(&["text.txt", "--out", "gpt2", "--val-fraction", "0.3", "--force"]), 0, &["are in gpt2"]);
    assert!(results(&sandbox.join("gpt2")) != before);
}

#[test]
fn says_that_a_byte_order_mark_is_dropped() {
    let sandbox = Sandbox::new();
    put(sandbox.path(), "marked.txt", format!("\u{feff}{}", &TEXT[..5_000]));
    let output = command(&sandbox, &["marked.txt", "--out", "char", "--tokenizer", "char"]).output().unwrap();
    expect(&output, 0, &["marked.txt begins with a byte-order mark", "4500 for training and 500 for validation"]);
}

#[test]
fn wrong_usage_and_bad_text_exit_with_2_and_unusable_files_with_1() {
    let sandbox = Sandbox::new();
    put(sandbox.path(), "text.txt", &TEXT[..5_000]);
    put(sandbox.path(), "bad\u{1b}[31m.txt", b"Latin-1: \xe9");
    put(sandbox.path(), "file", "no folder");
    let run = |args: &[&str]| command(&sandbox, args).output().unwrap();
    expect(&run(&["--out", "out"]), 2, &["FILES"]);
    expect(&run(&["text.txt"]), 2, &["--out"]);
    expect(&run(&["text.txt", "--out", "out", "--tokenizer", "bpe"]), 2, &["possible values: gpt2, char"]);
    for fraction in ["0", "-1", "1", "NaN"] {
        let said = ["val_fraction must be a number from 0.0001 to 0.9", fraction];
        expect(&run(&["text.txt", "--out", "out", "--val-fraction", fraction]), 2, &said);
    }
    expect(&run(&["nowhere", "--out", "out"]), 2, &["there is nothing at nowhere"]);
    let output = run(&["bad\u{1b}[31m.txt", "--out", "out"]);
    expect(&output, 2, &["bad\\u{1b}[31m.txt", "expected UTF-8", "at byte 9"]);
    assert!(!sandbox.join("out").exists());
    for out in ["file", "file/below"] {
        let said = format!("expected a folder for the tokens, or nothing, at {out}, found a file there or in its path");
        expect(&run(&["text.txt", "--out", out]), 2, &[&said]);
    }
    fs::create_dir(sandbox.join("empty")).unwrap();
    expect(&run(&["empty", "--out", "out"]), 2, &["expected files ending in .txt in empty, found none"]);
}

#[test]
fn text_that_is_too_short_for_both_parts_is_refused() {
    let sandbox = Sandbox::new();
    let run = |args: &[&str]| command(&sandbox, args).output().unwrap();
    let least = "expected text of at least 65 characters for training and as many for validation";
    for (length, found) in [(0, "found 0 and 0 in text.txt"), (2, "found 1 and 1"), (640, "found 576 and 64")] {
        put(sandbox.path(), "text.txt", &TEXT[..length]);
        for tokenizer in ["gpt2", "char"] {
            expect(&run(&["text.txt", "--out", "out", "--tokenizer", tokenizer]), 2, &[least, found]);
        }
        assert!(!sandbox.join("out").exists());
    }
    expect(&run(&["text.txt", "--out", "out", "--val-fraction", "0.11"]), 0, &["are in out"]);
}

#[cfg(unix)]
#[test]
fn a_full_disk_stops_the_work_and_the_same_command_resumes() {
    let sandbox = Sandbox::new();
    put(sandbox.path(), "text.txt", TEXT.as_str());
    let output = sandbox.run_limited(32, &["data", "text", "text.txt", "--out", "out"]);
    expect(&output, 1, &["cannot use", "train.bin", "too large"]);
    assert!(!sandbox.join("out/train.bin").exists());
    expect(&command(&sandbox, &["text.txt", "--out", "out"]).output().unwrap(), 0, &["are in out"]);
}

/// The number of copies that make a text which takes one thread many times the two seconds between saves.
const COPIES: usize = 150;

/// Starts the work on one thread, and waits until more of it is saved than was before.
fn start_and_wait(sandbox: &Sandbox, args: &[&str]) -> Child {
    let state = sandbox.join("out/unfinished.json");
    let read = || fs::read_to_string(&state).unwrap_or_default();
    let before = read();
    let mut child = command(sandbox, args).env("RAYON_NUM_THREADS", "1").stderr(Stdio::piped()).spawn().unwrap();
    wait_until("what is saved", || {
        let has_ended = child.try_wait().unwrap().is_some();
        let now = read();
        let is_saved = !now.is_empty() && now != before && !now.contains("\"tokens\":[0,0]");
        assert!(is_saved || !has_ended, "the work ended before it could be stopped");
        is_saved
    });
    child
}

#[cfg(unix)]
#[test]
fn killed_or_interrupted_work_resumes_to_the_same_bytes() {
    let sandbox = Sandbox::new();
    put(sandbox.path(), "text.txt", TEXT.repeat(COPIES));
    let args = ["text.txt", "--out", "out"];
    let mut child = start_and_wait(&sandbox, &args);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!sandbox.join("out/train.bin").exists());

    let child = start_and_wait(&sandbox, &args);
    signal("INT", child.id());
    expect(&child.wait_with_output().unwrap(), 130, &["the finished part is kept in out", "interrupted"]);

    expect(&command(&sandbox, &args).output().unwrap(), 0, &["are in out"]);
    let whole = ["text.txt", "--out", "whole"];
    expect(&command(&sandbox, &whole).output().unwrap(), 0, &["are in whole"]);
    assert!(results(&sandbox.join("out")) == results(&sandbox.join("whole")), "the results differ");
}
