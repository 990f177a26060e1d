//! The triangle of signal, noise and oscillation: the pixels of a phase diagram by the reasons for Adam's small steps.
//!
//! The shares of a pixel add to 1, so that they are a point in a triangle. Pixels that are near each other there tend
//! to have the same winner, on different landscapes, too, but not with another kind of noise. So a training whose
//! shares were measured resembles the pixels near it in the triangle of the noise that is most like its own.

use std::sync::LazyLock;

use valleyscope_engine::shares::Shares;
use valleyscope_engine::sweep::{Diagram, Metric};

/// A pixel in the triangle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrianglePoint {
    /// Row and column in the diagram.
    pub pixel: [usize; 2],
    pub shares: Shares,
    /// The index of the winner; `None` where there is none.
    pub winner: Option<usize>,
    /// The certainty of the winner, from 0 to 1.
    pub certainty: f64,
}

impl TrianglePoint {
    /// The certainty from which a winner counts as decided.
    pub const DECIDED: f64 = 0.95;

    /// Returns the winner if it is decided.
    pub fn decided(&self) -> Option<usize> {
        self.winner.filter(|_| self.certainty >= Self::DECIDED)
    }
}

/// The pixels of a diagram whose shares are known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Triangle {
    /// The optimizers' names.
    pub optimizers: Vec<String>,
    pub points: Vec<TrianglePoint>,
}

impl Triangle {
    /// The number of nearest pixels that are compared.
    pub const NEIGHBORS: usize = 7;
    /// The distance beyond which a point resembles no pixel, in shares; the sides of the triangle have the length √2.
    pub const FAR: f64 = 0.15;

    /// Collects the pixels of a diagram with known shares. Their winners are those by `metric`.
    pub fn of(diagram: &Diagram, metric: Metric) -> Triangle {
        let point = |pixel: [usize; 2]| {
            let shares = diagram.shares(pixel)?;
            let comparison = diagram.cell(pixel)?.comparison(metric);
            let certainty = comparison.certainty().unwrap_or(0.0);
            Some(TrianglePoint { pixel, shares, winner: comparison.winner, certainty })
        };
        let points = diagram.spec().pixels().filter_map(point).collect();
        Triangle { optimizers: diagram.spec().shown_names(), points }
    }

    /// Describes shares, and the winner of the nearest decided pixels. Of optimizers with equal votes, it is the one with
    /// the nearest pixel.
    pub fn resemblance(&self, at: Shares) -> String {
        let decided = self.points.iter().filter_map(|it| Some((distance(at, it.shares), it.decided()?, it.certainty)));
        let mut nearest: Vec<(f64, usize, f64)> = decided.collect();
        nearest.sort_by(|one, other| one.0.total_cmp(&other.0));
        nearest.truncate(Self::NEIGHBORS);
        let Some(&(distance, first, _)) = nearest.first() else { return format!("{at}: no pixel to compare with") };
        if distance > Self::FAR {
            return format!("{at}: far from all pixels of this triangle");
        }
        let of = |winner: usize| nearest.iter().filter(move |(_, other, _)| *other == winner);
        let winner = nearest.iter().fold(
            first,
            |best, (_, other, _)| {
                if of(*other).count() > of(best).count() { *other } else { best }
            },
        );
        let (votes, all) = (of(winner).count(), nearest.len());
        let certainty = of(winner).map(|(.., certainty)| certainty).sum::<f64>() / votes as f64;
        let (name, percent) = (self.optimizers.get(winner).map_or("", String::as_str), 100.0 * certainty);
        format!("{at}: like pixels in which {name} wins, {votes} of the {all} nearest (mean certainty {percent:.0} %)")
    }
}

fn distance(one: Shares, other: Shares) -> f64 {
    let squares = one.to_array().into_iter().zip(other.to_array()).map(|(one, other)| (one - other) * (one - other));
    squares.sum::<f64>().sqrt()
}

/// The triangle of a kind of noise, with which trainings are compared.
#[derive(Clone, Debug)]
pub struct ReferenceTriangle {
    /// The name of the noise.
    pub noise: &'static str,
    pub triangle: Triangle,
}

impl ReferenceTriangle {
    /// How often the winner of the nearest pixels was that of a training.
    pub const HELD: &str = "at 3 of 5 batch sizes of MNIST and of a small GPT-2 whose winner was decided; Adam’s wins \
         where noise is large were missed";

