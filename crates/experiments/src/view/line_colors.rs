//! The colours and dashes of the curves of optimizers and runs that are shown together.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use valleyscope_engine::optimizer::TypedRule;
use valleyscope_engine::simulation::OptimizerSpec;
use valleyscope_engine::sweep::SweepOptimizer;

use super::color_difference::{Appearance, Background, contrasting, darkened, lightened, luminance, mixed};

/// Red, green and blue.
type Rgb = [u8; 3];

/// The colours of an optimizer before it is shown with others: the one chosen for it, if any, and its rule's.
pub type OwnColors = (Option<Rgb>, Rgb);

/// The fractions of black in the shades of a colour. Lighter shades are not used: in a map, they would be the colour of
/// a less certain winner.
const SHADES: [f32; 5] = [0.45, 0.55, 0.35, 0.65, 0.25];
/// The luminances of the colours of typed rules, which are seen on dark and on light backgrounds.
const BRIGHT: std::ops::RangeInclusive<f32> = 0.18..=0.6;
/// The number of values of each channel of other colours.
const LEVELS: u8 = 9;
/// The largest number of assignments that are remembered.
const MOST_KNOWN: usize = 256;

/// Assigns colours to optimizers that are shown together. A chosen colour is used as it is. The first optimizer of a
/// rule has the rule's colour, unless a chosen one is too similar. Others have a darker shade that differs enough from
/// all others, or else the nearest colour that does. Where no colour does, they have the one that differs most, as typed
/// rules always have.
pub fn assigned_colors(optimizers: impl IntoIterator<Item = OwnColors>) -> Vec<Rgb> {
    // Each frame requests the same colours.
    static KNOWN: Mutex<BTreeMap<Vec<OwnColors>, Vec<Rgb>>> = Mutex::new(BTreeMap::new());
    let optimizers: Vec<OwnColors> = optimizers.into_iter().collect();
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(colors) = known.get(&optimizers) {
        return colors.clone();
    }
    if known.len() >= MOST_KNOWN {
        known.clear();
    }
    let colors = assign(&optimizers);
    known.insert(optimizers, colors.clone());
    colors
}

/// The colours that optimizers have if none is chosen for them, given the colours of the others.
pub fn usual_colors(optimizers: &[OwnColors]) -> Vec<Rgb> {
    let usual = |index: usize| {
        let without = optimizers.iter().enumerate();
        let without = without.map(|(other, &(chosen, home))| (chosen.filter(|_| other != index), home));
        assigned_colors(without)[index]
    };
    (0..optimizers.len()).map(usual).collect()
}

pub fn simulation_colors(optimizers: &[OptimizerSpec]) -> Vec<Rgb> {
    assigned_colors(optimizers.iter().map(|optimizer| (optimizer.color, optimizer.rule.rule.rgb())))
}

pub fn sweep_colors(optimizers: &[SweepOptimizer]) -> Vec<Rgb> {
    assigned_colors(optimizers.iter().map(|optimizer| (optimizer.color, optimizer.rule.rgb())))
}

fn assign(optimizers: &[OwnColors]) -> Vec<Rgb> {
    let mut taken: Vec<Appearance> = optimizers.iter().filter_map(|(chosen, _)| chosen.map(Appearance::new)).collect();
    let mut colors: Vec<Option<Rgb>> = optimizers.iter().map(|(chosen, _)| *chosen).collect();
    for (index, own) in optimizers.iter().enumerate() {
        let is_first = colors[index].is_none() && !optimizers[..index].contains(own) && own.1 != TypedRule::COLOR;
        let home = Appearance::new(own.1);
        if is_first && separation(&home, &taken) >= 1.0 {
            colors[index] = Some(own.1);
            taken.push(home);
        }
    }
    let found = colors.into_iter().zip(optimizers).map(|(color, (_, home))| {
        color.unwrap_or_else(|| {
            let color = match *home == TypedRule::COLOR {
                true => farthest(OTHERS.iter().filter(|(color, _)| BRIGHT.contains(&luminance(*color))), &taken),
                false => other_color(*home, &taken),
            };
            taken.push(Appearance::new(color));
            color
        })
    });
    found.collect()
}

fn separation(color: &Appearance, taken: &[Appearance]) -> f64 {
    taken.iter().map(|other| color.separation(other)).fold(f64::INFINITY, f64::min)
}

