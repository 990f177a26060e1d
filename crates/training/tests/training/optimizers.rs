//! Each optimizer against the formulas of its source, AdamW against libtorch's own, and typed rules against built-in
//! ones.

use tch::nn::{self, OptimizerConfig};
use tch::{Device, Kind, Tensor};
use valleyscope_engine::optimizer::program::text_of;
use valleyscope_engine::optimizer::{Need, RuleKind, RuleSpec, TypedRule, WEIGHT_DECAY};
use valleyscope_engine::setting::SettingKind;
use valleyscope_experiments::workload::{Attention, Gpt2Precision, Gpt2Shape, RunSpec};
use valleyscope_training::gpt2::Gpt2;
use valleyscope_training::mnist::Mlp;
use valleyscope_training::{FlatOptimizer, GradientQueries, ParameterLayout, QueryResults};

use crate::oracle::{Parameter, StepInput};
use crate::references::{GOLDENS, Golden, GoldenStep, TOLERANCE, deviation, law};
use crate::stage::{spec, uniform};

const MODELS: usize = 3;
const RATES: [f64; MODELS] = [1e-3, 0.02, 0.3];

/// Whether SOAP turns vectors into eigenvectors.
fn turns_vectors(rule: &RuleSpec) -> bool {
    rule.choice("precondition_1d").is_some_and(|vectors| vectors.key == "On")
}

/// Returns a matrix and vectors. For a rule with statistics of the axes, the eigenvectors of the matrix are all
/// determined after one step, up to their signs, and so are those of vectors, if they have any.
fn layout(rule: &RuleSpec) -> ParameterLayout {
    let (matrix, bias, last) = match rule.info().needs(Need::Axes) {
        true if turns_vectors(rule) => (vec![6, 5], 2, 2),
        true => (vec![6, 5], 7, 10),
        false => (vec![7, 5], 7, 130),
    };
    let tensors = [("weight", matrix, true), ("bias", vec![bias], false), ("last", vec![last], true)];
    ParameterLayout::new(tensors.map(|(name, shape, decays)| (name.to_owned(), shape, decays)), MODELS)
}

/// Every registered rule with each of its choices and numbers that are not its defaults, and FOCUS with repulsion.
fn rules() -> Vec<RuleSpec> {
    let mut rules = Vec::new();
    for &kind in RuleKind::ALL {
        let mut specs = vec![RuleSpec::in_training(kind)];
        for of in kind.info().hyperparameters {
            let values: Vec<f64> = match of.kind {
                SettingKind::Choice(choices) => (0..choices.len()).map(|index| index as f64).collect(),
                SettingKind::DecayRate => vec![if of.key == "beta1" { 0.8 } else { 0.97 }],
                SettingKind::Whole(_) => vec![3.0],
                SettingKind::Number(_) if of.key == WEIGHT_DECAY => vec![0.3],
                _ => vec![of.slider.low + 0.7 * (of.slider.high - of.slider.low)],
            };
            let with =
                |spec: &RuleSpec| values.iter().map(|value| spec.with(of.key, *value).unwrap()).collect::<Vec<_>>();
            specs = specs.iter().flat_map(with).collect();
        }
        rules.extend(specs);
    }
    let attracted = rules.iter().find(|rule| rule.kind() == RuleKind::Focus).unwrap();
    rules.push(attracted.with("gamma", -0.3).unwrap());
    rules
}

/// The gradient at other parameters, as a multiple of these.
const SLOPE: f64 = 0.3;

/// Returns the curvature in a step, the same for all elements.
fn curvature(step: u64) -> f64 {
    100.0 * uniform(step) - 20.0
}

fn answers(queries: GradientQueries, like: &Tensor, step: u64) -> QueryResults {
    let GradientQueries { gradient_at, curvature: has_curvature } = queries;
    QueryResults {
        gradient_elsewhere: gradient_at.map(|place| place * SLOPE),
        curvature: has_curvature.then(|| like.full_like(curvature(step))),
    }
}

