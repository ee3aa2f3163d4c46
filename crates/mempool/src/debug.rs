//! Where live blocks were allocated, for pools that are asked to remember it.

use std::backtrace::Backtrace;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::report::Group;

/// How many frames of the caller tell where a block was allocated.
const FRAMES: usize = 4;

/// The live blocks by address, with where they were allocated.
#[derive(Debug, Default)]
pub(crate) struct Sites {
    live: HashMap<u64, (u64, Arc<str>)>,
    /// One copy of each text.
    texts: HashMap<Arc<str>, usize>,
}

impl Sites {
    pub(crate) fn insert(&mut self, address: u64, bytes: u64, site: String) {
        let text: Arc<str> = match self.texts.get_key_value(site.as_str()) {
            Some((text, _)) => Arc::clone(text),
            None => site.into(),
        };
        *self.texts.entry(Arc::clone(&text)).or_default() += 1;
        self.live.insert(address, (bytes, text));
    }

    pub(crate) fn remove(&mut self, address: u64) {
        if let Some((_, text)) = self.live.remove(&address)
            && let Some(count) = self.texts.get_mut(&text)
        {
            *count -= 1;
            if *count == 0 {
                self.texts.remove(&text);
            }
        }
    }

    /// The live blocks by place, those with most bytes first.
    pub(crate) fn groups(&self) -> Vec<Group> {
        let mut sums = BTreeMap::<&str, (u64, u64)>::new();
        #[allow(
            clippy::iter_over_hash_type,
            reason = "sums do not depend on the order"
        )]
        for (bytes, text) in self.live.values() {
            let sum = sums.entry(text).or_default();
            sum.0 += 1;
            sum.1 += bytes;
        }
        let mut groups: Vec<Group> = sums
            .into_iter()
            .map(|(site, (blocks, bytes))| Group {
                site: site.to_owned(),
                blocks,
                bytes,
            })
            .collect();
        groups.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.site.cmp(&b.site)));
        groups
    }
}

/// The innermost frames of the caller's program, one a line.
pub(crate) fn here() -> String {
    callers(&Backtrace::force_capture().to_string())
}

/// The first frames of a printed backtrace that are neither of this library nor of the standard library.
fn callers(backtrace: &str) -> String {
    let mut frames: Vec<(String, Option<&str>)> = Vec::new();
    for line in backtrace.lines().map(str::trim) {
        if let Some(place) = line.strip_prefix("at ") {
            if let Some(frame) = frames.last_mut() {
                frame.1 = Some(place);
            }
        } else if let Some((number, name)) = line.split_once(": ")
            && number.parse::<u32>().is_ok()
        {
            frames.push((without_hash(name).to_owned(), None));
        }
    }
    let ours = |name: &str| {
        let name = name.trim_start_matches('<').trim_start_matches('&');
        [
            "cuprum_",
            "std::",
            "core::",
            "alloc::",
            "backtrace",
            "__rust",
            "rust_begin",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix))
    };
    let text: Vec<String> = frames
        .iter()
        .filter(|(name, _)| !ours(name))
        .take(FRAMES)
        .map(|(name, place)| match place {
            Some(place) => format!("{name} at {place}"),
            None => name.clone(),
        })
        .collect();
    if text.is_empty() {
        "(unknown)".to_owned()
    } else {
        text.join("\n")
    }
}

/// A symbol without the hash that ends it.
fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => {
            path
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_callers_of_a_backtrace_are_those_of_the_program() {
        let text = "   0: std::backtrace::Backtrace::force_capture::h0123456789abcdef
             at /rustc/library/std/src/backtrace.rs:312:9
   1: cuprum_mempool::debug::here
             at ./src/debug.rs:60:15
   2: <cuprum_mempool::shard::Shard as cuprum_driver_core::memory::allocator::Allocator>::allocate
   3: model::layers::forward::h00112233445566aa
             at ./src/layers.rs:10:5
   4: core::ops::function::FnOnce::call_once
   5: model::main
             at ./src/main.rs:3:1
";
        assert_eq!(
            callers(text),
            "model::layers::forward at ./src/layers.rs:10:5\nmodel::main at ./src/main.rs:3:1"
        );
        assert_eq!(callers("disabled backtrace"), "(unknown)");
    }

    #[test]
    fn groups_are_sums_by_place() {
        let mut sites = Sites::default();
        for (address, bytes, site) in [(1, 10, "a"), (2, 5, "b"), (3, 5, "b"), (4, 1, "c")] {
            sites.insert(address, bytes, site.to_owned());
        }
        sites.remove(4);
        let groups: Vec<_> = sites
            .groups()
            .into_iter()
            .map(|group| (group.site, group.blocks, group.bytes))
            .collect();
        assert_eq!(groups, [("a".to_owned(), 1, 10), ("b".to_owned(), 2, 10)]);
        assert_eq!(sites.texts.len(), 2, "texts of dead blocks are gone");
    }
}
