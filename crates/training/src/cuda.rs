//! Queries about devices through CUDA's runtime, which is part of libtorch. Without a runtime they return nothing.
//!
//! A worker without NCCL is linked with libtorch's CPU libraries only, and loads the CUDA backend at run time if there
//! is a driver, so it runs with a libtorch without CUDA too. A worker with NCCL is linked with the CUDA backend: it
//! runs without a driver, but not without that library.

#[cfg(unix)]
use std::ffi::{CStr, c_char, c_int};
#[cfg(unix)]
use std::mem::ManuallyDrop;
#[cfg(unix)]
use std::sync::OnceLock;

#[cfg(unix)]
use libloading::os::unix::Library;

/// The part of libtorch that uses CUDA. The worker is not linked with it, and so starts without it too.
pub(super) const BACKEND: &str = "libtorch_cuda.so";

/// Functions of the runtime; they return 0 on success.
#[cfg(unix)]
struct Runtime {
    /// `cudaError_t cudaSetDevice(int device)`
    set_device: unsafe extern "C" fn(c_int) -> c_int,
    /// `cudaError_t cudaMemGetInfo(size_t *free, size_t *total)`
    memory_info: unsafe extern "C" fn(*mut usize, *mut usize) -> c_int,
    /// `cudaError_t cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)`
    bus_id: unsafe extern "C" fn(*mut c_char, c_int, c_int) -> c_int,
}

#[cfg(unix)]
impl Runtime {
    fn get() -> Option<&'static Runtime> {
        static RUNTIME: OnceLock<Option<Runtime>> = OnceLock::new();
        let look = || {
            // SAFETY: if there is a device, the backend is loaded; the functions have these types in all versions of
            // CUDA, and stay for the life of the process.
            unsafe {
                // The backend depends on the runtime.
                let library = ManuallyDrop::new(Library::new(BACKEND).ok()?);
                Some(Runtime {
                    set_device: *library.get(b"cudaSetDevice\0").ok()?,
                    memory_info: *library.get(b"cudaMemGetInfo\0").ok()?,
                    bus_id: *library.get(b"cudaDeviceGetPCIBusId\0").ok()?,
                })
            }
        };
        RUNTIME.get_or_init(look).as_ref()
    }
}

/// Returns the bytes in use on a device by all programs.
#[cfg(unix)]
pub(super) fn memory_in_use(device: usize) -> Option<u64> {
    let runtime = Runtime::get()?;
    let (mut free, mut total) = (0, 0);
    // SAFETY: both places live until the call returns. This thread trains on the same device.
    let outcome = unsafe {
        ((runtime.set_device)(c_int::try_from(device).ok()?), (runtime.memory_info)(&raw mut free, &raw mut total))
    };
    (outcome == (0, 0)).then(|| (total - free) as u64)
}

/// Returns the PCI address of a device, such as `0000:3B:00.0`. Unlike the numbers of devices, it does not depend on
/// `CUDA_VISIBLE_DEVICES` and `CUDA_DEVICE_ORDER`.
#[cfg(unix)]
pub(super) fn bus_id(device: usize) -> Option<String> {
    let runtime = Runtime::get()?;
    let mut text = [0; 32];
    // SAFETY: the text has the stated length, and lives until the call returns.
    let outcome = unsafe { (runtime.bus_id)(text.as_mut_ptr(), text.len() as c_int, c_int::try_from(device).ok()?) };
    let bytes = text.map(|byte: c_char| byte as u8);
    let text = CStr::from_bytes_until_nul(&bytes).ok()?;
    (outcome == 0).then(|| text.to_string_lossy().into_owned())
}

#[cfg(not(unix))]
pub(super) fn memory_in_use(_: usize) -> Option<u64> {
    None
}

#[cfg(not(unix))]
pub(super) fn bus_id(_: usize) -> Option<String> {
    None
}
