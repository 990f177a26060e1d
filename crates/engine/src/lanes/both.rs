use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{Lanes, Planar, Real};

/// Two vectors, one after the other: for vectors without a more efficient joined type.
#[derive(Clone, Copy, Debug)]
pub struct Both<V>(pub(super) [V; 2]);

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

impl<V: Real> Real for Both<V> {
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
    fn over_root(self, square: Self, factor: Self, term: Self) -> Self {
        Both([
            self.0[0].over_root(square.0[0], factor.0[0], term.0[0]),
            self.0[1].over_root(square.0[1], factor.0[1], term.0[1]),
        ])
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
    fn less(self, other: Self) -> Self {
        Both([self.0[0].less(other.0[0]), self.0[1].less(other.0[1])])
    }

    #[inline(always)]
    fn at_most(self, other: Self) -> Self {
        Both([self.0[0].at_most(other.0[0]), self.0[1].at_most(other.0[1])])
    }

    #[inline(always)]
    fn equals(self, other: Self) -> Self {
        Both([self.0[0].equals(other.0[0]), self.0[1].equals(other.0[1])])
    }

    #[inline(always)]
    fn choose(self, then: Self, otherwise: Self) -> Self {
        Both([self.0[0].choose(then.0[0], otherwise.0[0]), self.0[1].choose(then.0[1], otherwise.0[1])])
    }

    #[inline(always)]
    fn of_each(self, function: fn(f64) -> f64) -> Self {
        Both([self.0[0].of_each(function), self.0[1].of_each(function)])
    }

    #[inline(always)]
    fn of_each_pair(self, other: Self, function: fn(f64, f64) -> f64) -> Self {
        Both([self.0[0].of_each_pair(other.0[0], function), self.0[1].of_each_pair(other.0[1], function)])
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
pub(super) use planar;

planar! {
    impl [const N: usize] for Lanes<f64, N>;
    impl [const N: usize] for Lanes<f32, N>;
}
