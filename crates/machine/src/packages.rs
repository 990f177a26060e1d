use super::needs::Need;

/// A program that installs packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageManager {
    Apt,
    Dnf,
    Pacman,
    Zypper,
}

impl PackageManager {
    /// Returns the package manager of this system, if it is one of these.
    pub fn here() -> Option<PackageManager> {
        let os_release = ["/etc/os-release", "/usr/lib/os-release"];
        os_release
            .iter()
            .find_map(|path| std::fs::read_to_string(path).ok())
            .and_then(|text| Self::from_os_release(&text))
    }

    /// Returns the package manager of the distribution that an `os-release` file describes.
    pub fn from_os_release(text: &str) -> Option<PackageManager> {
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
            value.unwrap_or("").trim().trim_matches(['"', '\'']).to_owned()
        };
        let family = format!("{} {}", field("ID"), field("ID_LIKE"));
        family.split_whitespace().find_map(|id| match id {
            "debian" | "ubuntu" => Some(PackageManager::Apt),
            "fedora" | "rhel" | "centos" => Some(PackageManager::Dnf),
            "arch" => Some(PackageManager::Pacman),
            "suse" | "opensuse" => Some(PackageManager::Zypper),
            _ => None,
        })
    }

    /// Lists the packages for `needs`, each once, sorted.
    pub fn packages(self, needs: &[&Need]) -> Vec<&'static str> {
        let names = needs.iter().map(|need| match self {
            PackageManager::Apt => need.packages.apt,
            PackageManager::Dnf => need.packages.dnf,
            PackageManager::Pacman => need.packages.pacman,
            PackageManager::Zypper => need.packages.zypper,
        });
        let mut packages: Vec<&str> = names.flat_map(str::split_whitespace).collect();
        packages.sort_unstable();
        packages.dedup();
        packages
    }

    /// Returns the command that installs `needs`.
    pub fn command(self, needs: &[&Need], root: bool) -> String {
        let install = match self {
            PackageManager::Apt => "apt-get install",
            PackageManager::Dnf => "dnf install",
            PackageManager::Pacman => "pacman -S --needed",
            PackageManager::Zypper => "zypper install",
        };
        let sudo = if root { "" } else { "sudo " };
        format!("{sudo}{install} {}", self.packages(needs).join(" "))
    }
}
