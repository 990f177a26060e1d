//! Queries of CUDA's runtime, which comes with libtorch, about devices. They return nothing where there is no runtime.
//!
//! A worker without NCCL is linked with libtorch's CPU libraries only, and loads the CUDA backend at run time where
//! there is a driver, so that it runs with a libtorch without CUDA. One with NCCL is linked with the CUDA backend,
//! and runs without a driver, but not without that library.

#[cfg(unix)]
use std::ffi::{CStr, c_char, c_int};
#[cfg(unix)]
use std::mem::ManuallyDrop;
#[cfg(unix)]
use std::sync::OnceLock;

#[cfg(unix)]
use libloading::os::unix::Library;

/// The part of libtorch that uses CUDA. The worker is not linked with it, so that it starts without it too.
pub(super) const BACKEND: &str = "libtorch_cuda.so";

/// Functions of the runtime; 0 is success.
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
            // SAFETY: where a device is known, the backend is loaded; the functions are of these types in all versions of
            // CUDA, and stay for the life of the process.
            unsafe {
                // The runtime is among its dependencies.
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

/// Bytes in use on a device, by all programs.
#[cfg(unix)]
pub(super) fn memory_in_use(device: usize) -> Option<u64> {
    let runtime = Runtime::get()?;
    let (mut free, mut total) = (0, 0);
    // SAFETY: both places live until the call returns. The device is the one that this thread trains on anyway.
    let outcome = unsafe {
        ((runtime.set_device)(c_int::try_from(device).ok()?), (runtime.memory_info)(&raw mut free, &raw mut total))
    };
    (outcome == (0, 0)).then(|| (total - free) as u64)
}

/// The PCI address of a device, such as `0000:3B:00.0`. The numbers of devices are those of `CUDA_VISIBLE_DEVICES` and
/// `CUDA_DEVICE_ORDER`, which other programs do not count by.
#[cfg(unix)]
pub(super) fn bus_id(device: usize) -> Option<String> {
    let runtime = Runtime::get()?;
    let mut text = [0; 32];
    // SAFETY: the text has as many bytes as is said, and lives until the call returns.
    let outcome = unsafe { (runtime.bus_id)(text.as_mut_ptr(), text.len() as c_int, c_int::try_from(device).ok()?) };
    let bytes = text.map(|byte: c_char| byte as u8);
    let text = CStr::from_bytes_until_nul(&bytes).ok()?;
    (outcome == 0).then(|| text.to_string_lossy().into_owned())
}

#[cfg(not(unix))]
pub fn memory_in_use(_: usize) -> Option<u64> {
    None
}

#[cfg(not(unix))]
pub fn bus_id(_: usize) -> Option<String> {
    None
}
