//! Shows which controls a step of a lesson has set: brings them into view and marks them for a moment.

use egui::{Align, Context, Id, Rect, Stroke, StrokeKind, Ui};

use super::knobs;
use crate::simulation::{Rule, Setting, SimulationSpec};

/// How long a control is marked.
const SECS: f64 = 3.0;

/// The controls that are marked, by their names.
#[derive(Clone, Default)]
pub struct Spotlight {
    names: Vec<String>,
    /// The first of them is still to be scrolled into view.
    scroll: bool,
    /// When the marks go, by egui's clock.
    until_secs: f64,
}

impl Spotlight {
    /// Marks what `settings` set, where that differs between two simulations; all of them where nothing does.
    pub fn on(ctx: &Context, settings: &[Setting], before: &SimulationSpec, after: &SimulationSpec) {
        let set: Vec<(String, bool)> =
            settings.iter().flat_map(|setting| controls_of(setting, before, after)).collect();
        let any_changed = set.iter().any(|(_, changed)| *changed);
        let names = set.into_iter().filter(|(_, changed)| *changed || !any_changed).map(|(name, _)| name).collect();
        let spotlight = Spotlight { names, scroll: true, until_secs: ctx.time() + SECS };
        ctx.data_mut(|data| data.insert_temp(id(), spotlight));
    }

    /// Marks the control `name`, which is drawn at `rect`, if it is one of those to be marked.
    pub fn shine(ui: &Ui, rect: Rect, name: &str) {
        let Some(spotlight) = Self::current(ui.ctx()) else { return };
        if !spotlight.names.iter().any(|marked| marked == name) {
            return;
        }
        if spotlight.scroll && spotlight.names[0] == name {
            ui.scroll_to_rect(rect, Some(Align::Center));
            ui.ctx().data_mut(|data| data.get_temp_mut_or_default::<Spotlight>(id()).scroll = false);
        }
        let left = ((spotlight.until_secs - ui.ctx().time()) / SECS).clamp(0.0, 1.0) as f32;
        let color = ui.visuals().warn_fg_color.gamma_multiply((2.0 * left).min(1.0));
        ui.painter().rect_stroke(rect.expand(2.0), 3.0, Stroke::new(2.0, color), StrokeKind::Outside);
        ui.ctx().request_repaint();
    }

    /// Whether a control of this optimizer has just been chosen, so that its card must be unfolded.
    pub fn falls_on(ctx: &Context, owner: &str) -> bool {
        Self::current(ctx).is_some_and(|spotlight| {
            let of_owner = |name: &String| name.strip_prefix(owner).is_some_and(|rest| rest.starts_with(": "));
            spotlight.scroll && spotlight.names.iter().any(of_owner)
        })
    }

    fn current(ctx: &Context) -> Option<Spotlight> {
        let spotlight: Spotlight = ctx.data(|data| data.get_temp(id()))?;
        (ctx.time() < spotlight.until_secs).then_some(spotlight)
    }
}

fn id() -> Id {
    Id::unique("spotlight")
}

/// The names of the controls that a setting sets, and whether their value changes.
fn controls_of(setting: &Setting, before: &SimulationSpec, after: &SimulationSpec) -> Vec<(String, bool)> {
    let (old, new) = (&before.landscape, &after.landscape);
    match setting {
        Setting::Noise(_) => vec![(knobs::NOISE.label.to_owned(), before.noise != after.noise)],
        Setting::Temperature(_) => {
            vec![(knobs::TEMPERATURE.label.to_owned(), before.temperature != after.temperature)]
        }
        Setting::Landscape(_) => vec![
            (knobs::SHARPNESS.label.to_owned(), old.sharpness != new.sharpness),
            (knobs::SLOPE.label.to_owned(), old.slope != new.slope),
            (knobs::ROTATION.label.to_owned(), old.rotation_degrees != new.rotation_degrees),
        ],
        Setting::Steps(_) => Vec::new(),
        Setting::Rule { optimizer, .. } => {
            let rule_in =
                |spec: &SimulationSpec| spec.optimizers.iter().find(|other| other.id == *optimizer).map(|o| o.rule);
            let index = after.optimizers.iter().position(|other| other.id == *optimizer);
            let (Some(index), Some(old), Some(new)) = (index, rule_in(before), rule_in(after)) else {
                return Vec::new();
            };
            let owner = &after.distinct_names()[index];
            let knobs = hyperparameters(&old).into_iter().zip(hyperparameters(&new));
            knobs.map(|((label, old), (_, new))| (format!("{owner}: {label}"), old != new)).collect()
        }
    }
}

/// The labels of a rule's controls with their values.
fn hyperparameters(rule: &Rule) -> Vec<(&'static str, f64)> {
    let rate = (knobs::LEARNING_RATE.label, rule.learning_rate().get());
    match rule {
        Rule::Adam { beta1, beta2, weight_decay, .. } => vec![
            rate,
            (knobs::BETA1.label, beta1.get()),
            (knobs::ADAM_BETA2.label, beta2.get()),
            (knobs::WEIGHT_DECAY.label, weight_decay.get()),
        ],
        Rule::Signum { beta1, weight_decay, .. } | Rule::Sgd { beta1, weight_decay, .. } => {
            vec![rate, (knobs::BETA1.label, beta1.get()), (knobs::WEIGHT_DECAY.label, weight_decay.get())]
        }
        Rule::Focus { beta1, beta2, gamma, weight_decay, .. } => vec![
            rate,
            (knobs::BETA1.label, beta1.get()),
            (knobs::FOCUS_BETA2.label, beta2.get()),
            (knobs::GAMMA.label, gamma.get()),
            (knobs::WEIGHT_DECAY.label, weight_decay.get()),
        ],
    }
}
