//! One launch of one kernel: what goes in, and what must come out.

use std::fmt;

use super::image::{Handle, Image, Object};
use super::lane::{Compare, Lane, compare};
use super::setup::Address;

/// How far a result may be from the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// Bit for bit, any NaN like any other.
    Equal,
    /// The same elements in any order, each bit for bit.
    AnyOrder,
    /// Units in the last place of the reference.
    Ulp(f64),
    /// Absolute difference.
    Absolute(f64),
    /// Difference over the size of the reference.
    Relative(f64),
}

impl Bound {
    /// Twice as much.
    pub(crate) fn doubled(self) -> Self {
        match self {
            Self::Equal | Self::AnyOrder => self,
            Self::Ulp(most) => Self::Ulp(2.0 * most),
            Self::Absolute(most) => Self::Absolute(2.0 * most),
            Self::Relative(most) => Self::Relative(2.0 * most),
        }
    }

    /// A distance in the bound's unit, in words.
    pub(crate) fn apart(self, distance: f64) -> String {
        match self {
            Self::Equal => "equal".to_owned(),
            Self::AnyOrder => "equal in another order".to_owned(),
            Self::Ulp(_) => format!("{distance} ulp apart"),
            Self::Absolute(_) => format!("{distance:e} apart"),
            Self::Relative(_) => format!("{distance:e} of the size apart"),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal => f.write_str("equal"),
            Self::AnyOrder => f.write_str("equal in any order"),
            Self::Ulp(most) => write!(f, "within {most} ulp"),
            Self::Absolute(most) => write!(f, "within {most:e}"),
            Self::Relative(most) => write!(f, "within {most:e} of its size"),
        }
    }
}

type Judge = Box<dyn Fn(&[u8]) -> Result<(), String> + Send + Sync>;

/// What must be in a buffer after the launch.
pub(crate) enum Expected {
    /// It is only read, so its contents stay.
    Unchanged,
    /// These values.
    Values {
        want: Vec<u8>,
        bound: Bound,
        compare: Compare,
    },
    /// Each element is one of these, bit for bit: where the compiler may contract a product and a sum, or not. All have
    /// the same length.
    OneOf {
        wants: Vec<Vec<u8>>,
        compare: Compare,
        width: usize,
    },
    /// Whatever the closure accepts: for results that are not determined. Devices are not compared.
    Judged { what: &'static str, judge: Judge },
}

impl fmt::Debug for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unchanged => f.write_str("Unchanged"),
            Self::Values { want, bound, .. } => write!(f, "{} bytes, {bound}", want.len()),
            Self::OneOf { wants, .. } => write!(f, "one of {}", wants.len()),
            Self::Judged { what, .. } => f.write_str(what),
        }
    }
}

/// Memory that a case uses: an argument of the kernel, or a variable of the module.
#[derive(Debug)]
pub(crate) struct Memory {
    /// Name in messages; of a variable, its name in the module.
    pub(crate) name: String,
    pub(crate) initial: Vec<u8>,
    pub(crate) expected: Expected,
}

#[derive(Debug)]
pub(crate) enum Argument {
    /// The address of the buffer of this index, plus an offset in bytes.
    Buffer(usize, u64),
    /// What this variable of the module holds at this offset: an address.
    Variable(String, usize),
    Bytes(Vec<u8>),
    /// The handle of the texture or surface of this index.
    Object(usize),
}

/// One launch of one kernel of the corpus: inputs, shape, and what an independent computation on the host says must
/// come out. Arguments are given in the kernel's order.
#[derive(Debug)]
pub struct Case {
    pub(crate) source: &'static str,
    pub(crate) kernel: String,
    pub(crate) variant: String,
    pub(crate) grid: (u32, u32, u32),
    pub(crate) block: (u32, u32, u32),
    pub(crate) shared_bytes: u32,
    pub(crate) cooperative: bool,
    pub(crate) stack_bytes: usize,
    pub(crate) alone: bool,
    pub(crate) linked: Option<&'static str>,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) buffers: Vec<Memory>,
    pub(crate) globals: Vec<Memory>,
    pub(crate) addresses: Vec<Address>,
    pub(crate) images: Vec<Image>,
    pub(crate) objects: Vec<Object>,
    pub(crate) handles: Vec<Handle>,
    pub(crate) printed: Option<Vec<String>>,
    /// Whether the driver's compiler may contract a product and a sum.
    pub(crate) contracts: bool,
}

