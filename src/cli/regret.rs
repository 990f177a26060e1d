//! `valleyscope regret`: the bound of the paper's theorem compared with the regret of FOCUS.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use valleyscope_engine::regret::{self, Losses, RegretCurve, Theorem};
use valleyscope_runs::atomic_file::{AtomicFile, Overwrite};

use super::output::{Interrupt, ProgressLine, ProgressUnit, by_ending, cannot_write, print};
use super::{Failure, say, whole};
use crate::draw::{Format, Options};

#[derive(clap::Args)]
pub(super) struct Args {
    /// Steps of each sequence of losses
    #[arg(long, value_name = "N", default_value = "100000", allow_hyphen_values = true, value_parser = whole(1..=1_000_000))]
    steps: u64,
    /// Seed of the losses
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Write all records to this table, replacing the file if it exists
    #[arg(long, value_name = "FILE.csv")]
    out: Option<PathBuf>,
    /// Draw R(T)/√T with the bound into this file, replacing it if it exists
    #[arg(long, value_name = "FILE.png|.svg|.pdf")]
    figure: Option<PathBuf>,
}

const DIMENSIONS: [usize; 3] = [1, 10, 100];
const GAMMAS: [f64; 2] = [0.2, -0.2];
const DPI: f64 = 300.0;

pub(super) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(out) = &args.out {
        by_ending("--out", out, &[("csv", ())])?;
    }
    let formats = Format::ALL.map(|format| (format.extension(), format));
    let format = args.figure.as_deref().map(|path| by_ending("--figure", path, &formats)).transpose()?;
    let [table, figure] = [&args.out, &args.figure].map(|out| out.as_deref().map(begin).transpose());
    let (table, figure) = (table?, figure?);
    let curves = curves(args)?;
    if let Some((mut file, path)) = table {
        crate::sweep::regret::write_table(&curves, &mut file).with_context(|| cannot_write(path))?;
        file.commit(Overwrite::Yes).with_context(|| cannot_write(path))?;
    }
    if let (Some((mut file, path)), Some(format)) = (figure, format) {
        let drawing = crate::sweep::regret::figure(&curves).render(&Options::default()).map_err(anyhow::Error::from)?;
        let content = drawing.to_file(format, DPI).map_err(anyhow::Error::from)?;
        file.write_all(&content).and_then(|()| file.commit(Overwrite::Yes)).with_context(|| cannot_write(path))?;
    }
    for path in [&args.out, &args.figure].into_iter().flatten() {
        say(format_args!("Wrote {}", path.display()));
    }
    print(&report(&curves, args.steps))
}

/// Begins a file, so that errors of writing are reported before the work.
fn begin(path: &Path) -> Result<(AtomicFile, &Path), Failure> {
    Ok((AtomicFile::for_target(path).with_context(|| cannot_write(path))?, path))
}

fn curves(args: &Args) -> Result<Vec<RegretCurve>, Failure> {
    let interrupt = Interrupt::listen()?;
    let sequences = || DIMENSIONS.into_iter().flat_map(|dimension| Losses::ALL.map(|losses| (dimension, losses)));
    let mut progress = ProgressLine::new(args.steps * sequences().count() as u64, ProgressUnit::STEPS, true);
    let mut done = 0;
    let mut curves = Vec::new();
    for (dimension, losses) in sequences() {
        let theorems = GAMMAS.map(|gamma| Theorem::usual(dimension, gamma));
        let found = regret::run(losses, &theorems, args.steps, args.seed, || {
            done += 1;
            progress.update(done);
            !interrupt.is_raised()
        });
        let Some(found) = found else {
            progress.finish();
            return Err(Failure::Interrupted);
        };
        curves.extend(found);
    }
    progress.finish();
    Ok(curves)
}

fn report(curves: &[RegretCurve], steps: u64) -> String {
    let mut text = format!("After T = {steps} steps, with η = 1, β₁ = λ_β = λ_γ = 0.9 and the box [−1, 1]^d:\n\n");
    let heading = ["losses", "d", "γ", "R(T)/√T", "bound/√T", "R(T) ~", "R(T) > bound"];
    let [losses, dimension, gamma, regret, bound, growth, above] = heading;
    let mut line = |[losses, d, gamma, regret, bound, growth, above]: [&str; 7]| {
        // Writing into a string does not fail.
        let _ = writeln!(text, "{losses:<11}{d:>4}{gamma:>6}{regret:>12}{bound:>12}{growth:>9}  {above}");
    };
    line([losses, dimension, gamma, regret, bound, growth, above]);
    for curve in curves {
        let Some(last) = curve.records.last() else { continue };
        let root = (last.steps as f64).sqrt();
        line([
            curve.losses.name(),
            &curve.theorem.dimension.to_string(),
            &curve.theorem.shown_gamma(),
            &format!("{:.3}", last.regret / root),
            &format!("{:.1}", last.bound / root),
            &curve.growth().map_or("–".to_owned(), |power| format!("T^{power:.2}")),
            &curve.above_bound_from().map_or("never".to_owned(), |steps| format!("from T = {steps} on")),
        ]);
    }
    let gap = curves.iter().flat_map(|curve| &curve.records).map(|record| record.gap).fold(0.0, f64::max);
    let _ = write!(
        text,
        "\nThe best point is known in closed form; of quadratic losses, R(T) may be too small by {gap:.1e}.\n"
    );
    text.push_str(CONCLUSION);
    text
}

const CONCLUSION: &str = "\
The theorem does not hold as it is printed: of losses that are steep at every third step and slope gently the other way at
the others, R(T) grows in proportion to T. The proof takes |m_t|/η_t to grow with t, which it does not where gradients
differ in size; where all have the same size, as those of absolute losses, R(T)/√T is bounded.
";
