//! How long libtorch's threads wait for each other before they sleep.
//!
//! Each product of matrices is shared among OpenMP's threads, some twenty times a step, and those that are through wait
//! for the others in a loop. On a machine of its own that is the fastest way. Beside other work it is by far the slowest:
//! a thread that was interrupted waits for a processor while the others use it up for their waiting, up to 17 ms each
//! time. So they sleep after [`SPINS`] rounds, some 20 to 50 µs, which is longer than most of what lies between two
//! products. The numbers of threads and their shares stay, and so does each bit.

/// Rounds of the loop, where nobody has said otherwise.
#[cfg(target_os = "linux")]
const SPINS: &str = "1000";
/// What GNU's OpenMP, which is that of PyTorch on Linux, reads for it. Whoever sets one of them has decided.
#[cfg(target_os = "linux")]
const VARIABLES: [&str; 2] = ["GOMP_SPINCOUNT", "OMP_WAIT_POLICY"];

/// Lets threads wait only briefly. The library looks at its variables before `main` begins, so the program begins once
/// more in the same process, with the same arguments: this comes before anything else. Where that cannot be done, it
/// trains as it is.
#[cfg(target_os = "linux")]
pub fn wait_briefly() {
    use std::env;
    use std::os::unix::process::CommandExt;
    if VARIABLES.iter().any(|variable| env::var_os(variable).is_some()) {
        return;
    }
    let Ok(program) = env::current_exe() else { return };
    let mut arguments = env::args_os();
    let mut command = std::process::Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    let error = command.args(arguments).env(VARIABLES[0], SPINS).exec();
    eprintln!("training is slow beside other work, as the worker cannot begin again to let its threads sleep: {error}");
}

/// Elsewhere libtorch has other threads.
#[cfg(not(target_os = "linux"))]
pub fn wait_briefly() {}
