use std::fs;
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::Duration;

use sha2::{Digest, Sha256};
use valleyscope_experiments::dataset::DataChoice;
use valleyscope_experiments::dataset::text::TokenizerKind;
use valleyscope_experiments::dataset::text::{
    Corpus, Split, TextError, TextNeeds, TextSource, TextSources, obtain, status, synthetic_text,
};

use crate::says::says;

use super::{TEXT, make, put};

const CHAR: TextNeeds = TextNeeds { tokenizer: TokenizerKind::Char, context: 64 };
const GPT2: TextNeeds = TextNeeds { tokenizer: TokenizerKind::Gpt2, context: 64 };

fn sources(cache: Option<&Path>, folder: Option<&Path>) -> TextSources {
    TextSources { cache: cache.map(Path::to_owned), folder: folder.map(Path::to_owned) }
}

fn get(choice: &DataChoice, wanted: TextNeeds, sources: &TextSources) -> Result<(Corpus, Vec<String>), TextError> {
    obtain(choice, wanted, sources, &mut |_| (), &|| false)
}

fn folder(path: &Path) -> DataChoice {
    DataChoice::Folder(path.to_str().unwrap().to_owned())
}

fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

#[test]
fn tokens_in_a_folder_are_used_as_they_are() {
    let place = tempfile::tempdir().unwrap();
    let text = put(place.path(), "text.txt", &TEXT[..40_000]);
    let out = place.path().join("out");
    make(std::slice::from_ref(&text), TokenizerKind::Char, &out).unwrap();
    let nowhere = sources(None, None);
    let (corpus, warnings) = get(&folder(&out), CHAR, &nowhere).unwrap();
    assert_eq!((corpus.count(Split::Train), corpus.count(Split::Validation)), (36_000, 4_000));
    assert_eq!((corpus.source, warnings), (TextSource::Tokens(out.clone()), vec![]));
    let error = get(&folder(&out), GPT2, &nowhere).unwrap_err();
    says(&error, &["expected tokens of `gpt2`, found those of `char`", "--tokenizer gpt2"]);
    says(
        get(&folder(&out), TextNeeds { context: 4_000, ..CHAR }, &nowhere).unwrap_err(),
        &["4001 tokens", "found 4000"],
    );
    fs::remove_file(out.join("meta.json")).unwrap();
    let (_, warnings) = get(&folder(&out), GPT2, &nowhere).unwrap();
    says(TextError::NotThere(warnings[0].clone().into()), &["no meta.json", "GPT-2"]);
}

/// A file of more than 128 MiB is compared once, until its length or its time changes.
#[test]
fn large_files_of_tokens_are_compared_with_their_description() {
    const TOKENS: u64 = (1 << 26) + 8;
    let [place, cache] = [0, 1].map(|_| tempfile::tempdir().unwrap());
    let [train, val] = ["train.bin", "val.bin"].map(|name| place.path().join(name));
    fs::write(&val, [7, 0].repeat(100)).unwrap();
    // The file has no blocks on the disk, and is read as zeros.
    let file = fs::File::create(&train).unwrap();
    file.set_len(2 * TOKENS).unwrap();
    let sum = |bytes: &mut dyn Iterator<Item = &[u8]>| {
        let mut hash = Sha256::new();
        bytes.for_each(|bytes| hash.update(bytes));
        format!("{:x}", hash.finalize())
    };
    let (zeros, rest) = (vec![0; 1 << 20], [0; 16]);
    let sums = [
        sum(&mut std::iter::repeat_n(&zeros[..], 128).chain([&rest[..]])),
        sum(&mut [&[7, 0].repeat(100)[..]].into_iter()),
    ];
    let meta = serde_json::json!({
        "tokenizer": "gpt2", "vocabulary_size": 50257, "val_fraction": 0.1, "sources": [],
        "train": {"tokens": TOKENS, "sha256": sums[0]}, "val": {"tokens": 100, "sha256": sums[1]},
    });
    put(place.path(), "meta.json", meta.to_string());
    let sources = sources(Some(cache.path()), None);
    let compared = |lines: &mut usize| {
        let mut say = |line: &str| *lines += usize::from(line.starts_with("comparing tokens with meta.json"));
        obtain(&folder(place.path()), GPT2, &sources, &mut say, &|| false)
    };
    let mut lines = 0;
    assert!(compared(&mut lines).is_ok());
    assert_eq!((lines > 0, count(cache.path())), (true, 1));
    lines = 0;
    assert!(compared(&mut lines).is_ok());
    assert_eq!(lines, 0, "it is known");
    let time = file.metadata().unwrap().modified().unwrap();
    fs::File::options().write(true).open(&train).unwrap().write_all(&[1, 0]).unwrap();
    file.set_modified(time + Duration::from_secs(1)).unwrap();
    let found = "found tokens with the SHA-256 ";
    says(compared(&mut lines).unwrap_err(), &["train.bin", "the tokens of meta.json", found, &sums[0]]);
    assert!(lines > 0);
}

