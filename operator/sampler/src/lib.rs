//! The sampler: what a target used, read from the kernel, without touching it.
