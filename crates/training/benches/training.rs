//! Measures how fast the MNIST classifier and GPT-2 train on the processor: `cargo bench -p
//! valleyscope-training`, with `-- mnist` or `-- gpt2` for only one of them.
//!
//! `crates/training/tests/training/pytorch.py FOLDER --time` and `pytorch_gpt2.py --time` there measure PyTorch's eager
//! loop on the same machine.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use tch::{Device, Kind, Tensor};
use valleyscope_engine::optimizer::program::text_of;
use valleyscope_engine::optimizer::{RuleKind, RuleSpec, TypedRule};
use valleyscope_engine::quantity::{BatchSize, MeasureInterval};
use valleyscope_engine::random::Key;
use valleyscope_experiments::dataset::mnist::{self, Mnist};
use valleyscope_experiments::preset::{Preset, built_ins};
use valleyscope_experiments::workload::mnist::SIZES;
use valleyscope_experiments::workload::{Attention, DeviceChoice, Gpt2Precision, Gpt2Shape, MnistSpec};
use valleyscope_training::gpt2::Gpt2;
use valleyscope_training::mnist::{Images, Mlp, MnistRun};
use valleyscope_training::{FlatOptimizer, QueryResults, Training};

/// The number of steps that are timed at once.
const STEPS: usize = 100;
/// The number of steps of each of several trainings.
const STEPS_OF_SEVERAL: u64 = 400;

fn main() {
    // `cargo test` builds benchmarks too, and passes this argument.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    let asked = || std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    let is_asked = |name: &str| asked().next().is_none() || asked().any(|asked| asked == name);
    let unknown = asked().find(|name| !["mnist", "gpt2"].contains(&name.as_str()));
    if let Some(unknown) = unknown {
        eprintln!("expected mnist or gpt2, found {unknown}");
        std::process::exit(2);
    }
    println!("{} threads", tch::get_num_threads());
    if is_asked("mnist") {
        let data = mnist::synthetic_digits(mnist::SYNTHETIC_SEED);
        single_runs(&data);
        measures(&data);
        parts_of_a_step(&data);
        several_runs(&data);
    }
    if is_asked("gpt2") {
        gpt2("nanoGPT on a CPU", Gpt2Shape::CHARACTERS, [12, 64], 20);
        gpt2("GPT-2 small", Gpt2Shape::SMALL, [1, 256], 2);
    }
}

/// Returns the shortest time of some rounds, after a warm-up.
fn best(rounds: usize, mut round: impl FnMut()) -> Duration {
    let time = |round: &mut dyn FnMut()| {
        let begun = Instant::now();
        round();
        begun.elapsed()
    };
    time(&mut round);
    (0..rounds).map(|_| time(&mut round)).min().expect("there are rounds")
}

fn single_runs(data: &Mnist) {
    let mnist = &built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in").preset;
    let Preset::Mnist(mnist) = mnist else { unreachable!("mnist is a training of MNIST") };
    for batch in [8, 32, 128] {
        let text = text_of(&RuleSpec::in_training(RuleKind::Focus)).expect("the language expresses it");
        let typed = RuleKind::Typed(TypedRule::new("FOCUS as text", &text).expect("it has no mistake"));
        for optimizer in RuleKind::ALL.iter().chain([&typed]).map(|&kind| RuleSpec::in_training(kind)) {
            let spec = MnistSpec {
                batch_size: BatchSize::clamped(batch),
                device: DeviceChoice::Cpu,
                optimizer,
                ..mnist.runs[0].clone()
            };
            let mut run = MnistRun::new(&spec, data, Device::Cpu).expect("it fits");
            run.start().expect("it fits");
            let time = best(5, || {
                for _ in 0..STEPS {
                    let _loss = run.advance(&mut || Ok(())).expect("it fits");
                }
            });
            println!(
                "single, batch {batch:4}, {:13}: {:8.0} steps/s",
                optimizer.name(),
                STEPS as f64 / time.as_secs_f64()
            );
        }
    }
}

