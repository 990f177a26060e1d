//! A cache of drawn curves, valid while neither they nor the view changes.

use std::collections::HashMap;
use std::sync::Arc;

use rayon::prelude::*;
use valleyscope_experiments::view::Pen;
use valleyscope_runs::MetricId;

use super::lines::{CurveCanvas, Lines};
use super::track::{Track, TrackLook};
use crate::gpu::CurveSet;

/// The lines of a curve, its pen, and its opacity.
pub(super) type PennedLines = (Arc<Lines>, Pen, f32);

#[derive(Default)]
pub(super) struct CurveCache {
    lines: HashMap<MetricId, Vec<CachedLines>>,
    sets: HashMap<MetricId, CachedSet>,
}

struct CachedLines {
    track: Arc<Track>,
    look: TrackLook,
    lines: Arc<Lines>,
}

struct CachedSet {
    curves: Vec<PennedLines>,
    canvas: CurveCanvas,
    set: Arc<CurveSet>,
}

impl CachedLines {
    fn is_of(&self, track: &Arc<Track>, look: TrackLook) -> bool {
        self.look == look && Arc::ptr_eq(&self.track, track)
    }
}

impl CurveCache {
    /// Drops the entries of other metrics.
    pub(super) fn retain(&mut self, metrics: &[MetricId]) {
        self.lines.retain(|metric, _| metrics.contains(metric));
        self.sets.retain(|metric, _| metrics.contains(metric));
    }

    /// Returns the lines of a metric's tracks. Drops those of other tracks.
    pub(super) fn lines(&mut self, metric: MetricId, tracks: &[&Arc<Track>], look: TrackLook) -> Vec<Arc<Lines>> {
        let cached = self.lines.entry(metric).or_default();
        let is_same = |(cached, track): (&CachedLines, &&Arc<Track>)| cached.is_of(track, look);
        if cached.len() != tracks.len() || !cached.iter().zip(tracks).all(is_same) {
            let made = tracks.par_iter().map(|track| {
                let known = cached.iter().find(|cached| cached.is_of(track, look));
                let lines = known.map_or_else(|| Arc::new(Lines::of(track, &look)), |known| Arc::clone(&known.lines));
                CachedLines { track: Arc::clone(track), look, lines }
            });
            *cached = made.collect();
        }
        cached.iter().map(|cached| Arc::clone(&cached.lines)).collect()
    }

    /// Returns all curves of a metric for the GPU.
    pub(super) fn set(&mut self, metric: MetricId, curves: Vec<PennedLines>, canvas: CurveCanvas) -> Arc<CurveSet> {
        let is_same = |cached: &CachedSet| {
            let same = |(old, new): (&PennedLines, &PennedLines)| {
                Arc::ptr_eq(&old.0, &new.0) && (old.1, old.2) == (new.1, new.2)
            };
            let old = &cached.curves;
            cached.canvas == canvas && old.len() == curves.len() && old.iter().zip(&curves).all(same)
        };
        if let Some(cached) = self.sets.get(&metric).filter(|cached| is_same(cached)) {
            return Arc::clone(&cached.set);
        }
        let set = Arc::new(canvas.curves(curves.iter().map(|(lines, pen, opacity)| (&**lines, *pen, *opacity))));
        self.sets.insert(metric, CachedSet { curves, canvas, set: Arc::clone(&set) });
        set
    }
}

#[cfg(test)]
mod tests {
    use egui::Theme;

    use super::*;
    use crate::app::training::track::{Horizontal, OfStep};
    use valleyscope_experiments::view::AxisScale;

    const LOOK: TrackLook =
        TrackLook { horizontal: Horizontal::Step, scales: [AxisScale::Linear; 2], x: [0.0, 1.0], columns: 100 };
    const CANVAS: CurveCanvas =
        CurveCanvas { theme: Theme::Dark, x: [0.0, 1.0], y: [0.0, 1.0], size: [100.0; 2], pixels_per_point: 1.0 };

    fn track() -> Arc<Track> {
        Arc::new(Track::new(OfStep { samples: 1.0, tokens: 0.0 }, 0.0))
    }

    #[test]
    fn lines_are_made_once_for_a_track_and_a_look() {
        let mut cache = CurveCache::default();
        let (a, b) = (track(), track());
        let mut lines = |tracks: &[&Arc<Track>], look| cache.lines(MetricId::LOSS, tracks, look);
        let first = lines(&[&a, &b], LOOK);
        let again = lines(&[&b, &a], LOOK);
        assert!(Arc::ptr_eq(&first[0], &again[1]) && Arc::ptr_eq(&first[1], &again[0]));
        let zoomed = lines(&[&a], TrackLook { x: [0.0, 0.5], ..LOOK });
        assert!(!Arc::ptr_eq(&first[0], &zoomed[0]));
        // Tracks that are no longer shown are dropped.
        assert_eq!([Arc::strong_count(&a), Arc::strong_count(&b)], [2, 1]);
        cache.retain(&[MetricId::GRAD_NORM]);
        assert_eq!(Arc::strong_count(&a), 1);
    }

    #[test]
    fn curves_are_remade_when_lines_pens_or_the_view_change() {
        let mut cache = CurveCache::default();
        let lines = cache.lines(MetricId::LOSS, &[&track(), &track()], LOOK);
        let pens = [0, 1].map(|number| Pen::new([255, 0, 0], number));
        let mut set = |curves: &[(usize, usize)], canvas| {
            let curves = curves.iter().map(|(line, pen)| (Arc::clone(&lines[*line]), pens[*pen], 1.0));
            cache.set(MetricId::LOSS, curves.collect(), canvas)
        };
        let first = set(&[(0, 0)], CANVAS);
        assert!(Arc::ptr_eq(&first, &set(&[(0, 0)], CANVAS)));
        let others = [
            (&[(0, 1)][..], CANVAS),
            (&[(1, 0)], CANVAS),
            (&[(0, 0), (1, 1)], CANVAS),
            (&[(0, 0)], CurveCanvas { y: [0.0, 2.0], ..CANVAS }),
            (&[(0, 0)], CurveCanvas { theme: Theme::Light, ..CANVAS }),
        ];
        for (curves, canvas) in others {
            set(&[(0, 0)], CANVAS);
            let before = set(&[(0, 0)], CANVAS);
            assert!(!Arc::ptr_eq(&before, &set(curves, canvas)), "{curves:?} {canvas:?}");
        }
    }
}
