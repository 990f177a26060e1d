//! The words on the cards of kept diagrams: titles, captions by which the cards differ, and descriptions.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use valleyscope_engine::sweep::{Precision, SweepSpec};
use valleyscope_experiments::preset::SweepPreset;

use super::kept::{KeptDiagram, Library};
use super::run_bar::time;
use crate::figure::{TitledSweep, difference, over_axes, settings_among};

/// The words of a card.
#[derive(Clone, Debug)]
pub(super) struct CardWords {
    /// The title, which no other card has where their settings differ.
    pub title: String,
    /// The name that the user gave; else the optimizers, where those of others differ, and the settings that differ from
    /// those of other diagrams of these optimizers.
    pub caption: String,
}

/// The words of all cards that were shown since a diagram was added, changed or removed.
#[derive(Default)]
pub(super) struct CardCache {
    /// The diagrams for which the words were made: number, name, and the address of the sweep of each.
    key: Vec<(u64, Option<String>, usize)>,
    words: BTreeMap<u64, CardWords>,
}

impl CardCache {
    /// Forgets the words if the kept diagrams have changed.
    pub(super) fn renew(&mut self, library: &Library) {
        let key = library.numbers().into_iter().filter_map(|number| {
            let kept = library.get(number)?;
            Some((number, kept.record.name.clone(), Arc::as_ptr(&kept.spec) as usize))
        });
        let key: Vec<_> = key.collect();
        if key != self.key {
            *self = CardCache { key, words: BTreeMap::new() };
        }
    }

    /// Returns the words of a diagram's card.
    pub(super) fn get(&mut self, number: u64, library: &Library) -> Option<CardWords> {
        let kept = library.get(number)?;
        Some(self.words.entry(number).or_insert_with(|| words(kept, number, library)).clone())
    }
}

fn words(kept: &KeptDiagram, number: u64, library: &Library) -> CardWords {
    let others: Vec<&KeptDiagram> =
        library.numbers().into_iter().filter(|other| *other != number).filter_map(|other| library.get(other)).collect();
    let names = kept.spec.shown_names();
    let mut parts = Vec::new();
    if others.iter().any(|other| other.spec.shown_names() != names) {
        parts.push(names.join(", "));
    }
    let titled = |kept: &KeptDiagram, of: &SweepSpec| TitledSweep {
        name: None,
        // The strip shows diagrams, whatever metric they were displayed by.
        preset: SweepPreset {
            sweep: SweepSpec { metric: of.metric, ..(*kept.spec).clone() },
            ..(*kept.record.preset).clone()
        },
        precision: kept.record.precision,
    };
    let alike = others.iter().filter(|other| other.spec.shown_names() == names);
    let alike: Vec<TitledSweep> = alike.map(|other| titled(other, &kept.spec)).collect();
    parts.extend(settings_among(&titled(kept, &kept.spec), &alike.iter().collect::<Vec<_>>()));
    let title = kept.title();
    let made = if parts.is_empty() { title.clone() } else { parts.join(", ") };
    let is_taken = others.iter().any(|other| other.title() == title);
    CardWords {
        title: if is_taken { format!("{title}: {made}") } else { title },
        caption: kept.record.name.clone().unwrap_or(made),
    }
}

/// Describes a diagram in a few sentences.
pub(super) fn described(kept: &KeptDiagram) -> String {
    let [rows, columns] = kept.spec.shape();
    let mut text = format!("“{}”, {rows} × {columns} pixels", kept.title());
    if !kept.is_complete() {
        text.push_str(&format!(", of which {} are computed", kept.record.pixels));
    }
    if kept.record.worked >= Duration::from_secs(1) {
        text.push_str(&format!(", computed in {}", time(kept.record.worked)));
    }
    if kept.record.precision == Precision::Double {
        text.push_str(", in double precision");
    }
    text.push_str(&format!(": {}", over_axes(&kept.spec)));
    let preset = &kept.record.preset;
    let changes = difference(&kept.spec, &preset.sweep);
    if !changes.is_empty() {
        text.push_str(&format!(" Changed from “{}”: {}.", preset.title, changes.join("; ")));
    }
    if let Some(fault) = &kept.fault {
        text.push_str(&format!(" {fault}"));
    }
    text
}
