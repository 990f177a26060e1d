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

pub use detection::{VulkanDriver, has_nvidia_gpu, has_portal, is_root, vulkan_drivers};
pub use needs::{
    Detection, Display, Need, PackageManager, Packages, for_building, for_building_worker, for_installing_pytorch,
    for_tests, for_window,
};
pub use worker::{PyTorchBytes, SetUp, SetUpRefusal, SetUpState, SetUpStatus, WorkerFolder, data_folder};

/// The requirements in `needs` that this machine does not meet.
pub fn missing(needs: Vec<&'static Need>) -> Vec<&'static Need> {
    needs.into_iter().filter(|need| !need.detection.finds()).collect()
}
