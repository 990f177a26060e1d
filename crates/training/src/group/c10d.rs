//! Bindings to libtorch's c10d, through the functions of `c10d.cpp`.
//!
//! tch does not bind c10d, so `build.rs` compiles a shim of C++ with a C interface. Empty headers (`gloo/`) replace
//! those of Gloo that PyTorch does not ship. The part for NCCL is compiled if libtorch is one for CUDA and the headers
//! of NCCL and CUDA are found.
//!
//! Errors are c10d's messages. The processor waits for operations over NCCL, so that they can be abandoned. c10d's own handling of errors is off
//! unless the environment turns it on, as it would end the process before the lost rank can be named.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::net::TcpListener;
use std::ptr::{NonNull, null, null_mut};
use std::time::Duration;

use tch::Tensor;

type Handle = c_void;

unsafe extern "C" {
    fn valleyscope_text_free(text: *mut c_char);
    fn valleyscope_store_open(
        host: *const c_char,
        port: u16,
        listener: c_int,
        prefix: *const c_char,
        timeout_ms: i64,
        out: *mut *mut Handle,
    ) -> *mut c_char;
    fn valleyscope_store_free(store: *mut Handle);
    fn valleyscope_store_set(store: *mut Handle, key: *const c_char, value: *const c_char) -> *mut c_char;
    fn valleyscope_store_get(store: *mut Handle, key: *const c_char, value: *mut *mut c_char) -> *mut c_char;
    fn valleyscope_group_join(
        store: *mut Handle,
        rank: c_int,
        size: c_int,
        host: *const c_char,
        interface: *const c_char,
        timeout_ms: i64,
        out: *mut *mut Handle,
    ) -> *mut c_char;
    fn valleyscope_has_nccl() -> bool;
    fn valleyscope_group_join_nccl(
        store: *mut Handle,
        rank: c_int,
        size: c_int,
        device: c_int,
        out: *mut *mut Handle,
    ) -> *mut c_char;
    fn valleyscope_group_abort(group: *mut Handle) -> *mut c_char;
    fn valleyscope_group_sum(group: *mut Handle, tensor: *mut Handle, out: *mut *mut Handle) -> *mut c_char;
    fn valleyscope_group_send(
        group: *mut Handle,
        tensor: *mut Handle,
        from: c_int,
        out: *mut *mut Handle,
    ) -> *mut c_char;
    fn valleyscope_group_gather_to_first(
        group: *mut Handle,
        rank: c_int,
        size: c_int,
        whole: *mut Handle,
        part: *mut Handle,
        out: *mut *mut Handle,
    ) -> *mut c_char;
    fn valleyscope_work_wait(work: *mut Handle, timeout_ms: i64, ended: *mut bool) -> *mut c_char;
    fn valleyscope_work_free(work: *mut Handle);
}

/// Copies and frees a text of the C functions.
fn taken(text: *mut c_char) -> Option<String> {
    let text = NonNull::new(text)?;
    // SAFETY: a text of the C functions ends with 0 and is the caller's to free.
    unsafe {
        let copy = CStr::from_ptr(text.as_ptr()).to_string_lossy().into_owned();
        valleyscope_text_free(text.as_ptr());
        Some(copy)
    }
}

fn checked(error: *mut c_char) -> Result<(), String> {
    let Some(error) = taken(error) else { return Ok(()) };
    // The first line has the reason; the rest is for developers of c10d.
    let first = error.lines().next().unwrap_or_default();
    let plain = first.strip_prefix("[/").and_then(|rest| Some(rest.split_once("] ")?.1));
    Err(plain.unwrap_or(first).to_owned())
}

/// Calls a function that sets a handle, and returns the handle.
fn made(make: impl FnOnce(*mut *mut Handle) -> *mut c_char) -> Result<NonNull<Handle>, String> {
    let mut out = null_mut();
    checked(make(&raw mut out))?;
    NonNull::new(out).ok_or_else(|| "nothing was made".to_owned())
}

fn c_text(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("expected a text without a zero byte, found {text:?}"))
}

/// Gives up ownership of a socket.
#[cfg(unix)]
fn descriptor(listener: TcpListener) -> c_int {
    std::os::fd::IntoRawFd::into_raw_fd(listener)
}

#[cfg(windows)]
fn descriptor(listener: TcpListener) -> c_int {
    std::os::windows::io::IntoRawSocket::into_raw_socket(listener) as c_int
}

/// A store of keys and values that one process serves to all.
#[derive(Debug)]
pub(super) struct Store(NonNull<Handle>);

// SAFETY: c10d's stores take a lock for each operation.
unsafe impl Send for Store {}
// SAFETY: c10d's stores take a lock for each operation.
unsafe impl Sync for Store {}

impl Store {
    /// Opens a client of the store at an address; with a listener, this process serves the store there. Operations fail
    /// after `timeout`.
    pub(super) fn open(
        host: &str,
        port: u16,
        listener: Option<TcpListener>,
        prefix: &str,
        timeout: Duration,
    ) -> Result<Store, String> {
        let (host, prefix) = (c_text(host)?, c_text(prefix)?);
        let listener = listener.map_or(-1, descriptor);
        let timeout = timeout.as_millis() as i64;
        // SAFETY: the texts live for the call; the descriptor is given away.
        made(|out| unsafe { valleyscope_store_open(host.as_ptr(), port, listener, prefix.as_ptr(), timeout, out) })
            .map(Store)
    }

    pub(super) fn set(&self, key: &str, value: &str) -> Result<(), String> {
        let (key, value) = (c_text(key)?, c_text(value)?);
        // SAFETY: the handle is of a store, and the texts live for the call.
        checked(unsafe { valleyscope_store_set(self.0.as_ptr(), key.as_ptr(), value.as_ptr()) })
    }

