//! The fundamental types of PTX (PTX ISA, section 5.2).

/// What kind of value a [`ScalarType`] holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeClass {
    /// Unsigned integer, or a pack of them.
    Unsigned,
    /// Signed integer, or a pack of them.
    Signed,
    /// Bits without meaning: any register of that width will do.
    Bits,
    /// Floating point, or a pack of such numbers.
    Float,
    /// A predicate.
    Predicate,
    /// An opaque texture, sampler or surface reference.
    Opaque,
}

macro_rules! scalar_types {
    ($( $(#[$meta:meta])* $variant:ident = $text:literal, $bits:literal, $class:ident; )*) => {
        crate::spelled::spelled! {
            /// A type as it stands in opcodes and declarations, packed types (`f16x2`) included.
            pub enum ScalarType { $( $(#[$meta])* $variant = $text, )* }
        }

        impl ScalarType {
            /// Width in bits: 1 for predicates; packs count whole, so `f16x2` has 32.
            #[must_use]
            pub const fn bits(self) -> u32 {
                match self { $( ScalarType::$variant => $bits, )* }
            }

            /// What kind of value this is.
            #[must_use]
            pub const fn class(self) -> TypeClass {
                match self { $( ScalarType::$variant => TypeClass::$class, )* }
            }
        }
    };
}

scalar_types! {
    /// Unsigned, 8 bits.
    U8 = "u8", 8, Unsigned;
    /// Unsigned, 16 bits.
    U16 = "u16", 16, Unsigned;
    /// Unsigned, 32 bits.
    U32 = "u32", 32, Unsigned;
    /// Unsigned, 64 bits.
    U64 = "u64", 64, Unsigned;
    /// Signed, 8 bits.
    S8 = "s8", 8, Signed;
    /// Signed, 16 bits.
    S16 = "s16", 16, Signed;
    /// Signed, 32 bits.
    S32 = "s32", 32, Signed;
    /// Signed, 64 bits.
    S64 = "s64", 64, Signed;
    /// Untyped, 8 bits.
    B8 = "b8", 8, Bits;
    /// Untyped, 16 bits.
    B16 = "b16", 16, Bits;
    /// Untyped, 32 bits.
    B32 = "b32", 32, Bits;
    /// Untyped, 64 bits.
    B64 = "b64", 64, Bits;
    /// Untyped, 128 bits.
    B128 = "b128", 128, Bits;
    /// IEEE half precision.
    F16 = "f16", 16, Float;
    /// Two halves in 32 bits.
    F16x2 = "f16x2", 32, Float;
    /// Brain float: the upper half of an `f32`.
    Bf16 = "bf16", 16, Float;
    /// Two brain floats in 32 bits.
    Bf16x2 = "bf16x2", 32, Float;
    /// IEEE single precision.
    F32 = "f32", 32, Float;
    /// Two singles in 64 bits.
    F32x2 = "f32x2", 64, Float;
    /// IEEE double precision.
    F64 = "f64", 64, Float;
    /// Predicate.
    Pred = "pred", 1, Predicate;
    /// Single precision with a 10-bit mantissa, for tensor instructions.
    Tf32 = "tf32", 32, Float;
    /// Two unsigned 16-bit integers.
    U16x2 = "u16x2", 32, Unsigned;
    /// Two signed 16-bit integers.
    S16x2 = "s16x2", 32, Signed;
    /// Four unsigned 8-bit integers.
    U8x4 = "u8x4", 32, Unsigned;
    /// Four signed 8-bit integers.
    S8x4 = "s8x4", 32, Signed;
    /// Float of 4 exponent and 3 mantissa bits.
    E4m3 = "e4m3", 8, Float;
    /// Float of 5 exponent and 2 mantissa bits.
    E5m2 = "e5m2", 8, Float;
    /// Two `e4m3`.
    E4m3x2 = "e4m3x2", 16, Float;
    /// Two `e5m2`.
    E5m2x2 = "e5m2x2", 16, Float;
    /// Four `e4m3`.
    E4m3x4 = "e4m3x4", 32, Float;
    /// Four `e5m2`.
    E5m2x4 = "e5m2x4", 32, Float;
    /// Two floats of 2 exponent and 1 mantissa bits.
    E2m1x2 = "e2m1x2", 8, Float;
    /// Four `e2m1`.
    E2m1x4 = "e2m1x4", 16, Float;
    /// Two floats of 2 exponent and 3 mantissa bits, each in a byte.
    E2m3x2 = "e2m3x2", 16, Float;
    /// Four `e2m3`.
    E2m3x4 = "e2m3x4", 32, Float;
    /// Two floats of 3 exponent and 2 mantissa bits, each in a byte.
    E3m2x2 = "e3m2x2", 16, Float;
    /// Four `e3m2`.
    E3m2x4 = "e3m2x4", 32, Float;
    /// Two powers of two (8 exponent bits).
    Ue8m0x2 = "ue8m0x2", 16, Float;
    /// A single bit, for tensor instructions.
    B1 = "b1", 1, Bits;
    /// Unsigned, 4 bits, for tensor instructions.
    U4 = "u4", 4, Unsigned;
    /// Signed, 4 bits, for tensor instructions.
    S4 = "s4", 4, Signed;
    /// Texture reference.
    TexRef = "texref", 64, Opaque;
    /// Sampler reference.
    SamplerRef = "samplerref", 64, Opaque;
    /// Surface reference.
    SurfRef = "surfref", 64, Opaque;
}

impl ScalarType {
    /// Size in memory in bytes. Predicates have none in PTX and answer 1; types narrower than a byte answer 1.
    #[must_use]
    pub const fn size(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Whether this is a floating-point type or a pack of such.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self.class(), TypeClass::Float)
    }

    /// Whether this is a signed integer or a pack of such.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self.class(), TypeClass::Signed)
    }

    /// Whether this is an unsigned integer or a pack of such.
    #[must_use]
    pub const fn is_unsigned(self) -> bool {
        matches!(self.class(), TypeClass::Unsigned)
    }

    /// Whether this is a signed or unsigned integer or a pack of such.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        self.is_signed() || self.is_unsigned()
    }

    /// Whether this is a type of bits without meaning.
    #[must_use]
    pub const fn is_bits(self) -> bool {
        matches!(self.class(), TypeClass::Bits)
    }
}

crate::spelled::spelled! {
    /// A state space (PTX ISA, section 5.1), of a variable or of the address an instruction uses.
    ///
    /// The sub-qualified spellings `shared::cta`, `param::entry` and `param::func` mean what the plain ones mean and are folded into them.
    pub enum Space {
        /// Global memory.
        Global = "global",
        /// Shared memory of the own block.
        Shared = "shared",
        /// Shared memory of any block of the cluster.
        SharedCluster = "shared::cluster",
        /// Memory private to the thread.
        Local = "local",
        /// Parameters of kernels and functions.
        Param = "param",
        /// Constant memory.
        Const = "const",
        /// Texture memory (deprecated).
        Tex = "tex",
    }
}

impl Space {
    /// As [`Space::from_spelling`], and also reads the sub-qualified spellings.
    #[must_use]
    pub fn from_qualified(word: &str) -> Option<Space> {
        match word {
            "shared::cta" => Some(Space::Shared),
            "param::entry" | "param::func" => Some(Space::Param),
            _ => Space::from_spelling(word),
        }
    }
}
