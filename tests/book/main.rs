//! Checks the documents: the reference pages match the program, and commands, links and contents are right.

mod documents;
mod reference;
