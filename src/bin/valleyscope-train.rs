//! The worker that trains. It is started by `valleyscope train` and by the window, and lives apart from them.

fn main() {
    println!("cuda {}", tch::Cuda::is_available());
}
