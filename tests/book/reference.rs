//! The pages in `docs/src/reference`, which `cargo xtask docs` writes.

use std::fs;
use std::path::Path;

use valleyscope::app::shortcuts;
use valleyscope_experiments::preset::{BuiltIn, built_ins};

use crate::markdown::{code, escaped, table};
use crate::{commands_page, landscapes_page, optimizers_page, parameters_page};

const NOTE: &str = "<!-- Written by `cargo xtask docs`. Change the code that it is made from, not this page. -->\n\n";

/// Returns the pages with their names.
fn pages() -> [(&'static str, String); 6] {
    [
        ("commands.md", commands_page::text()),
        ("keys.md", keys()),
        ("landscapes.md", landscapes_page::text()),
        ("optimizers.md", optimizers_page::text()),
        ("parameters.md", parameters_page::text()),
        ("presets.md", presets()),
    ]
}

#[test]
fn pages_match_the_program() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/reference");
    let is_writing = std::env::var_os("UPDATE_BOOK").is_some();
    let mut outdated = Vec::new();
    for (name, text) in pages() {
        let path = folder.join(name);
        let text = format!("{NOTE}{}\n", text.trim_end());
        if is_writing {
            fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
            fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        } else if fs::read_to_string(&path).ok().as_deref() != Some(&text) {
            outdated.push(name);
        }
    }
    assert!(
        outdated.is_empty(),
        "in docs/src/reference, {} differ from the program or are missing: run `cargo xtask docs`",
        outdated.join(", ")
    );
}

fn keys() -> String {
    let rows = shortcuts().into_iter().map(|(keys, effect)| [escaped(&keys), escaped(&effect)]);
    format!("# Keys\n\nOn macOS, Ctrl is Cmd.\n\n{}", table(["keys", "action"], rows))
}

/// Returns the kinds of the built-in presets, in their order.
pub fn kinds() -> Vec<&'static str> {
    let mut kinds = Vec::new();
    for kind in built_ins().iter().map(|built_in| built_in.preset.kind()) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

/// Returns the built-in presets of a kind.
pub fn of_kind(kind: &str) -> impl Iterator<Item = &'static BuiltIn> {
    built_ins().iter().filter(move |built_in| built_in.preset.kind() == kind)
}

fn presets() -> String {
    let mut text = "# Built-in presets\n\n\
        `valleyscope presets show NAME` prints the file of a preset, with its comments. In the window, presets are opened \
        from the menu *Presets*.\n\n"
        .to_owned();
    for kind in kinds() {
        text += &format!("## {kind}\n\n");
        if let Some(first) = of_kind(kind).next() {
            text += &format!("To run one without a window: `valleyscope {}`.\n\n", first.preset.command("NAME"));
        }
        let rows = of_kind(kind)
            .map(|BuiltIn { name, preset, .. }| [code(name), escaped(preset.title()), escaped(preset.description())]);
        text += &table(["name", "title", "description"], rows);
    }
    text
}
