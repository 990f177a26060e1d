//! Colours for copies of optimizers.

use egui::{Color32, Rgba, Theme};

use crate::app::landscape::marker::line_color;

/// The colours for a copy where no shade of its optimizer's own colour is free. They differ in lightness as well as
/// hue.
const OTHERS: [[u8; 3]; 10] = [
    [214, 92, 150],
    [20, 150, 130],
    [245, 245, 245],
    [230, 190, 40],
    [120, 70, 190],
    [200, 60, 50],
    [150, 200, 60],
    [130, 90, 50],
    [110, 220, 240],
    [245, 170, 205],
];
/// The distance from which on colours are easily distinguished, in units where black and white are 1 apart.
const CLEARLY: f32 = 0.16;

/// A colour for a copy: a shade of `own` that is clearly unlike all that are taken, or else the one of a
/// fixed list that is the least like them. Judged as lines in both themes, and as seen without the
/// receptors for green, by far the most frequent deficiency together with that for red, which is alike.
pub(super) fn copy_color(own: [u8; 3], taken: &[[u8; 3]]) -> [u8; 3] {
    let shades = [(0, 0.45), (255, 0.5), (0, 0.65)].map(|(towards, part)| own.map(|value| mixed(value, towards, part)));
    let apart = |color: &[u8; 3]| taken.iter().map(|other| difference(*color, *other)).fold(f32::INFINITY, f32::min);
    let clear = shades.into_iter().find(|shade| apart(shade) >= CLEARLY);
    let pool = OTHERS.into_iter().chain(shades);
    clear.or_else(|| pool.max_by(|a, b| apart(a).total_cmp(&apart(b)))).unwrap_or(own)
}

fn mixed(value: u8, towards: u8, part: f32) -> u8 {
    (f32::from(value) * (1.0 - part) + f32::from(towards) * part).round() as u8
}

/// The distance of two colours where they are most alike.
fn difference(a: [u8; 3], b: [u8; 3]) -> f32 {
    let mut least = f32::INFINITY;
    for theme in [Theme::Dark, Theme::Light] {
        let [a, b] =
            [a, b].map(|[red, green, blue]| Rgba::from(line_color(Color32::from_rgb(red, green, blue), theme)));
        for seen in [|color: Rgba| [color.r(), color.g(), color.b()], without_green] {
            let (a, b) = (oklab(seen(a)), oklab(seen(b)));
            let squares: f32 = a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum();
            least = least.min(squares.sqrt());
        }
    }
    least
}

/// Linear red, green and blue as a deuteranope sees them (Viénot, Brettel and Mollon 1999).
fn without_green(color: Rgba) -> [f32; 3] {
    let yellow = 0.29275 * color.r() + 0.70725 * color.g();
    let blue = -0.02234 * color.r() + 0.02234 * color.g() + color.b();
    [yellow, yellow, blue.clamp(0.0, 1.0)]
}

/// Linear red, green and blue as lightness and two opponent colours, in which distances are about as large
/// as they look (Ottosson 2020).
fn oklab([red, green, blue]: [f32; 3]) -> [f32; 3] {
    let l = (0.412_221_47 * red + 0.536_332_54 * green + 0.051_445_995 * blue).cbrt();
    let m = (0.211_903_5 * red + 0.680_699_5 * green + 0.107_396_96 * blue).cbrt();
    let s = (0.088_302_46 * red + 0.281_718_85 * green + 0.629_978_7 * blue).cbrt();
    [
        0.210_454_26 * l + 0.793_617_8 * m - 0.004_072_047 * s,
        1.977_998_5 * l - 2.428_592_2 * m + 0.450_593_7 * s,
        0.025_904_037 * l + 0.782_771_77 * m - 0.808_675_77 * s,
    ]
}

#[cfg(test)]
mod tests {
    use super::{copy_color, difference};

    #[test]
    fn copies_of_one_optimizer_are_easily_told_apart() {
        let focus = [128, 166, 226];
        let mut taken = vec![focus, [244, 111, 67], [251, 221, 133]];
        for copy in 0..5 {
            let color = copy_color(focus, &taken);
            let least = taken.iter().map(|other| difference(color, *other)).fold(f32::INFINITY, f32::min);
            assert!(least > 0.08, "copy {copy} has {color:?}, {least} from one of {taken:?}");
            taken.push(color);
        }
    }

    #[test]
    fn a_first_copy_is_a_shade_of_the_own_colour() {
        let [red, green, blue] = copy_color([128, 166, 226], &[[128, 166, 226]]);
        assert!(blue > green && green > red, "{:?}", [red, green, blue]);
    }
}
