//! Several runs of one worker: each as if it was trained alone.

use std::process::{Command, Stdio};

use tch::{Device, Kind};
use valleyscope_engine::optimizer::{Need, RuleKind, RuleSpec};
use valleyscope_engine::quantity::{BatchSize, CheckpointInterval, MeasureInterval, Processes, TrainingSteps};
use valleyscope_experiments::workload::{FloatType, MnistSpec, NotFinite};
use valleyscope_runs as run;
use valleyscope_runs::{MetricId, RunCommand, RunFolder, Status};
use valleyscope_training::mnist::{Mlp, MnistRun};
use valleyscope_training::{Training, checkpoint};

use crate::says::says;
use crate::stage::{
    Stage, curve, expect, history, kill, mnist, quick, rate, spec, status, tensors, tiny, to_the_end, wait_for,
    wait_until, worker,
};

/// Varies learning rate and seed.
fn varied(spec: &MnistSpec, count: u64) -> Vec<MnistSpec> {
    let of = |at: u64| MnistSpec { learning_rate: rate(1e-3 * (1 + at) as f64), seed: at / 2, ..spec.clone() };
    (0..count).map(of).collect()
}

/// Losses, the last evaluation and the measures of a training.
type Trained = (Vec<f64>, Vec<f64>);

fn trained(mut run: MnistRun, steps: u64) -> Trained {
    run.start().unwrap();
    let mut losses = Vec::new();
    let mut others = Vec::new();
    for _ in 0..steps {
        losses.push(run.advance(&mut || Ok(())).unwrap().double_value(&[0]));
        others.extend(
            run.measured().into_iter().flat_map(|it| it.metrics.iter().map(|(_, value)| value).collect::<Vec<_>>()),
        );
    }
    others.extend(run.evaluate(&mut || Ok(())).unwrap().iter().map(|(_, value)| value));
    let (.., optimizer) = run.optimized();
    others.extend(optimizer.progress().powers.values());
    (losses, others)
}

