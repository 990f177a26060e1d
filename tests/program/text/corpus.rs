use std::collections::HashSet;
use std::fs;
use std::path::Path;

use tempfile::TempDir;
use valleyscope_engine::random::Key;
use valleyscope_experiments::dataset::text::TokenizerKind;
use valleyscope_experiments::dataset::text::{Corpus, Meta, Offsets, Split, TextError};

use super::{make, put, says, tokens};
#[cfg(unix)]
use crate::sandbox::make_fifo;

/// Returns a folder with tokens of a text of consecutive numbers.
fn folder(kind: TokenizerKind) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..400).map(|number| format!("{number} apples.\n")).collect();
    let path = put(folder.path(), "text/counted.txt", text);
    make(&[path], kind, folder.path()).unwrap();
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
    says(&Corpus::open(folder.path(), 8).unwrap_err(), &["train.bin", "cannot use"]);
}

#[test]
fn tokens_beyond_the_vocabulary_are_refused_with_their_place() {
    let folder = folder(TokenizerKind::Char);
    let path = folder.path().join("train.bin");
    let mut all = tokens(&path);
    all[123] = 60_000;
    write_tokens(&path, &all);
    says(&Corpus::open(folder.path(), 8).unwrap_err(), &["train.bin", "smaller than", "60000 as token 123"]);
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
    says(&Corpus::open(folder.path(), 4).unwrap_err(), &["meta.json", "meta.pkl", "valleyscope data text"]);
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
    says(&Corpus::open(folder.path(), 8).unwrap_err(), &["train.bin", "as meta.json says"]);
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
    says(&Corpus::open(folder.path(), 8).unwrap_err(), &["val.bin", "tokens of four bytes"]);
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
        says(&Corpus::open(folder.path(), 8).unwrap_err(), &parts);
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
