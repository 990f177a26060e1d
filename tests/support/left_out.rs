//! Reports of tests that this machine leaves out.

use std::fs::OpenOptions;
use std::io::Write as _;

/// Reports a test, or a part of one, that is left out, even if the test runner captures output: on stderr, and in the
/// file for `cargo xtask test`, which lists all of them at its end.
pub fn left_out(test: &str, why: &str) {
    let line = format!("{test}: {why}\n");
    std::io::stderr().write_all(format!("LEFT OUT {line}").as_bytes()).expect("stderr is there");
    if let Some(list) = std::env::var_os("VALLEYSCOPE_LEFT_OUT") {
        let mut list = OpenOptions::new().append(true).open(list).expect("cargo xtask test has made it");
        list.write_all(line.as_bytes()).expect("it can be written");
    }
}
