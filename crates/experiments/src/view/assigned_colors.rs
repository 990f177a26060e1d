//! The colours of optimizers that are shown together.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use valleyscope_engine::simulation::OptimizerSpec;
use valleyscope_engine::sweep::SweepOptimizer;

use super::color_difference::Appearance;
use super::contrast::mixed;

/// Red, green and blue.
type Rgb = [u8; 3];

/// The colours of an optimizer before it is shown with others: the one chosen for it, if any, and its rule's.
pub type OwnColors = (Option<Rgb>, Rgb);

/// The fractions of black in the shades of a colour. Lighter shades are not used: in a map, they would be the colour of
/// a less certain winner.
const SHADES: [f32; 5] = [0.45, 0.55, 0.35, 0.65, 0.25];
/// The number of values of each channel of other colours.
const LEVELS: u8 = 9;
/// The largest number of assignments that are remembered.
const MOST_KNOWN: usize = 256;

/// Returns the colours of optimizers that are shown together, wherever they are shown. A chosen colour is used as it is.
/// The first optimizer of a rule has the rule's colour, unless a chosen one is too much like it. Others have a darker
/// shade that differs enough from all others, or else the nearest colour that does. Where no colour does, they have the
/// one that differs most.
pub fn assigned_colors(optimizers: impl IntoIterator<Item = OwnColors>) -> Vec<Rgb> {
    // Frames ask for the same colours again and again.
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

/// Returns the colours that optimizers have where none is chosen for them, beside the others as they are.
pub fn usual_colors(optimizers: &[OwnColors]) -> Vec<Rgb> {
    let usual = |index: usize| {
        let without = optimizers.iter().enumerate();
        let without = without.map(|(other, &(chosen, home))| (chosen.filter(|_| other != index), home));
        assigned_colors(without)[index]
    };
    (0..optimizers.len()).map(usual).collect()
}

/// Returns the colours of the optimizers of a simulation, in their order.
pub fn simulation_colors(optimizers: &[OptimizerSpec]) -> Vec<Rgb> {
    assigned_colors(optimizers.iter().map(|optimizer| (optimizer.color, optimizer.rule.rule.rgb())))
}

/// Returns the colours of the optimizers of a sweep, in their order.
pub fn sweep_colors(optimizers: &[SweepOptimizer]) -> Vec<Rgb> {
    assigned_colors(optimizers.iter().map(|optimizer| (optimizer.color, optimizer.rule.rgb())))
}

fn assign(optimizers: &[OwnColors]) -> Vec<Rgb> {
    let mut taken: Vec<Appearance> = optimizers.iter().filter_map(|(chosen, _)| chosen.map(Appearance::new)).collect();
    let mut colors: Vec<Option<Rgb>> = optimizers.iter().map(|(chosen, _)| *chosen).collect();
    for (index, own) in optimizers.iter().enumerate() {
        let is_first = colors[index].is_none() && !optimizers[..index].contains(own);
        let home = Appearance::new(own.1);
        if is_first && separation(&home, &taken) >= 1.0 {
            colors[index] = Some(own.1);
            taken.push(home);
        }
    }
    let found = colors.into_iter().zip(optimizers).map(|(color, (_, home))| {
        color.unwrap_or_else(|| {
            let color = other_color(*home, &taken);
            taken.push(Appearance::new(color));
            color
        })
    });
    found.collect()
}

/// Returns the smallest separation of a colour from others.
fn separation(color: &Appearance, taken: &[Appearance]) -> f64 {
    taken.iter().map(|other| color.separation(other)).fold(f64::INFINITY, f64::min)
}

/// Returns a shade of a colour, or another colour near it, that differs enough from those that are taken.
fn other_color(home: Rgb, taken: &[Appearance]) -> Rgb {
    let shades =
        SHADES.map(|black| mixed(home.map(f32::from), 0.0, black)).map(|shade| (shade, Appearance::new(shade)));
    let is_clear = |(_, look): &&(Rgb, Appearance)| separation(look, taken) >= 1.0;
    if let Some((shade, _)) = shades.iter().find(is_clear) {
        return *shade;
    }
    let home = Appearance::new(home);
    let mut others: Vec<&(Rgb, Appearance)> = OTHERS.iter().collect();
    others.sort_by(|(_, a), (_, b)| home.distance(a).total_cmp(&home.distance(b)));
    if let Some((other, _)) = others.iter().copied().find(is_clear) {
        return *other;
    }
    let apart = shades.iter().chain(others).map(|(color, look)| (*color, separation(look, taken)));
    apart.max_by(|(_, a), (_, b)| a.total_cmp(b)).map_or([0; 3], |(color, _)| color)
}

/// The colours beside the rules' own.
static OTHERS: LazyLock<Vec<(Rgb, Appearance)>> = LazyLock::new(|| {
    let level = |index: u16| (index * 255 / u16::from(LEVELS - 1)) as u8;
    let levels = || (0..u16::from(LEVELS)).map(level);
    let colors = levels().flat_map(|red| levels().flat_map(move |green| levels().map(move |blue| [red, green, blue])));
    colors.map(|color| (color, Appearance::new(color))).filter(|(_, look)| look.is_colorful()).collect()
});

#[cfg(test)]
mod tests {
    use valleyscope_engine::optimizer::colors;

    use super::{Appearance, OwnColors, Rgb, assigned_colors, usual_colors};

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
        let homes: Vec<Rgb> = colors().into_iter().map(|(_, color)| color).collect();
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
    fn a_chosen_colour_stays_and_others_make_room_for_it() {
        assert_eq!(assigned_colors([(Some([1, 2, 3]), FOCUS), (None, FOCUS)]), [[1, 2, 3], FOCUS]);
        let [first, second] = assigned_colors([(None, FOCUS), (Some(FOCUS), ADAM)])[..] else { panic!("two colours") };
        assert!(second == FOCUS && separation(first, second) >= 1.0, "{first:?}");
        // One that is merely much like a rule's own, too.
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
