//! Numbers of the engines: one trait for plain floats and for vectors of them.
//!
//! The update rules, the landscape and the noise are written once over [`Real`]. With `f64` they are easy to follow and
//! to check; with a [`Vector`] one call advances many runs side by side, in double or in single precision. Vectors are
//! [`Lanes`], an array that works everywhere, or the registers of AVX2 and AVX-512.
//!
//! Only `+ − × ÷ √`, bit operations and an explicit [`Real::mul_add`] are used, so a lane has the same bits in all
//! vectors of one precision.

// Public for the functions that `vectorized!` makes in other crates, after they have detected the instructions.
#[cfg(target_arch = "x86_64")]
#[doc(hidden)]
pub mod x86;

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Sub};

/// Creates an array of the values of a function for their indices. Unlike [`std::array::from_fn`] and `array::map`, it
/// is compiled into its caller, and so for its vector instructions.
#[inline(always)]
pub fn array<T: Copy, const N: usize>(mut value: impl FnMut(usize) -> T) -> [T; N] {
    const { assert!(N > 0) };
    let mut values = [value(0); N];
    let mut index = 1;
    while index < N {
        values[index] = value(index);
        index += 1;
    }
    values
}

/// Converts each element of an array, compiled into the caller like [`array`].
#[inline(always)]
pub fn each<T: Copy, U: Copy, const N: usize>(from: [T; N], convert: impl Fn(T) -> U) -> [U; N] {
    array(|index| convert(from[index]))
}

/// A relation between two numbers; none holds where either is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    Less,
    AtMost,
    Equal,
}

impl Relation {
    pub fn sign(self) -> &'static str {
        match self {
            Relation::Less => "<",
            Relation::AtMost => "≤",
            Relation::Equal => "=",
        }
    }
}

/// The arithmetic of numbers, of vectors of them, and of numbers that record what is computed.
///
/// Operations act on each element of a parameter alone, but for [`Arithmetic::norm`], [`Arithmetic::sum`],
/// [`Arithmetic::mean`] and [`Arithmetic::exchanged`]. A rule that uses one of these
/// [needs](crate::optimizer::RuleInfo::needs) [`Need::WholeParameter`](crate::optimizer::Need::WholeParameter).
pub trait Arithmetic:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Div<Output = Self> + Neg<Output = Self>
{
    /// Returns this value in every lane and for every parameter.
    fn splat(value: f64) -> Self;

    fn sqrt(self) -> Self;

    fn abs(self) -> Self;

    /// `self × factor + term`, rounded once. Slow without such an instruction of the processor.
    fn mul_add(self, factor: Self, term: Self) -> Self;

    /// −1, 0 or 1; `sign(±0) = 0` and `sign(NaN) = NaN`, unlike [`f64::signum`].
    fn sign(self) -> Self;

    /// The larger of two numbers; `other` if either is NaN.
    fn larger(self, other: Self) -> Self;

    /// 1 where the relation of this to `other` holds, else 0.
    fn compared(self, relation: Relation, other: Self) -> Self;

    /// `then` where this is not 0, else `otherwise`.
    fn choose(self, then: Self, otherwise: Self) -> Self;

    /// `‖self‖`, the Euclidean norm over the whole parameter (a matrix or vector; x and y of a number that holds both),
    /// the same for each element.
    #[inline(always)]
    fn norm(self) -> Self {
        self.abs()
    }

    /// The mean over the whole parameter, the same for each element.
    #[inline(always)]
    fn mean(self) -> Self {
        self
    }

    /// The sum over the whole parameter, the same for each element.
    #[inline(always)]
    fn sum(self) -> Self {
        self
    }

    /// (y, x) of a number that holds (x, y): with it, a symmetric matrix of 2 × 2 is two numbers, its diagonal and its
    /// off-diagonal entry, twice. A rule that uses it needs [`Need::Axes`](crate::optimizer::Need::Axes).
    #[inline(always)]
    fn exchanged(self) -> Self {
        self
    }
}

