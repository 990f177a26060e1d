use super::{
    Algebra, Batch, Elapsed, Hyperparameter, Marker, Moved, Rates, Rule, RuleInfo, RuleInput, Scalar, StepArrow,
    StepPart, hyperparameters,
};

/// Stochastic gradient descent with (heavy-ball) momentum and decoupled weight decay
/// ([PyTorch's `SGD`](https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html) without dampening, but for the
/// decay).
///
/// ```text
/// m ← β₁ m + g
/// θ ← θ − η ( m + ω θ )
/// ```
///
/// The momentum is not an average: with β₁ = 0.9 a steady gradient moves ten times as far.
pub struct Sgd;

hyperparameters! {
    beta1: Hyperparameter::momentum()
        .help("How much of the sum of gradients is kept in each step. 0 keeps nothing."),
    weight_decay: Hyperparameter::weight_decay(),
}

const M: StepPart = StepPart::state("m", "m", "momentum, a sum of the gradients");

#[derive(Clone, Copy, Debug)]
pub struct Coefficients<A> {
    beta1: A,
}

impl Rule for Sgd {
    const INFO: RuleInfo = RuleInfo {
        name: "SGD",
        color: [136, 196, 120],
        marker: Marker::Diamond,
        source: "torch.optim.SGD",
        hyperparameters: TABLE,
        states: &[&M],
        needs: &[],
        observed: None,
    };

    type Hyper<N: Copy> = Hyper<N>;
    type Coefficients<A: Algebra> = Coefficients<A>;
    type State<A: Algebra> = [A; 1];

    #[inline(always)]
    fn coefficients<N: Scalar, A: Algebra>(
        h: &Hyper<N>,
        _elapsed: &Elapsed<N, Hyper<N>>,
        of: impl Fn(N) -> A,
    ) -> Coefficients<A> {
        Coefficients { beta1: of(h.beta1) }
    }

    #[inline(always)]
    fn step<A: Algebra, B: Batch<A>>(
        c: &Coefficients<A>,
        rates: Rates<A>,
        RuleInput { theta, gradient, .. }: RuleInput<A, B>,
        [m]: [A; 1],
    ) -> ([A; 1], Moved<A>) {
        let m = c.beta1.mul_add(m, gradient).named(&M);
        A::draw(&StepArrow::MOMENTUM, || m);
        ([m], Moved { theta: rates.decayed_step(theta, m, theta), direction: m })
    }
}
