//! Reduces the colours of a GIF's frame to at most 256.

/// The largest number of colours of a frame.
const MOST_COLORS: usize = 256;
/// The number of frequent colours that are kept exactly: backgrounds and text.
const FREQUENT: usize = 16;
/// The weights of red, green and blue, roughly by the eye's sensitivity.
const AXIS_WEIGHTS: [f64; 3] = [1.4, 2.0, 1.2];
/// The number of rounds in which each colour of the palette moves to the mean of the colours that it represents.
const ROUNDS: usize = 2;

/// A colour of the picture. Its weight is the root of its number of pixels, so that a few lines and points are not lost
/// in a large heatmap.
#[derive(Clone, Copy)]
struct Entry {
    rgb: [u8; 3],
    pixels: u32,
}

impl Entry {
    fn weight(&self) -> f64 {
        f64::from(self.pixels).sqrt()
    }
}

/// Pixels as indices of a palette.
#[derive(Debug)]
pub(super) struct Indexed {
    pub palette: Vec<[u8; 3]>,
    /// The index of a pixel without a colour; `None` where each pixel has one. The palette holds a colour there, which is
    /// never seen.
    pub transparent: Option<u8>,
    pub indices: Vec<u8>,
}

/// Reduces pixels to at most [`MOST_COLORS`] colours, or one less where some pixels have no colour. The first 128
/// colours of `kept` that occur stay unchanged.
pub(super) fn indexed(pixels: &[Option<[u8; 3]>], kept: &[[u8; 3]]) -> Indexed {
    let entries = colors_of(pixels);
    let has_none = pixels.iter().any(Option::is_none);
    let all: Vec<[u8; 3]> = entries.iter().map(|entry| entry.rgb).collect();
    let mut palette = suited(entries, kept, MOST_COLORS - usize::from(has_none));
    let index_of = |rgb: &[u8; 3]| u8::try_from(nearest(&palette, *rgb)).expect("there are at most 256 colours");
    let known: Vec<u8> = all.iter().map(index_of).collect();
    let transparent = has_none.then(|| u8::try_from(palette.len()).expect("there are at most 255 colours"));
    palette.extend(has_none.then_some([0; 3]));
    let index = |pixel: &Option<[u8; 3]>| {
        let known = pixel.and_then(|rgb| all.binary_search(&rgb).ok()).map(|index| known[index]);
        known.or(transparent).unwrap_or_default()
    };
    Indexed { indices: pixels.iter().map(index).collect(), palette, transparent }
}

/// Returns at most `most` colours that suit `entries`, with the first 128 of `kept` that are among them.
fn suited(mut entries: Vec<Entry>, kept: &[[u8; 3]], most: usize) -> Vec<[u8; 3]> {
    if entries.len() <= most {
        return entries.into_iter().map(|entry| entry.rgb).collect();
    }
    let mut fixed = Vec::new();
    let is_there = |rgb: &&[u8; 3]| entries.binary_search_by_key(*rgb, |entry| entry.rgb).is_ok();
    for rgb in kept.iter().filter(is_there).take(MOST_COLORS / 2) {
        if !fixed.contains(rgb) {
            fixed.push(*rgb);
        }
    }
    entries.retain(|entry| !fixed.contains(&entry.rgb));
    entries.sort_by_key(|entry| (std::cmp::Reverse(entry.pixels), entry.rgb));
    fixed.extend(entries.drain(..FREQUENT.min(entries.len())).map(|entry| entry.rgb));
    palette(&fixed, entries, most)
}

/// Returns the distinct colours of pixels, in their order.
fn colors_of(pixels: &[Option<[u8; 3]>]) -> Vec<Entry> {
    let mut colors: Vec<[u8; 3]> = pixels.iter().flatten().copied().collect();
    colors.sort_unstable();
    let runs = colors.chunk_by(|a, b| a == b);
    runs.map(|run| Entry { rgb: run[0], pixels: u32::try_from(run.len()).unwrap_or(u32::MAX) }).collect()
}

/// Returns `fixed`, and the colours that suit `entries` best: the box of colours with the largest error is split until
/// there are enough, and each colour then becomes the mean of the nearest entries.
fn palette(fixed: &[[u8; 3]], entries: Vec<Entry>, most: usize) -> Vec<[u8; 3]> {
    let mut boxes = vec![ColorBox::new(entries)];
    while boxes.len() < most - fixed.len() {
        let errors = boxes.iter().map(|colors| colors.error).enumerate();
        let Some((widest, error)) = errors.max_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        if error <= 0.0 {
            break;
        }
        let (low, high) = boxes.swap_remove(widest).cut();
        boxes.extend([low, high]);
    }
    let mut palette = fixed.to_vec();
    palette.extend(boxes.iter().map(|colors| mean(&colors.entries).map(|value| value.round() as u8)));
    let entries: Vec<Entry> = boxes.into_iter().flat_map(|colors| colors.entries).collect();
    for _ in 0..ROUNDS {
        let mut members = vec![Vec::new(); palette.len()];
        for entry in &entries {
            members[nearest(&palette, entry.rgb)].push(*entry);
        }
        for (color, members) in palette.iter_mut().zip(&members).skip(fixed.len()) {
            if !members.is_empty() {
                *color = mean(members).map(|value| value.round() as u8);
            }
        }
    }
    palette
}

/// A group of colours that one colour may represent.
struct ColorBox {
    entries: Vec<Entry>,
    /// The axis on which they differ the most, and their error: the sum of the weighted squares.
    axis: usize,
    error: f64,
}

impl ColorBox {
    fn new(entries: Vec<Entry>) -> ColorBox {
        let mean = mean(&entries);
        let error_on = |axis: usize| -> f64 {
            let distance = |entry: &Entry| AXIS_WEIGHTS[axis] * (f64::from(entry.rgb[axis]) - mean[axis]);
            entries.iter().map(|entry| entry.weight() * distance(entry).powi(2)).sum()
        };
        let errors = [0, 1, 2].map(error_on);
        let axis = (0..3).max_by(|a, b| errors[*a].total_cmp(&errors[*b])).unwrap_or(0);
        let error = if entries.len() > 1 { errors[axis] } else { 0.0 };
        ColorBox { entries, axis, error }
    }

    /// Splits the box at the mean on its axis.
    fn cut(self) -> (ColorBox, ColorBox) {
        let middle = mean(&self.entries)[self.axis];
        let (low, high) = self.entries.into_iter().partition(|entry| f64::from(entry.rgb[self.axis]) < middle);
        (ColorBox::new(low), ColorBox::new(high))
    }
}

fn mean(entries: &[Entry]) -> [f64; 3] {
    let total: f64 = entries.iter().map(Entry::weight).sum();
    [0, 1, 2].map(|axis| entries.iter().map(|entry| entry.weight() * f64::from(entry.rgb[axis])).sum::<f64>() / total)
}

/// Returns the index of the most similar colour to `rgb`.
fn nearest(palette: &[[u8; 3]], rgb: [u8; 3]) -> usize {
    let distance = |color: &[u8; 3]| -> f64 {
        (0..3).map(|axis| (AXIS_WEIGHTS[axis] * (f64::from(color[axis]) - f64::from(rgb[axis]))).powi(2)).sum()
    };
    let mut best = (f64::INFINITY, 0);
    for (index, color) in palette.iter().enumerate() {
        let distance = distance(color);
        if distance < best.0 {
            best = (distance, index);
        }
    }
    best.1
}
