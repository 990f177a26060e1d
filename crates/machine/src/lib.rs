//! The program's requirements on the machine, and their detection.
//!
//! `valleyscope doctor` and the set-up commands of `xtask/` both use this. As `xtask` runs before anything else can be
//! built, the crate uses only the standard library.
//!
//! Requirements are detected directly (can this library be opened, is this program on the path), never by the name of a
//! package. Only on Linux is there anything to detect: other systems come with everything.

mod data;
mod look;
mod needs;
mod packages;
mod worker;

pub use data::data_folder;
pub use look::{VulkanDriver, has_nvidia_gpu, has_portal, is_root, vulkan_drivers};
pub use needs::{
    Display, Look, Need, for_building, for_building_worker, for_installing_pytorch, for_tests, for_window,
};
pub use packages::{PackageManager, Packages};
pub use worker::{PyTorchBytes, SetUp, SetUpRefusal, SetUpState, SetUpStatus, WorkerFolder};

/// Those of `needs` that are not on this machine.
pub fn missing(needs: Vec<&'static Need>) -> Vec<&'static Need> {
    needs.into_iter().filter(|need| !need.look.finds()).collect()
}
