//! The regions of winners on a map: their borders, and the positions of letters in them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use egui::{Color32, Pos2, Rect, Stroke, pos2};
use valleyscope_experiments::view::Dash;

use super::canvas::{Canvas, MapImage};
use super::map::{SharedOptimizer, Swatch};

/// The smallest part of a map's cells that has borders and a letter of its own.
const SMALLEST_PART: f64 = 0.01;
/// The smallest number of such cells.
const SMALLEST: usize = 4;

/// The large regions of a map, in cells from the lower left corner.
#[derive(Clone, Debug, Default, PartialEq)]
struct Regions {
    /// Straight lines between regions, each from one point to another, as column and row.
    borders: Vec<[[f64; 2]; 2]>,
    letters: Vec<RegionLetter>,
    /// Whether some regions are too small for a border and a letter.
    has_specks: bool,
}

/// The position of a letter in a region.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RegionLetter {
    winner: usize,
    /// Column and row.
    at: [f64; 2],
    /// Half the side of the largest square around it within the region, in cells.
    reach: f64,
}

/// The letters of optimizers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Letters(Vec<Lettered>);

#[derive(Clone, Debug, PartialEq)]
struct Lettered {
    identity: String,
    letter: String,
    /// Its names in the legend, each with other settings.
    names: Vec<String>,
}

impl Letters {
    /// Gives each of the distinct optimizers one of its name's letters or digits that no earlier one has, or else a
    /// number.
    pub(crate) fn of<'a>(optimizers: impl IntoIterator<Item = &'a SharedOptimizer>) -> Letters {
        let mut letters: Vec<Lettered> = Vec::new();
        for SharedOptimizer { identity, name, .. } in optimizers {
            if let Some(known) = letters.iter_mut().find(|known| known.identity == *identity) {
                known.names.push(name.clone());
                continue;
            }
            let own = identity.chars().filter(|c| c.is_alphanumeric()).map(|c| c.to_uppercase().to_string());
            let mut own = own.chain((1_u32..).map(|number| number.to_string()));
            let letter = own.find(|letter| letters.iter().all(|known| known.letter != *letter));
            let letter = letter.expect("there are endless numbers");
            letters.push(Lettered { identity: identity.clone(), letter, names: vec![name.clone()] });
        }
        Letters(letters)
    }

    pub(crate) fn of_optimizers(&self, optimizers: &[SharedOptimizer]) -> Vec<String> {
        let letter = |optimizer: &SharedOptimizer| {
            let known = self.0.iter().find(|known| known.identity == optimizer.identity);
            known.map(|known| known.letter.clone()).unwrap_or_default()
        };
        optimizers.iter().map(letter).collect()
    }

    /// Puts the letter of an optimizer before its name in a legend.
    pub(crate) fn explain(&self, legend: &mut [Swatch]) {
        for swatch in legend {
            if let Some(known) = self.0.iter().find(|known| known.names.contains(&swatch.text)) {
                swatch.text = format!("{} = {}", known.letter, swatch.text);
            }
        }
    }

    /// The note that specks have no letters.
    pub(crate) fn note_of_specks() -> Swatch {
        Swatch { color: None, text: "the smallest regions have no letter".to_owned() }
    }
}

/// The borders of a map's regions, and the letters in them.
#[derive(Clone, Debug)]
pub(crate) struct LetteredRegions {
    regions: Regions,
    /// The letter of each optimizer.
    letters: Vec<String>,
    /// The colour of each of the regions' letters.
    inks: Vec<Color32>,
}

// Lengths in font sizes.
/// The width of the borders of regions.
const BORDER: f32 = 0.1;
/// The smallest size of a letter.
const SMALLEST_LETTER: f32 = 0.65;
/// The largest size of a letter in a square of side 1.
const LETTER_SIZE: f32 = 1.3;

impl LetteredRegions {
    /// Finds the regions of winners on a map. `letters` has those of its optimizers.
    pub(crate) fn new(winners: &[Option<usize>], image: &MapImage, letters: Vec<String>) -> LetteredRegions {
        let regions = Regions::of(winners, image.width);
        let behind = regions.letters.iter().map(|letter| image.cell(letter.at[1] as usize, letter.at[0] as usize));
        LetteredRegions { inks: behind.map(ink).collect(), letters, regions }
    }

    /// Whether some regions are too small for a border and a letter.
    pub(crate) fn has_specks(&self) -> bool {
        self.regions.has_specks
    }

