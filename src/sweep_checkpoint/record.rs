//! A finished pixel as bytes of a fixed length.

use valleyscope_engine::sweep::{Cell, Comparison, Finished, Gap, Metric, Metrics, Runs, Sampled, SweepSpec};

/// The layout of the records of a sweep.
#[derive(Debug)]
pub(super) struct RecordLayout {
    shape: [usize; 2],
    /// Candidates of each optimizer.
    candidates: Vec<usize>,
    replicates: usize,
    keep_runs: bool,
    /// With adaptive sampling, the metric by which it compares.
    adaptive: Option<Metric>,
}

/// The code for no winner.
const NONE: u32 = u32::MAX;
const NUMBER: usize = size_of::<f64>();
const COUNT: usize = size_of::<u32>();
/// The number of bytes of the checksum that ends a record.
const CHECK: usize = COUNT;

impl RecordLayout {
    pub(super) fn of(spec: &SweepSpec, keep_runs: bool) -> RecordLayout {
        let (shape, candidates, replicates) = (spec.shape(), spec.candidate_counts(), spec.replicates.get());
        RecordLayout {
            shape,
            candidates,
            replicates,
            keep_runs,
            adaptive: (!spec.sampling.is_uniform()).then_some(spec.metric),
        }
    }

    /// Returns a pixel's place, row by row.
    pub(super) fn index(&self, [row, column]: [usize; 2]) -> usize {
        row * self.shape[1] + column
    }

    /// Returns the bytes of a record.
    pub(super) fn length(&self) -> usize {
        let (optimizers, candidates) = (self.candidates.len(), self.candidates.iter().sum::<usize>());
        let pixel_and_replicates = 3 * COUNT;
        let averages_and_deviations = 2 * candidates * 3 * NUMBER;
        let comparisons = 3 * (COUNT + optimizers * 3 * NUMBER);
        let runs = if self.keep_runs { candidates * self.replicates * 3 * NUMBER } else { 0 };
        let sampled = if self.adaptive.is_some() { candidates * COUNT + 2 * optimizers * NUMBER } else { 0 };
        sampled + pixel_and_replicates + averages_and_deviations + optimizers * COUNT + comparisons + runs + CHECK
    }

    /// Returns the pixel of a record, if the record is intact.
    pub(super) fn pixel(&self, record: &[u8]) -> Option<[usize; 2]> {
        let (content, check) = record.split_last_chunk::<CHECK>()?;
        let mut reader = Reader(content);
        let pixel = [reader.count()? as usize, reader.count()? as usize];
        let is_inside = pixel[0] < self.shape[0] && pixel[1] < self.shape[1];
        (is_inside && crc32fast::hash(content) == u32::from_le_bytes(*check)).then_some(pixel)
    }

    /// Appends the record of a pixel computed from all replicates.
    pub(super) fn encode(&self, Finished { pixel, cell, runs }: &Finished, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        let count = |bytes: &mut Vec<u8>, count: usize| {
            bytes.extend(u32::try_from(count).expect("counts of a checked spec fit").to_le_bytes());
        };
        pixel.iter().for_each(|index| count(bytes, *index));
        count(bytes, cell.replicates);
        for table in [&cell.averages, &cell.deviations] {
            table.iter().flatten().flatten().for_each(|number| put(bytes, *number));
        }
        cell.diverged.iter().for_each(|diverged| count(bytes, *diverged as usize));
        for comparison in &cell.comparisons {
            count(bytes, comparison.winner.unwrap_or(NONE as usize));
            for gap in &comparison.gaps {
                [gap.value, gap.error, gap.freedom].iter().for_each(|number| put(bytes, *number));
            }
        }
        if let Some((metric, sampled)) = self.adaptive.zip(cell.sampled.as_ref()) {
            sampled.replicates.iter().flatten().for_each(|replicates| count(bytes, *replicates as usize));
            for numbers in [&cell.comparison(metric).doubts, &sampled.apart] {
                (0..self.candidates.len())
                    .for_each(|index| put(bytes, numbers.get(index).copied().unwrap_or(f64::NAN)));
            }
        }
        for run in runs.iter().filter(|_| self.keep_runs).flatten().flat_map(|runs| &runs.metrics) {
            [run.final_loss, run.smallest_loss, run.depth].iter().for_each(|number| put(bytes, *number));
        }
        bytes.extend(crc32fast::hash(&bytes[start..]).to_le_bytes());
        debug_assert_eq!(bytes.len() - start, self.length());
    }

