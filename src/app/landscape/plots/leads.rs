//! The intervals of steps in which an optimizer, two that are equally far, or none is ahead of all others, computed from
//! the run.

use valleyscope_engine::simulation::{Bucket, Spread};

use super::chart::nearest_bucket;
use crate::draw::middle;

/// The number of standard errors by which a mean loss is clearly below another one: more than in a single comparison, as
/// the largest difference of many steps counts.
const CLEAR: f64 = 4.0;
/// The smallest clear difference of losses, as a fraction of the lowest one.
const CLEAR_SHARE: f64 = 0.01;
/// The size below which a mean loss may be a remainder of random starts.
const TINY: f64 = 1e-4;
/// The largest number of ensembles that are ahead together.
const MOST_LEADERS: usize = 2;

/// An interval of steps in which the mean losses of some ensembles are below those of all others.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Lead {
    /// The indices of the ensembles, in order; empty where none is clearly ahead.
    pub ensembles: Vec<usize>,
    /// The first and the last step.
    pub steps: [f64; 2],
}

/// The mean of a loss, with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MeanLoss {
    pub mean: f64,
    error: f64,
}

impl MeanLoss {
    /// Returns the mean over so many particles; `None` if one of them has diverged.
    pub(crate) fn of(loss: Spread, particles: usize, diverged: u32) -> Option<MeanLoss> {
        let is_known = diverged == 0 && loss.mean.is_finite();
        is_known.then(|| MeanLoss { mean: loss.mean, error: loss.std / (particles.max(1) as f64).sqrt() })
    }

    /// Returns whether the mean is tiny and differs from 0 by no more than chance makes likely, as at the start.
    pub(crate) fn is_nothing(&self) -> bool {
        self.mean.abs() < TINY.min(CLEAR * self.error)
    }

    /// Returns whether the mean is below another one by more than chance makes likely.
    pub(crate) fn is_clearly_below(&self, other: &MeanLoss) -> bool {
        other.mean - self.mean > CLEAR * self.error.hypot(other.error)
    }
}

/// Divides the steps into intervals in which one or two of several ensembles are ahead, or none. Each ensemble has its
/// index, its number of particles and its history. A lead begins where the lowest mean losses are clearly below the others
/// and lasts while they are the lowest, so that ensembles that are equally far do not take turns.
pub(super) fn leads(ensembles: &[(usize, usize, &[Bucket])]) -> Vec<Lead> {
    let is_race = |(.., first): &&(usize, usize, &[Bucket])| ensembles.len() > 1 && first.len() > 1;
    let Some((.., first)) = ensembles.first().filter(is_race) else { return Vec::new() };
    let loss = |&(_, particles, buckets): &(usize, usize, &[Bucket]), step: f64| {
        let bucket = nearest_bucket(buckets, step)?;
        let loss = Spread { mean: bucket.loss.mean, std: bucket.loss.std, ..Spread::UNDEFINED };
        MeanLoss::of(loss, particles, bucket.diverged)
    };
    let mut leads: Vec<Lead> = Vec::new();
    let mut leaders: Vec<usize> = Vec::new();
    for bucket in *first {
        let step = middle(bucket);
        let losses = ensembles.iter().filter_map(|of| Some((of.0, loss(of, step)?)));
        let mut losses: Vec<(usize, MeanLoss)> = losses.collect();
        losses.sort_by(|(_, a), (_, b)| a.mean.total_cmp(&b.mean));
        let lowest = |count: usize| {
            let mut lowest: Vec<usize> = losses.iter().take(count).map(|(ensemble, _)| *ensemble).collect();
            lowest.sort_unstable();
            lowest
        };
        let is_clear = |count: &usize| {
            losses.get(*count).zip(losses.get(count - 1)).is_some_and(|((_, next), (_, last))| {
                last.is_clearly_below(next) && next.mean - last.mean > CLEAR_SHARE * last.mean.abs()
            })
        };
        leaders = match (1..=MOST_LEADERS).find(is_clear) {
            // The only one that has not diverged.
            None if losses.len() == 1 => lowest(1),
            Some(count) if leaders.is_empty() || lowest(leaders.len()) != leaders || count < leaders.len() => {
                lowest(count)
            }
            _ if lowest(leaders.len()) == leaders => leaders,
            _ => Vec::new(),
        };
        let steps = [bucket.first_step as f64, (bucket.first_step + bucket.steps.max(1) - 1) as f64];
        match leads.last_mut().filter(|lead| lead.ensembles == leaders) {
            Some(lead) => lead.steps[1] = steps[1],
            None => leads.push(Lead { ensembles: leaders.clone(), steps }),
        }
    }
    leads
}

