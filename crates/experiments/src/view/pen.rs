//! The lines of several runs of one optimizer.

use super::contrast::{Background, contrasting, darkened, lightened, luminance};

/// The dash pattern of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dash {
    #[default]
    Solid,
    Dashed,
    Dotted,
    DashDotted,
    LongDashed,
    /// Dashes with gaps longer than they are.
    SparselyDashed,
}

impl Dash {
    /// The patterns by which runs of one optimizer differ.
    const OF_RUNS: [Dash; 5] = [Dash::Solid, Dash::Dashed, Dash::Dotted, Dash::LongDashed, Dash::SparselyDashed];
    /// The patterns of simulations side by side.
    pub const SIDE_BY_SIDE: [Dash; 4] = [Dash::Solid, Dash::Dashed, Dash::Dotted, Dash::DashDotted];

    /// Returns the lengths of dashes and gaps, one after the other, in widths of the line; none for a solid line.
    pub fn lengths(self) -> &'static [f64] {
        match self {
            Dash::Solid => &[],
            Dash::Dashed => &[4.0, 3.0],
            Dash::Dotted => &[1.0, 1.5],
            Dash::DashDotted => &[5.0, 2.0, 1.0, 2.0],
            Dash::LongDashed => &[9.0, 2.5],
            Dash::SparselyDashed => &[3.0, 5.0],
        }
    }
}

/// The colour and dash pattern of a run's curve: a shade of its optimizer's colour, solid or dashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pen {
    color: [u8; 3],
    shade: usize,
    pub dash: Dash,
}

/// Shades of a colour.
const SHADES: usize = 3;
/// The largest luminances of the second and third shade on a light background, and of the second on a dark one, each as
/// such and as a fraction of the colour's own.
const DEEP: [[f32; 2]; 2] = [[0.075, 0.3], [0.19, 0.6]];
const DEEP_ON_DARK: [f32; 2] = [0.16, 0.6];
/// The third shade on a dark background, as a fraction of the way to white, in luminance.
const PALE_ON_DARK: f32 = 0.3;

impl Pen {
    /// The number of distinct pens of one colour.
    pub const COUNT: usize = SHADES * Dash::OF_RUNS.len();

    /// Returns one of the pens of a colour; after the last they repeat. The first is the colour itself, solid.
    pub fn new(color: [u8; 3], number: usize) -> Pen {
        let number = number % Self::COUNT;
        Pen { color, shade: number % SHADES, dash: Dash::OF_RUNS[number / SHADES] }
    }

    /// Returns the pens of curves side by side that have these colours: those of one colour have different pens.
    pub fn side_by_side(colors: &[[u8; 3]]) -> Vec<Pen> {
        let before = |index: usize| colors[..index].iter().filter(|other| **other == colors[index]).count();
        colors.iter().enumerate().map(|(index, color)| Pen::new(*color, before(index))).collect()
    }

    /// Returns the colour of which it has a shade.
    pub fn color(self) -> [u8; 3] {
        self.color
    }

    /// Returns the pen with another dash pattern.
    pub fn dashed(self, dash: Dash) -> Pen {
        Pen { dash, ..self }
    }

    /// Returns the colour of its line on a background, as red, green and blue.
    pub fn color_on(self, background: Background) -> [u8; 3] {
        let own = contrasting(self.color, background);
        let deep = |[most, part]: [f32; 2]| darkened(self.color, most.min(part * luminance(own)));
        match (self.shade, background) {
            (0, _) => own,
            (shade, Background::Light) => deep(DEEP[shade - 1]),
            (1, Background::Dark) => contrasting(deep(DEEP_ON_DARK), background),
            (_, Background::Dark) => {
                let own_luminance = luminance(own);
                lightened(own, own_luminance + PALE_ON_DARK * (1.0 - own_luminance))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Background, Pen, SHADES, luminance};
    use valleyscope_engine::optimizer::RuleKind;

    const BACKGROUNDS: [Background; 2] = [Background::Light, Background::Dark];

    /// Returns the angle of a colour on the wheel, in degrees.
    fn hue(color: [u8; 3]) -> f64 {
        let [red, green, blue] = color.map(f64::from);
        let (x, y) = (red - 0.5 * (green + blue), 0.75_f64.sqrt() * (green - blue));
        y.atan2(x).to_degrees()
    }

    fn apart(a: f64, b: f64) -> f64 {
        let turn = (a - b).rem_euclid(360.0);
        turn.min(360.0 - turn)
    }

    #[test]
    fn all_lines_of_a_rule_can_be_seen_and_have_its_hue() {
        for rule in RuleKind::ALL.iter().map(|kind| kind.info()) {
            for (number, background) in (0..Pen::COUNT).flat_map(|number| BACKGROUNDS.map(|on| (number, on))) {
                let color = Pen::new(rule.color, number).color_on(background);
                let seen = match background {
                    Background::Light => luminance(color) <= 0.40,
                    Background::Dark => luminance(color) >= 0.08,
                };
                let name = rule.name;
                assert!(seen, "pen {number} of {name} is {color:?} on {background:?}");
                let turned = apart(hue(color), hue(rule.color));
                assert!(turned < 9.0, "pen {number} of {name} is {color:?} on {background:?}, {turned} degrees away");
            }
        }
    }

    #[test]
    fn shades_differ_in_lightness() {
        for rule in RuleKind::ALL.iter().map(|kind| kind.info()) {
            for background in BACKGROUNDS {
                let shades = (0..SHADES).map(|number| Pen::new(rule.color, number).color_on(background));
                let mut lightness: Vec<f32> = shades.map(|color| luminance(color).cbrt()).collect();
                lightness.sort_by(f32::total_cmp);
                let closest = lightness.windows(2).map(|pair| pair[1] - pair[0]).fold(1.0, f32::min);
                assert!(closest > 0.03, "{} on {background:?}: {lightness:?}", rule.name);
            }
        }
    }
}