/// A real number, or a vector of them on which every operation acts lane by lane.
pub trait Real: Arithmetic {
    /// `self / (factor × √square + term)`. Vectors of singles compute it to 1e-6, without the processor's divider, for
    /// a divisor from 1e-37 to 1e37 and a square that is a normal number, or whose root is negligible compared with
    /// `term`.
    #[inline(always)]
    fn over_root(self, square: Self, factor: Self, term: Self) -> Self {
        self / square.sqrt().mul_add(factor, term)
    }

    /// Applies a function to each lane.
    fn of_each(self, function: fn(f64) -> f64) -> Self;

    /// Applies a function to each lane and that of another vector.
    fn of_each_pair(self, other: Self, function: fn(f64, f64) -> f64) -> Self;
}

macro_rules! plain_number {
    ($number:ty) => {
        impl Arithmetic for $number {
            #[inline(always)]
            fn splat(value: f64) -> Self {
                value as $number
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                <$number>::sqrt(self)
            }

            #[inline(always)]
            fn abs(self) -> Self {
                <$number>::abs(self)
            }

            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                <$number>::mul_add(self, factor, term)
            }

            #[inline(always)]
            fn sign(self) -> Self {
                if self.is_nan() {
                    self
                } else if self == 0.0 {
                    0.0
                } else {
                    <$number>::copysign(1.0, self)
                }
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                if self > other { self } else { other }
            }

            #[inline(always)]
            fn compared(self, relation: Relation, other: Self) -> Self {
                let holds = match relation {
                    Relation::Less => self < other,
                    Relation::AtMost => self <= other,
                    Relation::Equal => self == other,
                };
                if holds { 1.0 } else { 0.0 }
            }

            #[inline(always)]
            fn choose(self, then: Self, otherwise: Self) -> Self {
                if self != 0.0 { then } else { otherwise }
            }
        }

        impl Real for $number {
            #[inline(always)]
            fn of_each(self, function: fn(f64) -> f64) -> Self {
                function(f64::from(self)) as $number
            }

            #[inline(always)]
            fn of_each_pair(self, other: Self, function: fn(f64, f64) -> f64) -> Self {
                function(f64::from(self), f64::from(other)) as $number
            }
        }
    };
}

plain_number!(f32);
plain_number!(f64);

/// A vector of `N` numbers, all in double or all in single precision.
pub trait Vector<const N: usize>: Real {
    /// The type of each number, `f64` or `f32`.
    type Number: Copy;
    /// Vectors of the numbers' bits, as integers.
    type Bits: Bits<N>;

    fn from_lanes(lanes: Lanes<Self::Number, N>) -> Self;

    fn to_lanes(self) -> Lanes<Self::Number, N>;

    fn from_bits(bits: Self::Bits) -> Self;

    fn to_bits(self) -> Self::Bits;

    /// The smaller of two numbers; `other` if either is NaN.
    fn smaller(self, other: Self) -> Self;
}

/// Numbers whose x and y coordinates can be joined into one vector: an operation on both coordinates then acts on twice
/// as many numbers side by side.
pub trait Planar: Real {
    type Both: Real;

    fn both(coordinates: [Self; 2]) -> Self::Both;

    fn apart(both: Self::Both) -> [Self; 2];
}

/// A vector of `N` numbers in double precision.
pub trait Doubles<const N: usize>: Vector<N, Number = f64, Bits: Bits<N, Word = u64>> {}

impl<const N: usize, V: Vector<N, Number = f64, Bits: Bits<N, Word = u64>>> Doubles<N> for V {}

/// A vector of `N` numbers in single precision.
pub trait Singles<const N: usize>: Vector<N, Number = f32, Bits: Bits<N, Word = u32>> {
    /// Converts signed integers to the nearest numbers.
    fn from_integers(integers: Self::Bits) -> Self;

    /// Divides signed integers by `2^BY`, rounding down.
    fn shift_right_signed<const BY: u32>(integers: Self::Bits) -> Self::Bits;
}