    /// Draws the borders on a map of this shape, and a letter in each region that has room for it.
    pub(crate) fn draw(&self, canvas: &Canvas, map: Rect, [height, width]: [usize; 2]) {
        let (em, cell) = (canvas.style.em, [map.width() / width as f32, map.height() / height as f32]);
        let at = |[column, row]: [f64; 2]| -> Pos2 {
            pos2(map.left() + column as f32 * cell[0], map.bottom() - row as f32 * cell[1])
        };
        let borders: Vec<Vec<Pos2>> = self.regions.borders.iter().map(|ends| ends.map(at).to_vec()).collect();
        canvas.lines(&borders, Stroke::new(BORDER * em, Color32::BLACK), Dash::Solid);
        for (letter, ink) in self.regions.letters.iter().zip(&self.inks) {
            let size = em.min(LETTER_SIZE * 2.0 * letter.reach as f32 * cell[0].min(cell[1]));
            if size >= SMALLEST_LETTER * em {
                canvas.text_in(*ink, size, at(letter.at), &self.letters[letter.winner]);
            }
        }
    }
}

/// The colour of a letter: black, or white on a dark colour.
fn ink([red, green, blue]: [u8; 3]) -> Color32 {
    let brightness = 0.3 * f64::from(red) + 0.59 * f64::from(green) + 0.11 * f64::from(blue);
    if brightness > 110.0 { Color32::BLACK } else { Color32::WHITE }
}

impl Regions {
    /// Finds the regions of equal winners, given row by row from below. Small ones, as in a checkered part, belong to
    /// the region beside them with the longest common border.
    fn of(winners: &[Option<usize>], width: usize) -> Regions {
        let height = winners.len() / width.max(1);
        let smallest = ((SMALLEST_PART * winners.len() as f64).ceil() as usize).max(SMALLEST);
        let merged = merge_small(winners, width, smallest);
        let labels = Labels::of(&merged, width);
        let mut borders = labels.borders(true, height);
        borders.extend(labels.borders(false, height));
        let letters = (0..labels.regions.len()).filter_map(|region| labels.letter(region)).collect();
        let has_specks = winners.iter().zip(&merged).any(|(winner, shown)| winner.is_some() && winner != shown);
        Regions { borders, letters, has_specks }
    }
}

/// The region of each cell.
struct Labels {
    width: usize,
    of_cell: Vec<usize>,
    regions: Vec<Region>,
}

/// A connected region of cells with the same winner.
struct Region {
    winner: Option<usize>,
    cells: Vec<usize>,
    /// The length of the border with each region beside it, in sides of cells.
    borders: BTreeMap<usize, usize>,
}

impl Labels {
    /// Finds the connected regions of equal winners, and the borders between them.
    fn of(winners: &[Option<usize>], width: usize) -> Labels {
        const NONE: usize = usize::MAX;
        let (mut of_cell, mut regions) = (vec![NONE; winners.len()], Vec::new());
        for start in 0..winners.len() {
            if of_cell[start] != NONE {
                continue;
            }
            of_cell[start] = regions.len();
            let mut cells = vec![start];
            let mut next = 0;
            while next < cells.len() {
                for beside in neighbors(cells[next], width, winners.len()) {
                    if winners[beside] == winners[start] && of_cell[beside] == NONE {
                        of_cell[beside] = regions.len();
                        cells.push(beside);
                    }
                }
                next += 1;
            }
            regions.push(Region { winner: winners[start], cells, borders: BTreeMap::new() });
        }
        for (cell, own) in of_cell.iter().enumerate() {
            let beside = neighbors(cell, width, of_cell.len()).map(|beside| of_cell[beside]);
            beside.filter(|other| other != own).for_each(|other| *regions[*own].borders.entry(other).or_default() += 1);
        }
        Labels { width, of_cell, regions }
    }

    /// The borders between regions side by side, if `upright`, or else above each other, in lines as long as possible.
    fn borders(&self, upright: bool, height: usize) -> Vec<[[f64; 2]; 2]> {
        let (lines, length) = if upright { (self.width, height) } else { (height, self.width) };
        let region = |line: usize, along: usize| {
            let (column, row) = if upright { (line, along) } else { (along, line) };
            self.of_cell[row * self.width + column]
        };
        let mut borders = Vec::new();
        for line in 1..lines {
            let is_border = |along: usize| region(line - 1, along) != region(line, along);
            let mut from = 0;
            for along in 0..=length {
                if along == length || !is_border(along) {
                    if from < along {
                        let ends = [from, along].map(|end| end as f64);
                        let position = line as f64;
                        borders.push(ends.map(|end| if upright { [position, end] } else { [end, position] }));
                    }
                    from = along + 1;
                }
            }
        }
        borders
    }