#[test]
fn text_is_tokenized_into_the_cache_once() {
    let [place, cache] = [0, 1].map(|_| tempfile::tempdir().unwrap());
    let text = put(place.path(), "text.txt", &TEXT[..40_000]);
    let sources = sources(Some(cache.path()), None);
    let (corpus, warnings) = get(&folder(place.path()), GPT2, &sources).unwrap();
    assert_eq!((&corpus.source, warnings), (&TextSource::Text(place.path().to_owned()), vec![]));
    let made = fs::read_dir(cache.path()).unwrap().next().unwrap().unwrap().path();
    let time = || fs::metadata(made.join("train.bin")).unwrap().modified().unwrap();
    let first = time();
    // The path of the file gives the same text.
    let (same, _) = get(&folder(&text), GPT2, &sources).unwrap();
    let fingerprint = corpus.fingerprint().unwrap();
    assert_eq!(same.fingerprint().unwrap(), fingerprint);
    assert_eq!((count(cache.path()), time()), (1, first));
    get(&folder(place.path()), CHAR, &sources).unwrap();
    put(place.path(), "text.txt", &TEXT[..40_001]);
    get(&folder(place.path()), CHAR, &sources).unwrap();
    assert_eq!(count(cache.path()), 3, "other tokens and other text have folders of their own");
    // Damaged tokens there are made again.
    fs::write(made.join("train.bin"), "damaged").unwrap();
    put(place.path(), "text.txt", &TEXT[..40_000]);
    let (again, _) = get(&folder(place.path()), GPT2, &sources).unwrap();
    assert_eq!(again.fingerprint().unwrap(), fingerprint);

    says(get(&folder(&text), GPT2, &self::sources(None, None)).unwrap_err(), &["no home folder", "HOME"]);
    let empty = tempfile::tempdir().unwrap();
    says(get(&folder(empty.path()), GPT2, &sources).unwrap_err(), &["train.bin", ".txt"]);
    assert!(matches!(get(&folder(Path::new("/nowhere")), GPT2, &sources), Err(TextError::NotThere(_))));
}

#[test]
fn workers_that_start_together_get_the_same_tokens() {
    let [place, cache] = [0, 1].map(|_| tempfile::tempdir().unwrap());
    put(place.path(), "text.txt", TEXT.as_str());
    let fingerprint = || {
        let (corpus, _) = get(&folder(place.path()), CHAR, &sources(Some(cache.path()), None)).unwrap();
        corpus.fingerprint().unwrap()
    };
    let prints = thread::scope(|scope| [0, 1, 2].map(|_| scope.spawn(fingerprint)).map(|it| it.join().unwrap()));
    assert!(prints.iter().all(|print| *print == prints[0]));
    assert_eq!(count(cache.path()), 1);
}

#[test]
fn without_a_named_folder_the_data_folder_is_searched() {
    let [data, cache] = [0, 1].map(|_| tempfile::tempdir().unwrap());
    let sources = sources(Some(cache.path()), Some(data.path()));
    put(data.path(), "others/mail.txt", "private");
    let text = put(data.path(), "tinyshakespeare/input.txt", &TEXT[..40_000]);
    for wanted in [CHAR, GPT2] {
        let (corpus, warnings) = get(&DataChoice::Automatic, wanted, &sources).unwrap();
        assert_eq!((corpus.source, warnings), (TextSource::Text(data.path().join("tinyshakespeare")), vec![]));
    }
    let web = data.path().join("openwebtext");
    make(&[text], TokenizerKind::Gpt2, &web).unwrap();
    let (corpus, warnings) = get(&DataChoice::Automatic, GPT2, &sources).unwrap();
    assert_eq!((corpus.source, warnings), (TextSource::Tokens(web), vec![]));
    let (corpus, warnings) = get(&DataChoice::Automatic, CHAR, &sources).unwrap();
    assert_eq!(corpus.source, TextSource::Text(data.path().join("tinyshakespeare")));
    assert!(warnings.len() == 1 && warnings[0].contains("openwebtext"), "{warnings:?}");
    put(data.path(), "openwebtext/val.bin", "odd");
    assert!(get(&DataChoice::Automatic, GPT2, &sources).is_err(), "what is wrong is said, not passed over");
}