/// Finds a shade of a colour, or another colour near it, that differs enough from those that are taken.
fn other_color(home: Rgb, taken: &[Appearance]) -> Rgb {
    let shades =
        SHADES.map(|black| mixed(home.map(f32::from), 0.0, black)).map(|shade| (shade, Appearance::new(shade)));
    let is_clear = |(_, appearance): &&(Rgb, Appearance)| separation(appearance, taken) >= 1.0;
    if let Some((shade, _)) = shades.iter().find(is_clear) {
        return *shade;
    }
    let home = Appearance::new(home);
    let mut others: Vec<&(Rgb, Appearance)> = OTHERS.iter().collect();
    others.sort_by(|(_, a), (_, b)| home.distance(a).total_cmp(&home.distance(b)));
    if let Some((other, _)) = others.iter().copied().find(is_clear) {
        return *other;
    }
    farthest(shades.iter().chain(others), taken)
}

/// Finds the colour that differs most from those that are taken.
fn farthest<'a>(colors: impl Iterator<Item = &'a (Rgb, Appearance)>, taken: &[Appearance]) -> Rgb {
    let apart = colors.map(|(color, appearance)| (*color, separation(appearance, taken)));
    apart.max_by(|(_, a), (_, b)| a.total_cmp(b)).map_or([0; 3], |(color, _)| color)
}

/// The colours besides those of rules.
static OTHERS: LazyLock<Vec<(Rgb, Appearance)>> = LazyLock::new(|| {
    let level = |index: u16| (index * 255 / u16::from(LEVELS - 1)) as u8;
    let levels = || (0..u16::from(LEVELS)).map(level);
    let colors = levels().flat_map(|red| levels().flat_map(move |green| levels().map(move |blue| [red, green, blue])));
    colors.map(|color| (color, Appearance::new(color))).filter(|(_, appearance)| appearance.is_colorful()).collect()
});

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
    /// The patterns of simulations that are compared.
    pub const SIDE_BY_SIDE: [Dash; 4] = [Dash::Solid, Dash::Dashed, Dash::Dotted, Dash::DashDotted];

    /// The lengths of dashes and gaps, one after the other, in widths of the line; none for a solid line.
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

const PEN_SHADES: usize = 3;
/// The largest luminances of the second and third shade on a light background, and of the second on a dark one, each as
/// such and as a fraction of the colour's own.
const DEEP: [[f32; 2]; 2] = [[0.075, 0.3], [0.19, 0.6]];
const DEEP_ON_DARK: [f32; 2] = [0.16, 0.6];
/// The third shade on a dark background, as a fraction of the way to white, in luminance.
const LIGHTER_ON_DARK: f32 = 0.3;

impl Pen {
    /// The number of distinct pens of one colour.
    pub const COUNT: usize = PEN_SHADES * Dash::OF_RUNS.len();

    /// Numbers the pens of a colour; after the last they repeat. The first is the colour itself, solid.
    pub fn new(color: [u8; 3], number: usize) -> Pen {
        let number = number % Self::COUNT;
        Pen { color, shade: number % PEN_SHADES, dash: Dash::OF_RUNS[number / PEN_SHADES] }
    }

    /// Assigns pens to curves that are compared and have these colours: those of one colour have different pens.
    pub fn side_by_side(colors: &[[u8; 3]]) -> Vec<Pen> {
        let before = |index: usize| colors[..index].iter().filter(|other| **other == colors[index]).count();
        colors.iter().enumerate().map(|(index, color)| Pen::new(*color, before(index))).collect()
    }

    pub fn color(self) -> [u8; 3] {
        self.color
    }

    pub fn dashed(self, dash: Dash) -> Pen {
        Pen { dash, ..self }
    }

