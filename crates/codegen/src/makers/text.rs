//! What the makers' sources have in common.

use cuprum_driver_core::{Context, DeviceAttribute};

use crate::code::Code;
use crate::error::Result;
use crate::source::Source;

/// The threads of a block.
pub(super) const THREADS: u32 = 256;

/// Shuffles of any type, word by word, and a minimum without a header.
///
/// A value is copied into whole words, of which the last may be filled up; a type of one word costs one shuffle, as CUDA's own overloads do.
pub(super) const SHUFFLES: &str = r"
namespace cuprum_detail {
template <class T> union words {
    static constexpr int count = (sizeof(T) + 3) / 4;
    unsigned w[count];
    T v;
    __device__ words() {}
};
template <class T> __device__ inline T cuprum_shuffle_down(const T &value, int distance) {
    words<T> from, to;
    from.w[words<T>::count - 1] = 0;
    from.v = value;
#pragma unroll
    for (int k = 0; k < words<T>::count; ++k) to.w[k] = __shfl_down_sync(0xffffffffu, from.w[k], distance);
    return to.v;
}
template <class T> __device__ inline T cuprum_shuffle_up(const T &value, int distance) {
    words<T> from, to;
    from.w[words<T>::count - 1] = 0;
    from.v = value;
#pragma unroll
    for (int k = 0; k < words<T>::count; ++k) to.w[k] = __shfl_up_sync(0xffffffffu, from.w[k], distance);
    return to.v;
}
}
";

/// A text of the user's, so that the compiler's messages and line tables name the part and its own lines and columns. What ends it stands
/// on a line of its own, because the text may end in a comment, and still counts as the part's.
pub(super) fn part(code: &mut Code, name: &str, text: &str, end: &str) {
    if text.is_empty() && end.is_empty() {
        return;
    }
    code.line(format!("#line 1 \"{name}\""))
        .verbatim(text)
        .line(end)
        .line("#line 1 \"cuprum\"");
}

/// `return (expression);`.
pub(super) fn expression(code: &mut Code, name: &str, text: &str) {
    // A list in braces makes a structure, and takes no brackets.
    if text.trim_start().starts_with('{') {
        code.line("return");
        part(code, name, text, ";");
    } else {
        code.line("return (");
        part(code, name, text, ");");
    }
}

/// The parts that every maker's builder has.
#[derive(Debug, Clone)]
pub(super) struct Common {
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) any_length: Vec<String>,
    pub(super) preamble: String,
    /// Options, declared types, the cache: a source without text.
    pub(super) source: Source,
}

impl Common {
    pub(super) fn new(name: &str, arguments: String) -> Self {
        Self {
            name: name.to_owned(),
            arguments,
            any_length: Vec::new(),
            preamble: String::new(),
            source: Source::new(""),
        }
    }

    /// The source with this text.
    pub(super) fn with_text(&self, text: String) -> Source {
        let mut source = self.source.clone().file_name(format!("{}.cu", self.name));
        source.text = text;
        source
    }
}

/// The builder methods that every maker has.
macro_rules! common_methods {
    () => {
        /// The kernel's name, for messages and profilers.
        pub fn name(mut self, name: impl Into<String>) -> Self {
            self.common.name = name.into();
            self
        }

        /// Vectors whose length need not be that of the others: tables that the expressions look things up in.
        pub fn any_length<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
            self.common
                .any_length
                .extend(names.into_iter().map(Into::into));
            self
        }

        /// Code before the kernel: includes, functions, types.
        pub fn preamble(mut self, code: impl Into<String>) -> Self {
            self.common.preamble = code.into();
            self
        }

        /// Declares a Rust type, so that arguments and expressions can use it.
        ///
        /// # Panics
        /// If another type was declared by the same name.
        pub fn declare<D: $crate::repr::DeviceRepr>(mut self) -> Self {
            self.common.source = self.common.source.declare::<D>();
            self
        }

        /// A compiler option.
        pub fn option(mut self, option: impl Into<String>) -> Self {
            self.common.source = self.common.source.option(option);
            self
        }

        /// Changes how the source is compiled: include directories, headers, the cache.
        pub fn source_with(
            mut self,
            change: impl FnOnce($crate::source::Source) -> $crate::source::Source,
        ) -> Self {
            self.common.source = change(self.common.source);
            self
        }
    };
}
pub(super) use common_methods;

/// How many blocks keep a device busy with `blocks` blocks' worth of work.
pub(super) fn blocks(context: &Context, wanted: usize, per_multiprocessor: u32) -> Result<u32> {
    let multiprocessors = context
        .device()
        .attribute(DeviceAttribute::MULTIPROCESSOR_COUNT)?
        .max(1)
        .unsigned_abs();
    let most = multiprocessors.saturating_mul(per_multiprocessor);
    Ok(u32::try_from(wanted).map_or(most, |wanted| wanted.clamp(1, most)))
}
