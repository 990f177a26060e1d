//! Colours by which the optimizers that are shown together can be distinguished.

use super::contrast::{Background, contrasting, linear, mixed};

/// The fractions of black in the shades of a colour. Lighter shades are not used: in a map, they would be the colour of
/// a less certain winner.
const SHADES: [f32; 2] = [0.45, 0.65];
/// The colours for a copy where no shade of its own colour is free. They differ in lightness as well as hue.
const OTHERS: [[u8; 3]; 15] = [
    [214, 92, 150],
    [20, 150, 130],
    [230, 190, 40],
    [120, 70, 190],
    [200, 60, 50],
    [150, 200, 60],
    [130, 90, 50],
    [110, 220, 240],
    [245, 170, 205],
    [40, 60, 160],
    [250, 140, 0],
    [60, 110, 40],
    [110, 20, 70],
    [90, 90, 100],
    [190, 130, 250],
];
/// The distance from which on colours are easily distinguished, in units where black and white are 1 apart.
const CLEARLY: f32 = 0.16;
/// The fractions of its colour that a less certain winner of a map keeps, for which colours are compared.
const FADED: [f32; 3] = [0.75, 0.5, 0.25];
/// The factor of distances in a map: its areas are as easily distinguished as lines that are so much further apart.
const AREA_WEIGHT: f32 = 3.0;

/// Returns the colours of optimizers that are shown together, each with the colour that it was given, if any, and its
/// rule's. A given colour is used as it is, and a rule's colour by the first optimizer that has it; the others get
/// shades of it.
pub fn distinct_colors(optimizers: &[(Option<[u8; 3]>, [u8; 3])]) -> Vec<[u8; 3]> {
    let mut taken: Vec<[u8; 3]> = optimizers.iter().filter_map(|(given, _)| *given).collect();
    let mut firsts = Vec::with_capacity(optimizers.len());
    for (given, of_rule) in optimizers {
        let is_first = given.is_none() && !taken.contains(of_rule);
        if is_first {
            taken.push(*of_rule);
        }
        firsts.push(given.or(is_first.then_some(*of_rule)));
    }
    let mut shade = |of_rule: [u8; 3]| {
        let color = copy_color(of_rule, &taken);
        taken.push(color);
        color
    };
    firsts.iter().zip(optimizers).map(|(first, (_, of_rule))| first.unwrap_or_else(|| shade(*of_rule))).collect()
}

/// Returns a colour for a copy: a shade of `own` that is clearly unlike all that are taken, or else the one of a fixed
/// list that is the least like them. They are compared as lines on both backgrounds, as seen without the receptors for
/// green (by far the most frequent deficiency together with that for red, which is alike), and as cells of a map, where
/// a winner's colour is the paler the less certain it is.
pub fn copy_color(own: [u8; 3], taken: &[[u8; 3]]) -> [u8; 3] {
    let taken: Vec<PerceivedColor> = taken.iter().map(|color| PerceivedColor::new(*color)).collect();
    let apart = |color: [u8; 3]| {
        let seen = PerceivedColor::new(color);
        (color, taken.iter().map(|other| seen.difference(other)).fold(f32::INFINITY, f32::min))
    };
    let shades = SHADES.map(|black| apart(mixed(own.map(f32::from), 0.0, black)));
    let clear = shades.into_iter().find(|(_, apart)| *apart >= CLEARLY);
    let others = OTHERS.into_iter().map(apart).chain(shades);
    let chosen = clear.or_else(|| others.max_by(|(_, a), (_, b)| a.total_cmp(b)));
    chosen.map_or(own, |(color, _)| color)
}

/// Returns the distance of two colours in OKLab, about as large as it looks: black and white are 1 apart, and 0.02 is
/// about the least visible distance.
pub fn color_distance(a: [u8; 3], b: [u8; 3]) -> f32 {
    distance(oklab(a.map(linear)), oklab(b.map(linear)))
}

/// A colour in OKLab as it is perceived in drawings.
struct PerceivedColor {
    /// The colour of a line on a dark and a light background, seen with all receptors and without those for green.
    lines: [[f32; 3]; 4],
    full: [f32; 3],
    /// The colour of a less certain winner of a map.
    faded: [[f32; 3]; 3],
}

