use std::process::Command;

use crate::Stop;
use crate::cargo::{cargo, step};
use crate::machine::{self, Display};
use crate::setup;
use crate::xvfb::Xvfb;

/// Sets up the machine, then checks format and lints and runs all tests; `arguments` go to `cargo test`.
pub fn test(arguments: &[String]) -> Result<(), Stop> {
    let display = Display::here();
    setup::provide_rust_components()?;
    setup::provide(machine::for_building().into_iter().chain(machine::for_tests(display)).collect())?;
    setup::ready();

    step("formatting: cargo fmt --check", cargo("fmt").args(["--all", "--check"]))?;
    // The lint runs compile in full, under clippy, so that dependencies are built once for lints and tests.
    let mut bare = linted("build");
    bare.args(["--workspace", "--no-default-features", "--lib", "--bins"]);
    step("lints without the window: clippy on --no-default-features", &mut bare)?;
    step("lints: clippy on everything", linted("build").args(["--workspace", "--all-targets"]))?;

    let mut tests = linted("test");
    tests.arg("--workspace").args(arguments);
    // Pictures are compared with those of one driver, whatever graphics card is in this machine.
    if let Some(driver) = machine::vulkan_drivers().iter().find(|driver| driver.is_software()) {
        tests.env("VK_DRIVER_FILES", &driver.manifest);
    }
    let xvfb = display.is_none().then(Xvfb::start).transpose()?;
    if let Some(xvfb) = &xvfb {
        tests.env("DISPLAY", xvfb.display());
    }
    step("tests: cargo test", &mut tests)
}

/// Cargo with clippy in the compiler's place for the project's own packages; a warning is an error.
fn linted(subcommand: &str) -> Command {
    let mut command = cargo(subcommand);
    // The variables through which `cargo clippy` itself sets up its driver.
    command.env("RUSTC_WORKSPACE_WRAPPER", "clippy-driver");
    command.env("CLIPPY_ARGS", "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    command
}
