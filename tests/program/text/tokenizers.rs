use std::sync::LazyLock;

use proptest::prelude::*;
use valleyscope_experiments::dataset::text::TokenizerKind;
use valleyscope_experiments::dataset::text::{TextError, Tokenizer};

use super::{TEXT, make, put};

/// The encoder of the crate, which encodes whole texts.
static WHOLE: LazyLock<tiktoken_rs::CoreBPE> = LazyLock::new(|| tiktoken_rs::r50k_base().unwrap());

fn gpt2(text: &str) -> Vec<u16> {
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
    let meta = make(&[path], TokenizerKind::Char, folder.path()).unwrap();
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
