//! `valleyscope sweep` and `valleyscope figure`: the real program, what it writes, and that nothing is lost
//! when it is stopped.

mod figures;
mod inputs;
mod parts;
mod place;
mod results;
mod stopped;