/// Returns for each number of the flat tensor whether it is an element of a parameter, and not in a gap.
fn elements(layout: &ParameterLayout) -> Vec<bool> {
    let mut elements = vec![false; layout.length()];
    for index in 0..layout.segments().len() {
        (0..MODELS).for_each(|model| elements[layout.range(index, model)].fill(true));
    }
    elements
}

/// Gradients of all sizes, and exact zeros, which would leave a vector's second eigenvector open; of similar sizes for
/// a rule with statistics, whose roots and eigenvectors are determined by the largest ones otherwise.
fn gradient(rule: &RuleSpec, step: u64, at: usize) -> f64 {
    let [u, v] = [0, 1].map(|draw| uniform(step * 100_000 + 2 * at as u64 + draw));
    let v = if rule.info().needs(Need::Axes) { 2.0 / 3.0 } else { v };
    if at % 11 == 3 && !turns_vectors(rule) { 0.0 } else { (2.0 * u - 1.0) * 10_f64.powf(6.0 * v - 4.0) }
}

fn start(layout: &ParameterLayout) -> Vec<f64> {
    let elements = elements(layout);
    (0..layout.length()).map(|at| if elements[at] { 2.0 * uniform(at as u64) - 1.0 } else { 0.0 }).collect()
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    Vec::try_from(tensor.to_kind(Kind::Double)).unwrap()
}

/// If few of many elements move, a cautious step divides by 0.001 and not by their share.
#[test]
fn a_cautious_mask_has_a_smallest_mean() {
    let layout = ParameterLayout::new([("weight".to_owned(), vec![64, 64], true)], 1);
    for kind in [RuleKind::Signum, RuleKind::Shampoo] {
        let rule = [("mask", 1.0), ("beta1", 0.0), ("weight_decay", 0.0)]
            .iter()
            .fold(RuleSpec::in_training(kind), |rule, (key, value)| rule.with(key, *value).unwrap());
        let plain = rule.with("mask", 0.0).unwrap();
        let moved = |rule: RuleSpec| {
            let mut optimizer = FlatOptimizer::new(rule, &[0.5], &layout, Kind::Double, Device::Cpu).unwrap();
            let mut theta = Tensor::zeros([layout.length() as i64], (Kind::Double, Device::Cpu));
            let mut gradients = vec![0.0; layout.length()];
            gradients[100] = 1.0;
            optimizer.step(&layout, &mut theta, &Tensor::from_slice(&gradients), &QueryResults::default()).unwrap();
            numbers(&theta)[100]
        };
        let (cautious, plain) = (moved(rule), moved(plain));
        assert!(plain < 0.0 && (cautious / plain - 1000.0).abs() < 1e-6, "{}: {cautious}, {plain}", rule.name());
    }
}

#[test]
fn every_rule_follows_its_formulas_step_by_step() {
    for rule in rules() {
        let layout = layout(&rule);
        let elements = elements(&layout);
        // With coupled decay g + ωθ has the rounding of θ, which a division by the mask's mean enlarges in each step.
        let is_coupled = rule.choice("decay").is_some_and(|decay| decay.key == "Coupled");
        let steps = if rule.is_cautious() && is_coupled { 40 } else { 100 };
        for tensors in [false, true] {
            let mut optimizer = FlatOptimizer::new(rule, &RATES, &layout, Kind::Double, Device::Cpu).unwrap();
            if tensors {
                optimizer = optimizer.with_tensor_operations(&layout).unwrap();
            }
            let mut theta = Tensor::from_slice(&start(&layout));
            let mut oracle = oracles(&layout, &start(&layout));
            for t in 1..=steps {
                let gradients: Vec<f64> =
                    (0..layout.length()).map(|at| if elements[at] { gradient(&rule, t, at) } else { 0.0 }).collect();
                let answers = answers(optimizer.queries(), &theta, t);
                optimizer.step(&layout, &mut theta, &Tensor::from_slice(&gradients), &answers).unwrap();
                let found = numbers(&theta);
                for (index, segment) in layout.segments().iter().enumerate() {
                    let rule = if segment.decays { rule } else { rule.with("weight_decay", 0.0).unwrap() };
                    for (model, rate) in RATES.into_iter().enumerate() {
                        let range = layout.range(index, model);
                        let parameter = &mut oracle[index][model];
                        let seen = StepInput {
                            gradient: &gradients[range.clone()],
                            gradient_at: &|place| place.iter().map(|place| SLOPE * place).collect(),
                            curvature: &|| vec![curvature(t); range.len()],
                        };
                        parameter.step(&law(&rule, rate), &seen, None);
                        for (found, expected) in found[range.clone()].iter().zip(&parameter.theta) {
                            let off = (found - expected).abs() / expected.abs().max(1.0);
                            assert!(off < 1e-11, "{rule:?}, tensors {tensors}, step {t}, {}: {off:e}", segment.name);
                        }
                    }
                }
                let gaps = found.iter().zip(&elements).filter(|(_, is_element)| !**is_element);
                assert!(gaps.into_iter().all(|(found, _)| *found == 0.0), "the gaps of the layout stay zero");
            }
        }
    }
}

