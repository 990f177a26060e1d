//! Checks of messages.

use std::fmt::Display;

#[track_caller]
pub fn says(said: impl Display, words: &[&str]) {
    let said = said.to_string();
    for words in words {
        assert!(said.contains(words), "no {words:?} in: {said}");
    }
}
