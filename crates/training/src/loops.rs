//! Access to tensors as slices, for loops that are compiled to the processor's vector instructions.

use tch::{Device, Kind, Tensor};
use valleyscope_engine::lanes::Real;

/// The number types of tensors: `f32` and `f64`.
pub(crate) trait Number: Real + tch::kind::Element + Into<f64> + PartialOrd + Send + Sync + 'static {
    fn from_byte(byte: u8) -> Self;

    fn exp(self) -> Self;

    fn ln(self) -> Self;
}

macro_rules! number {
    ($number:ident) => {
        impl Number for $number {
            #[inline(always)]
            fn from_byte(byte: u8) -> Self {
                $number::from(byte)
            }

            #[inline(always)]
            fn exp(self) -> Self {
                $number::exp(self)
            }

            #[inline(always)]
            fn ln(self) -> Self {
                $number::ln(self)
            }
        }
    };
}

number!(f32);
number!(f64);

/// Returns the elements of a contiguous tensor in the processor's memory.
pub(crate) fn numbers<T: Number>(tensor: &Tensor) -> &[T] {
    check::<T>(tensor);
    // SAFETY: the tensor is contiguous, of this type, and on the processor; it lives as long as the slice, and
    // nothing else writes to it meanwhile: libtorch's operations end before they return.
    unsafe { std::slice::from_raw_parts(tensor.data_ptr().cast(), tensor.numel()) }
}

/// Returns the elements of a contiguous tensor in the processor's memory as a mutable slice.
pub(crate) fn numbers_mut<T: Number>(tensor: &mut Tensor) -> &mut [T] {
    check::<T>(tensor);
    // SAFETY: as above; other views of the tensor's memory are not read meanwhile.
    unsafe { std::slice::from_raw_parts_mut(tensor.data_ptr().cast(), tensor.numel()) }
}

fn check<T: Number>(tensor: &Tensor) {
    let kind: Kind = T::KIND;
    assert!(tensor.device() == Device::Cpu && tensor.kind() == kind && tensor.is_contiguous());
}

/// Calls `$body` with `$number` as the number type of a tensor's kind.
macro_rules! with_number {
    ($kind:expr, $number:ident => $body:expr) => {
        match $kind {
            tch::Kind::Double => {
                type $number = f64;
                $body
            }
            _ => {
                type $number = f32;
                $body
            }
        }
    };
}

pub(crate) use with_number;
