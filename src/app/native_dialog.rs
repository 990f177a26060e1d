//! Detection of the system's file dialogs.

use valleyscope_machine::{Look, has_portal};

/// Returns whether the system has file dialogs. On Linux and similar systems the desktop's portal or the program zenity
/// provides them; without either, requesting a dialog fails silently. Other systems always have them.
pub(super) fn is_available() -> bool {
    !cfg!(all(unix, not(target_os = "macos"))) || has_portal() || Look::Program("zenity").finds()
}