/// A vector of `N` words of 64 bits, or of 32. Sums and differences wrap around.
pub trait Bits<const N: usize>:
    Copy + Add<Output = Self> + Sub<Output = Self> + BitAnd<Output = Self> + BitOr<Output = Self> + BitXor<Output = Self>
{
    /// The type of each word, `u64` or `u32`.
    type Word: Copy;

    fn splat(word: Self::Word) -> Self;

    fn from_lanes(lanes: Lanes<Self::Word, N>) -> Self;

    fn to_lanes(self) -> Lanes<Self::Word, N>;

    fn shift_left<const BY: u32>(self) -> Self;

    fn shift_right<const BY: u32>(self) -> Self;

    fn rotate_left<const BY: u32>(self) -> Self;
}

/// An array of `N` numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Lanes<T, const N: usize>(pub [T; N]);

impl<T: Copy, const N: usize> Lanes<T, N> {
    #[inline(always)]
    pub fn from_fn(value: impl FnMut(usize) -> T) -> Self {
        Lanes(array(value))
    }

    #[inline(always)]
    fn map(self, mut f: impl FnMut(T) -> T) -> Self {
        Lanes::from_fn(|lane| f(self.0[lane]))
    }

    #[inline(always)]
    fn zip(self, other: Self, mut f: impl FnMut(T, T) -> T) -> Self {
        Lanes::from_fn(|lane| f(self.0[lane], other.0[lane]))
    }
}

macro_rules! lane_by_lane {
    ($($number:ty: $($trait:ident $method:ident $function:path),*;)*) => {$($(
        impl<const N: usize> $trait for Lanes<$number, N> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.zip(other, $function)
            }
        }
    )*)*};
}

lane_by_lane! {
    f64: Add add f64::add, Sub sub f64::sub, Mul mul f64::mul, Div div f64::div;
    f32: Add add f32::add, Sub sub f32::sub, Mul mul f32::mul, Div div f32::div;
    u64: Add add u64::wrapping_add, Sub sub u64::wrapping_sub,
        BitAnd bitand u64::bitand, BitOr bitor u64::bitor, BitXor bitxor u64::bitxor;
    u32: Add add u32::wrapping_add, Sub sub u32::wrapping_sub,
        BitAnd bitand u32::bitand, BitOr bitor u32::bitor, BitXor bitxor u32::bitxor;
}

macro_rules! vector {
    ($number:ty, $word:ty, $($over_root:item)?) => {
        impl<const N: usize> Neg for Lanes<$number, N> {
            type Output = Self;

            #[inline(always)]
            fn neg(self) -> Self {
                self.map(<$number>::neg)
            }
        }

        impl<const N: usize> Arithmetic for Lanes<$number, N> {
            #[inline(always)]
            fn splat(value: f64) -> Self {
                Lanes([value as $number; N])
            }

            #[inline(always)]
            fn sqrt(self) -> Self {
                self.map(<$number>::sqrt)
            }

            #[inline(always)]
            fn abs(self) -> Self {
                self.map(<$number>::abs)
            }

            #[inline(always)]
            fn mul_add(self, factor: Self, term: Self) -> Self {
                Lanes::from_fn(|lane| self.0[lane].mul_add(factor.0[lane], term.0[lane]))
            }

            #[inline(always)]
            fn sign(self) -> Self {
                self.map(Arithmetic::sign)
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                self.zip(other, |a, b| if a > b { a } else { b })
            }

            #[inline(always)]
            fn compared(self, relation: Relation, other: Self) -> Self {
                self.zip(other, |a, b| a.compared(relation, b))
            }

            #[inline(always)]
            fn choose(self, then: Self, otherwise: Self) -> Self {
                Lanes::from_fn(|lane| self.0[lane].choose(then.0[lane], otherwise.0[lane]))
            }
        }

        impl<const N: usize> Real for Lanes<$number, N> {
            #[inline(always)]
            fn of_each(self, function: fn(f64) -> f64) -> Self {
                self.map(|value| value.of_each(function))
            }

            #[inline(always)]
            fn of_each_pair(self, other: Self, function: fn(f64, f64) -> f64) -> Self {
                self.zip(other, |a, b| a.of_each_pair(b, function))
            }

            $($over_root)?
        }

        impl<const N: usize> Vector<N> for Lanes<$number, N> {
            type Number = $number;
            type Bits = Lanes<$word, N>;

            #[inline(always)]
            fn from_lanes(lanes: Self) -> Self {
                lanes
            }

            #[inline(always)]
            fn to_lanes(self) -> Self {
                self
            }

            #[inline(always)]
            fn from_bits(bits: Lanes<$word, N>) -> Self {
                Lanes::from_fn(|lane| <$number>::from_bits(bits.0[lane]))
            }

            #[inline(always)]
            fn to_bits(self) -> Lanes<$word, N> {
                Lanes::from_fn(|lane| self.0[lane].to_bits())
            }

            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                self.zip(other, |a, b| if a < b { a } else { b })
            }
        }

        impl<const N: usize> Bits<N> for Lanes<$word, N> {
            type Word = $word;

            #[inline(always)]
            fn splat(word: $word) -> Self {
                Lanes([word; N])
            }

            #[inline(always)]
            fn from_lanes(lanes: Self) -> Self {
                lanes
            }

            #[inline(always)]
            fn to_lanes(self) -> Self {
                self
            }

            #[inline(always)]
            fn shift_left<const BY: u32>(self) -> Self {
                self.map(|word| word << BY)
            }

            #[inline(always)]
            fn shift_right<const BY: u32>(self) -> Self {
                self.map(|word| word >> BY)
            }

            #[inline(always)]
            fn rotate_left<const BY: u32>(self) -> Self {
                self.map(|word| word.rotate_left(BY))
            }
        }
    };
}

