//! The page of settings, made from the window's controls and the presets.

use valleyscope_engine::noise::{NoiseInfo, NoiseKind};
use valleyscope_engine::quantity::{Range, Temperature, number_text};
use valleyscope_engine::setting::{LEARNING_RATE, SettingInfo, SettingPath, SettingValue, Spacing};
use valleyscope_engine::simulation::SimulationSpec;
use valleyscope_experiments::preset::Preset;
use valleyscope_experiments::workload::Workload;

use crate::markdown::{block, code, escaped, table};
use crate::reference::{kinds, of_kind};

pub fn text() -> String {
    let mut text = "# Parameters\n\n\
        The hyperparameters of optimizers are on [their own page](optimizers.md). A control's slider has the range below; a \
        typed number, a preset and `--set` can go further, as far as the allowed values.\n\n\
        ## Landscape and simulation\n\n"
        .to_owned();
    let preset = shortest("Landscape");
    let Preset::Landscape(landscape) = &preset else { unreachable!("it is of this kind") };
    let spec = SimulationSpec { temperature: Some(Temperature::clamped(0.01)), ..landscape.spec().clone() };
    let rate = SettingPath::of_rule(spec.optimizers[0].id, LEARNING_RATE.key);
    let all = spec.settings().into_iter().filter(|it| it.path.optimizer.is_none() || it.path == rate);
    let rows = all.map(|SettingValue { path: SettingPath { optimizer, path }, info, .. }| {
        let owner = if optimizer.is_some() { "optimizers[0]." } else { "" };
        let path = format!("simulations[0].spec.{owner}{path}");
        let scale = if info.slider.spacing == Spacing::Log { ", logarithmic" } else { "" };
        let slider = format!("{} to {}{scale}", number_text(info.slider.low), number_text(info.slider.high));
        let [label, help, paper] = [info.label, info.help, info.paper].map(escaped);
        [label, code(&path), slider, allowed(&preset, &path), help, paper]
    });
    text += &table(["control", "in presets", "slider", "allowed", "meaning", "in the paper"], rows);
    text += &format!("## Noise\n\n{}", noises());
    for kind in Preset::WORKLOADS {
        let mut preset = shortest(kind);
        let workload = preset.workload_mut().expect("it is the kind of a workload");
        text += &format!("## Trainings: {kind}\n\n{}", form(workload));
    }
    text += "## Fields of presets\n\n\
        `--set PATH=VALUE` sets any field, such as `noise=0.5`. `simulations[0].spec`, `sweep` or `scan` at the beginning of a \
        path can be omitted; without `runs[0]` the field is set in all runs. Below is a preset of each kind as the \
        program writes it, with defaults written out. Parts without content, such as an empty lesson, are left out.\n\n";
    for kind in kinds() {
        text += &format!("### {kind}\n\n{}", block("ron", &shortest(kind).to_ron()));
    }
    text
}

/// Lists the kinds of noise with their parameters.
fn noises() -> String {
    let parameter = |of: &SettingInfo| {
        let Range { min, max, .. } = of.range().expect("it is a number");
        format!("{}: {} to {}, {}", of.symbol, number_text(min), number_text(max), number_text(of.default))
    };
    let rows = NoiseKind::ALL.iter().map(|kind| {
        let NoiseInfo { name, formula, about, source, parameters, .. } = kind.info();
        let symbols: Vec<&str> = parameters.iter().map(|of| of.symbol).collect();
        let written = code(&format!("{}({})", kind.key(), symbols.join(", ")));
        let ranges: Vec<String> = parameters.iter().map(parameter).collect();
        [escaped(name), written, escaped(formula), escaped(&ranges.join("; ")), escaped(about), escaped(source)]
    });
    table(["noise", "in presets", "noisy gradient", "allowed, and the default", "what it is like", "source"], rows)
}

/// Returns the built-in preset of a kind that has the shortest text.
fn shortest(kind: &str) -> Preset {
    let presets = of_kind(kind).map(|built_in| &built_in.preset);
    presets.min_by_key(|preset| preset.to_ron().len()).expect("each kind has a built-in preset").clone()
}

/// Returns the allowed values of a field, from the error for a number that is too large for any field.
fn allowed(preset: &Preset, path: &str) -> String {
    let refusal = preset.with(path, "4000000000").expect_err("it is larger than any field allows").to_string();
    let (_, after) = refusal.split_once(" from ").unwrap_or_else(|| panic!("no range in: {refusal}"));
    after.split_once(", found").unwrap_or_else(|| panic!("no range in: {refusal}")).0.to_owned()
}

/// Formats the fields of a training in the window.
fn form(workload: &mut dyn Workload) -> String {
    let sections = workload.form(0);
    let fields = sections.iter().flat_map(|section| &section.fields).filter(|field| !field.label.is_empty());
    table(["control", "meaning"], fields.map(|field| [escaped(field.label), escaped(field.help)]))
}
