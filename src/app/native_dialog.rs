//! Whether the system has file dialogs to show.

use valleyscope_machine::{Look, has_portal};

/// Whether a file dialog is available. On Linux and similar systems it comes from the desktop's portal, or else from
/// the program zenity; without either, requesting a dialog fails silently. Other systems always have one.
pub(super) fn is_available() -> bool {
    !cfg!(all(unix, not(target_os = "macos"))) || has_portal() || Look::Program("zenity").finds()
}
