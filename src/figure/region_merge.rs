//! Merges the small regions of a map into their neighbours.

use std::collections::{BTreeMap, BTreeSet};

/// A connected region of cells with the same winner.
struct Region {
    winner: Option<usize>,
    cells: Vec<usize>,
    /// The length of the border with each region beside it, in sides of cells.
    borders: BTreeMap<usize, usize>,
}

/// Returns the winners of all cells without connected regions of fewer than `smallest` cells: beginning with the
/// smallest, each takes the winner of the region with which it has the longest border.
pub(super) fn merge_small(winners: &[Option<usize>], width: usize, smallest: usize) -> Vec<Option<usize>> {
    let mut regions = bordered(winners, width);
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

/// Finds the connected regions of equal winners, and the borders between them.
fn bordered(winners: &[Option<usize>], width: usize) -> Vec<Region> {
    let (of_cell, regions) = connected(winners, width);
    let region = |cells: Vec<usize>| Region { winner: winners[cells[0]], cells, borders: BTreeMap::new() };
    let mut regions: Vec<Region> = regions.into_iter().map(region).collect();
    for (cell, own) in of_cell.iter().enumerate() {
        for other in neighbors(cell, width, of_cell.len()).map(|beside| of_cell[beside]).filter(|other| other != own) {
            *regions[*own].borders.entry(other).or_default() += 1;
        }
    }
    regions
}

/// Finds the connected regions of equal winners: the index of each cell's region, and the cells of each region.
pub(super) fn connected(winners: &[Option<usize>], width: usize) -> (Vec<usize>, Vec<Vec<usize>>) {
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
        regions.push(cells);
    }
    (of_cell, regions)
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
