//! Optimizer steps per second of a sweep.
//!
//! `cargo bench --bench sweep`. A step is one run moved once by one optimizer; the pixels are those of the
//! paper's Fig. 2a.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use divan::Bencher;
use divan::counter::ItemsCount;
use valleyscope::sweep::pool::{Pool, Sweep};
use valleyscope_engine::instructions::Instructions;
use valleyscope_engine::landscape::{LandscapeFormula, LandscapeKind, LandscapeSpec};
use valleyscope_engine::noise::{NoiseKind, NoiseSpec};
use valleyscope_engine::optimizer::program::text_of;
use valleyscope_engine::optimizer::{RuleKind, RuleSpec, TypedRule};
use valleyscope_engine::quantity::{Dimension, PointCount};
use valleyscope_engine::sweep::{
    Axis, Backend, Diagram, PixelOrder, Precision, Quantity, SweepJob, SweepOptimizer, SweepSpec, pixel_runs,
};
use valleyscope_experiments::preset::{Preset, built_ins};

fn main() {
    divan::main();
}

fn fig2a() -> SweepSpec {
    let found = built_ins().iter().find(|built_in| built_in.name == "fig2a").expect("a built-in preset");
    let Preset::Sweep(preset) = &found.preset else { panic!("fig2a is a sweep") };
    preset.sweep.clone()
}

/// Returns Fig. 2a with one of the optimizers, or with all of its own.
fn with_optimizer(name: &str) -> SweepSpec {
    let mut spec = fig2a();
    let typed = || {
        let of = name.strip_suffix(TYPED).and_then(RuleKind::named)?;
        let text = text_of(&RuleSpec::on_plane(of)).expect("the language has words for it");
        Some(RuleKind::Typed(TypedRule::new(name, &text).expect("it has no mistake")))
    };
    if let Some(kind) = RuleKind::named(name).or_else(typed) {
        let first = spec.optimizers.swap_remove(0);
        spec.optimizers = vec![SweepOptimizer { rule: RuleSpec::on_plane(kind), ..first }];
    }
    spec
}

/// The suffix of the name of a built-in rule that is written as text.
const TYPED: &str = " as text";

/// Returns the names of every optimizer, some of them also as text, and of those of Fig. 2a together.
fn optimizers() -> Vec<&'static str> {
    let typed = ["FOCUS as text", "Signum as text", "Adam as text"];
    RuleKind::ALL.iter().map(|kind| kind.info().name).chain(typed).chain(["all"]).collect()
}

/// All runs of the pixel in the middle of the diagram, on one thread.
fn bench_pixel(bencher: Bencher<'_, '_>, spec: &SweepSpec, backend: Backend) {
    let runs = spec.runs_of_pixel();
    let running = AtomicBool::new(false);
    bencher
        .counter(ItemsCount::new(runs * spec.steps.get()))
        .bench_local(|| pixel_runs(backend, spec, [48, 50], 0..spec.replicates.get(), &running));
}

#[divan::bench(args = optimizers())]
fn pixel(bencher: Bencher<'_, '_>, optimizer: &str) {
    bench_pixel(bencher, &with_optimizer(optimizer), Backend::new(Precision::Single));
}

/// Returns the names of the landscapes, and of the paper's valley as text.
fn landscapes() -> Vec<&'static str> {
    LandscapeKind::ALL.iter().map(|kind| kind.info().name).chain([VALLEY_AS_TEXT]).collect()
}

const VALLEY_AS_TEXT: &str = "Narrowing valley as text";

#[divan::bench(args = landscapes())]
fn pixel_on_landscape(bencher: Bencher<'_, '_>, landscape: &str) {
    let kind = LandscapeKind::named(landscape).unwrap_or_else(|| {
        let text = "param a = 10 in 0.1..1000, c = 0.1 in 0..1\nL = a/2*u^2*v^2 - c*u";
        LandscapeKind::Formula(LandscapeFormula::new(VALLEY_AS_TEXT, text).expect("it has no mistake"))
    });
    let mut spec = SweepSpec { landscape: LandscapeSpec::new(kind), ..fig2a() };
    spec.rows = Axis { of: Quantity::Steps, from: 1000.0, to: 1000.0, ..spec.rows };
    bench_pixel(bencher, &spec, Backend::new(Precision::Single));
}

