//! The requirements of a training, shown before its start.

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT, Queryable};
use valleyscope_engine::quantity::SequenceCount;
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::workload::Gpt2Shape;
use valleyscope_runs::RunFolder;

use super::harness::{App, Begin};
use super::queue::ready;
use super::training::config;

fn can_start(app: &App) -> bool {
    !app.harness.get_by_role_and_label(Role::Button, "Start the training").accesskit_node().is_disabled()
}

#[test]
fn requirements_are_shown_below_start_and_excessive_ones_are_refused() {
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let text = config(0);
    let mut app = ready(Begin { preset: Some(&text), runs: Some(place.path()), ..Begin::default() });
    app.until("what it needs", |app| app.shows("The training needs about "));
    assert!(can_start(&app));
    // More than any machine has.
    let gpt2 = built_ins().iter().find(|built_in| built_in.name == "gpt2-shakespeare").expect("it is built in");
    let Preset::Gpt2(mut large) = gpt2.preset.clone() else { panic!("it is a run") };
    let spec = &mut large.runs[0];
    spec.shape = Gpt2Shape { layers: 24, width: 8192, ..spec.shape };
    spec.batch_size = SequenceCount::clamped(4096);
    let text = Preset::Gpt2(large).to_ron();
    let mut app = ready(Begin { preset: Some(&text), runs: Some(place.path()), ..Begin::default() });
    app.until("the refusal", |app| app.shows("; take a smaller model, or another device"));
    assert!(app.shows("the training needs about "));
    assert!(!can_start(&app));
    assert!(RunFolder::list(place.path()).expect("it can be read").is_empty());
}
