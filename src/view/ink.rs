//! Colours that lines can be seen in.

/// What is drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    Light,
    Dark,
}

/// The colour, as red, green and blue, for lines on a background: pale ones are darkened on a light one and dark ones
/// lightened on a dark one until they can be seen.
pub fn ink(color: [u8; 3], background: Background) -> [u8; 3] {
    let (towards, readable): (f32, fn(f32) -> bool) = match background {
        Background::Light => (0.0, |luminance| luminance <= 0.40),
        Background::Dark => (255.0, |luminance| luminance >= 0.08),
    };
    let mixed = |part: f32| color.map(|channel| ((1.0 - part) * f32::from(channel) + part * towards).round() as u8);
    let steps = (0..20).map(|step| mixed(0.05 * step as f32));
    steps.into_iter().find(|color| readable(luminance(*color))).unwrap_or(mixed(1.0))
}

/// Relative luminance of an sRGB colour, 0 for black and 1 for white.
fn luminance(color: [u8; 3]) -> f32 {
    let [red, green, blue] = color.map(|channel| {
        let channel = f32::from(channel) / 255.0;
        if channel <= 0.04045 { channel / 12.92 } else { ((channel + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}