#[test]
fn without_text_synthetic_text_is_made_with_a_warning() {
    let empty = tempfile::tempdir().unwrap();
    for folder in [None, Some(empty.path())] {
        for wanted in [CHAR, GPT2] {
            let (corpus, warnings) = get(&DataChoice::Automatic, wanted, &sources(None, folder)).unwrap();
            assert_eq!(corpus.source, TextSource::Synthetic);
            assert!(corpus.source.to_string().contains("not a real corpus"));
            let [warning] = &warnings[..] else { panic!("expected one warning, found {warnings:?}") };
            assert!(warning.contains("generated by Valleyscope") && warning.contains("VALLEYSCOPE_DATA"), "{warning}");
            let (asked, warnings) = get(&DataChoice::Synthetic, wanted, &sources(None, None)).unwrap();
            assert_eq!(asked.fingerprint().unwrap(), corpus.fingerprint().unwrap());
            assert!(warnings.is_empty(), "{warnings:?}");
            let sequences = asked.sequences(Split::Train, &[0]).unwrap();
            assert!(asked.tokenizer.decode(&sequences.inputs).starts_with("SCENE 1. "));
            assert!(asked.sequences(Split::Train, &[asked.count(Split::Train)]).is_err());
        }
    }
}

#[test]
fn cancelling_gives_no_synthetic_text() {
    let [place, cache] = [0, 1].map(|_| tempfile::tempdir().unwrap());
    put(place.path(), "tinyshakespeare/input.txt", TEXT.as_str());
    let sources = sources(Some(cache.path()), Some(place.path()));
    let outcome = obtain(&DataChoice::Automatic, CHAR, &sources, &mut |_| (), &|| true);
    assert!(matches!(outcome, Err(TextError::Cancelled)));
}

#[test]
fn the_status_predicts_the_corpus_without_making_tokens() {
    let [place, cache] = [0, 1].map(|_| tempfile::tempdir().unwrap());
    let sources = sources(Some(cache.path()), Some(place.path()));
    let seen = |choice: &DataChoice, wanted| status(choice, wanted, &sources);
    let data_status = seen(&DataChoice::Automatic, CHAR).unwrap();
    assert_eq!(
        (data_status.source, data_status.vocabulary, data_status.warnings.len()),
        (TextSource::Synthetic, None, 1)
    );
    let text = put(place.path(), "tinyshakespeare/input.txt", &TEXT[..40_000]);
    let input = text.parent().unwrap().to_owned();
    let data_status = seen(&DataChoice::Automatic, GPT2).unwrap();
    assert_eq!((data_status.source, data_status.vocabulary), (TextSource::Text(input), Some(50_257)));
    assert!(data_status.warnings.is_empty());
    let characters = |text: &str| text.chars().collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!(seen(&DataChoice::Automatic, CHAR).unwrap().vocabulary_size().unwrap(), characters(&TEXT[..40_000]));
    let synthetic = seen(&DataChoice::Synthetic, CHAR).unwrap().vocabulary_size().unwrap();
    assert_eq!(synthetic, characters(&synthetic_text()));
    assert_eq!(count(cache.path()), 0, "nothing is made");
    let made = place.path().join("made");
    let meta = make(&[text], TokenizerKind::Char, &made).unwrap();
    let data_status = seen(&folder(&made), CHAR).unwrap();
    assert_eq!((data_status.source, data_status.vocabulary), (TextSource::Tokens(made), Some(meta.vocabulary_size)));
}

#[test]
fn errors_of_data_are_equal_before_and_after_reading_them() {
    let [place, cache] = [0, 1].map(|_| tempfile::tempdir().unwrap());
    let sources = sources(Some(cache.path()), None);
    let text = put(place.path(), "text.txt", &TEXT[..40_000]);
    let [whole, odd, cut] = ["whole", "odd", "cut"].map(|name| {
        let made = place.path().join(name);
        make(std::slice::from_ref(&text), TokenizerKind::Char, &made).unwrap();
        made
    });
    put(&odd, "val.bin", "odd");
    put(&cut, "val.bin", "even");
    let [empty, short] = [("empty.txt", ""), ("short.txt", "To be")].map(|(name, text)| put(place.path(), name, text));
    for (path, wanted, expected) in [
        (whole, GPT2, "expected tokens of `gpt2`, found those of `char`"),
        (odd, CHAR, "3 bytes, an odd number"),
        (cut, CHAR, "expected 4000 tokens, as meta.json says, found 2"),
        (empty, CHAR, "at least 130 bytes of text, for sequences of 64 tokens, found 0"),
        (short, GPT2, "at least 130 bytes of text, for sequences of 64 tokens, found 5"),
        (place.path().join("nowhere"), GPT2, "there is nothing at"),
    ] {
        let before = status(&folder(&path), wanted, &sources).unwrap_err();
        says(&before, &[expected]);
        assert_eq!(before.to_string(), get(&folder(&path), wanted, &sources).unwrap_err().to_string());
    }
    assert_eq!(count(cache.path()), 0);
}
