//! Lets the programs that link libtorch find it when they start, without environment variables.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Told by torch-sys, which has found libtorch.
    let Ok(folder) = std::env::var("DEP_TCH_LIBTORCH_LIB") else { return };
    let own_folder = match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("windows") => return,
        Ok("macos") => "@loader_path",
        _ => "$ORIGIN",
    };
    // First libtorch where the set-up puts it, which is next to the worker's own folder. All programs of a build
    // with libtorch need it: the worker, the tests, and whatever the tests start.
    for search in [&format!("{own_folder}/../lib"), &folder] {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{search}");
    }
}