fn oracles(layout: &ParameterLayout, start: &[f64]) -> Vec<Vec<Parameter>> {
    let segments = layout.segments().iter().enumerate().map(|(index, segment)| {
        let of = |model| {
            let theta = &start[layout.range(index, model)];
            let mut parameter = match segment.matrices {
                0 => Parameter::starting_at(theta),
                _ => Parameter::matrix(theta, segment.shape[0] as usize),
            };
            parameter.blocks.clone_from(&segment.blocks);
            parameter
        };
        (0..MODELS).map(of).collect()
    });
    segments.collect()
}

#[test]
fn adam_equals_libtorchs_adamw() {
    for eps in [1e-8, 1e-3] {
        compare_with_adamw(eps);
    }
}

fn compare_with_adamw(eps: f64) {
    let (beta1, beta2) = (0.9, 0.999);
    let rule = RuleSpec::in_training(RuleKind::Adam).with("weight_decay", 0.1).unwrap().with("eps", eps).unwrap();
    let layout = ParameterLayout::new([("weight".to_owned(), vec![200], true)], 1);
    let mut flat = FlatOptimizer::new(rule, &[0.01], &layout, Kind::Double, Device::Cpu).unwrap();
    let mut theta = Tensor::from_slice(&(0..layout.length()).map(|at| uniform(at as u64)).collect::<Vec<_>>());
    let mut store = nn::VarStore::new(Device::Cpu);
    let variable = store.root().var_copy("weight", &theta);
    store.double();
    tch::no_grad(|| variable.shallow_clone().copy_(&theta));
    let mut theirs = nn::AdamW { beta1, beta2, wd: 0.1, eps, amsgrad: false }.build(&store, 0.01).unwrap();
    for t in 1..=100 {
        let gradients = Tensor::from_slice(&(0..layout.length()).map(|at| gradient(&rule, t, at)).collect::<Vec<_>>());
        theirs.backward_step(&(&variable * &gradients).sum(Kind::Double));
        flat.step(&layout, &mut theta, &gradients, &QueryResults::default()).unwrap();
        let off = (&theta - &variable).narrow(0, 0, 200).abs().max().double_value(&[]);
        assert!(off < 1e-12, "ε {eps:e}, step {t}: {off:e}");
    }
}

#[test]
fn single_precision_follows_double() {
    for rule in rules() {
        let layout = layout(&rule);
        let runs = [Kind::Double, Kind::Float].map(|kind| {
            let mut optimizer = FlatOptimizer::new(rule, &RATES, &layout, kind, Device::Cpu).unwrap();
            let mut theta = Tensor::from_slice(&start(&layout)).to_kind(kind);
            for t in 1..=20 {
                let gradients: Vec<f64> = (0..layout.length()).map(|at| gradient(&rule, t, at)).collect();
                let answers = answers(optimizer.queries(), &theta, t);
                let gradients = Tensor::from_slice(&gradients).to_kind(kind);
                optimizer.step(&layout, &mut theta, &gradients, &answers).unwrap();
            }
            numbers(&theta)
        });
        let off = runs[0].iter().zip(&runs[1]).map(|(a, b)| (a - b).abs() / a.abs().max(1.0)).fold(0.0, f64::max);
        assert!(off < 1e-4, "{rule:?}: {off:e}");
    }
}