#[cfg(test)]
mod tests {
    use valleyscope_engine::shares::Shares;
    use valleyscope_engine::simulation::BucketSpread;

    use super::*;

    /// Makes a history of a step a bucket, whose losses have this deviation over particles.
    fn history(loss: impl Fn(u64) -> f64, std: f64) -> Vec<Bucket> {
        let spread =
            |mean: f64| BucketSpread { steps: 1, mean_low: mean, mean, mean_high: mean, std, min: mean, max: mean };
        let bucket = |step: u64| Bucket {
            first_step: step,
            steps: 1,
            loss: spread(loss(step)),
            u: spread(0.0),
            abs_v: spread(0.0),
            effective_step: spread(0.0),
            entropy: 0.0,
            free_energy: 0.0,
            shares: Shares::from_array([0.0; 3]),
            diverged: u32::from(!loss(step).is_finite()),
        };
        (0..=1000).map(bucket).collect()
    }

    fn found(histories: &[Vec<Bucket>]) -> Vec<(Vec<usize>, [f64; 2])> {
        let ensembles: Vec<(usize, usize, &[Bucket])> =
            histories.iter().enumerate().map(|(index, buckets)| (index, 100, buckets.as_slice())).collect();
        let all: Vec<_> = leads(&ensembles).into_iter().map(|lead| (lead.ensembles, lead.steps)).collect();
        assert!(all.windows(2).all(|next| next[0].1[1] + 1.0 == next[1].1[0]), "all steps are in an interval: {all:?}");
        all.into_iter().filter(|(leaders, _)| !leaders.is_empty()).collect()
    }

    #[test]
    fn the_lead_changes_where_the_curves_cross() {
        let steady = history(|step| -(step as f64), 1.0);
        let late = history(|step| -2.0 * (step as f64 - 250.0).max(0.0), 1.0);
        let found = found(&[steady, late]);
        let [(first, [from, end]), (second, [begin, to])] = &found[..] else { panic!("two intervals: {found:?}") };
        assert_eq!([first, second], [&[0], &[1]]);
        assert!(*from < 20.0 && (490.0..=500.0).contains(end), "{from} to {end}");
        assert!((500.0..520.0).contains(begin) && *to == 1000.0, "{begin} to {to}");
    }

    #[test]
    fn equal_curves_have_no_leader_and_noise_makes_no_turns() {
        let with = |shift: f64| history(move |step| -(step as f64) + 0.2 * (7.0 * step as f64 + shift).sin(), 1.0);
        assert_eq!(found(&[with(0.0), with(1.0)]), []);
        let ahead = history(|step| -1.1 * step as f64, 1.0);
        let ahead = found(&[with(0.0), ahead, with(2.0)]);
        assert!(matches!(&ahead[..], [(leaders, [_, 1000.0])] if leaders[..] == [1]), "{ahead:?}");
    }

    #[test]
    fn two_that_are_equally_far_are_ahead_together() {
        let with = |shift: f64| history(move |step| -(step as f64) + 0.2 * (7.0 * step as f64 + shift).sin(), 1.0);
        let behind = history(|step| -0.5 * step as f64, 1.0);
        let both = found(&[behind, with(0.0), with(1.0)]);
        assert!(matches!(&both[..], [(leaders, [_, 1000.0])] if leaders[..] == [1, 2]), "{both:?}");
    }

    #[test]
    fn a_diverged_optimizer_is_not_ahead_and_a_single_one_neither() {
        let diverged = history(|step| if step < 300 { -3.0 * step as f64 } else { f64::NAN }, 1.0);
        let steady = history(|step| -(step as f64), 1.0);
        let found_of = found(&[steady.clone(), diverged]);
        let [(first, [_, 299.0]), (second, [300.0, 1000.0])] = &found_of[..] else { panic!("{found_of:?}") };
        assert_eq!([first, second], [&[1], &[0]]);
        assert_eq!(found(&[steady]), []);
    }
}
