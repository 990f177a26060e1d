use crate::Stop;
use crate::cargo::{cargo, status};
use crate::machine::{self, Display};
use crate::setup;

const NO_DISPLAY: &str = "\
There is no display here (neither WAYLAND_DISPLAY nor DISPLAY is set), so the window cannot open.
These commands need none:
    cargo xtask run -- presets list
    cargo xtask run -- simulate fig1c --out fig1c.csv
    cargo xtask run -- doctor";

/// Sets up the machine, then builds valleyscope and starts it with `arguments`.
pub fn run(arguments: &[String]) -> Result<(), Stop> {
    let mut needs = machine::for_building();
    if opens_window(arguments) {
        let display = Display::here();
        if display.is_none() {
            return Err(Stop::refused(NO_DISPLAY));
        }
        needs.extend(machine::for_window(display));
    }
    setup::provide(needs)?;
    setup::ready();
    let status = status(cargo("run").args(["--release", "--package", "valleyscope", "--"]).args(arguments))?;
    match status.code() {
        Some(0) => Ok(()),
        code => Err(Stop::quietly(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))),
    }
}

/// Whether valleyscope opens its window when started so, which it does without a subcommand.
fn opens_window(arguments: &[String]) -> bool {
    let asks_for_text = |it: &String| ["-h", "--help", "-V", "--version"].contains(&it.as_str());
    let subcommand = arguments.first().filter(|first| !first.starts_with('-'));
    subcommand.is_none_or(|it| it == "app") && !arguments.iter().any(asks_for_text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_opens_without_a_subcommand() {
        let opens = |line: &str| opens_window(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert!(opens(""));
        assert!(opens("app"));
        assert!(opens("--preset fig1c"));
        assert!(opens("app --preset fig1c"));
        assert!(!opens("simulate fig1c --steps 10"));
        assert!(!opens("presets list"));
        assert!(!opens("doctor"));
        assert!(!opens("--version"));
        assert!(!opens("app --help"));
    }
}