#[divan::bench(args = NoiseKind::ALL.iter().map(|kind| kind.key()))]
fn pixel_with_noise(bencher: Bencher<'_, '_>, key: &str) {
    let kind = NoiseKind::ALL.iter().find(|kind| kind.key() == key).expect("it is registered");
    let spec = SweepSpec { noise: NoiseSpec::new(*kind), ..fig2a() };
    bench_pixel(bencher, &spec, Backend::new(Precision::Single));
}

#[divan::bench(args = ["Adam", "Signum", "FOCUS", "all"])]
fn pixel_with_common_random_numbers(bencher: Bencher<'_, '_>, optimizer: &str) {
    let spec = SweepSpec { common_random_numbers: true, ..with_optimizer(optimizer) };
    bench_pixel(bencher, &spec, Backend::new(Precision::Single));
}

#[divan::bench(args = ["Adam", "Signum", "FOCUS", "all"])]
fn pixel_in_double_precision(bencher: Bencher<'_, '_>, optimizer: &str) {
    bench_pixel(bencher, &with_optimizer(optimizer), Backend::new(Precision::Double));
}

#[divan::bench(args = ["Adam", "Signum", "FOCUS", "all"])]
fn pixel_with_avx2(bencher: Bencher<'_, '_>, optimizer: &str) {
    if let Some(avx2) = Instructions::all().into_iter().find(|instructions| instructions.name() == "AVX2") {
        bench_pixel(bencher, &with_optimizer(optimizer), Backend::with_instructions(Precision::Single, avx2));
    }
}

#[divan::bench]
fn pixel_with_plain_instructions(bencher: Bencher<'_, '_>) {
    bench_pixel(bencher, &fig2a(), Backend::with_instructions(Precision::Single, Instructions::all()[0]));
}

/// Measures coordinates per second, half of them a step on the plane.
#[divan::bench]
fn pixel_in_100_dimensions(bencher: Bencher<'_, '_>) {
    let spec = SweepSpec { dimension: Dimension::clamped(100), ..fig2a() };
    bench_pixel(bencher, &spec, Backend::new(Precision::Single));
}

/// Measures a sixteenth of the pixels of Fig. 2a, in a pool.
#[divan::bench(args = [1, 2], sample_count = 5)]
fn diagram_on_threads(bencher: Bencher<'_, '_>, threads: usize) {
    let mut spec = fig2a();
    spec.rows.count = PointCount::clamped(24);
    spec.columns.count = PointCount::clamped(25);
    let (spec, pool) = (Arc::new(spec), Pool::new(threads).expect("threads can be started"));
    bencher.counter(ItemsCount::new(spec.total_steps() as u64)).bench_local(|| {
        let backend = Backend::new(Precision::Single);
        let sweep = Sweep::start(&pool, SweepJob::new(Arc::clone(&spec), backend), || ());
        sweep.finished().iter().count()
    });
}

/// Measures pictures of Fig. 2a on one thread, with all learning rates and steps and 8 replicates: the coarsest of 3 ×
/// 4 pixels, and the first picture of 12 × 13 after it.
#[divan::bench(args = ["coarsest", "first"], sample_count = 10)]
fn picture(bencher: Bencher<'_, '_>, which: &str) {
    let (spec, pool) = (Arc::new(fig2a()), Pool::new(1).expect("threads can be started"));
    bencher.bench_local(|| {
        let backend = Backend::new(Precision::Single);
        let job = SweepJob { order: PixelOrder::CoarseToFine, ..SweepJob::new(Arc::clone(&spec), backend) };
        let sweep = Sweep::start(&pool, job, || ());
        let mut diagram = Diagram::new(Arc::clone(&spec));
        let is_there = |diagram: &Diagram| match which {
            "coarsest" => diagram.has_coarse_picture(),
            _ => diagram.has_first_picture(),
        };
        while !is_there(&diagram) {
            let finished = sweep.finished().recv().expect("a sweep comes to its pictures");
            diagram.insert(finished.pixel, finished.cell);
        }
    });
}
