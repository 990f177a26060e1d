//! Lets the programs that link libtorch find it when they start, without environment variables, and compiles the part of
//! the worker that uses libtorch's c10d, which tch leaves out.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Told by torch-sys, which has found libtorch.
    let Ok(folder) = std::env::var("DEP_TCH_LIBTORCH_LIB") else { return };
    compile_c10d(Path::new(&folder));
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

#[cfg(feature = "torch")]
fn compile_c10d(libraries: &Path) {
    const SOURCE: &str = "src/train/group/c10d.cpp";
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed=src/train/group/gloo");
    println!("cargo::rerun-if-env-changed=LIBTORCH_INCLUDE");
    // The headers are beside the libraries, unless somebody says otherwise, as to torch-sys.
    let named = std::env::var_os("LIBTORCH_INCLUDE").map(std::path::PathBuf::from);
    let root = named.or_else(|| libraries.parent().map(Path::to_owned)).expect("libtorch's libraries are in a folder");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .define("USE_C10D_GLOO", None)
        .include("src/train/group")
        .include(root.join("include"))
        .include(root.join("include/torch/csrc/api/include"))
        // Libtorch's headers cause many.
        .warnings(false)
        .file(SOURCE)
        .compile("valleyscope_c10d");
}

#[cfg(not(feature = "torch"))]
fn compile_c10d(_: &Path) {}
