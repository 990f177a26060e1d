//! A file of the races of adaptive sampling that were begun and are not over, beside a checkpoint of the pixels that are.
//!
//! It has the header of a checkpoint; then a record of equal length for each race: row, column and the race's numbers;
//! then the CRC-32 of all before. It is written as a whole or not at all.

use std::io::{self, BufReader, Read, Write};
use std::path::Path;

use valleyscope_engine::sweep::{Diagram, Precision, Race, SweepSpec};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};
use valleyscope_runs::plain_file::{self, Links};

use super::{Identity, LONGEST_HEADER, header, header_text, precision_in, report};

/// The usual name of the file.
pub const RACES: &str = "races.bin";

/// Writes the races of a diagram.
pub fn write_races(path: &Path, diagram: &Diagram, precision: Precision) -> io::Result<()> {
    let spec = diagram.spec();
    let mut file = AtomicFile::for_target(path)?;
    let mut check = crc32fast::Hasher::new();
    let mut bytes = header(&Identity::of(spec, precision, false).text());
    for pixel in spec.pixels() {
        if let Some(race) = diagram.race(pixel) {
            pixel.iter().for_each(|index| bytes.extend((*index as u64).to_le_bytes()));
            race.numbers().iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        }
        check.update(&bytes);
        file.write_all(&bytes)?;
        bytes.clear();
    }
    file.write_all(&check.finalize().to_le_bytes())?;
    file.commit(Overwrite::Yes)
}

/// Races with their pixels.
type Races = Vec<([usize; 2], Race)>;

/// Reads the races of a sweep. Returns why they cannot be used as an error.
pub fn read_races(path: &Path, spec: &SweepSpec, precision: Precision) -> Result<Races, String> {
    read(path, spec, precision).map_err(|error| format!("cannot use {}: {error}", path.display()))
}

fn read(path: &Path, spec: &SweepSpec, precision: Precision) -> io::Result<Races> {
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "it is damaged, or of another sweep or version");
    let mut file = BufReader::with_capacity(1 << 20, plain_file::open(path, Links::Refused)?);
    let length = file.get_ref().metadata()?.len();
    let mut beginning = Vec::new();
    file.by_ref().take(LONGEST_HEADER).read_to_end(&mut beginning)?;
    let Ok(text) = header_text(&beginning) else { return Err(wrong()) };
    let is_same = report::sweep_in(text)
        .is_some_and(|(found, program, _)| found.is_alike_but_for_colors(spec) && program == env!("CARGO_PKG_VERSION"));
    if !is_same || precision_in(text) != Some(precision) {
        return Err(wrong());
    }
    let start = header(text);
    let record = 8 * (2 + Race::number_count(spec));
    let records = length.saturating_sub(start.len() as u64 + 4);
    let mut rest = beginning[start.len()..].chain(file);
    let mut check = crc32fast::Hasher::new();
    check.update(&start);
    let (mut races, mut bytes, [rows, columns]) = (Vec::new(), vec![0; record], spec.shape());
    for _ in 0..records / record as u64 {
        rest.read_exact(&mut bytes)?;
        check.update(&bytes);
        let (pixel, numbers) = bytes.as_chunks().0.split_at(2);
        let [row, column] = [0, 1].map(|side| u64::from_le_bytes(pixel[side]) as usize);
        let numbers: Vec<f64> = numbers.iter().map(|number| f64::from_le_bytes(*number)).collect();
        match Race::of_numbers(spec, &numbers) {
            Some(race) if row < rows && column < columns => races.push(([row, column], race)),
            _ => return Err(wrong()),
        }
    }
    let mut end = Vec::new();
    rest.read_to_end(&mut end)?;
    if end == check.finalize().to_le_bytes() { Ok(races) } else { Err(wrong()) }
}