#[test]
fn keeps_nan() {
    let layout = ParameterLayout::new([("weight".to_owned(), vec![3], true)], 1);
    for rule in rules() {
        for tensors in [false, true] {
            let mut optimizer = FlatOptimizer::new(rule, &[0.1], &layout, Kind::Float, Device::Cpu).unwrap();
            if tensors {
                optimizer = optimizer.with_tensor_operations(&layout).unwrap();
            }
            let mut theta = Tensor::zeros([layout.length() as i64], (Kind::Float, Device::Cpu));
            let gradients = theta.copy();
            let _ = gradients.get(1).fill_(f64::NAN);
            // SOAP does not move in the first step, and Shampoo computes its root in the third.
            for t in 1..=3 {
                let answers = answers(optimizer.queries(), &theta, t);
                optimizer.step(&layout, &mut theta, &gradients, &answers).unwrap();
            }
            let theta = numbers(&theta);
            // A mean spreads NaN over its block, and a root or eigenvectors over their vector.
            let others = ![RuleKind::AdamMini, RuleKind::Shampoo].contains(&rule.kind()) && !turns_vectors(&rule);
            assert!(theta[0].is_finite() == others && theta[1].is_nan() && theta[2].is_finite() == others, "{rule:?}");
        }
    }
}

/// Returns the tensors of a golden that are stepped by the rule itself, with their shapes.
fn golden_tensors(kind: RuleKind) -> Vec<(&'static str, Vec<i64>)> {
    match kind {
        // Vectors have another rule.
        RuleKind::Mars => vec![("W", vec![6, 4]), ("p2", vec![2])],
        RuleKind::AdamMini => {
            vec![("W", vec![6, 4]), ("Q", vec![4, 4]), ("U", vec![4, 6]), ("p2", vec![2]), ("b", vec![5])]
        }
        RuleKind::Muon => vec![("W", vec![6, 4]), ("U", vec![4, 6]), ("p2", vec![2, 1]), ("b", vec![5])],
        RuleKind::Shampoo => vec![("W", vec![6, 4]), ("U", vec![4, 6]), ("p2", vec![2]), ("b", vec![5])],
        RuleKind::Soap => {
            vec![("W", vec![6, 4]), ("S", vec![4, 4]), ("p2", vec![2, 1]), ("p2", vec![2]), ("b", vec![5])]
        }
        _ => vec![("W", vec![6, 4]), ("p2", vec![2]), ("b", vec![5])],
    }
}