    /// The colour of its line on a background, as red, green and blue.
    pub fn color_on(self, background: Background) -> [u8; 3] {
        let own = contrasting(self.color, background);
        let deep = |[most, part]: [f32; 2]| darkened(self.color, most.min(part * luminance(own)));
        match (self.shade, background) {
            (0, _) => own,
            (shade, Background::Light) => deep(DEEP[shade - 1]),
            (1, Background::Dark) => contrasting(deep(DEEP_ON_DARK), background),
            (_, Background::Dark) => {
                let own_luminance = luminance(own);
                lightened(own, own_luminance + LIGHTER_ON_DARK * (1.0 - own_luminance))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use valleyscope_engine::optimizer::colors;

    use super::{Appearance, OwnColors, Rgb, TypedRule, assigned_colors, usual_colors};

    const ADAM: Rgb = [244, 111, 67];
    const FOCUS: Rgb = [128, 166, 226];
    const SIGNUM: Rgb = [251, 221, 133];

    fn separation(a: Rgb, b: Rgb) -> f64 {
        Appearance::new(a).separation(&Appearance::new(b))
    }

    fn least_separation(colors: &[Rgb]) -> f64 {
        let pairs = colors.iter().enumerate().flat_map(|(index, one)| colors[..index].iter().map(move |it| (one, it)));
        pairs.map(|(one, other)| separation(*one, *other)).fold(f64::INFINITY, f64::min)
    }

    fn of_rules(homes: &[Rgb]) -> Vec<OwnColors> {
        homes.iter().map(|home| (None, *home)).collect()
    }

    #[test]
    fn all_rules_together_keep_their_colours() {
        let homes: Vec<Rgb> =
            colors().into_iter().map(|(_, color)| color).filter(|color| *color != TypedRule::COLOR).collect();
        assert_eq!(assigned_colors(of_rules(&homes)), homes);
        assert!(least_separation(&homes) >= 1.0, "{}", least_separation(&homes));
    }

    #[test]
    fn a_copy_has_a_darker_shade_and_five_copies_can_be_told_apart() {
        let [first, second] = assigned_colors(of_rules(&[FOCUS, FOCUS]))[..] else { panic!("two colours") };
        let [red, green, blue] = second;
        assert!(first == FOCUS && blue > green && green > red && blue < FOCUS[2], "{first:?} and {second:?}");
        let five = assigned_colors(of_rules(&[FOCUS, ADAM, FOCUS, SIGNUM, FOCUS, FOCUS, FOCUS]));
        assert_eq!([five[0], five[1], five[3]], [FOCUS, ADAM, SIGNUM]);
        assert!(least_separation(&five) >= 1.0, "{five:?}");
    }

    #[test]
    fn sixteen_copies_have_sixteen_colours() {
        let mut colors = assigned_colors(of_rules(&[FOCUS; 16]));
        let least = least_separation(&colors);
        assert!(least > 0.5, "{least}: {colors:?}");
        colors.sort_unstable();
        colors.dedup();
        assert_eq!(colors.len(), 16);
    }

    #[test]
    fn typed_rules_have_colours_far_from_all_others() {
        let typed = TypedRule::COLOR;
        let all = assigned_colors(of_rules(&[typed, ADAM, typed, FOCUS, SIGNUM, typed]));
        assert_eq!([all[1], all[3], all[4]], [ADAM, FOCUS, SIGNUM]);
        assert!(least_separation(&all) >= 1.0, "{}: {all:?}", least_separation(&all));
    }

    #[test]
    fn a_chosen_colour_stays_and_others_make_room_for_it() {
        assert_eq!(assigned_colors([(Some([1, 2, 3]), FOCUS), (None, FOCUS)]), [[1, 2, 3], FOCUS]);
        let [first, second] = assigned_colors([(None, FOCUS), (Some(FOCUS), ADAM)])[..] else { panic!("two colours") };
        assert!(second == FOCUS && separation(first, second) >= 1.0, "{first:?}");
        // A colour close to a rule's own is avoided as well.
        let nearly = FOCUS.map(|channel| channel + 2);
        let [first, second] = assigned_colors([(None, FOCUS), (Some(nearly), ADAM)])[..] else { panic!("two colours") };
        assert!(second == nearly && separation(first, second) >= 1.0, "{first:?}");
        assert_eq!(assigned_colors([(Some(ADAM), FOCUS), (Some(ADAM), FOCUS)]), [ADAM, ADAM], "as it was asked for");
    }

    #[test]
    fn the_usual_colour_is_the_one_without_a_choice() {
        let [first, second] = usual_colors(&[(None, FOCUS), (Some([1, 2, 3]), FOCUS)])[..] else {
            panic!("two colours")
        };
        assert_eq!([first, second].to_vec(), assigned_colors(of_rules(&[FOCUS, FOCUS])));
    }
}

#[cfg(test)]
mod pen_tests {
    use super::{Background, PEN_SHADES, Pen, luminance};
    use valleyscope_engine::optimizer::RuleKind;

    const BACKGROUNDS: [Background; 2] = [Background::Light, Background::Dark];

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
                let shades = (0..PEN_SHADES).map(|number| Pen::new(rule.color, number).color_on(background));
                let mut lightness: Vec<f32> = shades.map(|color| luminance(color).cbrt()).collect();
                lightness.sort_by(f32::total_cmp);
                let closest = lightness.windows(2).map(|pair| pair[1] - pair[0]).fold(1.0, f32::min);
                assert!(closest > 0.03, "{} on {background:?}: {lightness:?}", rule.name);
            }
        }
    }
}