/// What an output holds before the launch, so that what a kernel leaves out is seen.
const UNWRITTEN: u8 = 0xa5;

impl Case {
    /// A launch of `kernel` (its name in the PTX) of `corpus/<source>.cu`, on one block of 32 threads until told otherwise.
    #[must_use]
    pub fn new(source: &'static str, kernel: impl Into<String>) -> Self {
        Self {
            source,
            kernel: kernel.into(),
            variant: String::new(),
            grid: (1, 1, 1),
            block: (32, 1, 1),
            shared_bytes: 0,
            cooperative: false,
            stack_bytes: 0,
            alone: false,
            linked: None,
            arguments: Vec::new(),
            buffers: Vec::new(),
            globals: Vec::new(),
            addresses: Vec::new(),
            images: Vec::new(),
            objects: Vec::new(),
            handles: Vec::new(),
            printed: None,
            contracts: false,
        }
    }

    /// Tells cases of one kernel apart.
    #[must_use]
    pub fn variant(mut self, name: impl Into<String>) -> Self {
        self.variant = name.into();
        self
    }

    /// Blocks and threads of a block, in x.
    #[must_use]
    pub fn shape(self, grid: u32, block: u32) -> Self {
        self.shape_3d((grid, 1, 1), (block, 1, 1))
    }

    /// Blocks and threads of a block.
    #[must_use]
    pub fn shape_3d(mut self, grid: (u32, u32, u32), block: (u32, u32, u32)) -> Self {
        (self.grid, self.block) = (grid, block);
        self
    }

    /// Dynamic shared memory in bytes.
    #[must_use]
    pub fn shared_bytes(mut self, bytes: u32) -> Self {
        self.shared_bytes = bytes;
        self
    }

    /// A cooperative launch: all blocks are resident at once.
    #[must_use]
    pub fn cooperative(mut self) -> Self {
        self.cooperative = true;
        self
    }

    /// The next argument: a value.
    #[must_use]
    pub fn scalar<T: Lane>(mut self, value: T) -> Self {
        self.arguments
            .push(Argument::Bytes(bytemuck::bytes_of(&value).to_vec()));
        self
    }

    /// The next argument: a value of any type, by its bytes.
    #[must_use]
    pub fn bytes(mut self, value: &[u8]) -> Self {
        self.arguments.push(Argument::Bytes(value.to_vec()));
        self
    }

    /// The next argument: memory that stays as it is.
    #[must_use]
    pub fn input<T: Lane>(self, values: &[T]) -> Self {
        self.memory(values, Expected::Unchanged)
    }

    /// The next argument: memory that must hold `want` after the launch, to be written as a whole.
    #[must_use]
    pub fn output<T: Lane>(self, want: &[T], bound: Bound) -> Self {
        let initial = vec![UNWRITTEN; size_of_val(want)];
        let expected = values(want, bound);
        self.memory(&initial, expected)
    }

    /// The next argument: memory whose every element must be that of one of `wants`, bit for bit.
    ///
    /// # Panics
    /// If there are none, or if they have different lengths.
    #[must_use]
    pub fn output_one_of<T: Lane>(self, wants: &[Vec<T>]) -> Self {
        let len = wants.first().expect("there is a reference").len();
        assert!(wants.iter().all(|want| want.len() == len));
        let initial = vec![UNWRITTEN; len * size_of::<T>()];
        self.memory(
            &initial,
            Expected::OneOf {
                wants: wants
                    .iter()
                    .map(|want| bytemuck::cast_slice(want).to_vec())
                    .collect(),
                compare: compare::<T>,
                width: size_of::<T>(),
            },
        )
    }

