//! What was made of curves to draw them, as long as neither they nor the view has changed.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;

use super::lines::{Canvas, Lines};
use super::track::{Look, Track};
use crate::gpu::CurveSet;
use crate::run::Metric;
use crate::view::Pen;

/// The lines of a curve, and what they are drawn with.
pub type PennedLines = (Arc<Lines>, Pen);

#[derive(Default)]
pub struct CurveCache {
    lines: HashMap<(Metric, usize), CachedLines>,
    sets: HashMap<Metric, CachedSet>,
}

struct CachedLines {
    track: Arc<Track>,
    look: Look,
    lines: Arc<Lines>,
}

struct CachedSet {
    curves: Vec<PennedLines>,
    canvas: Canvas,
    set: Arc<CurveSet>,
}

impl CurveCache {
    /// The lines of the tracks of a metric, each with the number of its run.
    pub fn lines(&mut self, metric: Metric, tracks: &[(usize, &Arc<Track>)], look: Look) -> Vec<Arc<Lines>> {
        let cached = tracks.iter().map(|(index, track)| {
            let cached = self.lines.get(&(metric, *index))?;
            (cached.look == look && Arc::ptr_eq(&cached.track, track)).then(|| Arc::clone(&cached.lines))
        });
        let cached: Vec<Option<Arc<Lines>>> = cached.collect();
        let all = cached.into_par_iter().zip(tracks);
        let all = all.map(|(cached, (_, track))| cached.unwrap_or_else(|| Arc::new(Lines::of(track, &look))));
        let all: Vec<Arc<Lines>> = all.collect();
        for ((index, track), lines) in tracks.iter().zip(&all) {
            let cached = CachedLines { track: Arc::clone(track), look, lines: Arc::clone(lines) };
            self.lines.insert((metric, *index), cached);
        }
        all
    }

    /// All curves of a metric for the GPU.
    pub fn set(&mut self, metric: Metric, curves: Vec<PennedLines>, canvas: Canvas) -> Arc<CurveSet> {
        let is_same = |cached: &CachedSet| {
            let same = |(old, new): (&PennedLines, &PennedLines)| Arc::ptr_eq(&old.0, &new.0) && old.1 == new.1;
            let old = &cached.curves;
            cached.canvas == canvas && old.len() == curves.len() && old.iter().zip(&curves).all(same)
        };
        if let Some(cached) = self.sets.get(&metric).filter(|cached| is_same(cached)) {
            return Arc::clone(&cached.set);
        }
        let set = Arc::new(canvas.curves(curves.iter().map(|(lines, pen)| (&**lines, *pen))));
        self.sets.insert(metric, CachedSet { curves, canvas, set: Arc::clone(&set) });
        set
    }
}
