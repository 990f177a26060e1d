//! Line colours with enough contrast.

/// The background of a drawing.
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

/// Returns a colour, as red, green and blue, that has enough contrast for lines on a background: a pale colour is
/// darkened on a light background, and a dark one lightened on a dark one. The hue is kept: a pale yellow becomes gold,
/// and not olive.
pub fn contrasting(color: [u8; 3], background: Background) -> [u8; 3] {
    match background {
        Background::Light => darkened(color, BRIGHTEST),
        Background::Dark => lightened(color, DARKEST),
    }
}

/// Returns the colour with at most this luminance. The darker it must become, the further it gets from grey.
pub(super) fn darkened(color: [u8; 3], most: f32) -> [u8; 3] {
    let at = |part: f32| {
        let strength = (1.0 + 6.0 * part).min(STRONGEST);
        mixed(strengthened(color.map(f32::from), strength), 0.0, part)
    };
    first(at, |color| luminance(color) <= most)
}

/// Returns the colour with at least this luminance.
pub(super) fn lightened(color: [u8; 3], least: f32) -> [u8; 3] {
    first(|part| mixed(color.map(f32::from), 255.0, part), |color| luminance(color) >= least)
}

/// Returns the first colour between fractions 0 and 1 that satisfies `will_do`.
fn first(at: impl Fn(f32) -> [u8; 3], will_do: impl Fn([u8; 3]) -> bool) -> [u8; 3] {
    let steps = (0..STEPS).map(|step| at(step as f32 / STEPS as f32));
    steps.into_iter().find(|color| will_do(*color)).unwrap_or_else(|| at(1.0))
}

/// Returns a colour of which a part is replaced by white (255) or black (0).
pub(super) fn mixed(color: [f32; 3], towards: f32, part: f32) -> [u8; 3] {
    color.map(|channel| ((1.0 - part) * channel + part * towards).round() as u8)
}

/// Returns the colour `times` times as far from the grey of its largest channel, or as far as its hue allows.
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

/// Returns a channel of an sRGB colour as linear light, from 0 to 1.
pub(super) fn linear(channel: u8) -> f32 {
    let channel = f32::from(channel) / 255.0;
    if channel <= 0.04045 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
}
