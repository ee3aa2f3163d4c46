//! How much a pool holds: traces of allocations, and what the best of simple allocators needs for them.

pub mod best_fit;
pub mod trace;