/// Measures trainings with measures of their gradients and without.
fn measures(data: &Mnist) {
    let mnist = &built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in").preset;
    let Preset::Mnist(mnist) = mnist else { unreachable!("mnist is a training of MNIST") };
    for (batch, rule) in [8, 32, 128].into_iter().flat_map(|batch| [(batch, RuleKind::Adam), (batch, RuleKind::Focus)])
    {
        let mut runs = [0, 100].map(|every| {
            let spec = MnistSpec {
                batch_size: BatchSize::clamped(batch),
                device: DeviceChoice::Cpu,
                optimizer: RuleSpec::in_training(rule),
                measure_every: MeasureInterval::clamped(every),
                ..mnist.runs[0].clone()
            };
            let mut run = MnistRun::new(&spec, data, Device::Cpu).expect("it fits");
            run.start().expect("it fits");
            (run, Vec::new())
        });
        // Alternately, so that both have the machine in the same state.
        for _ in 0..20 {
            for (run, times) in &mut runs {
                let begun = Instant::now();
                for _ in 0..STEPS {
                    let _loss = run.advance(&mut || Ok(())).expect("it fits");
                }
                times.push(begun.elapsed());
            }
        }
        let [without, with] = runs.map(|(_, times)| times.into_iter().min().expect("there are rounds").as_secs_f64());
        println!(
            "measures every 100 steps, batch {batch:4}, {:6}: {:.1} µs a step, {:.1} without, {:+.1} %",
            rule.info().name,
            1e6 * with / STEPS as f64,
            1e6 * without / STEPS as f64,
            100.0 * (with / without - 1.0)
        );
    }
}

/// Measures the parts of a step, on one thread, for stacks of several sizes.
fn parts_of_a_step(data: &Mnist) {
    let threads = tch::get_num_threads();
    tch::set_num_threads(1);
    let images = Images::new(&data.train.images, &data.train.labels, Kind::Float, Device::Cpu).expect("it fits");
    let rule = RuleSpec::in_training(RuleKind::Adam);
    for batch in [8, 32, 128] {
        for models in [1, 2, 4, 8, 20] {
            let mut mlp = Mlp::new(models, Kind::Float, Device::Cpu).expect("it fits");
            for model in 0..models {
                mlp.initialize(model, Key::new(model as u64)).expect("it fits");
            }
            let rates = vec![1e-3; models];
            let mut optimizer =
                FlatOptimizer::new(rule, &rates, mlp.layout(), Kind::Float, Device::Cpu).expect("it fits");
            let chosen: Vec<u32> = (0..(models * batch) as u32).collect();
            let mut parts = [Duration::ZERO; 3];
            let mut products = Duration::ZERO;
            for _ in 0..STEPS {
                let begun = Instant::now();
                let gathered = images.batch(&chosen, models, Kind::Float).expect("it fits");
                parts[0] += begun.elapsed();
                let begun = Instant::now();
                let _losses = mlp.differentiate(gathered).expect("it fits");
                parts[1] += begun.elapsed();
                let begun = Instant::now();
                mlp.update(&mut optimizer, &QueryResults::default()).expect("it fits");
                parts[2] += begun.elapsed();
                products += time_of_products(&mlp, batch);
            }
            let each = |time: Duration| time.as_secs_f64() * 1e6 / (STEPS * models) as f64;
            let [gather, passes, update] = parts.map(each);
            let products = each(products);
            println!(
                "batch {batch:4}, stack {models:2}, Adam, 1 thread, µs a model and step: images {gather:6.1}, products \
                 {products:6.1}, other operations {:6.1}, optimizer {update:6.1}, all {:6.1}",
                passes - products,
                gather + passes + update
            );
        }
    }
    tch::set_num_threads(threads);
}

/// Measures the matrix products of a step alone.
fn time_of_products(mlp: &Mlp, batch: usize) -> Duration {
    let models = mlp.models() as i64;
    let mut time = Duration::ZERO;
    for (index, pair) in SIZES.windows(2).enumerate() {
        let weight = mlp.layout().view(mlp.parameters(), 4 * index + 2);
        let gradient = mlp.layout().view(mlp.gradients(), 4 * index + 2);
        let inputs = tch::Tensor::ones([models, batch as i64, pair[0]], (Kind::Float, Device::Cpu));
        let outputs = tch::Tensor::ones([models, batch as i64, pair[1]], (Kind::Float, Device::Cpu));
        let begun = Instant::now();
        let _ = inputs.bmm(&weight.transpose(1, 2));
        let _ = outputs.transpose(1, 2).bmm_out(&gradient, &inputs);
        let _ = outputs.bmm(&weight);
        time += begun.elapsed();
    }
    time
}

