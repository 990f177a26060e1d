//! Sets the paths by which programs find libtorch when they start, without environment variables, and compiles the
//! worker's bindings to libtorch's c10d, which tch leaves out.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // torch-sys, which has found libtorch, sets it.
    let Ok(folder) = std::env::var("DEP_TCH_LIBTORCH_LIB") else { return };
    c10d::compile(std::path::Path::new(&folder));
    let own_folder = match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("windows") => return,
        Ok("macos") => "@loader_path",
        _ => "$ORIGIN",
    };
    // First the folder of the set-up, next to the worker's own folder. All programs of a build with libtorch need it:
    // the worker, the tests, and the programs that the tests start.
    for search in [&format!("{own_folder}/../lib"), &folder] {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{search}");
    }
}

mod c10d {
    use std::path::{Path, PathBuf};

    const SOURCE: &str = "src/group/c10d.cpp";

    pub fn compile(libraries: &Path) {
        println!("cargo::rerun-if-changed={SOURCE}");
        println!("cargo::rerun-if-changed=src/group/gloo");
        println!("cargo::rerun-if-env-changed=LIBTORCH_INCLUDE");
        println!("cargo::rerun-if-env-changed=CUDA_HOME");
        // The headers are beside the libraries, unless this variable names a folder, as for torch-sys.
        let named = std::env::var_os("LIBTORCH_INCLUDE").map(PathBuf::from);
        let root =
            named.or_else(|| libraries.parent().map(Path::to_owned)).expect("libtorch's libraries are in a folder");
        let mut build = cc::Build::new();
        build.cpp(true).std("c++17").define("USE_C10D_GLOO", None).include("src/group");
        build.include(root.join("include")).include(root.join("include/torch/csrc/api/include"));
        if libraries.join("libtorch_cuda.so").is_file() {
            match nccl_headers(&root) {
                Some(folders) => {
                    build.define("USE_C10D_NCCL", None).includes(folders);
                }
                None => println!(
                    "cargo::warning=without the headers of NCCL and CUDA, several GPUs exchange gradients through the \
                     processor's memory; `pip install nvidia-cuda-crt==13.0.* nvidia-cuda-cccl==13.0.*` beside PyTorch \
                     brings what is missing, or CUDA_HOME names a CUDA toolkit with NCCL"
                ),
            }
        }
        // Libtorch's headers cause many warnings.
        build.warnings(false).file(SOURCE).compile("valleyscope_c10d");
    }

    /// Returns the folders of the headers that c10d's part for NCCL includes: of pip's packages, which are beside
    /// PyTorch's, or of a CUDA toolkit.
    fn nccl_headers(root: &Path) -> Option<Vec<PathBuf>> {
        let packages = root.parent()?.join("nvidia");
        let toolkit = std::env::var_os("CUDA_HOME").map_or_else(|| "/usr/local/cuda".into(), PathBuf::from);
        let folders = [packages.join("nccl/include"), packages.join("cu13/include"), toolkit.join("include")];
        let folders = folders.into_iter().chain(["/usr/include".into()]);
        let folders: Vec<PathBuf> = folders.flat_map(|folder| [folder.join("cccl"), folder]).collect();
        let having = |header: &str| folders.iter().find(|folder| folder.join(header).is_file()).cloned();
        let needed = ["nccl.h", "cuda_runtime.h", "crt/host_config.h", "nv/target", "cublas_v2.h", "cusolverDn.h"];
        needed.into_iter().map(having).collect()
    }
}
