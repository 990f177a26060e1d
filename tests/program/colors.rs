//! Optimizers that are shown together can be told apart by their colours, and where a reader sees two of them alike, by
//! their marks or dashes.
//!
//! The least differences are those of [`ColorUse::least`]: twice "two different colours" (CIEDE2000 5) for usual vision,
//! 5 under protanopia and deuteranopia, and 5 and 3.5 in the half pale cells of diagrams.

use valleyscope_engine::optimizer::{Marker, colors, markers};
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::view::{
    Background, ColorUse, Pen, Vision, assigned_colors, color_difference, simulation_colors, sweep_colors,
};
use valleyscope_experiments::workload::Workload;

/// The optimizers that a preset shows together: their colours and marks, or their curves.
enum Together {
    Optimizers(Vec<[u8; 3]>, Vec<Marker>),
    Curves(Vec<Pen>),
}

impl Together {
    fn of(preset: &Preset) -> Together {
        let scanned = preset.workload().map_or(&[][..], Workload::scanned);
        match preset {
            Preset::Landscape(preset) => {
                let optimizers = &preset.spec().optimizers;
                let marks = markers(optimizers.iter().map(|optimizer| optimizer.rule.rule.marker()));
                Together::Optimizers(simulation_colors(optimizers), marks)
            }
            Preset::Sweep(preset) => {
                let optimizers = &preset.sweep.optimizers;
                let marks = markers(optimizers.iter().map(|optimizer| optimizer.rule.marker()));
                Together::Optimizers(sweep_colors(optimizers), marks)
            }
            _ if !scanned.is_empty() => {
                let own = scanned.iter().map(|optimizer| (optimizer.color, optimizer.rule.rgb()));
                Together::Optimizers(assigned_colors(own), markers(scanned.iter().map(|it| it.rule.marker())))
            }
            _ => {
                let trainings = preset.trainings();
                let rules = trainings.iter().filter_map(|training| Some(training.training()?.rule.rgb()));
                Together::Curves(Pen::side_by_side(&rules.collect::<Vec<_>>()))
            }
        }
    }
}

/// Returns all pairs of different indices below `count`.
fn pairs(count: usize) -> impl Iterator<Item = [usize; 2]> {
    (0..count).flat_map(|one| (0..one).map(move |other| [other, one]))
}

/// Returns the smallest difference of colours as they are drawn, with the pair that has it.
fn smallest(colors: &[[u8; 3]], of: ColorUse, vision: Vision) -> Option<(f64, [usize; 2])> {
    let drawn: Vec<[u8; 3]> = colors.iter().map(|color| of.drawn(*color)).collect();
    let apart = |[one, other]: [usize; 2]| (color_difference(drawn[one], drawn[other], vision), [one, other]);
    pairs(colors.len()).map(apart).min_by(|(a, _), (b, _)| a.total_cmp(b))
}

#[test]
fn the_optimizers_of_each_built_in_preset_can_be_told_apart() {
    for built_in in built_ins() {
        match Together::of(&built_in.preset) {
            Together::Optimizers(colors, marks) => {
                for (of, vision) in ColorUse::ALL.into_iter().flat_map(|of| Vision::ALL.map(|vision| (of, vision))) {
                    let Some((apart, [one, other])) = smallest(&colors, of, vision) else { continue };
                    assert!(
                        apart >= of.least(vision),
                        "{}: optimizers {one} and {other}, {:?} and {:?}, are {apart:.1} apart as {of:?} for {vision:?}",
                        built_in.name,
                        colors[one],
                        colors[other]
                    );
                }
                // The marks on the landscape and in legends do not depend on colours at all.
                assert!(pairs(marks.len()).all(|[one, other]| marks[one] != marks[other]), "{}", built_in.name);
            }
            Together::Curves(pens) => curves_can_be_told_apart(built_in.name, &pens),
        }
    }
}

/// Asserts that curves differ by their colours for usual vision, and for others by colours or dashes.
fn curves_can_be_told_apart(preset: &str, pens: &[Pen]) {
    for [one, other] in pairs(pens.len()) {
        for (background, vision) in
            [Background::Light, Background::Dark].into_iter().flat_map(|on| Vision::ALL.map(|vision| (on, vision)))
        {
            let [a, b] = [one, other].map(|index| pens[index].color_on(background));
            let apart = color_difference(a, b, vision);
            let is_dashed = vision != Vision::Usual && pens[one].dash != pens[other].dash;
            assert!(
                is_dashed || apart >= ColorUse::Line(background).least(vision),
                "{preset}: curves {one} and {other}, {a:?} and {b:?}, are {apart:.1} apart on {background:?} for {vision:?}"
            );
        }
    }
}

/// All sixteen rules, and a typed one. What is reached is limited by the paper's colours of Adam and Signum, which are
/// 5.2 apart as lines on a light background under deuteranopia.
#[test]
fn all_rules_can_be_told_apart_by_their_colours_and_by_their_marks() {
    let (names, homes): (Vec<&str>, Vec<[u8; 3]>) = colors().into_iter().unzip();
    let together = assigned_colors(homes.iter().map(|home| (None, *home)));
    assert_eq!(together, homes, "each rule keeps its colour");
    let reached = [(Vision::Usual, [15.0, 9.5]), (Vision::Protanopia, [5.1, 4.0]), (Vision::Deuteranopia, [5.1, 4.0])];
    for (vision, [full, pale]) in reached {
        for of in ColorUse::ALL {
            let bound = if of == ColorUse::PaleArea { pale } else { full };
            let (apart, [one, other]) = smallest(&together, of, vision).expect("there are several");
            assert!(apart >= bound, "{} and {}: {apart:.2} as {of:?} for {vision:?}", names[one], names[other]);
        }
    }
}