/// Loops and tensor operations against the reference implementations, for matrices and vectors.
#[test]
fn every_rule_follows_its_reference_implementation() {
    for &(kind, name, chosen) in GOLDENS {
        let golden = Golden::read(name);
        let rule = golden.rule(kind, chosen);
        for (tensor, shape) in golden_tensors(kind) {
            // The reference turns the vector of the plane, and no other one.
            let is_turned = (kind, &shape[..]) == (RuleKind::Soap, &[2]);
            let spec = if is_turned { rule.rule.with("precondition_1d", 1.0).unwrap() } else { rule.rule };
            for tensors in [false, true] {
                let decays = (kind, tensor) != (RuleKind::AdamMini, "b");
                let layout = ParameterLayout::new([(tensor.to_owned(), shape.clone(), decays)], 1);
                let layout = layout.with_blocks(|tensor| match tensor {
                    "Q" => Some(vec![(2, 8)]),
                    "U" => Some(vec![(1, 24)]),
                    "b" => Some(vec![(5, 1)]),
                    _ => None,
                });
                let rates = [rule.learning_rate.get()];
                let mut optimizer = FlatOptimizer::new(spec, &rates, &layout, Kind::Double, Device::Cpu).unwrap();
                if tensors {
                    optimizer = optimizer.with_tensor_operations(&layout).unwrap();
                }
                let flat = |values: &[f64]| {
                    let mut flat = values.to_vec();
                    flat.resize(layout.length(), 0.0);
                    Tensor::from_slice(&flat)
                };
                let mut theta = flat(golden.start(tensor));
                for (step, of_golden) in golden.steps(tensor).enumerate() {
                    let GoldenStep { gradient, gradient_elsewhere, elsewhere, curvature, after, averaged } = of_golden;
                    let GradientQueries { gradient_at, curvature: has_curvature } = optimizer.queries();
                    if let (Some(asked), Some(elsewhere)) = (&gradient_at, elsewhere) {
                        let off = deviation(&numbers(asked)[..elsewhere.len()], elsewhere);
                        assert!(off < TOLERANCE, "{name}, {tensor}: the queried parameters are off by {off:e}");
                    }
                    let answers = QueryResults {
                        gradient_elsewhere: gradient_at.and(gradient_elsewhere).map(flat),
                        curvature: curvature.as_deref().filter(|_| has_curvature).map(flat),
                    };
                    optimizer.step(&layout, &mut theta, &flat(gradient), &answers).unwrap();
                    if step == 0 && (kind, tensor) == (RuleKind::Soap, "W") {
                        set_eigenvectors(&optimizer, &golden);
                    }
                    let place = optimizer.gradient_point(&theta).unwrap();
                    assert_eq!(place.is_some(), averaged.is_some());
                    let off = deviation(&numbers(place.as_ref().unwrap_or(&theta))[..after.len()], after);
                    assert!(off < TOLERANCE, "{name}, {tensor}, tensors {tensors}, step {}: {off:e}", step + 1);
                    let off = averaged.map_or(0.0, |x| deviation(&numbers(&theta)[..x.len()], x));
                    assert!(off < TOLERANCE, "{name}, {tensor}, tensors {tensors}, x of step {}: {off:e}", step + 1);
                    let gap = numbers(&theta)[after.len()..].iter().all(|value| *value == 0.0);
                    assert!(gap, "{name}, {tensor}, tensors {tensors}: the gap of the layout stays 0");
                }
            }
        }
    }
}

/// Takes the eigenvectors of `W` from SOAP's golden: those of eigenvalue 0 are arbitrary.
fn set_eigenvectors(optimizer: &FlatOptimizer, golden: &Golden) {
    for (side, array) in [("left", "W_Q0"), ("right", "W_Q1")] {
        let name = format!("optimizer.{side}_eigenvectors.W");
        let (_, vectors) = optimizer.states().find(|(state, _)| *state == name).unwrap();
        let of_golden = Tensor::from_slice(golden.array(array)).view_as(vectors);
        vectors.shallow_clone().copy_(&of_golden);
    }
}

/// An axis that is too long has no statistic; the other one has.
#[test]
fn an_axis_as_long_as_a_vocabulary_has_no_statistic() {
    let layout = ParameterLayout::new([("embedding".to_owned(), vec![1, 10_001], true)], 1);
    let start = Tensor::zeros([layout.length() as i64], (Kind::Double, Device::Cpu));
    let optimizer = |kind: RuleKind| {
        let rule = RuleSpec::in_training(kind);
        let rule = rule.with("interval", 1.0).unwrap();
        let rule = if kind == RuleKind::Shampoo { rule.with("grafting", 1.0).unwrap() } else { rule };
        FlatOptimizer::new(rule, &[1.0], &layout, Kind::Double, Device::Cpu).unwrap()
    };
    for (kind, left) in [(RuleKind::Shampoo, "left_root"), (RuleKind::Soap, "left_eigenvectors")] {
        let names: Vec<String> = optimizer(kind).states().map(|(name, _)| name).collect();
        let left = [format!("optimizer.{left}.embedding")];
        assert_eq!(
            names,
            [&["optimizer.m", "optimizer.s", "optimizer.left.embedding"].map(str::to_owned)[..], &left].concat()
        );
    }
    let (mut theta, gradients) = (start.copy(), start.copy());
    let _ = gradients.narrow(0, 0, 10_001).fill_(0.01);
    optimizer(RuleKind::Shampoo).step(&layout, &mut theta, &gradients, &QueryResults::default()).unwrap();
    // The statistic is the square of the norm, 1.0001.
    let expected = -0.01 / 1.0001_f64.powf(0.25);
    assert!((theta.double_value(&[10_000]) - expected).abs() < 1e-12, "{}", theta.double_value(&[10_000]));
}

