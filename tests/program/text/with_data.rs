use valleyscope_experiments::dataset::text::TokenizerKind;
use valleyscope_experiments::dataset::text::{Split, Tokenizer};

use super::{make, tokens};
use crate::data_folder::data_folder;

#[test]
fn tiny_shakespeare_has_as_many_tokens_as_in_nanogpt() {
    let Some(data) = data_folder(module_path!()) else { return };
    let path = data.join("tinyshakespeare/input.txt");
    let text = std::fs::read_to_string(&path).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let characters = "\n !$&',-.3:;?ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    for (kind, counts, size) in
        [(TokenizerKind::Char, [1_003_854, 111_540], 65), (TokenizerKind::Gpt2, [301_966, 36_059], 50_257)]
    {
        let out = folder.path().join(kind.name());
        let meta = make(std::slice::from_ref(&path), kind, &out).unwrap();
        assert_eq!(([meta.train.tokens, meta.val.tokens], meta.vocabulary_size), (counts, size));
        assert_eq!(meta.vocabulary.as_deref(), (kind == TokenizerKind::Char).then_some(characters));
        assert_eq!(meta.sources[0].sha256, "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed");
        let tokenizer = meta.tokenizer(&out).unwrap();
        let parts = Split::ALL.map(|split| tokenizer.decode(&tokens(&out.join(split.file_name()))));
        assert!(parts.concat() == text, "tokens become the text again");
    }
    // The whole text has the tokens of its parts only if no token lies across the border.
    assert_eq!(Tokenizer::Gpt2.encode(&text).unwrap().len(), 338_025);
}
