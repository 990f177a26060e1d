//! `valleyscope data`: the data of real trainings.

mod mnist;
mod openwebtext;
mod text;
mod tokens;

use clap::Subcommand;

use super::Failure;

#[derive(Subcommand)]
pub(super) enum DataCommand {
    /// Download MNIST, or check the files that exist
    ///
    /// The four files go into the cache, where trainings look for them. Existing files are not downloaded again, and an
    /// interrupted download continues where it stopped.
    Mnist(mnist::MnistArgs),
    /// Make tokens of text, for language models
    ///
    /// The folder gets train.bin and val.bin, tokens of two bytes each as nanoGPT reads them, and meta.json, which
    /// describes them. The last characters of the text are for validation. With GPT-2's tokens, an end-of-text token
    /// separates files. The same command resumes interrupted work; the same text gives the same bytes.
    Text(text::TextArgs),
    /// Make GPT-2's tokens of OpenWebText
    ///
    /// Its archive of 12.9 GB is downloaded into the folder first, and can be deleted afterwards. The folder gets the
    /// same files as by `data text`, together 18 GB. One in 2,000 documents is for validation. The same command resumes
    /// an interrupted download or tokenization.
    Openwebtext(openwebtext::OpenWebTextArgs),
}

pub(super) fn run(command: &DataCommand) -> Result<(), Failure> {
    match command {
        DataCommand::Mnist(args) => mnist::run(args),
        DataCommand::Text(args) => text::run(args),
        DataCommand::Openwebtext(args) => openwebtext::run(args),
    }
}
