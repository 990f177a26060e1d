//! Whether the system has file dialogs to show.

use crate::machine::{Look, has_portal};

/// On Linux and its kin a file dialog comes from the desktop's portal, or else from the program zenity.
/// Where there is neither, asking for a dialog only fails without a word. Elsewhere the system always has
/// one.
pub(super) fn is_available() -> bool {
    !cfg!(all(unix, not(target_os = "macos"))) || has_portal() || Look::Program("zenity").finds()
}
