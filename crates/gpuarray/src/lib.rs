//! GPU arrays with lazy, fused expressions.
