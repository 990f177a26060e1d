//! MNIST: its files, its download, and what is drawn in its place.