    /// The position in a region that is farthest from its edge; of several, the one nearest to its middle.
    fn letter(&self, region: usize) -> Option<RegionLetter> {
        let Region { winner, cells, .. } = &self.regions[region];
        let winner = (*winner)?;
        let distances = self.distances(region);
        let position = |cell: usize| [(cell % self.width) as f64 + 0.5, (cell / self.width) as f64 + 0.5];
        let count = cells.len() as f64;
        let middle = [0, 1].map(|axis| cells.iter().map(|cell| position(*cell)[axis]).sum::<f64>() / count);
        let away = |cell: usize| (position(cell)[0] - middle[0]).hypot(position(cell)[1] - middle[1]);
        let deepest = cells
            .iter()
            .copied()
            .min_by(|one, other| distances[*other].cmp(&distances[*one]).then(away(*one).total_cmp(&away(*other))))?;
        Some(RegionLetter { winner, at: position(deepest), reach: distances[deepest] as f64 - 0.5 })
    }

    /// The distance of each cell of a region from the nearest cell outside, in steps in all eight directions; beyond
    /// the edges of the map all is outside.
    fn distances(&self, region: usize) -> Vec<usize> {
        let (width, height) = (self.width, self.of_cell.len() / self.width);
        let mut distances = vec![0; self.of_cell.len()];
        let mut queue = VecDeque::new();
        let is_in = |cell: usize| self.of_cell[cell] == region;
        let around = |cell: usize| {
            let (column, row) = (cell % width, cell / width);
            let rows = row.saturating_sub(1)..=(row + 1).min(height - 1);
            rows.flat_map(move |row| {
                (column.saturating_sub(1)..=(column + 1).min(width - 1)).map(move |column| row * width + column)
            })
        };
        for &cell in &self.regions[region].cells {
            let (column, row) = (cell % width, cell / width);
            let is_at_edge = column == 0 || row == 0 || column + 1 == width || row + 1 == height;
            if is_at_edge || around(cell).any(|other| !is_in(other)) {
                distances[cell] = 1;
                queue.push_back(cell);
            }
        }
        while let Some(cell) = queue.pop_front() {
            for other in around(cell) {
                if is_in(other) && distances[other] == 0 {
                    distances[other] = distances[cell] + 1;
                    queue.push_back(other);
                }
            }
        }
        distances
    }
}

/// The winners of all cells without connected regions of fewer than `smallest` cells: beginning with the smallest, each
/// takes the winner of the region with which it has the longest border.
fn merge_small(winners: &[Option<usize>], width: usize, smallest: usize) -> Vec<Option<usize>> {
    let mut regions = Labels::of(winners, width).regions;
    let is_small = |region: &Region| region.cells.len() < smallest;
    let sized = |regions: &[Region], index: usize| (regions[index].cells.len(), index);
    let small = (0..regions.len()).filter(|index| is_small(&regions[*index]));
    let mut queue: BTreeSet<(usize, usize)> = small.map(|index| sized(&regions, index)).collect();
    while let Some((_, index)) = queue.pop_first() {
        let longest = |(other, length): (&usize, &usize)| (*length, sized(&regions, *other));
        let Some((_, (_, target))) = regions[index].borders.iter().map(longest).max() else { break };
        let winner = regions[target].winner;
        let beside = regions[index].borders.keys().copied();
        // Regions of this winner that the small one separated become one with it.
        let alike: Vec<usize> = beside.filter(|other| regions[*other].winner == winner).collect();
        let mut whole = index;
        for other in alike {
            queue.remove(&sized(&regions, other));
            let [into, from] =
                if sized(&regions, whole) < sized(&regions, other) { [other, whole] } else { [whole, other] };
            merge(&mut regions, into, from);
            whole = into;
        }
        regions[whole].winner = winner;
        if is_small(&regions[whole]) {
            queue.insert(sized(&regions, whole));
        }
    }
    let mut merged = winners.to_vec();
    for Region { winner, cells, .. } in regions {
        cells.into_iter().for_each(|cell| merged[cell] = winner);
    }
    merged
}

