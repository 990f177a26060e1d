use tch::{Device, Kind};
use valleyscope_training::mnist::Images;

use crate::small_mnist::digits;

#[test]
fn a_batch_holds_the_chosen_images_from_0_to_1() {
    let digits = digits(20, 3);
    let images = Images::new(&digits.images, &digits.labels, Kind::Double, Device::Cpu).unwrap();
    let batch = images.batch(&[4, 19, 0, 7], 2, Kind::Double).unwrap();
    assert_eq!(batch.images.size(), [2, 2, 784]);
    assert_eq!(batch.labels.size(), [2, 2]);
    for (at, image) in [(0, 4), (1, 19), (2, 0), (3, 7)] {
        let found = Vec::<f64>::try_from(batch.images.get(at / 2).get(at % 2)).unwrap();
        let expected: Vec<f64> =
            digits.images[image * 784..][..784].iter().map(|&byte| f64::from(byte) / 255.0).collect();
        assert_eq!(found, expected);
        assert_eq!(batch.labels.int64_value(&[at / 2, at % 2]), i64::from(digits.labels[image]));
    }
    let range = images.range(5..8, Kind::Double).unwrap();
    let chosen = images.batch(&[5, 6, 7], 1, Kind::Double).unwrap();
    assert!(range.images.equal(&chosen.images) && range.labels.equal(&chosen.labels));
}