/// Rules for matrices treat queries, keys and values as three matrices, embeddings and output layers as none.
#[test]
fn layouts_have_the_matrices_of_their_models() {
    let mlp = Mlp::new(1, Kind::Float, Device::Cpu).unwrap();
    for segment in mlp.layout().segments() {
        let is_matrix = segment.name.ends_with("linear.weight") && segment.name != "layers.5.linear.weight";
        assert_eq!(segment.matrices, usize::from(is_matrix), "{}", segment.name);
    }
    let shape = Gpt2Shape {
        layers: 1,
        heads: 2,
        width: 4,
        context: 3,
        vocabulary: 5,
        bias: true,
        scale_attn_by_inverse_layer_idx: false,
        decay_embeddings: false,
    };
    let counted: u64 = shape.tensors().iter().map(|(count, sides)| count * sides.iter().product::<i64>() as u64).sum();
    assert_eq!(counted, shape.parameters());
    let gpt2 = Gpt2::new(shape, Gpt2Precision::Float32, Attention::Explicit, Device::Cpu).unwrap();
    let matrices = gpt2.layout().segments().iter().filter(|segment| segment.matrices > 0);
    let found: Vec<(&str, usize)> =
        matrices.map(|segment| (segment.name.trim_start_matches("transformer.h.0."), segment.matrices)).collect();
    let expected =
        [("attn.c_attn.weight", 3), ("attn.c_proj.weight", 1), ("mlp.c_fc.weight", 1), ("mlp.c_proj.weight", 1)];
    assert_eq!(found, expected);
}

/// The states of rules with statistics have the estimated size.
#[test]
fn statistics_need_the_estimated_memory() {
    for (rule, vectors) in [("Adam", None), ("Shampoo", None), ("SOAP", None), ("SOAP", Some(1.0))] {
        let mut spec = spec(rule);
        if let Some(vectors) = vectors {
            spec.optimizer.set("precondition_1d", vectors).unwrap();
        }
        let mlp = Mlp::new(1, Kind::Float, Device::Cpu).unwrap();
        let optimizer = FlatOptimizer::new(spec.optimizer, &[0.1], mlp.layout(), Kind::Float, Device::Cpu).unwrap();
        let numbers: usize = optimizer.states().map(|(_, state)| state.numel()).sum();
        let checkpoint = 4.0 * (numbers + mlp.layout().length()) as f64;
        // Four checkpoints are kept.
        let said = spec.needs(1).disk as f64 / 4.0;
        assert!((said / checkpoint - 1.0).abs() < 0.01, "{rule}: {said} were said, {checkpoint} needed");
    }
}

/// A model that diverges affects no other model of its stack, and its statistics cause no error.
#[test]
fn a_diverged_model_leaves_the_others_of_its_stack_alone() {
    let layout = ParameterLayout::new([("weight".to_owned(), vec![4, 3], true)], 2);
    for (kind, from) in [(RuleKind::Shampoo, 1), (RuleKind::Shampoo, 5), (RuleKind::Soap, 1), (RuleKind::Soap, 5)] {
        let rule = RuleSpec::in_training(kind).with("interval", 3.0).unwrap();
        let mut optimizer = FlatOptimizer::new(rule, &[0.1; 2], &layout, Kind::Double, Device::Cpu).unwrap();
        let mut theta = Tensor::zeros([layout.length() as i64], (Kind::Double, Device::Cpu));
        for t in 1..=12 {
            let gradients: Vec<f64> = (0..layout.length())
                .map(|at| match at {
                    5 if t >= from => f64::NAN,
                    _ if [0, 1].iter().any(|model| layout.range(0, *model).contains(&at)) => gradient(&rule, t, at),
                    _ => 0.0,
                })
                .collect();
            optimizer.step(&layout, &mut theta, &Tensor::from_slice(&gradients), &QueryResults::default()).unwrap();
        }
        let theta = numbers(&theta);
        assert!(theta[layout.range(0, 0)].iter().all(|value| value.is_nan()), "{kind:?} from step {from}: {theta:?}");
        assert!(
            theta[layout.range(0, 1)].iter().all(|value| value.is_finite() && *value != 0.0),
            "{kind:?}: {theta:?}"
        );
    }
}