/// Measures the runs per second of several trainings at a time, each on one thread.
fn several_runs(data: &Mnist) {
    const RUNS: u64 = 20;
    let mnist = &built_ins().iter().find(|built_in| built_in.name == "mnist").expect("it is built in").preset;
    let Preset::Mnist(mnist) = mnist else { unreachable!("mnist is a training of MNIST") };
    for batch in [8, 32, 64, 128] {
        for optimizer in [RuleKind::Adam, RuleKind::Focus].map(RuleSpec::in_training) {
            let specs = (0..RUNS).map(|seed| MnistSpec {
                batch_size: BatchSize::clamped(batch),
                device: DeviceChoice::Cpu,
                measure_every: MeasureInterval::clamped(0),
                optimizer,
                seed,
                ..mnist.runs[0].clone()
            });
            let specs: Vec<MnistSpec> = specs.collect();
            let time = best(2, || {
                let runs = MnistRun::several(&specs, data, Device::Cpu).expect("it fits");
                let left = Mutex::new(runs.into_iter());
                let next = || left.lock().expect("no thread panics").next();
                let train = || {
                    tch::set_num_threads(1);
                    while let Some(mut run) = next() {
                        run.start().expect("it fits");
                        for _ in 0..STEPS_OF_SEVERAL {
                            let _loss = run.advance(&mut || Ok(())).expect("it fits");
                        }
                        run.evaluate(&mut || Ok(())).expect("it fits");
                    }
                };
                std::thread::scope(|scope| {
                    (0..tch::get_num_threads()).for_each(|_| drop(scope.spawn(train)));
                });
            });
            println!(
                "several, batch {batch:4}, {:6}: {:8.2} runs/s of {STEPS_OF_SEVERAL} steps and an evaluation",
                optimizer.name(),
                RUNS as f64 / time.as_secs_f64()
            );
        }
    }
}

/// Measures the matrix products in a step of GPT-2 alone, which any form of the passes needs: forward, by inputs and by
/// weights, of all linear layers.
fn products(name: &str, shape: Gpt2Shape, [sequences, length]: [i64; 2], steps: u32) {
    let (rows, width) = (sequences * length, i64::from(shape.width));
    let of_block = [[width, 3 * width], [width, width], [width, 4 * width], [4 * width, width]];
    let mut sides = of_block.repeat(shape.layers as usize);
    sides.push([width, i64::from(shape.vocabulary)]);
    let options = (Kind::Float, Device::Cpu);
    let layers: Vec<[Tensor; 6]> = sides
        .iter()
        .map(|&[inputs, outputs]| {
            [[rows, inputs], [outputs, inputs], [rows, outputs], [rows, outputs], [rows, inputs], [outputs, inputs]]
                .map(|size| Tensor::randn(size, options))
        })
        .collect();
    let time = best(5, || {
        for [x, weight, by_y, y, by_x, by_weight] in (0..steps).flat_map(|_| &layers) {
            let _ = x.mm_out(y, &weight.tr());
            let _ = by_y.mm_out(by_x, weight);
            let _ = by_y.tr().mm_out(by_weight, x);
        }
    });
    let operations: i64 = sides.iter().map(|[inputs, outputs]| 6 * rows * inputs * outputs).sum();
    let step = time.as_secs_f64() / f64::from(steps);
    println!(
        "{name}, products alone: {:8.0} tokens/s, {:.1} ms a step, {:.0} Gflop/s",
        rows as f64 / step,
        1e3 * step,
        operations as f64 / step / 1e9
    );
}

/// Measures steps of GPT-2 with AdamW and clipping, like those of `pytorch_gpt2.py`.
fn gpt2(name: &str, shape: Gpt2Shape, [sequences, length]: [i64; 2], steps: u32) {
    products(name, shape, [sequences, length], steps);
    for attention in [Attention::Fused, Attention::Explicit] {
        let mut gpt2 = Gpt2::new(shape, Gpt2Precision::Float32, attention, Device::Cpu).expect("it fits");
        gpt2.initialize(Key::new(0)).expect("it fits");
        let text = Tensor::randint(i64::from(shape.vocabulary), [sequences, length + 1], (Kind::Int64, Device::Cpu));
        let [tokens, targets] = [0, 1].map(|first| text.narrow(1, first, length).contiguous());
        let rule = RuleSpec::in_training(RuleKind::Adam);
        let mut optimizer =
            FlatOptimizer::new(rule, &[1e-4], gpt2.layout(), Kind::Float, Device::Cpu).expect("it fits");
        let mut parts = [Duration::ZERO; 3];
        let time = best(5, || {
            parts = [Duration::ZERO; 3];
            for _ in 0..steps {
                let begun = Instant::now();
                gpt2.forget_gradients().unwrap();
                let _loss = gpt2.differentiate(&tokens, &targets, 1.0, 1.0, &mut || Ok(())).expect("it fits");
                parts[0] += begun.elapsed();
                let begun = Instant::now();
                let _norm = gpt2.clip(Some(1.0), 1.0).expect("it fits");
                parts[1] += begun.elapsed();
                let begun = Instant::now();
                gpt2.update(&mut optimizer, &QueryResults::default()).expect("it fits");
                parts[2] += begun.elapsed();
            }
        });
        let [passes, clip, update] = parts.map(|part| part.as_secs_f64() * 1e3 / f64::from(steps));
        println!(
            "{name}, {attention:?}, Adam: {:8.0} tokens/s; ms a step of the last round: passes {passes:.1}, clipping \
             {clip:.1}, optimizer {update:.1}",
            f64::from(steps) * (sequences * length) as f64 / time.as_secs_f64()
        );
    }
}
