//! The perceived difference of colours, and line colours with enough contrast.

use palette::color_difference::Ciede2000;
use palette::white_point::D65;
use palette::{FromColor, Lab, LinSrgb};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vision {
    Usual,
    /// Vision that lacks the cones for long waves (red).
    Protanopia,
    /// Vision that lacks the cones for middle waves (green).
    Deuteranopia,
}

/// The ways in which an optimizer's colour is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorUse {
    /// Cells of a diagram, and marks on the landscape.
    Area,
    /// Cells of a diagram whose winner is [`HALF_CERTAIN`].
    FaintArea,
    Line(Background),
}

/// The certainty of winners whose cells have about half of the colour.
const HALF_CERTAIN: f64 = 0.75;
/// The fraction of its colour that an undecided winner has.
const FAINTEST: f64 = 0.15;

/// Thresholds of this program. 5 and 3.5 are where Mokrzycki and Tatol (2011) begin "two different colours" and "a
/// clear difference", stated for ΔE*ab; here they are applied to CIEDE2000 and simulated deficiencies.
const TWO_COLORS: f64 = 5.0;
const CLEAR: f64 = 3.5;
/// The factor of differences for usual vision, as small targets (a third of a degree) needed 1.4 to 2.6 times the
/// difference of large ones, by axis of CIELAB (Stone, Szafir and Setlur 2014). Lines are thinner than what was tested.
const OF_SMALL_MARKS: f64 = 2.0;

impl Vision {
    pub const ALL: [Vision; 3] = [Vision::Usual, Vision::Protanopia, Vision::Deuteranopia];

    /// Linear red, green and blue as the reader sees them.
    fn seen(self, [red, green, blue]: [f64; 3]) -> [f64; 3] {
        let rows = match self {
            Vision::Usual => return [red, green, blue],
            Vision::Protanopia => [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
            Vision::Deuteranopia => [
                [0.367_322, 0.860_646, -0.227_968],
                [0.280_085, 0.672_501, 0.047_413],
                [-0.011_820, 0.042_940, 0.968_881],
            ],
        };
        rows.map(|[r, g, b]: [f64; 3]| (r * red + g * green + b * blue).clamp(0.0, 1.0))
    }
}

impl ColorUse {
    pub const ALL: [ColorUse; 4] =
        [ColorUse::Area, ColorUse::FaintArea, ColorUse::Line(Background::Light), ColorUse::Line(Background::Dark)];

    pub fn drawn(self, color: [u8; 3]) -> [u8; 3] {
        match self {
            ColorUse::Area => color,
            ColorUse::FaintArea => faded(color, HALF_CERTAIN),
            ColorUse::Line(background) => contrasting(color, background),
        }
    }

    /// The smallest difference by which two colours can be distinguished. Sixteen colours and the paper's three reach
    /// it: with a deficiency, "two different colours", and in faint cells "a clear difference".
    pub fn least(self, vision: Vision) -> f64 {
        match (self, vision) {
            (ColorUse::FaintArea, Vision::Usual) => TWO_COLORS,
            (ColorUse::FaintArea, _) => CLEAR,
            (_, Vision::Usual) => OF_SMALL_MARKS * TWO_COLORS,
            (_, _) => TWO_COLORS,
        }
    }
}

/// Mixes a winner's colour with white: full where the winner is certain, faint where it is undecided.
pub fn faded(color: [u8; 3], certainty: f64) -> [u8; 3] {
    let share = FAINTEST + (1.0 - FAINTEST) * (2.0 * certainty - 1.0).clamp(0.0, 1.0);
    color.map(|channel| (255.0 - share * (255.0 - f64::from(channel))).round() as u8)
}

/// The difference of two colours, CIEDE2000: 1 is about the least that can be seen, and black and white are 100 apart.
pub fn color_difference(a: [u8; 3], b: [u8; 3], vision: Vision) -> f64 {
    lab(a, vision).difference(lab(b, vision))
}

fn lab(color: [u8; 3], vision: Vision) -> Lab<D65, f64> {
    let [red, green, blue] = vision.seen(color.map(|channel| f64::from(linear(channel))));
    Lab::from_color(LinSrgb::new(red, green, blue))
}

/// A colour as readers with each kind of vision see it.
#[derive(Clone)]
pub(super) struct Appearance {
    /// For each use, and each vision.
    seen: [[Lab<D65, f64>; 3]; 4],
}

impl Appearance {
    pub(super) fn new(color: [u8; 3]) -> Appearance {
        Appearance { seen: ColorUse::ALL.map(|of| Vision::ALL.map(|vision| lab(of.drawn(color), vision))) }
    }

