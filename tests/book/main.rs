//! The documents: the reference pages are those that the program makes, and commands, links and contents are right.

mod commands_page;
mod documents;
mod markdown;
mod optimizers_page;
mod parameters_page;
mod reference;
mod shell;
