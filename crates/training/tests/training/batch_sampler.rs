use proptest::prelude::*;
use valleyscope_engine::random::Key;
use valleyscope_training::mnist::BatchSampler;

proptest! {
    #[test]
    fn an_epoch_has_every_image_once(images in 1_u32..300, batch in 1_u32..64, seed: u64) {
        let mut sampler = BatchSampler::new(Key::new(seed), images, batch);
        let batches = u64::from(images.div_ceil(batch));
        for epoch in 0..3 {
            let parts: Vec<Vec<u32>> = (0..batches).map(|step| sampler.batch(epoch * batches + step).to_vec()).collect();
            prop_assert!(parts[..parts.len() - 1].iter().all(|part| part.len() == batch as usize));
            let mut seen = parts.concat();
            seen.sort_unstable();
            prop_assert_eq!(seen, (0..images).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_batch_does_not_depend_on_those_before(seed: u64, step in 0_u64..100) {
        let mut through = BatchSampler::new(Key::new(seed), 50, 7);
        let last = (0..=step).map(|step| through.batch(step).to_vec()).last().unwrap();
        let mut at_once = BatchSampler::new(Key::new(seed), 50, 7);
        prop_assert_eq!(at_once.batch(step), &last[..]);
    }
}

#[test]
fn epochs_and_keys_have_different_orders() {
    let epoch = |seed, epoch| BatchSampler::new(Key::new(seed), 1000, 1000).batch(epoch).to_vec();
    assert_ne!(epoch(0, 0), epoch(0, 1));
    assert_ne!(epoch(0, 0), epoch(1, 0));
    // Over many orders each image comes first equally often: chi square with 9 degrees of freedom.
    let mut first = [0.0_f64; 10];
    for seed in 0..2000 {
        first[BatchSampler::new(Key::new(seed), 10, 10).batch(0)[0] as usize] += 1.0;
    }
    let chi_square: f64 = first.iter().map(|count| (count - 200.0).powi(2) / 200.0).sum();
    assert!(chi_square < 30.0, "{chi_square}");
}
