//! Checks the documents: the reference pages match the program, and commands, links and contents are right.

mod commands_page;
mod documents;
mod landscapes_page;
mod markdown;
mod optimizers_page;
mod parameters_page;
mod reference;
mod shell;