    pub(super) fn get(&self, key: &str) -> Result<Option<String>, String> {
        let (key, mut value) = (c_text(key)?, null_mut());
        // SAFETY: the handle is of a store, and the texts live for the call.
        checked(unsafe { valleyscope_store_get(self.0.as_ptr(), key.as_ptr(), &raw mut value) })?;
        Ok(taken(value))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: the handle is of a store, and not used afterwards.
        unsafe { valleyscope_store_free(self.0.as_ptr()) }
    }
}

/// The network of a process's connections to the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bind {
    Address(String),
    /// The name of a network interface.
    Interface(String),
}

/// Whether this libtorch has NCCL, for tensors on GPUs.
pub(super) fn has_nccl() -> bool {
    // SAFETY: the function only returns a constant.
    unsafe { valleyscope_has_nccl() }
}

/// A group of processes over Gloo or NCCL. It is never freed, as that blocks on operations which may not end.
#[derive(Debug)]
pub(super) struct ProcessGroup(NonNull<Handle>);

// SAFETY: c10d's groups take a lock for each operation.
unsafe impl Send for ProcessGroup {}
// SAFETY: c10d's groups take a lock for each operation.
unsafe impl Sync for ProcessGroup {}

impl ProcessGroup {
    pub(super) fn join(
        store: &Store,
        rank: usize,
        size: usize,
        bind: &Bind,
        timeout: Duration,
    ) -> Result<ProcessGroup, String> {
        let (host, interface) = match bind {
            Bind::Address(host) => (Some(c_text(host)?), None),
            Bind::Interface(name) => (None, Some(c_text(name)?)),
        };
        let pointer = |text: &Option<CString>| text.as_ref().map_or(null(), |text| text.as_ptr());
        let (host, interface, timeout) = (pointer(&host), pointer(&interface), timeout.as_millis() as i64);
        // SAFETY: the handle is of a store, which the group keeps alive; the texts live for the call.
        let made = made(|out| unsafe {
            valleyscope_group_join(store.0.as_ptr(), rank as c_int, size as c_int, host, interface, timeout, out)
        });
        made.map(ProcessGroup)
    }

    /// Joins a group over NCCL, for tensors on the CUDA device with this number. Blocks until the other processes join.
    pub(super) fn join_nccl(store: &Store, rank: usize, size: usize, device: usize) -> Result<ProcessGroup, String> {
        let [rank, size, device] = [rank, size, device].map(|number| number as c_int);
        // SAFETY: the handle is of a store, which the group keeps alive.
        let made = made(|out| unsafe { valleyscope_group_join_nccl(store.0.as_ptr(), rank, size, device, out) });
        made.map(ProcessGroup)
    }

    /// Aborts the group's operations; it is unusable afterwards.
    pub(super) fn abort(&self) -> Result<(), String> {
        // SAFETY: the handle is of a group.
        checked(unsafe { valleyscope_group_abort(self.0.as_ptr()) })
    }

    /// Begins to replace a tensor by its sum over all processes.
    pub(super) fn sum<'a>(&self, tensor: &'a mut Tensor) -> Result<Operation<'a>, String> {
        // SAFETY: the handles are of a group and of a tensor.
        Operation::begin(|out| unsafe { valleyscope_group_sum(self.0.as_ptr(), tensor.as_mut_ptr().cast(), out) })
    }

    /// Begins to replace a tensor by that of one process.
    pub(super) fn send<'a>(&self, tensor: &'a mut Tensor, from: usize) -> Result<Operation<'a>, String> {
        // SAFETY: the handles are of a group and of a tensor.
        Operation::begin(|out| unsafe {
            valleyscope_group_send(self.0.as_ptr(), tensor.as_mut_ptr().cast(), from as c_int, out)
        })
    }

    /// Begins to fill a tensor of rank 0 with the parts of all processes, equally long, in the order of their ranks.
    /// The other ranks ignore `whole`.
    pub(super) fn gather_to_first<'a>(
        &self,
        rank: usize,
        size: usize,
        whole: &'a mut Tensor,
        part: &'a mut Tensor,
    ) -> Result<Operation<'a>, String> {
        let (rank, size) = (rank as c_int, size as c_int);
        // SAFETY: the handles are of a group and of tensors.
        Operation::begin(|out| unsafe {
            let (whole, part) = (whole.as_mut_ptr().cast(), part.as_mut_ptr().cast());
            valleyscope_group_gather_to_first(self.0.as_ptr(), rank, size, whole, part, out)
        })
    }
}

/// An operation on tensors, which it borrows until it has ended.
pub(super) struct Operation<'a> {
    handle: NonNull<Handle>,
    _tensors: std::marker::PhantomData<&'a mut Tensor>,
}

impl Operation<'_> {
    fn begin(make: impl FnOnce(*mut *mut Handle) -> *mut c_char) -> Result<Self, String> {
        Ok(Operation { handle: made(make)?, _tensors: std::marker::PhantomData })
    }

    /// Blocks until the operation has ended, or for `timeout`; returns whether it has ended.
    pub(super) fn wait(&self, timeout: Duration) -> Result<bool, String> {
        let mut ended = false;
        // SAFETY: the handle is of an operation.
        checked(unsafe { valleyscope_work_wait(self.handle.as_ptr(), timeout.as_millis() as i64, &raw mut ended) })?;
        Ok(ended)
    }
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is of an operation, and not used afterwards. c10d itself keeps it and its tensors alive
        // until it ends.
        unsafe { valleyscope_work_free(self.handle.as_ptr()) }
    }
}