    /// Returns the triangles of multiplicative noise, whose exponent b is 1, and of additive noise, whose b is 0: its
    /// variance is proportional to |g|²ᵇ. `valleyscope sweep NAME --grid 24x25 --adaptive --measured` computes their tables,
    /// with the presets `fig2a` and `additive-noise`.
    pub fn all() -> &'static [ReferenceTriangle; 2] {
        static ALL: LazyLock<[ReferenceTriangle; 2]> = LazyLock::new(|| {
            let of = |noise, table| ReferenceTriangle { noise, triangle: read(table) };
            [
                of("multiplicative", include_str!("../../../../assets/triangles/multiplicative.csv")),
                of("additive", include_str!("../../../../assets/triangles/additive.csv")),
            ]
        });
        &ALL
    }

    /// Returns the triangle of the noise whose exponent is nearest; that of multiplicative noise if it is unknown.
    pub fn nearest(exponent: Option<f64>) -> &'static ReferenceTriangle {
        let [multiplicative, additive] = Self::all();
        if exponent.is_some_and(|exponent| exponent < 0.5) { additive } else { multiplicative }
    }
}

/// Reads the columns of a diagram's table that its triangle consists of.
fn read(table: &str) -> Triangle {
    let mut lines = table.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("the table has a header");
    let column = |name: &str| header.iter().position(|other| *other == name).expect("the table has the column");
    let [winner, certainty] = ["winner", "certainty"].map(column);
    let shares = ["adam_signal", "adam_noise", "adam_oscillation"].map(column);
    let mut triangle = Triangle::default();
    for (index, line) in lines.enumerate() {
        let number = |column: usize| line[column].parse().unwrap_or(f64::NAN);
        let name = line[winner];
        let known = triangle.optimizers.iter().position(|other| other == name);
        let winner = (!name.is_empty()).then(|| {
            known.unwrap_or_else(|| {
                triangle.optimizers.push(name.to_owned());
                triangle.optimizers.len() - 1
            })
        });
        let shares = Shares::from_array(shares.map(number));
        triangle.points.push(TrianglePoint { pixel: [index, 0], shares, winner, certainty: number(certainty) });
    }
    triangle
}

#[cfg(test)]
mod tests {
    use super::{Triangle, TrianglePoint};
    use valleyscope_engine::shares::Shares;

    fn triangle() -> Triangle {
        let point = |index: usize, noise: f64, winner: usize, certainty: f64| TrianglePoint {
            pixel: [index, 0],
            shares: Shares::from_array([0.0, noise, 1.0 - noise]),
            winner: Some(winner),
            certainty,
        };
        let noisy = (0..6).map(|index| point(index, 0.9 + 0.01 * index as f64, 1, 0.98));
        let points = noisy.chain([point(6, 0.85, 0, 1.0), point(7, 0.93, 0, 0.5)]).collect();
        Triangle { optimizers: vec!["Adam".to_owned(), "Signum".to_owned()], points }
    }

    #[test]
    fn shares_resemble_the_nearest_decided_pixels() {
        assert_eq!(
            triangle().resemblance(Shares::from_array([0.0, 0.93, 0.07])),
            "signal 0.00, noise 0.93, oscillation 0.07: like pixels in which Signum wins, 6 of the 7 nearest (mean \
             certainty 98 %)"
        );
    }

    #[test]
    fn shares_far_from_all_pixels_resemble_none() {
        let at = |noise: f64| Shares::from_array([0.0, noise, 1.0 - noise]);
        let far = "signal 0.00, noise 0.70, oscillation 0.30: far from all pixels of this triangle";
        assert_eq!(triangle().resemblance(at(0.7)), far);
        // The distance is √2 times the difference of one share.
        let least = 0.85 - Triangle::FAR / 2.0_f64.sqrt();
        assert!(triangle().resemblance(at(least - 1e-6)).contains("far from"));
        assert!(triangle().resemblance(at(least + 1e-6)).contains("wins"));
    }

    #[test]
    fn an_empty_triangle_predicts_nothing() {
        let words = Triangle::default().resemblance(Shares::from_array([0.2, 0.5, 0.3]));
        assert_eq!(words, "signal 0.20, noise 0.50, oscillation 0.30: no pixel to compare with");
    }
}