const TYPED_RATES: [f64; 2] = [1e-3, 0.02];
const STEPS: u64 = 60;

fn typed_layout() -> ParameterLayout {
    // With whole blocks of elements, parts of one, and less than one.
    let tensors = [("weight", vec![7, 37], true), ("bias", vec![7], false), ("last", vec![512], true)];
    ParameterLayout::new(tensors.map(|(name, shape, decays)| (name.to_owned(), shape, decays)), TYPED_RATES.len())
}

/// Returns the parameters after some steps along gradients that do not depend on them.
fn trained(rule: RuleSpec, kind: Kind, in_tensors: bool) -> Vec<f64> {
    let layout = typed_layout();
    let numbers = |seed: u64| -> Tensor {
        let numbers: Vec<f64> = (0..layout.length() as u64).map(|at| 2.0 * uniform(seed << 32 | at) - 1.0).collect();
        Tensor::from_slice(&numbers).to_kind(kind)
    };
    let mut parameters = numbers(0);
    let mut optimizer = FlatOptimizer::new(rule, &TYPED_RATES, &layout, kind, Device::Cpu).unwrap();
    if in_tensors {
        optimizer = optimizer.with_tensor_operations(&layout).unwrap();
    }
    let nothing = QueryResults { gradient_elsewhere: None, curvature: None };
    (1..=STEPS).for_each(|step| optimizer.step(&layout, &mut parameters, &numbers(step), &nothing).unwrap());
    let flat = Vec::<f64>::try_from(parameters.to_kind(Kind::Double)).unwrap();
    let ranges = (0..layout.segments().len()).flat_map(|index| (0..TYPED_RATES.len()).map(move |model| (index, model)));
    ranges.flat_map(|(index, model)| flat[layout.range(index, model)].to_vec()).collect()
}

fn distance(found: &[f64], expected: &[f64]) -> f64 {
    assert!(found.len() == expected.len() && expected.iter().all(|value| value.is_finite()));
    let apart = |(found, expected): (&f64, &f64)| {
        let apart = (found - expected).abs() / expected.abs().max(1e-2);
        if apart.is_nan() { f64::INFINITY } else { apart }
    };
    found.iter().zip(expected).map(apart).fold(0.0, f64::max)
}

fn typed(name: &str, text: &str) -> RuleSpec {
    RuleSpec::in_training(RuleKind::Typed(TypedRule::new(name, text).unwrap()))
}

#[test]
fn typed_built_in_rules_train_like_the_compiled_ones() {
    let mut count = 0;
    for &kind in RuleKind::ALL {
        let built_in = RuleSpec::in_training(kind);
        let Ok(text) = text_of(&built_in) else { continue };
        let rule = typed(&format!("{} in training", built_in.name()), &text);
        // Its text has the rule's values in training as defaults, but without the weight decay.
        let rule = match built_in.get("weight_decay") {
            Some(decay) => rule.with("weight_decay", decay).unwrap(),
            None => rule,
        };
        let expected = trained(built_in, Kind::Double, false);
        for in_tensors in [false, true] {
            let apart = distance(&trained(rule, Kind::Double, in_tensors), &expected);
            assert!(apart <= 1e-12, "{text}: {apart} with tensor operations {in_tensors}");
        }
        count += 1;
    }
    assert!(count >= 6, "only {count} rules were compared");
}