    /// The smallest difference of two colours as a multiple of the least that is needed: from 1 on, they can be
    /// distinguished. A faint cell is also compared with a full one, for usual vision.
    pub(super) fn separation(&self, other: &Appearance) -> f64 {
        let uses = ColorUse::ALL.into_iter().zip(self.seen.iter().zip(&other.seen));
        let same = uses.flat_map(|(of, (a, b))| {
            let least = move |index: usize| of.least(Vision::ALL[index]);
            (0..3).map(move |index| a[index].difference(b[index]) / least(index))
        });
        let [area, faded, ..] = &self.seen;
        let [other_area, other_faint, ..] = &other.seen;
        let crossed = [faded[0].difference(other_area[0]), area[0].difference(other_faint[0])];
        same.chain(crossed.map(|apart| apart / TWO_COLORS)).fold(f64::INFINITY, f64::min)
    }

    /// The difference of two colours as areas.
    pub(super) fn distance(&self, other: &Appearance) -> f64 {
        self.seen[0][0].difference(other.seen[0][0])
    }

    /// Whether the colour is none of white, black and the greys of diagrams, nor nearly one.
    pub(super) fn is_colorful(&self) -> bool {
        let Lab { l, a, b, .. } = self.seen[0][0];
        (30.0..92.0).contains(&l) && a.hypot(b) > 20.0
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    Light,
    Dark,
}

/// The largest luminance of a line on a light background, and the smallest on a dark one.
const BRIGHTEST: f32 = 0.40;
const DARKEST: f32 = 0.08;
/// The number of steps between a colour and black or white.
const STEPS: usize = 60;
/// The largest factor by which a colour's distance from grey may grow when it is darkened.
const STRONGEST: f32 = 2.0;

/// Adjusts a colour to have enough contrast for lines on a background: a light colour is darkened on a light
/// background, and a dark one lightened on a dark one. The hue stays: a light yellow becomes gold, and not olive.
pub fn contrasting(color: [u8; 3], background: Background) -> [u8; 3] {
    match background {
        Background::Light => darkened(color, BRIGHTEST),
        Background::Dark => lightened(color, DARKEST),
    }
}

/// Adjusts a colour for text on a background, to a contrast of 4.5:1 with the panels of both themes.
pub fn legible(color: [u8; 3], background: Background) -> [u8; 3] {
    match background {
        Background::Light => darkened(color, 0.15),
        Background::Dark => lightened(color, 0.22),
    }
}

/// Darkens the colour to at most this luminance. The darker the result, the further it is from grey.
pub(super) fn darkened(color: [u8; 3], most: f32) -> [u8; 3] {
    let at = |part: f32| {
        let strength = (1.0 + 6.0 * part).min(STRONGEST);
        mixed(strengthened(color.map(f32::from), strength), 0.0, part)
    };
    first(at, |color| luminance(color) <= most)
}

/// Lightens the colour to at least this luminance.
pub(super) fn lightened(color: [u8; 3], least: f32) -> [u8; 3] {
    first(|part| mixed(color.map(f32::from), 255.0, part), |color| luminance(color) >= least)
}

/// Finds the first colour between fractions 0 and 1 that satisfies `will_do`.
fn first(at: impl Fn(f32) -> [u8; 3], will_do: impl Fn([u8; 3]) -> bool) -> [u8; 3] {
    let steps = (0..STEPS).map(|step| at(step as f32 / STEPS as f32));
    steps.into_iter().find(|color| will_do(*color)).unwrap_or_else(|| at(1.0))
}

/// Replaces a part of a colour by white (255) or black (0).
pub(super) fn mixed(color: [f32; 3], towards: f32, part: f32) -> [u8; 3] {
    color.map(|channel| ((1.0 - part) * channel + part * towards).round() as u8)
}

/// The colour `times` times as far from the grey of its largest channel, or as far as its hue allows.
fn strengthened(color: [f32; 3], times: f32) -> [f32; 3] {
    let most = color.into_iter().fold(0.0, f32::max);
    let least = color.into_iter().fold(most, f32::min);
    if least == most {
        return color;
    }
    let times = times.min(most / (most - least));
    color.map(|channel| (most - (most - channel) * times).max(0.0))
}

/// Relative luminance of an sRGB colour, 0 for black and 1 for white.
pub(super) fn luminance(color: [u8; 3]) -> f32 {
    let [red, green, blue] = color.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// A channel of an sRGB colour as linear light, from 0 to 1.
pub(super) fn linear(channel: u8) -> f32 {
    let channel = f32::from(channel) / 255.0;
    if channel <= 0.04045 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
}

#[cfg(test)]
mod tests {
    use palette::Lab;
    use palette::color_difference::Ciede2000;
    use palette::white_point::D65;

    use super::{Vision, color_difference};

    /// Pairs of Sharma, Wu and Dalal (2005), table 1: those that reveal wrong hues, means of hues, and rotations.
    const PAIRS: [([f64; 3], [f64; 3], f64); 12] = [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, -1.3802, -84.2814], [50.0, 0.0, -82.7485], 1.0000),
        ([50.0, 0.0, 0.0], [50.0, -1.0, 2.0], 2.3669),
        ([50.0, 2.49, -0.001], [50.0, -2.49, 0.0009], 7.1792),
        ([50.0, 2.49, -0.001], [50.0, -2.49, 0.0011], 7.2195),
        ([50.0, -0.001, 2.49], [50.0, 0.0011, -2.49], 4.7461),
        ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
        ([50.0, 2.5, 0.0], [58.0, 24.0, 15.0], 19.4535),
        ([60.2574, -34.0099, 36.2677], [60.4626, -34.1751, 39.4387], 1.2644),
        ([22.7233, 20.0904, -46.6940], [23.0331, 14.9730, -42.5619], 2.0373),
        ([90.8027, -2.0831, 1.4410], [91.1528, -1.6435, 0.0447], 1.4441),
        ([2.0776, 0.0795, -1.1350], [0.9033, -0.0636, -0.5514], 0.9082),
    ];

    #[test]
    fn differences_are_those_of_the_published_pairs() {
        for ([l, a, b], [other_l, other_a, other_b], expected) in PAIRS {
            let found = Lab::<D65, f64>::new(l, a, b).difference(Lab::new(other_l, other_a, other_b));
            assert!((found - expected).abs() < 1e-4, "{found}, not {expected}");
        }
    }

    #[test]
    fn black_and_white_are_a_hundred_apart_for_all_readers() {
        for vision in Vision::ALL {
            let apart = color_difference([0; 3], [255; 3], vision);
            assert!((apart - 100.0).abs() < 0.1, "{apart} for {vision:?}");
        }
    }

    #[test]
    fn red_and_green_are_alike_without_the_cones_that_tell_them_apart() {
        let [red, green] = [[190, 80, 30], [110, 130, 30]];
        let usual = color_difference(red, green, Vision::Usual);
        for vision in [Vision::Protanopia, Vision::Deuteranopia] {
            let apart = color_difference(red, green, vision);
            assert!(apart < 0.5 * usual, "{apart} for {vision:?}, {usual} usually");
        }
    }
}