/// Moves the cells and the borders of a region to another one beside it.
fn merge(regions: &mut [Region], into: usize, from: usize) {
    let cells = std::mem::take(&mut regions[from].cells);
    regions[into].cells.extend(cells);
    for (other, length) in std::mem::take(&mut regions[from].borders) {
        regions[other].borders.remove(&from);
        if other != into {
            *regions[other].borders.entry(into).or_default() += length;
            *regions[into].borders.entry(other).or_default() += length;
        }
    }
}

/// Lists the cells at the left and the right, below and above.
fn neighbors(cell: usize, width: usize, count: usize) -> impl Iterator<Item = usize> {
    let column = cell % width;
    let left = (column > 0).then(|| cell - 1);
    let right = (column + 1 < width).then(|| cell + 1);
    let (below, above) = (cell.checked_sub(width), Some(cell + width).filter(|above| *above < count));
    [left, right, below, above].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::{Letters, Regions, SharedOptimizer};

    #[test]
    fn letters_of_names_are_distinct() {
        let optimizers = ["Adam", "AdaBelief", "Adam", "Signum", "A"].map(|name| SharedOptimizer {
            identity: name.to_owned(),
            name: name.to_owned(),
            color: [0; 3],
        });
        let letters = Letters::of(&optimizers);
        assert_eq!(letters.of_optimizers(&optimizers), ["A", "D", "A", "S", "1"]);
    }

    #[test]
    fn borders_are_closed_around_a_region_in_a_checkered_part() {
        // A block of one winner in a checkered part of two others: each end of a border continues or is at the edge.
        let width = 12;
        let winner = |cell: usize| {
            let (column, row) = (cell % width, cell / width);
            let is_inside = (3..8).contains(&column) && (3..8).contains(&row);
            Some(if is_inside { 2 } else { (column + row) % 2 })
        };
        let winners: Vec<Option<usize>> = (0..144).map(winner).collect();
        let Regions { borders, letters, .. } = Regions::of(&winners, width);
        assert!(!borders.is_empty() && !letters.is_empty());
        let meets = |[x, y]: [f64; 2], [from, to]: &[[f64; 2]; 2]| {
            (from[0]..=to[0]).contains(&x) && (from[1]..=to[1]).contains(&y)
        };
        for (index, end) in borders.iter().enumerate().flat_map(|(index, ends)| ends.map(|end| (index, end))) {
            let is_at_edge = end.iter().any(|position| *position == 0.0 || *position == 12.0);
            let goes_on = borders.iter().enumerate().any(|(other, ends)| other != index && meets(end, ends));
            assert!(is_at_edge || goes_on, "a border ends at {end:?}");
        }
    }

    #[test]
    fn regions_have_borders_and_letters_and_specks_have_none() {
        // Two halves of 6 by 8 cells, with a speck in the left one.
        let width = 12;
        let mut winners: Vec<Option<usize>> = (0..96).map(|cell| Some(usize::from(cell % width >= 6))).collect();
        winners[3 * width + 1] = Some(1);
        let Regions { borders, letters, has_specks } = Regions::of(&winners, width);
        assert!(has_specks);
        assert_eq!(borders, [[[6.0, 0.0], [6.0, 8.0]]]);
        let placed: Vec<(usize, bool)> = letters.iter().map(|letter| (letter.winner, letter.at[0] < 6.0)).collect();
        assert_eq!(placed, [(0, true), (1, false)]);
        assert!(letters.iter().all(|letter| letter.reach >= 1.5), "{letters:?}");
    }
}

#[cfg(test)]
mod region_merge_tests {
    use super::merge_small;

    #[test]
    fn specks_take_the_winner_around_them() {
        let width = 8;
        let mut winners = vec![Some(0); 64];
        winners[9] = Some(1);
        winners[20] = None;
        assert_eq!(merge_small(&winners, width, 4), vec![Some(0); 64]);
        assert_eq!(merge_small(&[Some(0)], 1, 4), [Some(0)], "a map of one small region");
    }

    #[test]
    fn regions_of_one_winner_become_one_where_a_speck_parted_them() {
        // Of two rows, a column of another winner parts the cells of a winner.
        let winners: Vec<Option<usize>> = (0..10).map(|cell| Some(usize::from(cell % 5 == 2))).collect();
        assert_eq!(merge_small(&winners, 5, 3), vec![Some(0); 10]);
    }
}
