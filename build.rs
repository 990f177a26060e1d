//! Lets the programs that link libtorch find it when they start, without environment variables.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Told by torch-sys, which has found libtorch.
    let Ok(folder) = std::env::var("DEP_TCH_LIBTORCH_LIB") else { return };
    // First libtorch where the set-up puts it, which is next to the worker's own folder.
    for search in ["$ORIGIN/../lib", &folder] {
        println!("cargo::rustc-link-arg-bins=-Wl,-rpath,{search}");
        println!("cargo::rustc-link-arg-tests=-Wl,-rpath,{search}");
        println!("cargo::rustc-link-arg-benches=-Wl,-rpath,{search}");
    }
}
