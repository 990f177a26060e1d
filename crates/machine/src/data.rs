use std::env;
use std::path::PathBuf;

/// The user's folder for the program's data, if the system knows of one: the same as the `directories` crate
/// names, worked out with nothing but the standard library.
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
