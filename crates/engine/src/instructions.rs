//! Vector instructions, and code that is compiled for each set of them.
//!
//! [`vectorized!`] compiles a function for each set and calls that of one. A closure is not compiled for the set of the
//! function around it and cannot be generic over vectors, so that two traits take its place: [`WideWork`] for work
//! whose vectors depend on the set and the precision, and [`OwnFunction`] for work that becomes a function of its own.

#[cfg(target_arch = "x86_64")]
use crate::lanes::x86;
use crate::lanes::{Doubles, Lanes, Planar, Real};
use crate::random::Normals;

/// A set of vector instructions detected on this processor. The results have the same bits with all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instructions(InstructionSet);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSet {
    /// Code that the compiler generates for arrays.
    Plain,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

/// The vector types of one set of instructions.
pub trait VectorSet {
    /// Eight doubles.
    type Doubles: Doubles<8> + Planar + OfSet;

    /// Runs the work with the widest useful vectors of singles.
    fn in_singles<W: WideWork>(work: W) -> W::Output;

    /// Runs the work with the widest useful vectors of doubles.
    fn in_doubles<W: WideWork>(work: W) -> W::Output;

    /// Runs the work in a function of its own, which is compiled for the set. One function for the steps of all rules
    /// takes the compiler much longer than one for each rule.
    fn in_function<W: OwnFunction>(work: W) -> W::Output;
}

/// Numbers of a set of vector instructions.
pub trait OfSet {
    type Set: VectorSet;
}

/// Work that is done in a function of its own. Its method should be `#[inline(always)]`: only inlined code is compiled
/// for the set.
pub trait OwnFunction {
    type Output;
    /// The type in whose module the compiler places the function, such as the rule that it computes with: a changed
    /// module is compiled again, and the others are not.
    type Home;

    fn run(self) -> Self::Output;
}

/// Runs work in a function compiled for the set `S`, as a method of the work's [`OwnFunction::Home`]: the compiler
/// places a method in the module of its type.
trait Run<S, W: OwnFunction> {
    /// # Safety
    ///
    /// The processor must have the instructions of the set.
    unsafe fn run(work: W) -> W::Output;
}

/// Work that is generic over vectors `V` of `N` numbers of the set `S`. Its method should be `#[inline(always)]`.
pub trait WideWork {
    type Output;

    fn run<S: VectorSet, const N: usize, V>(self) -> Self::Output
    where
        V: Normals<N, Number: Real + Into<f64>> + Planar + OfSet;
}

impl Instructions {
    /// Lists all sets of this processor, the plain one first, the widest last.
    pub fn all() -> Vec<Instructions> {
        let sets = [
            Some(InstructionSet::Plain),
            #[cfg(target_arch = "x86_64")]
            has_avx2().then_some(InstructionSet::Avx2),
            #[cfg(target_arch = "x86_64")]
            has_avx512().then_some(InstructionSet::Avx512),
        ];
        sets.into_iter().flatten().map(Instructions).collect()
    }

    /// Returns the widest set of this processor.
    pub fn widest() -> Instructions {
        #[cfg(target_arch = "x86_64")]
        {
            if has_avx512() {
                return Instructions(InstructionSet::Avx512);
            }
            if has_avx2() {
                return Instructions(InstructionSet::Avx2);
            }
        }
        Instructions(InstructionSet::Plain)
    }

    /// Returns the name shown to users.
    pub fn name(self) -> &'static str {
        match self.0 {
            InstructionSet::Plain => "plain instructions",
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => "AVX2",
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => "AVX-512",
        }
    }

    pub fn set(self) -> InstructionSet {
        self.0
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") && has_avx2()
}