impl PerceivedColor {
    fn new(color: [u8; 3]) -> PerceivedColor {
        let [dark, light] =
            [Background::Dark, Background::Light].map(|background| contrasting(color, background).map(linear));
        PerceivedColor {
            lines: [dark, light, without_green(dark), without_green(light)].map(oklab),
            full: oklab(color.map(linear)),
            faded: FADED.map(|part| oklab(mixed(color.map(f32::from), 255.0, 1.0 - part).map(linear))),
        }
    }

    /// Returns the distance of two colours where they are most alike.
    fn difference(&self, other: &PerceivedColor) -> f32 {
        let lines = self.lines.iter().zip(&other.lines).map(|(a, b)| distance(*a, *b));
        let mine = self.faded.iter().map(|faded| AREA_WEIGHT * distance(*faded, other.full));
        let others = other.faded.iter().map(|faded| AREA_WEIGHT * distance(self.full, *faded));
        lines.chain(mine).chain(others).fold(f32::INFINITY, f32::min)
    }
}

/// Returns the distance of two colours in OKLab.
fn distance(a: [f32; 3], b: [f32; 3]) -> f32 {
    a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum::<f32>().sqrt()
}

/// Returns linear red, green and blue as a deuteranope sees them (Viénot, Brettel and Mollon 1999).
fn without_green([red, green, blue]: [f32; 3]) -> [f32; 3] {
    let yellow = 0.29275 * red + 0.70725 * green;
    let blue = -0.02234 * red + 0.02234 * green + blue;
    [yellow, yellow, blue.clamp(0.0, 1.0)]
}

/// Converts linear red, green and blue to lightness and two opponent colours, in which distances are about as large as
/// they look (Ottosson 2020).
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
    use super::{PerceivedColor, copy_color, distinct_colors};

    const ADAM: [u8; 3] = [244, 111, 67];
    const FOCUS: [u8; 3] = [128, 166, 226];
    const SIGNUM: [u8; 3] = [251, 221, 133];

    fn difference(a: [u8; 3], b: [u8; 3]) -> f32 {
        PerceivedColor::new(a).difference(&PerceivedColor::new(b))
    }

    #[test]
    fn copies_of_one_optimizer_are_easily_told_apart() {
        let mut taken = vec![FOCUS, ADAM, SIGNUM];
        for copy in 0..5 {
            let color = copy_color(FOCUS, &taken);
            let least = taken.iter().map(|other| difference(color, *other)).fold(f32::INFINITY, f32::min);
            assert!(least > 0.08, "copy {copy} has {color:?}, {least} from one of {taken:?}");
            taken.push(color);
        }
    }

    #[test]
    fn sixteen_copies_have_sixteen_colours() {
        let mut colors = distinct_colors(&[(None, FOCUS); 16]);
        colors.sort_unstable();
        colors.dedup();
        assert_eq!(colors.len(), 16, "{colors:?}");
    }

    #[test]
    fn a_first_copy_is_a_shade_of_the_own_colour() {
        let [red, green, blue] = copy_color(FOCUS, &[FOCUS]);
        assert!(blue > green && green > red, "{:?}", [red, green, blue]);
    }

    #[test]
    fn the_first_of_each_rule_has_its_colour_and_others_have_shades() {
        let rules = [(None, FOCUS), (None, ADAM), (None, FOCUS), (None, SIGNUM), (None, FOCUS)];
        let colors = distinct_colors(&rules);
        assert_eq!([colors[0], colors[1], colors[3]], [FOCUS, ADAM, SIGNUM]);
        for copy in [2, 4] {
            for (_, other) in colors.iter().enumerate().filter(|(index, _)| *index != copy) {
                assert!(difference(colors[copy], *other) > 0.08, "copy {copy} and {other:?} of {colors:?}");
            }
        }
    }

    #[test]
    fn a_given_colour_stays_and_is_not_given_to_another() {
        assert_eq!(distinct_colors(&[(Some([1, 2, 3]), FOCUS), (None, FOCUS)]), [[1, 2, 3], FOCUS]);
        let [first, second] = distinct_colors(&[(None, FOCUS), (Some(FOCUS), ADAM)])[..] else { panic!("two colours") };
        assert_eq!(second, FOCUS);
        assert!(difference(first, second) > 0.16, "{first:?}");
        assert_eq!(distinct_colors(&[(Some(ADAM), FOCUS), (Some(ADAM), FOCUS)]), [ADAM, ADAM], "as it was asked for");
    }
}
