//! Vectors of single precision: quotients by roots, norms of x and y, and the exchange of x and y.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use valleyscope_engine::instructions::{Instructions, VectorSet, VectorWork, WideWork};
use valleyscope_engine::lanes::{Lanes, Planar, Real};
use valleyscope_engine::random::Normals;

/// Computes `x / (factor × √square + term)` of rows of these four, in singles.
#[derive(Clone, Copy)]
struct OverRoots<'a>(&'a [[f32; 4]]);

impl VectorWork for OverRoots<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<S: VectorSet>(self) -> Vec<f64> {
        S::in_singles(self)
    }
}

impl WideWork for OverRoots<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn run<S: VectorSet, const N: usize, V>(self) -> Vec<f64>
    where
        V: Normals<N, Number: Real + Into<f64>> + Planar,
    {
        let mut all = Vec::with_capacity(self.0.len());
        for rows in self.0.chunks_exact(N) {
            let column = |column: usize| Lanes::from_fn(|lane| V::Number::splat(f64::from(rows[lane][column])));
            let [x, square, factor, term] = [0, 1, 2, 3].map(|index| V::from_lanes(column(index)));
            all.extend(x.over_root(square, factor, term).to_lanes().0.map(Into::into));
        }
        all
    }
}

#[test]
fn singles_are_divided_by_roots_alike_in_every_vector_and_to_a_millionth() {
    let mut random = StdRng::seed_from_u64(12);
    let mut power_of_ten = |from: f32, to: f32| 10_f32.powf(random.random_range(from..to));
    let mut rows: Vec<[f32; 4]> = (0..1 << 18)
        .map(|row| {
            let x = power_of_ten(-12.0, 6.0) * if row % 2 == 0 { 1.0 } else { -1.0 };
            // Squares range from subnormal singles on, where only Adam's ε counts.
            [x, power_of_ten(-44.0, 37.0), power_of_ten(-2.0, 1.5), power_of_ten(-9.0, -7.0)]
        })
        .collect();
    rows.iter_mut().step_by(1000).for_each(|row| row[1] = 0.0);
    let [plain, others @ ..] = &*Instructions::all() else { panic!("plain instructions are everywhere") };
    let plain = plain.run(OverRoots(&rows));
    for (row, found) in rows.iter().zip(&plain) {
        let [x, square, factor, term] = row.map(f64::from);
        let exact = x / (factor * square.sqrt() + term);
        let off = (found / exact - 1.0).abs();
        // Singles below 1e-37 have fewer digits.
        assert!(off < 1e-6 || exact.abs() < 1e-37, "{row:?} gives {found:e}, which should be {exact:e}");
    }
    let bits = |all: &[f64]| all.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    for instructions in others {
        assert!(bits(&instructions.run(OverRoots(&rows))) == bits(&plain), "{} differs", instructions.name());
    }
}

/// Computes functions of both x and y in singles, for each x and for each y: their norms, and the other one.
#[derive(Clone, Copy)]
struct OfBoth<'a>(&'a [[f32; 2]]);

impl VectorWork for OfBoth<'_> {
    type Output = [[Vec<f64>; 2]; 2];

    #[inline(always)]
    fn run<S: VectorSet>(self) -> Self::Output {
        S::in_singles(self)
    }
}

impl WideWork for OfBoth<'_> {
    type Output = [[Vec<f64>; 2]; 2];

    #[inline(always)]
    fn run<S: VectorSet, const N: usize, V>(self) -> Self::Output
    where
        V: Normals<N, Number: Real + Into<f64>> + Planar,
    {
        let mut all = Self::Output::default();
        for rows in self.0.chunks_exact(N) {
            let column = |column: usize| Lanes::from_fn(|lane| V::Number::splat(f64::from(rows[lane][column])));
            let both = V::both([0, 1].map(|index| V::from_lanes(column(index))));
            for (all, found) in all.iter_mut().zip([both.norm(), both.exchanged()]) {
                for (all, found) in all.iter_mut().zip(V::apart(found)) {
                    all.extend(found.to_lanes().0.map(Into::into));
                }
            }
        }
        all
    }
}

#[test]
fn both_coordinates_have_the_norm_of_both_and_change_places_in_every_vector() {
    let mut random = StdRng::seed_from_u64(13);
    let places: Vec<[f32; 2]> = (0..256).map(|_| [(); 2].map(|()| random.random_range(-3.0..3.0))).collect();
    let expected: Vec<f64> = places.iter().map(|[x, y]| f64::from(x.mul_add(*x, y * y).sqrt())).collect();
    let coordinate = |index: usize| places.iter().map(|place| f64::from(place[index])).collect::<Vec<_>>();
    for instructions in Instructions::all() {
        let [norms, exchanged] = instructions.run(OfBoth(&places));
        assert!(norms == [expected.clone(), expected.clone()], "{}", instructions.name());
        assert!(exchanged == [coordinate(1), coordinate(0)], "{}", instructions.name());
    }
}

#[test]
fn singles_divided_by_the_root_of_what_is_not_finite_are_not_finite() {
    for square in [f32::NAN, f32::INFINITY] {
        let found = Instructions::all()[0].run(OverRoots(&[[1.0, square, 1.0, 1e-8]; 16]));
        assert!(found.iter().all(|found| !found.is_finite()), "{square} gives {found:?}");
    }
}