    /// Returns the contents of a record; `None` if it is damaged.
    pub(super) fn decode(&self, record: &[u8]) -> Option<Finished> {
        let pixel = self.pixel(record)?;
        let mut reader = Reader(&record[2 * COUNT..record.len() - CHECK]);
        let replicates = reader.count().map(|count| count as usize);
        let replicates = replicates.filter(|count| self.adaptive.is_some() || *count == self.replicates)?;
        let averages = reader.table(&self.candidates)?;
        let deviations = reader.table(&self.candidates)?;
        let diverged = self.candidates.iter().map(|_| reader.count()).collect::<Option<_>>()?;
        let mut comparison = || {
            let winner = reader.count()?;
            let gaps = self.candidates.iter().map(|_| {
                let [value, error, freedom] = reader.numbers()?;
                Some(Gap { value, error, freedom })
            });
            let gaps = gaps.collect::<Option<_>>()?;
            let winner = (winner != NONE).then_some(winner as usize);
            winner.is_none_or(|winner| winner < self.candidates.len()).then_some(Comparison {
                winner,
                gaps,
                doubts: Vec::new(),
            })
        };
        let mut comparisons = [comparison()?, comparison()?, comparison()?];
        let sampled = match self.adaptive {
            None => None,
            Some(metric) => {
                let (sampled, doubts) = self.sampled(&mut reader)?;
                comparisons[metric as usize].doubts = doubts;
                Some(sampled)
            }
        };
        let cell = Cell { replicates, averages, deviations, diverged, comparisons, sampled };
        let runs = if self.keep_runs { Some(self.runs(&mut reader)?) } else { None };
        Some(Finished { pixel, cell, runs })
    }

    /// Reads what adaptive sampling has done, and the doubts.
    fn sampled(&self, reader: &mut Reader) -> Option<(Sampled, Vec<f64>)> {
        let mut of_optimizer =
            |candidates: &usize| (0..*candidates).map(|_| reader.count()).collect::<Option<Vec<u32>>>();
        let replicates = self.candidates.iter().map(&mut of_optimizer).collect::<Option<_>>()?;
        let mut known = || {
            let numbers = self.candidates.iter().map(|_| reader.number()).collect::<Option<Vec<f64>>>()?;
            Some(if numbers.iter().all(|number| number.is_nan()) { Vec::new() } else { numbers })
        };
        let doubts = known()?;
        Some((Sampled { replicates, apart: known()?, is_over: true, race: None }, doubts))
    }

    fn runs(&self, reader: &mut Reader) -> Option<Vec<Runs>> {
        let mut of_optimizer = |candidates: usize| {
            let metrics = (0..candidates * self.replicates).map(|_| {
                let [final_loss, smallest_loss, depth] = reader.numbers()?;
                Some(Metrics { final_loss, smallest_loss, depth })
            });
            Some(Runs { replicates: self.replicates, metrics: metrics.collect::<Option<_>>()? })
        };
        self.candidates.iter().map(|&candidates| of_optimizer(candidates)).collect()
    }
}

fn put(bytes: &mut Vec<u8>, number: f64) {
    bytes.extend(number.to_le_bytes());
}

/// The bytes left to read.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn chunk<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (chunk, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*chunk)
    }

    fn count(&mut self) -> Option<u32> {
        self.chunk().map(u32::from_le_bytes)
    }

    fn number(&mut self) -> Option<f64> {
        self.chunk().map(f64::from_le_bytes)
    }

    fn numbers(&mut self) -> Option<[f64; 3]> {
        Some([self.number()?, self.number()?, self.number()?])
    }

    /// Reads three numbers for each candidate of each optimizer.
    fn table(&mut self, candidates: &[usize]) -> Option<Vec<Vec<[f64; 3]>>> {
        candidates.iter().map(|&candidates| (0..candidates).map(|_| self.numbers()).collect()).collect()
    }
}