macro_rules! sets {
    ($(
        $(#[$attribute:meta])*
        $set:ident $(for $features:literal)?: $doubles:ty, $single_lanes:literal $singles:ty, $double_lanes:literal $wide:ty;
    )*) => {$(
        /// A set for `vectorized!`, which names it only after the instructions were detected. Other code must not name
        /// it.
        #[doc(hidden)]
        $(#[$attribute])*
        pub struct $set;

        $(#[$attribute])*
        impl VectorSet for $set {
            type Doubles = $doubles;

            #[inline(always)]
            fn in_singles<W: WideWork>(work: W) -> W::Output {
                work.run::<Self, $single_lanes, $singles>()
            }

            #[inline(always)]
            fn in_doubles<W: WideWork>(work: W) -> W::Output {
                work.run::<Self, $double_lanes, $wide>()
            }

            #[inline(always)]
            fn in_function<W: OwnFunction>(work: W) -> W::Output {
                // SAFETY: a set is used only if `Instructions` were detected.
                unsafe { <W::Home as Run<Self, W>>::run(work) }
            }
        }

        $(#[$attribute])*
        impl<H, W: OwnFunction<Home = H>> Run<$set, W> for H {
            #[inline(never)]
            $(#[target_feature(enable = $features)])?
            unsafe fn run(work: W) -> W::Output {
                work.run()
            }
        }
    )*};
}

sets! {
    // On x86-64 only for processors without AVX2, where `mul_add` is a call for each number: single numbers lose
    // little, and take the compiler less time.
    #[cfg(target_arch = "x86_64")]
    PlainSet: Lanes<f64, 8>, 1 Lanes<f32, 1>, 1 Lanes<f64, 1>;
    #[cfg(not(target_arch = "x86_64"))]
    PlainSet: Lanes<f64, 8>, 16 Lanes<f32, 16>, 8 Lanes<f64, 8>;
    #[cfg(target_arch = "x86_64")]
    Avx2Set for "avx2,fma": x86::F64x4x2, 32 x86::F32x8x4, 8 x86::F64x4x2;
    #[cfg(target_arch = "x86_64")]
    Avx512Set for "avx512f,avx512dq,avx2,fma": x86::F64x8, 64 x86::F32x16x4, 32 x86::F64x8x4;
}

macro_rules! of_set {
    ($set:ident: $($number:ty),*) => {$(
        impl OfSet for $number {
            type Set = $set;
        }
    )*};
}

of_set!(PlainSet: f32, f64);
#[cfg(target_arch = "x86_64")]
of_set!(Avx2Set: x86::F64x4x2, x86::F32x8x4);
#[cfg(target_arch = "x86_64")]
of_set!(Avx512Set: x86::F64x8, x86::F32x16x4, x86::F64x8x4);

impl<T, const N: usize> OfSet for Lanes<T, N> {
    type Set = PlainSet;
}

/// Defines a function whose body is compiled for each set of vector instructions; a call uses the widest available set,
/// or the one that is given. The body may name the vectors of the set. The results have the same bits, as the compiler
/// neither reorders nor fuses operations.
#[macro_export]
macro_rules! vectorized {
    (
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident<$($generic:ident: $bound:path),*>($($argument:ident: $type:ty),* $(,)?)
        $(-> $output:ty)? $body:block
    ) => {
        $crate::instructions::vectorized! {
            in Vectors: $crate::instructions::Instructions::widest();
            $(#[$attribute])*
            $visibility fn $name<$($generic: $bound),*>(; $($argument: $type),*) $(-> $output)? $body
        }
    };
    (
        in $set:ident: $instructions:expr;
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident<$($generic:ident: $bound:path),*>
        ($($given:ident: $given_type:ty)?; $($argument:ident: $type:ty),*)
        $(-> $output:ty)? $body:block
    ) => {
        $(#[$attribute])*
        $visibility fn $name<$($generic: $bound),*>($($given: $given_type,)? $($argument: $type),*) $(-> $output)? {
            #[inline(always)]
            #[allow(clippy::too_many_arguments, reason = "one for each tensor")]
            #[allow(clippy::extra_unused_type_parameters, reason = "a loop names no vectors")]
            fn with<$set: $crate::instructions::VectorSet, $($generic: $bound),*>($($argument: $type),*) $(-> $output)?
                $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
            #[allow(clippy::too_many_arguments, reason = "one for each tensor")]
            fn avx512<$($generic: $bound),*>($($argument: $type),*) $(-> $output)? {
                with::<$crate::instructions::Avx512Set, $($generic),*>($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            #[allow(clippy::too_many_arguments, reason = "one for each tensor")]
            fn avx2<$($generic: $bound),*>($($argument: $type),*) $(-> $output)? {
                with::<$crate::instructions::Avx2Set, $($generic),*>($($argument),*)
            }

            match $instructions.set() {
                // SAFETY: `Instructions` are made only if they were detected.
                #[cfg(target_arch = "x86_64")]
                $crate::instructions::InstructionSet::Avx512 => unsafe { avx512::<$($generic),*>($($argument),*) },
                #[cfg(target_arch = "x86_64")]
                $crate::instructions::InstructionSet::Avx2 => unsafe { avx2::<$($generic),*>($($argument),*) },
                $crate::instructions::InstructionSet::Plain => {
                    with::<$crate::instructions::PlainSet, $($generic),*>($($argument),*)
                }
            }
        }
    };
}

pub use vectorized;
