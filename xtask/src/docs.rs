use std::process::Command;

use valleyscope_machine as machine;

use crate::cargo::{cargo, project, step};
use crate::{Stop, say, setup};

/// The test that compares the reference pages with the program, and writes them where `UPDATE_BOOK` is set.
const PAGES_TEST: &str = "reference::pages_match_the_program";

const NO_MDBOOK: &str = "\
mdbook, which makes HTML of the book, is not installed. This installs it; then repeat `cargo xtask docs`:
    cargo install mdbook --locked";

/// Writes the reference pages, then builds the book where mdbook is installed.
pub fn docs() -> Result<(), Stop> {
    setup::provide(machine::for_building())?;
    let mut pages = cargo("test");
    pages.args(["--quiet", "--package", "valleyscope", "--test", "book", "--", "--exact", PAGES_TEST]);
    step("writing docs/src/reference", pages.env("UPDATE_BOOK", "1"))?;
    if !setup::answers("mdbook") {
        say(NO_MDBOOK);
        return Ok(());
    }
    let mut book = Command::new("mdbook");
    book.arg("build").arg(project().join("docs")).arg("--dest-dir").arg(project().join("target/book"));
    step("building target/book", &mut book)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_test_that_writes_pages_exists() {
        // cargo succeeds if it finds no test of a name.
        let (module, name) = super::PAGES_TEST.split_once("::").unwrap();
        let path = crate::cargo::project().join("tests/book").join(module).with_extension("rs");
        assert!(std::fs::read_to_string(path).unwrap().contains(&format!("#[test]\nfn {name}()")));
    }
}
