//! Sizes and alignments of C++ types, asked from the compiler.

use cuprum_driver_core::Context;

use crate::error::{Error, ErrorKind, Result};
use crate::source::Source;

/// The size and the alignment of a C++ type on a device, bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    /// `sizeof`.
    pub size: usize,
    /// `alignof`.
    pub align: usize,
}

/// The variable that holds what is asked for.
const VARIABLE: &str = "cuprum_layouts";

impl Source {
    /// The layouts of C++ types that this source declares or includes, as `pycuda.characterize.sizeof`: what to hold a Rust type against
    /// that is not derived.
    ///
    /// ```
    /// use cuprum_codegen::Source;
    /// use cuprum_driver_core::Device;
    ///
    /// # fn main() -> Result<(), cuprum_codegen::Error> {
    /// let context = Device::default()?.context()?;
    /// let layouts = Source::new("struct Pair { char tag; double value; };").layouts(&context, &["Pair", "float3", "Pair[4]"])?;
    /// assert_eq!((layouts[0].size, layouts[0].align), (16, 8));
    /// assert_eq!((layouts[1].size, layouts[1].align), (12, 4));
    /// assert_eq!(layouts[2].size, 64);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`SourceModule::new`](crate::SourceModule::new), for a name that is no type for one; [`ErrorKind::Source`] if a name holds a line
    /// break.
    pub fn layouts(&self, context: &Context, types: &[&str]) -> Result<Vec<Layout>> {
        if types.is_empty() {
            return Ok(Vec::new());
        }
        let mut list = String::new();
        for name in types {
            if name.contains(['\n', '\r']) {
                return Err(Error::new(
                    ErrorKind::Source,
                    format!("{name:?} is no name of a type"),
                ));
            }
            list.push_str(&format!("sizeof({name}), alignof({name}),\n"));
        }
        let mut source = self.clone();
        source.text.push_str(&format!(
            "\n#line 1 \"layouts\"\nextern \"C\" {{ __device__ unsigned long long {VARIABLE}[] = {{\n{list}}}; }}\n"
        ));
        let module = source.build(context)?;
        let variable = module.module().global::<u64>(VARIABLE)?;
        let stream = context.default_stream();
        let numbers = variable.read(&stream)?;
        let number = |at: usize| {
            usize::try_from(numbers[at]).expect("a type is smaller than the address space")
        };
        Ok((0..types.len())
            .map(|at| Layout {
                size: number(2 * at),
                align: number(2 * at + 1),
            })
            .collect())
    }
}
