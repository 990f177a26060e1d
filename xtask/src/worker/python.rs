use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A Python on the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Python {
    pub program: &'static str,
    /// The major and minor version.
    pub version: (u32, u32),
    /// The folder of its torch, which may have any version, or not work.
    pub torch: Option<PathBuf>,
    pub has_pip: bool,
}

/// A script that finds torch without loading it, which takes long and fails if its CUDA libraries are missing.
const PROBE: &str = "
import sys
from importlib.util import find_spec
torch = find_spec('torch')
print('version', *sys.version_info[:2])
print('pip', find_spec('pip') is not None)
if torch and torch.submodule_search_locations:
    print('torch', list(torch.submodule_search_locations)[0])
";

/// Lists the Pythons on the path, the active one first.
pub fn pythons() -> Vec<Python> {
    let programs = if cfg!(windows) { ["python", "py"] } else { ["python3", "python"] };
    programs.into_iter().filter_map(ask).collect()
}

fn ask(program: &'static str) -> Option<Python> {
    let mut command = Command::new(program);
    command.args(["-c", PROBE]).stdin(Stdio::null()).stderr(Stdio::null());
    // Python would take a folder named torch in the working folder for the package.
    command.current_dir(std::env::temp_dir());
    let output = command.output().ok()?;
    Python::from_answer(program, &String::from_utf8_lossy(&output.stdout))
}

impl Python {
    fn from_answer(program: &'static str, answer: &str) -> Option<Python> {
        let field = |name: &str| answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let (major, minor) = field("version")?.split_once(' ')?;
        Some(Python {
            program,
            version: (major.parse().ok()?, minor.trim().parse().ok()?),
            torch: field("torch").map(|path| PathBuf::from(path.trim())),
            has_pip: field("pip")?.trim() == "True",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_version_pip_and_torch() {
        let answer = "version 3 11\npip True\ntorch /opt/with space/site-packages/torch\n";
        let expected = Python {
            program: "python3",
            version: (3, 11),
            torch: Some("/opt/with space/site-packages/torch".into()),
            has_pip: true,
        };
        assert_eq!(Python::from_answer("python3", answer), Some(expected));
        let bare = Python::from_answer("python", "version 3 9\npip False\n").unwrap();
        assert_eq!((bare.version, bare.torch, bare.has_pip), ((3, 9), None, false));
        assert_eq!(Python::from_answer("python", ""), None);
        assert_eq!(Python::from_answer("python", "pyenv: python: command not found"), None);
    }
}