#[test]
fn runs_of_a_stack_train_like_runs_alone() {
    let data = mnist();
    for &kind in RuleKind::ALL {
        let spec = MnistSpec {
            optimizer: RuleSpec::in_training(kind),
            // The last batch of an epoch has 40 images.
            batch_size: BatchSize::new(120).unwrap(),
            precision: FloatType::Float64,
            measure_every: MeasureInterval::new(5).unwrap(),
            ..spec("Adam")
        };
        let specs = varied(&spec, 3);
        let runs = MnistRun::stack(&specs, &data, Device::Cpu).unwrap();
        // One run ends before the others.
        let steps = [12, 7, 12];
        let together: Vec<Trained> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                runs.into_iter().zip(steps).map(|(run, steps)| scope.spawn(move || trained(run, steps))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        // Where eigenvalues are equal, rounding determines SOAP's eigenvectors.
        let (tolerance, compared) = match kind {
            RuleKind::Soap => (2e-2, 1),
            _ if spec.optimizer.info().needs(Need::Axes) => (1e-6, 2),
            _ => (1e-8, 2),
        };
        for ((spec, steps), together) in specs.iter().zip(steps).zip(&together) {
            let mut alone = MnistRun::new(spec, &data, Device::Cpu).unwrap();
            alone.mlp = Mlp::new(1, Kind::Double, Device::Cpu).unwrap().with_tensor_operations();
            let alone = trained(alone, steps);
            let pairs = [(&alone.0, &together.0), (&alone.1, &together.1)];
            for (alone, together) in pairs.into_iter().take(compared) {
                assert_eq!(alone.len(), together.len());
                for (alone, together) in alone.iter().zip(together) {
                    let off = (alone - together).abs() / alone.abs().max(1.0);
                    assert!(off < tolerance, "{kind:?}: {alone} and {together}");
                }
            }
        }
    }
}

#[test]
fn a_run_of_a_stack_keeps_its_settings() {
    let data = mnist();
    let specs = varied(&spec("Adam"), 2);
    let mut runs = MnistRun::stack(&specs, &data, Device::Cpu).unwrap();
    let more = MnistSpec { steps: TrainingSteps::new(500).unwrap(), ..specs[0].clone() };
    runs[0].adopt(&more).unwrap();
    let faster = MnistSpec { learning_rate: rate(0.5), ..more };
    says(runs[0].adopt(&faster).unwrap_err(), &["it trains together with others"]);
    let lone = varied(&MnistSpec { batch_size: BatchSize::new(333).unwrap(), ..spec("Adam") }, 2);
    says(MnistRun::several(&lone, &data, Device::Cpu).unwrap_err(), &["333", "one of the 1000 images"]);
}

fn together(runs: &[RunFolder], resume: bool) -> Command {
    let mut command = worker(&runs[0], resume);
    command.args(runs[1..].iter().map(RunFolder::path)).stdout(Stdio::null());
    command.env("OMP_NUM_THREADS", "2").env("MKL_NUM_THREADS", "2");
    command
}

/// Makes the events comparable: without times, rates, and the ids and hosts of processes.
fn events(run: &RunFolder) -> Vec<String> {
    let text = std::fs::read_to_string(run.events()).unwrap();
    let timed = ["time", "wall_s", "samples_per_s", "tflops", "mfu", "memory_mib", "threads"];
    let line = |line: &str| {
        let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
        timed.iter().for_each(|key| drop(event.as_object_mut().unwrap().remove(*key)));
        event.to_string()
    };
    text.lines().map(line).collect()
}

#[test]
fn runs_together_have_the_bits_of_runs_alone() {
    let stage = Stage::new();
    let cases = [
        (RuleKind::Adam, 8, FloatType::Float32),
        (RuleKind::Signum, 64, FloatType::Float64),
        (RuleKind::Focus, 200, FloatType::Float32),
        (RuleKind::ScheduleFree, 64, FloatType::Float32),
        (RuleKind::Sophia, 8, FloatType::Float64),
        (RuleKind::Soap, 200, FloatType::Float64),
    ];
    for (rule, batch, precision) in cases {
        let optimizer = RuleSpec::in_training(rule);
        let batch_size = BatchSize::new(batch).unwrap();
        let measure_every = MeasureInterval::new(10).unwrap();
        let specs = varied(&MnistSpec { optimizer, batch_size, precision, measure_every, ..quick(25) }, 3);
        let runs: Vec<RunFolder> = specs.iter().map(|spec| stage.run(spec.clone())).collect();
        expect(&together(&runs, false).output().unwrap(), 0, &[]);
        for (run, spec) in runs.iter().zip(specs) {
            let alone = stage.run(spec);
            expect(&to_the_end(&alone, false), 0, &[]);
            assert_eq!(history(run).started().unwrap().threads, Some(1));
            assert_eq!(events(run), events(&alone), "{rule:?}");
            for step in [20, 25] {
                assert!(tensors(run, step) == tensors(&alone, step), "{rule:?}, step {step}");
            }
        }
    }
}

#[test]
fn a_run_that_is_stopped_or_killed_resumes_alone_with_the_same_bits() {
    let stage = Stage::new();
    let specs = varied(&quick(400), 2);
    let runs: Vec<RunFolder> = specs.iter().map(|spec| stage.run(spec.clone())).collect();
    let mut child = together(&runs, false).spawn().unwrap();
    wait_for(&runs[0], &mut child, 15);
    run::send(&runs[0], RunCommand::SetSteps { n: 450 }).unwrap();
    run::send(&runs[0], RunCommand::Stop).unwrap();
    wait_until(&runs[0], &mut child, |history| history.ending().is_some());
    let stopped = history(&runs[0]).step();
    wait_for(&runs[1], &mut child, stopped + 20);
    kill(child);
    assert_eq!(status(&runs[0]), Status::Stopped);
    assert!(matches!(status(&runs[1]), Status::Crashed { .. }));
    says(
        String::from_utf8(together(&runs, true).output().unwrap().stderr).unwrap(),
        &["has checkpoints; train it alone"],
    );
    for (index, (run, spec)) in runs.iter().zip(specs).enumerate() {
        let mut alone = worker(run, true);
        expect(&alone.env("OMP_NUM_THREADS", "2").env("MKL_NUM_THREADS", "2").output().unwrap(), 0, &[]);
        assert_eq!(status(run), Status::Finished);
        let steps = TrainingSteps::new([450, 400][index]).unwrap();
        let whole = stage.run(MnistSpec { steps, ..spec });
        expect(&to_the_end(&whole, false), 0, &[]);
        assert_eq!(curve(run), curve(&whole));
        assert!(tensors(run, steps.get() as u64) == tensors(&whole, steps.get() as u64));
    }
}

#[cfg(unix)]
#[test]
fn a_signal_stops_all_runs_with_checkpoints_and_a_divergence_only_its_own() {
    let stage = Stage::new();
    let long = varied(&quick(100_000), 2);
    let runs: Vec<RunFolder> = long.into_iter().map(|spec| stage.run(spec)).collect();
    let mut child = together(&runs, false).spawn().unwrap();
    runs.iter().for_each(|run| wait_for(run, &mut child, 3));
    Command::new("kill").arg(child.id().to_string()).status().unwrap();
    assert!(child.wait().unwrap().success());
    for run in &runs {
        assert_eq!(status(run), Status::Stopped);
        assert_eq!(checkpoint::steps(run).unwrap().last(), Some(&history(run).step()));
    }

    let sgd = spec("SGD").optimizer;
    let mut specs = varied(&MnistSpec { optimizer: sgd, not_finite: NotFinite::Stop, ..quick(60) }, 2);
    specs[0].learning_rate = rate(10.0);
    let runs: Vec<RunFolder> = specs.into_iter().map(|spec| stage.run(spec)).collect();
    expect(&together(&runs, false).output().unwrap(), 1, &[]);
    assert!(matches!(status(&runs[0]), Status::Failed(message) if message.contains("no longer finite")));
    assert_eq!(status(&runs[1]), Status::Finished);
}

#[test]
fn refuses_other_runs_before_anything_is_written() {
    let stage = Stage::new();
    let [first, second] = [0, 1].map(|seed| stage.run(MnistSpec { seed, ..quick(20) }));
    let other = stage.run(MnistSpec { batch_size: BatchSize::new(50).unwrap(), ..quick(20) });
    let two = || stage.run(MnistSpec { processes: Processes::new(2).unwrap(), ..quick(20) });
    let gpt2 = tiny(&stage, &[]);
    let refused = |runs: &[&RunFolder], words: &str| {
        let runs: Vec<RunFolder> = runs.iter().map(|run| (*run).clone()).collect();
        expect(&together(&runs, false).output().unwrap(), 1, &[words]);
        assert!(runs.iter().all(|run| !run.events().exists() || history(run).records() == 0));
    };
    refused(&[&first, &other], "differ only in learning rate, seed and name");
    refused(&[&first, &gpt2], "expected runs of MNIST");
    refused(&[&two(), &two()], "expected runs of one process");
    refused(&[&first, &first], "already being trained");
    stage.change_data();
    std::fs::remove_file(stage.data().join("t10k-labels-idx1-ubyte")).unwrap();
    expect(&together(&[first.clone(), second.clone()], false).output().unwrap(), 1, &["t10k-labels"]);
    for run in [&first, &second] {
        assert!(matches!(status(run), Status::Failed(message) if message.contains("t10k-labels")));
    }
}

#[test]
fn a_run_without_checkpoints_begins_again() {
    let stage = Stage::new();
    let none = CheckpointInterval::new(0).unwrap();
    let specs = varied(&MnistSpec { checkpoint_every: none, ..quick(100_000) }, 2);
    let runs: Vec<RunFolder> = specs.iter().map(|spec| stage.run(spec.clone())).collect();
    let mut child = together(&runs, false).spawn().unwrap();
    wait_for(&runs[0], &mut child, 30);
    let id = run::send(&runs[0], RunCommand::Save).unwrap();
    wait_until(&runs[0], &mut child, |history| history.answers().iter().any(|answer| answer.id == id && !answer.ok));
    run::send(&runs[0], RunCommand::Stop).unwrap();
    wait_until(&runs[0], &mut child, |history| history.ending().is_some());
    kill(child);
    let mut child = together(&runs, true).spawn().unwrap();
    for run in &runs {
        wait_until(run, &mut child, |history| history.sessions() == 2 && history.step() > 5);
        run::send(run, RunCommand::SetSteps { n: history(run).step() + 200 }).unwrap();
    }
    assert!(child.wait().unwrap().success());
    for run in &runs {
        let history = history(run);
        assert_eq!((status(run), run.checkpoints().unwrap().len()), (Status::Finished, 0));
        assert!(history.warnings().iter().any(|warning| warning.message.contains("begins again at step 0")));
        let steps: Vec<u64> = history.curve(MetricId::LOSS).step.to_vec();
        assert_eq!(steps, (1..=history.step()).collect::<Vec<_>>());
    }
}