vector!(f64, u64,);
vector!(
    f32,
    u32,
    #[inline(always)]
    fn over_root(self, square: Self, factor: Self, term: Self) -> Self {
        over_root(self, square, factor, term)
    }
);

impl<const N: usize> Singles<N> for Lanes<f32, N> {
    #[inline(always)]
    fn from_integers(integers: Lanes<u32, N>) -> Self {
        Lanes::from_fn(|lane| integers.0[lane] as i32 as f32)
    }

    #[inline(always)]
    fn shift_right_signed<const BY: u32>(integers: Lanes<u32, N>) -> Lanes<u32, N> {
        integers.map(|word| (word as i32 >> BY) as u32)
    }
}

/// Two vectors, one after the other: for vectors without a more efficient joined type.
#[derive(Clone, Copy, Debug)]
pub struct Both<V>([V; 2]);

macro_rules! one_after_the_other {
    ($($trait:ident $method:ident),*) => {$(
        impl<V: Real> $trait for Both<V> {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                Both([self.0[0].$method(other.0[0]), self.0[1].$method(other.0[1])])
            }
        }
    )*};
}

one_after_the_other!(Add add, Sub sub, Mul mul, Div div);

impl<V: Real> Neg for Both<V> {
    type Output = Self;

    #[inline(always)]
    fn neg(self) -> Self {
        Both([-self.0[0], -self.0[1]])
    }
}

impl<V: Real> Arithmetic for Both<V> {
    #[inline(always)]
    fn splat(value: f64) -> Self {
        Both([V::splat(value); 2])
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Both([self.0[0].sqrt(), self.0[1].sqrt()])
    }

    #[inline(always)]
    fn abs(self) -> Self {
        Both([self.0[0].abs(), self.0[1].abs()])
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, term: Self) -> Self {
        Both([self.0[0].mul_add(factor.0[0], term.0[0]), self.0[1].mul_add(factor.0[1], term.0[1])])
    }

    #[inline(always)]
    fn sign(self) -> Self {
        Both([self.0[0].sign(), self.0[1].sign()])
    }

    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        Both([self.0[0].larger(other.0[0]), self.0[1].larger(other.0[1])])
    }

    #[inline(always)]
    fn compared(self, relation: Relation, other: Self) -> Self {
        Both([self.0[0].compared(relation, other.0[0]), self.0[1].compared(relation, other.0[1])])
    }

    #[inline(always)]
    fn choose(self, then: Self, otherwise: Self) -> Self {
        Both([self.0[0].choose(then.0[0], otherwise.0[0]), self.0[1].choose(then.0[1], otherwise.0[1])])
    }

    #[inline(always)]
    fn norm(self) -> Self {
        let [x, y] = self.0;
        Both([x.mul_add(x, y * y).sqrt(); 2])
    }

    #[inline(always)]
    fn mean(self) -> Self {
        let [x, y] = self.0;
        Both([V::splat(0.5) * (x + y); 2])
    }

    #[inline(always)]
    fn exchanged(self) -> Self {
        let [x, y] = self.0;
        Both([y, x])
    }

    #[inline(always)]
    fn sum(self) -> Self {
        let [x, y] = self.0;
        Both([x + y; 2])
    }
}

