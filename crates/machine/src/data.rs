use std::env;
use std::path::PathBuf;

/// Returns the user's folder for the program's data, if the system defines one: the same as that of the `directories`
/// crate, computed with the standard library alone.
pub fn data_folder() -> Option<PathBuf> {
    let variable = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || env::home_dir().filter(|home| !home.as_os_str().is_empty());
    if cfg!(windows) {
        Some(variable("APPDATA")?.join("valleyscope").join("data"))
    } else if cfg!(target_os = "macos") {
        Some(home()?.join("Library/Application Support/valleyscope"))
    } else {
        let folder = variable("XDG_DATA_HOME").or_else(|| Some(home()?.join(".local/share")))?;
        Some(folder.join("valleyscope"))
    }
}