    /// The PTX leaves the rounding between a product and a sum open (`mul.f16` without `.rn`), so that the driver's compiler
    /// may contract them: devices may differ where each is one of the references.
    #[must_use]
    pub fn contracts(mut self) -> Self {
        self.contracts = true;
        self
    }

    /// The next argument: memory that holds `initial` before and `want` after the launch.
    #[must_use]
    pub fn update<T: Lane>(self, initial: &[T], want: &[T], bound: Bound) -> Self {
        let expected = values(want, bound);
        self.memory(initial, expected)
    }

    /// The next argument: memory whose contents after the launch are not determined; `what` says what is asked of them.
    #[must_use]
    pub fn judged<T: Lane>(
        self,
        initial: &[T],
        what: &'static str,
        judge: impl Fn(&[T]) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        let judge: Judge = Box::new(move |bytes| {
            let elements: Vec<T> = bytes
                .chunks_exact(size_of::<T>())
                .map(bytemuck::pod_read_unaligned)
                .collect();
            judge(&elements)
        });
        self.memory(initial, Expected::Judged { what, judge })
    }

    /// The next argument: the address of the buffer that was the `index`-th one (from 0) given, plus `offset` bytes.
    ///
    /// # Panics
    /// If fewer buffers were given.
    #[must_use]
    pub fn again(mut self, index: usize, offset: u64) -> Self {
        assert!(index < self.buffers.len(), "no buffer {index} was given");
        self.arguments.push(Argument::Buffer(index, offset));
        self
    }

    /// Writes a variable of the module before the launch. It must hold the same after it.
    #[must_use]
    pub fn global<T: Lane>(self, name: &str, values: &[T]) -> Self {
        self.variable(name, values, Expected::Unchanged)
    }

    /// Writes a variable of the module before the launch, and looks for `want` in it after.
    #[must_use]
    pub fn global_update<T: Lane>(
        self,
        name: &str,
        initial: &[T],
        want: &[T],
        bound: Bound,
    ) -> Self {
        let expected = values(want, bound);
        self.variable(name, initial, expected)
    }

    /// Lines that the kernel prints, in any order. What follows an ellipsis (…) is not determined.
    #[must_use]
    pub fn prints(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.printed = Some(lines.into_iter().collect());
        self
    }

    /// The source, without its ending.
    #[must_use]
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// The kernel and the variant: `k_add (empty)`.
    #[must_use]
    pub fn name(&self) -> String {
        if self.variant.is_empty() {
            self.kernel.clone()
        } else {
            format!("{} ({})", self.kernel, self.variant)
        }
    }

    /// The kernel's name in the PTX.
    #[must_use]
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// The lines that the kernel prints, if that is part of what is claimed.
    #[must_use]
    pub fn printed(&self) -> Option<&[String]> {
        self.printed.as_deref()
    }

    fn memory<T: Lane>(mut self, values: &[T], expected: Expected) -> Self {
        self.arguments.push(Argument::Buffer(self.buffers.len(), 0));
        self.buffers.push(Memory {
            name: format!("argument {}", self.arguments.len() - 1),
            initial: bytemuck::cast_slice(values).to_vec(),
            expected,
        });
        self
    }

    fn variable<T: Lane>(mut self, name: &str, values: &[T], expected: Expected) -> Self {
        self.globals.push(Memory {
            name: name.to_owned(),
            initial: bytemuck::cast_slice(values).to_vec(),
            expected,
        });
        self
    }
}

fn values<T: Lane>(want: &[T], bound: Bound) -> Expected {
    Expected::Values {
        want: bytemuck::cast_slice(want).to_vec(),
        bound,
        compare: compare::<T>,
    }
}
