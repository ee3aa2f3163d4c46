//! Tests against independent references.
