//! Contour lines of a landscape.

use std::collections::BTreeMap;

use valleyscope_engine::landscape::Landscape;
use valleyscope_experiments::view::{Lens, SymLog};

/// A function's values at the corners of equal cells.
pub(crate) struct Grid<F> {
    function: F,
    /// The lower left corner.
    from: [f64; 2],
    /// The size of a cell.
    size: [f64; 2],
    cells: [usize; 2],
    /// The values, row by row from below.
    values: Vec<f64>,
}

/// An edge between two neighbouring corners: the lower or left one, by column and row, and whether it goes upwards.
type Edge = (usize, usize, bool);

/// The shortest part of a contour line that is shown alone, in smallest distances between lines.
const SHORTEST: f64 = 10.0;
/// Bisections of an edge to find the point at the level: to 10⁻⁹ of its length.
const HALVINGS: usize = 30;

impl<F: Fn([f64; 2]) -> f64> Grid<F> {
    pub(crate) fn new(function: F, from: [f64; 2], to: [f64; 2], cells: [usize; 2]) -> Grid<F> {
        let size = [0, 1].map(|axis| (to[axis] - from[axis]) / cells[axis] as f64);
        let mut grid = Grid { function, from, size, cells, values: Vec::new() };
        let corners = (0..=cells[1]).flat_map(|row| (0..=cells[0]).map(move |column| (column, row)));
        grid.values = corners.map(|corner| (grid.function)(grid.xy(corner))).collect();
        grid
    }

    fn xy(&self, (column, row): (usize, usize)) -> [f64; 2] {
        [self.from[0] + column as f64 * self.size[0], self.from[1] + row as f64 * self.size[1]]
    }

    fn value(&self, (column, row): (usize, usize)) -> f64 {
        self.values[row * (self.cells[0] + 1) + column]
    }

    /// The parts of a landscape's contour line at this level where its neighbours, also its own other side in a narrow
    /// valley, are at least `least` away on the screen, in units of the lens's first axis; closer ones would merge.
    /// Short parts are left out. The function is that of the landscape in the coordinates of the lens, and the lines
    /// separate this number of parts of the scale.
    pub(crate) fn separate_lines(
        &self,
        landscape: &Landscape,
        (scale, parts): (&SymLog, u32),
        level: f64,
        (lens, least): (Lens, f64),
    ) -> Vec<Vec<[f64; 2]>> {
        let is_crowded = |at: &[f64; 2]| {
            // On the screen, the second axis is stretched.
            let [along, across] = lens.coordinates(landscape.gradient(lens.xy(*at)));
            let gradient = [along, across / lens.stretch];
            let steepness = gradient[0].hypot(gradient[1]);
            let uphill = |distance: f64| {
                let [along, across] = gradient.map(|part| distance * part / steepness);
                (self.function)([at[0] + along, at[1] + across / lens.stretch])
            };
            1.0 / (f64::from(parts) * scale.slope(level) * steepness) < least
                || uphill(-least) > level
                || uphill(least) < level
        };
        let lines = self.contour(level);
        let length = |[along, across]: [f64; 2]| along.hypot(lens.stretch * across);
        let parts = lines.iter().flat_map(|line| parts_apart(line, is_crowded, length, SHORTEST * least));
        parts.map(<[_]>::to_vec).collect()
    }

    /// The contour lines at this level, each through its points. Cells with a corner where the function is not finite
    /// have none.
    fn contour(&self, level: f64) -> Vec<Vec<[f64; 2]>> {
        let mut neighbours: BTreeMap<Edge, Vec<Edge>> = BTreeMap::new();
        for row in 0..self.cells[1] {
            for column in 0..self.cells[0] {
                for [one, other] in self.segments(column, row, level) {
                    neighbours.entry(one).or_default().push(other);
                    neighbours.entry(other).or_default().push(one);
                }
            }
        }
        let mut lines = Vec::new();
        // Open lines are removed first; the remaining ones are closed.
        let ends: Vec<Edge> =
            neighbours.iter().filter(|(_, beside)| beside.len() == 1).map(|(edge, _)| *edge).collect();
        for end in ends {
            lines.extend(follow(&mut neighbours, end));
        }
        while let Some(edge) = neighbours.keys().next().copied() {
            lines.extend(follow(&mut neighbours, edge));
        }
        lines.into_iter().map(|line| line.into_iter().map(|edge| self.crossing(edge, level)).collect()).collect()
    }