impl<V: Real> Real for Both<V> {
    #[inline(always)]
    fn over_root(self, square: Self, factor: Self, term: Self) -> Self {
        Both([
            self.0[0].over_root(square.0[0], factor.0[0], term.0[0]),
            self.0[1].over_root(square.0[1], factor.0[1], term.0[1]),
        ])
    }

    #[inline(always)]
    fn of_each(self, function: fn(f64) -> f64) -> Self {
        Both([self.0[0].of_each(function), self.0[1].of_each(function)])
    }

    #[inline(always)]
    fn of_each_pair(self, other: Self, function: fn(f64, f64) -> f64) -> Self {
        Both([self.0[0].of_each_pair(other.0[0], function), self.0[1].of_each_pair(other.0[1], function)])
    }
}

/// Joins the coordinates of vectors to [`Both`].
macro_rules! planar {
    ($(impl $([$($parameter:tt)*])? for $vector:ty;)*) => {$(
        impl$(<$($parameter)*>)? Planar for $vector {
            type Both = Both<Self>;

            #[inline(always)]
            fn both(coordinates: [Self; 2]) -> Both<Self> {
                Both(coordinates)
            }

            #[inline(always)]
            fn apart(both: Both<Self>) -> [Self; 2] {
                both.0
            }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
use planar;

planar! {
    impl [const N: usize] for Lanes<f64, N>;
    impl [const N: usize] for Lanes<f32, N>;
}

/// Computes `x / (factor × √square + term)` in single precision, to 1e-6, for a divisor from 1e-37 to 1e37 and a square
/// that is a normal number, or whose root is negligible compared with `term`. If the square is not finite, neither is
/// the result.
///
/// A processor's divider computes one root or quotient at a time, and in Adam's step everything else would wait for it,
/// while additions and multiplications overlap. The initial estimates are integers minus the bits of a number: unlike
/// those of a processor's own instructions, they are the same everywhere.
#[inline(always)]
fn over_root<const N: usize, V>(x: V, square: V, factor: V, term: V) -> V
where
    V: Vector<N, Number = f32, Bits: Bits<N, Word = u32>>,
{
    let divisor = root(square).mul_add(factor, term);
    // 1/d to 5 % from the bits of d, to 2e-4 with the factor (1 + e + e²) for its error e, and the quotient corrected
    // by its remainder.
    let estimate = V::from_bits(V::Bits::splat(0x7ef3_11c7) - divisor.to_bits());
    let off = (-divisor).mul_add(estimate, V::splat(1.0));
    let inverse = off.mul_add(off, off).mul_add(estimate, estimate);
    let quotient = x * inverse;
    (-divisor).mul_add(quotient, x).mul_add(inverse, quotient)
}

/// Computes √x to 5e-7: an estimate from the bits of x, a Newton step with the constants of J. Kadlec (2010), and a
/// second step.
#[inline(always)]
fn root<const N: usize, V>(x: V) -> V
where
    V: Vector<N, Number = f32, Bits: Bits<N, Word = u32>>,
{
    // SCALE × inverse is 1/√x to 7e-4.
    const SCALE: f64 = 0.703952253;
    let estimate = V::from_bits(V::Bits::splat(0x5f1f_fff9) - x.to_bits().shift_right::<1>());
    let inverse = estimate * (-x * estimate).mul_add(estimate, V::splat(2.38924456));
    let root = x * inverse;
    // A little more than 1.5, as without it the root would always be too small.
    root * (-root * inverse).mul_add(V::splat(0.5 * SCALE * SCALE * SCALE), V::splat(1.50000033 * SCALE))
}
