//! The program's requirements on the machine, and their detection.
//!
//! `valleyscope doctor` and the set-up commands of `xtask/` use this crate. As `xtask` runs before anything else can be
//! built, it uses only the standard library.
//!
//! Requirements are detected directly (this library can be opened, this program is on the path), never by the name of a
//! package. There is something to detect on Linux only: other systems include everything.

mod detection;
mod needs;
mod worker;

pub use detection::{has_nvidia_gpu, has_portal, is_root, software_vulkan};
pub use needs::{
    Detection, Display, Need, PackageManager, Packages, for_building, for_building_worker, for_installing_pytorch,
    for_tests, for_window,
};
pub use worker::{PyTorchVariant, SetUp, SetUpRefusal, SetUpState, SetUpStatus, WorkerFolder, data_folder};

pub fn missing(needs: Vec<&'static Need>) -> Vec<&'static Need> {
    needs.into_iter().filter(|need| !need.detection.finds()).collect()
}

/// Makes a program start in a separate session, so that neither Ctrl-C nor the end of the terminal reaches it.
pub fn detach(command: &mut std::process::Command) {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        unsafe extern "C" {
            fn setsid() -> i32;
        }
        // SAFETY: between fork and exec only `setsid` is called, which POSIX lists as safe there; the closure
        // allocates nothing and takes no lock.
        unsafe {
            command.pre_exec(|| if setsid() == -1 { Err(std::io::Error::last_os_error()) } else { Ok(()) });
        }
    }
    #[cfg(windows)]
    {
        use std::os::windows::process::CommandExt;
        const DETACHED_PROCESS: u32 = 0x0000_0008;
        const CREATE_NEW_PROCESS_GROUP: u32 = 0x0000_0200;
        command.creation_flags(DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP);
    }
}