    /// The edges of a cell that are joined by a piece of a line.
    fn segments(&self, column: usize, row: usize, level: f64) -> Vec<[Edge; 2]> {
        // The corners go around from the lower left, each with the edge that leads to the next.
        let corners = [(column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1)];
        let edges = [(column, row, false), (column + 1, row, true), (column, row + 1, false), (column, row, true)];
        let values = corners.map(|corner| self.value(corner));
        if values.iter().any(|value| !value.is_finite()) {
            return Vec::new();
        }
        let above = values.map(|value| value >= level);
        let crossed: Vec<Edge> =
            (0..4).filter(|corner| above[*corner] != above[(corner + 1) % 4]).map(|corner| edges[corner]).collect();
        match crossed[..] {
            [one, other] => vec![[one, other]],
            // In a saddle, opposite corners are connected if the middle is on the same side of the level.
            [below, right, top, left] => {
                let [x, y] = self.xy((column, row));
                let middle = (self.function)([x + self.size[0] / 2.0, y + self.size[1] / 2.0]) >= level;
                if middle == above[0] { vec![[below, right], [top, left]] } else { vec![[left, below], [right, top]] }
            }
            _ => Vec::new(),
        }
    }

    /// The point on an edge where the function has the level.
    fn crossing(&self, (column, row, upwards): Edge, level: f64) -> [f64; 2] {
        let next = if upwards { (column, row + 1) } else { (column + 1, row) };
        let is_above = self.value((column, row)) >= level;
        let (mut from, mut to) = (self.xy((column, row)), self.xy(next));
        for _ in 0..HALVINGS {
            let middle = [0, 1].map(|axis| 0.5 * (from[axis] + to[axis]));
            if ((self.function)(middle) >= level) == is_above { from = middle } else { to = middle }
        }
        from
    }
}

/// The parts of a line that are not crowded and have at least a length, or the whole line.
fn parts_apart(
    line: &[[f64; 2]],
    is_crowded: impl Fn(&[f64; 2]) -> bool,
    length_of: impl Fn([f64; 2]) -> f64,
    shortest: f64,
) -> impl Iterator<Item = &[[f64; 2]]> {
    let length = move |part: &[[f64; 2]]| -> f64 {
        part.windows(2).map(|ends| length_of([0, 1].map(|axis| ends[1][axis] - ends[0][axis]))).sum()
    };
    let whole = line.len();
    let parts = line.split(is_crowded).filter(|part| part.len() > 1);
    parts.filter(move |part| part.len() == whole || length(part) >= shortest)
}

/// Removes a line from the joined edges, from one of its edges on.
fn follow(neighbours: &mut BTreeMap<Edge, Vec<Edge>>, start: Edge) -> Option<Vec<Edge>> {
    let mut line = vec![start];
    let mut next = neighbours.remove(&start)?.pop();
    while let Some(edge) = next {
        let previous = line[line.len() - 1];
        line.push(edge);
        let beside = neighbours.remove(&edge).unwrap_or_default();
        next = beside.into_iter().find(|other| *other != previous);
    }
    Some(line)
}

#[cfg(test)]
mod tests {
    use valleyscope_engine::landscape::{LandscapeKind, LandscapeSpec};
    use valleyscope_experiments::view::{AutoScale, Camera, Viewport};

    use super::*;

    #[test]
    fn lines_of_bent_valleys_are_not_in_fragments() {
        const POINTS: f64 = 300.0;
        for kind in [LandscapeKind::River, LandscapeKind::Rosenbrock, LandscapeKind::Beale] {
            let spec = LandscapeSpec::new(kind);
            let (landscape, camera @ Camera { center, width, lens }) = (spec.landscape(), Camera::home(&spec));
            let viewport = Viewport { camera, size_px: [POINTS as f32; 2] };
            let scale = AutoScale::default().update(&[(&landscape, viewport)]);
            let [from, to] = [-0.5, 0.5].map(|side| center.map(|center| center + side * width));
            let grid = Grid::new(|xy| landscape.loss(xy), from, to, [200; 2]);
            let least = 2.0 * width / POINTS;
            let (mut drawn, mut whole) = (0, 0);
            for level in scale.contour_levels(SymLog::CONTOURS) {
                let lines = grid.contour(level);
                for piece in grid.separate_lines(&landscape, (&scale, SymLog::CONTOURS), level, (lens, least)) {
                    let ends = |[one, other]: [&[f64; 2]; 2]| (one[0] - other[0]).hypot(one[1] - other[1]);
                    let length: f64 = piece.windows(2).map(|pair| ends([&pair[0], &pair[1]])).sum();
                    let is_whole = lines.contains(&piece);
                    assert!(is_whole || length >= SHORTEST * least, "{}: {length} at {level}", kind.key());
                    (drawn, whole) = (drawn + 1, whole + usize::from(is_whole));
                }
            }
            assert!(drawn >= 10 && whole >= 5, "{}: {drawn} pieces, {whole} whole lines", kind.key());
        }
    }
}
