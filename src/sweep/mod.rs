//! Sweeps: the threads that compute them, the folder of a result, and runs against the bound of the regret theorem.

pub mod pictures;
pub mod pool;
pub mod regret;
pub mod result;
pub mod titles;
