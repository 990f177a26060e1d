use valleyscope::dataset::mnist::{Found, Origin, check, read_folder};

use crate::data_folder::data_folder;

#[test]
fn the_real_digits_are_those_that_everybody_knows() {
    let Some(folder) = data_folder("the_real_digits_are_those_that_everybody_knows") else { return };
    let mnist = read_folder(&folder).unwrap();
    assert_eq!(mnist.origin, Origin::Official(folder.clone()));
    assert_eq!([mnist.train.labels.len(), mnist.test.labels.len()], [60_000, 10_000]);
    assert_eq!(mnist.train.labels[..10], [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]);
    assert_eq!(mnist.test.labels[..10], [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]);
    let count = |digit| mnist.train.labels.iter().filter(|&&label| label == digit).count();
    let counts: Vec<usize> = (0..10).map(count).collect();
    assert_eq!(counts, [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]);
    let pixels = mnist.train.images.len() as f64;
    let moment =
        |power: i32| mnist.train.images.iter().map(|&p| (f64::from(p) / 255.0).powi(power)).sum::<f64>() / pixels;
    let mean = moment(1);
    let deviation = (moment(2) - mean * mean).sqrt();
    assert!((mean - 0.1307).abs() < 5e-5 && (deviation - 0.3081).abs() < 5e-5, "{mean} {deviation}");

    let found = check(&folder).unwrap();
    let missing = found.iter().filter(|check| matches!(check.found, Found::Missing)).count();
    assert_eq!(missing, 0);
}
