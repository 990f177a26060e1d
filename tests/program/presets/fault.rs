//! Errors about texts that are not valid presets.

use valleyscope_experiments::preset::{Fault, Preset, PresetError};

pub fn fault_of(text: &str) -> Fault {
    match Preset::parse(text, "bad.ron") {
        Err(PresetError::Content(fault)) => *fault,
        other => panic!("expected a fault in the text, found {other:?} for\n{text}"),
    }
}

/// Replaces `part` of a good preset and expects the fault at the place of `mark` in the replacement.
#[track_caller]
pub fn refused_in(good: &str, part: &str, replacement: &str, mark: &str, words: &[&str]) {
    assert_eq!(good.matches(part).count(), 1, "{part}");
    let text = good.replace(part, replacement);
    let at = good.find(part).unwrap() + replacement.find(mark).expect("the mark is in the replacement");
    let line = text[..at].matches('\n').count() + 1;
    let column = text[..at].chars().rev().take_while(|&c| c != '\n').count() + 1;
    let fault = fault_of(&text);
    assert_eq!((fault.line, fault.column), (line, column), "{fault}");
    for word in words {
        assert!(fault.message.contains(word), "no {word:?} in: {fault}");
    }
}
