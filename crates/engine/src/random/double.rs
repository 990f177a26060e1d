//! Streams and normal draws in double precision.

use std::convert::Infallible;
use std::f64::consts::FRAC_PI_2;

use super::{Key, Normals};
use crate::elementary::{cos, ln, sin};
#[cfg(target_arch = "x86_64")]
use crate::lanes::x86;
use crate::lanes::{Bits, Doubles, Lanes, Vector, array, each};

/// A random stream, for use with `rand` and its distributions.
#[derive(Clone, Debug)]
pub struct Stream(Streams<1>);

impl Stream {
    /// Draws a number uniform on [0, 1), from 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_bits().0[0] >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn new(key: Key) -> Self {
        Stream(Streams::new([key]))
    }

    /// Draws a whole number below `count`, all equally likely.
    pub fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.0.next_bits().0[0]) * u128::from(count)) >> 64) as u64
    }
}

impl rand::TryRng for Stream {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.0.next_bits().0[0] >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.0.next_bits().0[0])
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            let word = self.0.next_bits().0[0].to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
        Ok(())
    }
}

/// `N` random streams side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Streams<const N: usize> {
    state: [Lanes<u64, N>; 4],
}

impl<const N: usize> Streams<N> {
    pub fn new(keys: [Key; N]) -> Self {
        Streams { state: start(&keys.map(Key::words)) }
    }

    /// Draws two independent numbers from Normal(0, 1) of every stream. The bits are the same with every kind of
    /// vector.
    #[inline(always)]
    pub fn normal_pair<V: Doubles<N>>(&mut self) -> [V; 2] {
        let mut generator = Generator::<N, V::Bits>(each(self.state, Bits::from_lanes));
        let pair = box_muller(generator.next_bits(), generator.next_bits());
        self.state = each(generator.0, Bits::to_lanes);
        pair
    }

    fn next_bits(&mut self) -> Lanes<u64, N> {
        let mut generator = Generator(self.state);
        let bits = generator.next_bits();
        self.state = generator.0;
        bits
    }
}

/// The generator xoshiro256++ in every lane.
#[derive(Clone, Copy)]
pub struct Generator<const N: usize, B: Bits<N>>([B; 4]);

macro_rules! normals {
    ($($(#[$attribute:meta])* $vector:ty: $lanes:literal),*) => {$(
        $(#[$attribute])*
        impl Normals<$lanes> for $vector {
            type Generator = Generator<$lanes, <$vector as Vector<$lanes>>::Bits>;

            #[inline(always)]
            fn generator(keys: &[Key; $lanes]) -> Self::Generator {
                Generator(each(start(&keys.map(Key::words)), Bits::from_lanes))
            }

            #[inline(always)]
            fn normal_pair(generator: &mut Self::Generator) -> [Self; 2] {
                box_muller(generator.next_bits(), generator.next_bits())
            }
        }
    )*};
}

normals!(
    Lanes<f64, 1>: 1,
    Lanes<f64, 8>: 8,
    #[cfg(target_arch = "x86_64")]
    x86::F64x4x2: 8,
    #[cfg(target_arch = "x86_64")]
    x86::F64x8x4: 32
);

/// Returns the generators' words, one of each lane side by side.
fn start<const N: usize>(states: &[[u64; 4]; N]) -> [Lanes<u64, N>; 4] {
    array(|word| Lanes::from_fn(|lane| states[lane][word]))
}

impl<const N: usize, B: Bits<N, Word = u64>> Generator<N, B> {
    #[inline(always)]
    fn next_bits(&mut self) -> B {
        let [s0, s1, s2, s3] = self.0;
        let result = (s0 + s3).rotate_left::<23>() + s0;
        let s2 = s2 ^ s0;
        let s3 = s3 ^ s1;
        self.0 = [s0 ^ s3, s1 ^ s2, s2 ^ s1.shift_left::<17>(), s3.rotate_left::<45>()];
        result
    }
}

/// Converts two random words into two independent normal numbers.
#[inline(always)]
fn box_muller<const N: usize, V: Doubles<N>>(radius_bits: V::Bits, angle_bits: V::Bits) -> [V; 2] {
    let uniform = V::splat(2.0) - one_to_two(radius_bits);
    let radius = (V::splat(-2.0) * ln(uniform)).sqrt();
    // The angle is a quarter turn, uniform about 0, turned on by 0 to 3 quarters. Bits that the fraction does not use
    // choose the quarters: the lowest swaps sine and cosine, the next turns by a half.
    let angle = (one_to_two::<N, V>(angle_bits) - V::splat(1.5)) * V::splat(FRAC_PI_2);
    let (cos, sin) = (cos(angle).to_bits(), sin(angle).to_bits());
    let quarter = angle_bits & V::Bits::splat(1);
    let swap = (cos ^ sin) & (V::Bits::splat(0) - quarter);
    let sign = V::Bits::splat(1 << 63);
    let half_turn = angle_bits.shift_left::<62>() & sign;
    let radius = V::from_bits(radius.to_bits() ^ half_turn);
    let quarter_sign = quarter.shift_left::<63>();
    [radius * V::from_bits(cos ^ swap ^ quarter_sign), radius * V::from_bits(sin ^ swap)]
}

/// Converts the upper 52 bits into a number uniform on [1, 2).
#[inline(always)]
fn one_to_two<const N: usize, V: Doubles<N>>(bits: V::Bits) -> V {
    V::from_bits(bits.shift_right::<12>() | Bits::splat(1.0_f64.to_bits()))
}