#[test]
fn every_operation_agrees_in_loops_and_in_tensors() {
    let lines = [
        "u = exp(g) + ln(abs(g) + 1) + tanh(3*g) + sqrt(abs(g)) + sign(g)",
        "u = min(g, 0.2) + max(g, theta) + clamp(3*g, -1, 1) + where(g < theta, 0.1, g) + where(g >= 0, 1, 2)",
        "u = abs(g)^1.5 + g^3 + 2^g + abs(theta)^g + (g <= theta) - (g != theta) + (g == g)",
        "u = 1/(1 + g^2) + theta/t + (1 - 0.9^t)*g + where(t > 2, g, 0.5)",
    ];
    for (index, line) in lines.into_iter().enumerate() {
        let rule = typed(&format!("line {index}"), &format!("{line}\ntheta = theta - eta*u"));
        let [loops, tensors] = [false, true].map(|in_tensors| trained(rule, Kind::Double, in_tensors));
        let apart = distance(&tensors, &loops);
        assert!(apart <= 1e-12, "{line}: {apart}");
        let apart = distance(&trained(rule, Kind::Float, false), &loops);
        assert!(apart <= 1e-2, "{line} in single precision: {apart}");
    }
}

#[test]
fn functions_of_the_whole_parameter_apply_to_each_tensor() {
    let rule = typed(
        "whole",
        "theta = theta - eta*(g/norm(g) + mean(g) + 0.01*sum(g) + 0.01*dot(g, theta) + mean(where(t < 3, 0, g)))",
    );
    let found = trained(rule, Kind::Double, false);
    // The same rule, element by element.
    let layout = typed_layout();
    let number = |seed: u64, at: usize| 2.0 * uniform(seed << 32 | at as u64) - 1.0;
    let mut expected = Vec::new();
    for index in 0..layout.segments().len() {
        for (model, rate) in TYPED_RATES.iter().enumerate() {
            let range = layout.range(index, model);
            let mut theta: Vec<f64> = range.clone().map(|at| number(0, at)).collect();
            for step in 1..=STEPS {
                let g: Vec<f64> = range.clone().map(|at| number(step, at)).collect();
                let sum: f64 = g.iter().sum();
                let norm = g.iter().map(|g| g * g).sum::<f64>().sqrt();
                let dot: f64 = g.iter().zip(&theta).map(|(g, theta)| g * theta).sum();
                for (theta, g) in theta.iter_mut().zip(&g) {
                    let mean = sum / range.len() as f64;
                    let later = if step < 3 { 0.0 } else { mean };
                    *theta -= rate * (g / norm + mean + 0.01 * sum + 0.01 * dot + later);
                }
            }
            expected.extend(theta);
        }
    }
    let apart = distance(&found, &expected);
    assert!(apart <= 1e-12, "{apart}");
}

/// Assignments between states, and from a state to θ, use the values before the step.
#[test]
fn states_may_exchange_their_values() {
    let rule = typed(
        "places",
        "state last, m, a, b\nold = last\nb = a\na = m\nm = 0.5*m + g\nlast = theta - eta*(b + g)\ntheta = old",
    );
    let layout = typed_layout();
    let number = |seed: u64, at: usize| 2.0 * uniform(seed << 32 | at as u64) - 1.0;
    let mut expected = Vec::new();
    for index in 0..layout.segments().len() {
        for (model, rate) in TYPED_RATES.iter().enumerate() {
            for at in layout.range(index, model) {
                let (mut theta, mut last, mut m, mut a) = (number(0, at), 0.0, 0.0, 0.0);
                for step in 1..=STEPS {
                    let (b, g) = (a, number(step, at));
                    a = m;
                    m = 0.5 * m + g;
                    (theta, last) = (last, theta - rate * (b + g));
                }
                expected.push(theta);
            }
        }
    }
    for in_tensors in [false, true] {
        let apart = distance(&trained(rule, Kind::Double, in_tensors), &expected);
        assert!(apart <= 1e-12, "{apart} with tensor operations {in_tensors}");
    }
}
