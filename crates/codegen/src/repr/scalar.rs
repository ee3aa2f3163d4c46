//! Scalar types and their names in both languages.

use half::{bf16, f16};

use super::{CType, Declarations, DeviceRepr};

/// A scalar type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Scalar {
    /// One byte, 0 or 1.
    Bool,
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 16 bits.
    I16,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 32 bits.
    I32,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE 754 binary16.
    F16,
    /// The upper half of a binary32.
    Bf16,
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
}

/// A row of the table of names.
struct Names {
    scalar: Scalar,
    rust: &'static str,
    /// The name in CUDA C++.
    c: &'static str,
    bytes: usize,
    /// Other names of the same type on 64-bit Linux, where `long` has 64 bits.
    aliases: &'static [&'static str],
}

const NAMES: [Names; 13] = [
    Names {
        scalar: Scalar::Bool,
        rust: "bool",
        c: "bool",
        bytes: 1,
        aliases: &[],
    },
    Names {
        scalar: Scalar::I8,
        rust: "i8",
        c: "signed char",
        bytes: 1,
        aliases: &["char", "int8_t", "std::int8_t"],
    },
    Names {
        scalar: Scalar::U8,
        rust: "u8",
        c: "unsigned char",
        bytes: 1,
        aliases: &["uchar", "uint8_t", "std::uint8_t"],
    },
    Names {
        scalar: Scalar::I16,
        rust: "i16",
        c: "short",
        bytes: 2,
        aliases: &["int16_t", "std::int16_t"],
    },
    Names {
        scalar: Scalar::U16,
        rust: "u16",
        c: "unsigned short",
        bytes: 2,
        aliases: &["ushort", "uint16_t", "std::uint16_t"],
    },
    Names {
        scalar: Scalar::I32,
        rust: "i32",
        c: "int",
        bytes: 4,
        aliases: &["int32_t", "std::int32_t"],
    },
    Names {
        scalar: Scalar::U32,
        rust: "u32",
        c: "unsigned int",
        bytes: 4,
        aliases: &["uint", "uint32_t", "std::uint32_t"],
    },
    Names {
        scalar: Scalar::I64,
        rust: "i64",
        c: "long long",
        bytes: 8,
        aliases: &[
            "long",
            "int64_t",
            "std::int64_t",
            "ptrdiff_t",
            "std::ptrdiff_t",
        ],
    },
    Names {
        scalar: Scalar::U64,
        rust: "u64",
        c: "unsigned long long",
        bytes: 8,
        aliases: &[
            "unsigned long",
            "ulong",
            "uint64_t",
            "std::uint64_t",
            "size_t",
            "std::size_t",
        ],
    },
    Names {
        scalar: Scalar::F16,
        rust: "f16",
        c: "__half",
        bytes: 2,
        aliases: &["half"],
    },
    Names {
        scalar: Scalar::Bf16,
        rust: "bf16",
        c: "__nv_bfloat16",
        bytes: 2,
        aliases: &["nv_bfloat16"],
    },
    Names {
        scalar: Scalar::F32,
        rust: "f32",
        c: "float",
        bytes: 4,
        aliases: &[],
    },
    Names {
        scalar: Scalar::F64,
        rust: "f64",
        c: "double",
        bytes: 8,
        aliases: &[],
    },
];

impl Scalar {
    /// Every scalar type.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|names| names.scalar)
    }

    /// Its name in CUDA C++.
    #[must_use]
    pub fn c_name(self) -> &'static str {
        self.names().c
    }

    /// Its name in Rust.
    #[must_use]
    pub fn rust_name(self) -> &'static str {
        self.names().rust
    }

    /// Its size in bytes.
    #[must_use]
    pub fn size(self) -> usize {
        self.names().bytes
    }

    /// The scalar type of a C++ name, in any of its spellings: `unsigned`, `long unsigned int`, `uint32_t`. `long` has 64
    /// bits, as it has for NVRTC on Linux.
    #[must_use]
    pub fn from_c_name(name: &str) -> Option<Self> {
        let mut words: Vec<&str> = name.split_whitespace().collect();
        let find = |name: &str| {
            NAMES
                .iter()
                .find(|names| names.c == name || names.aliases.contains(&name))
                .map(|names| names.scalar)
        };
        if let [word] = words[..]
            && !matches!(word, "unsigned" | "signed")
        {
            return find(word);
        }
        // The words of an integer type come in any order.
        let mut take = |word: &str| {
            let before = words.len();
            words.retain(|other| *other != word);
            before - words.len()
        };
        let (unsigned, signed) = (take("unsigned"), take("signed"));
        let (longs, shorts, chars, ints) = (take("long"), take("short"), take("char"), take("int"));
        let none = unsigned + signed + longs + shorts + chars + ints == 0;
        if none || !words.is_empty() || unsigned + signed > 1 || ints > 1 {
            return None;
        }
        let signed_type = match (longs, shorts, chars, ints) {
            (0, 0, 0, _) => Self::I32,
            (1 | 2, 0, 0, _) => Self::I64,
            (0, 1, 0, _) => Self::I16,
            (0, 0, 1, 0) => Self::I8,
            _ => return None,
        };
        Some(match (unsigned, signed_type) {
            (0, signed_type) => signed_type,
            (_, Self::I8) => Self::U8,
            (_, Self::I16) => Self::U16,
            (_, Self::I64) => Self::U64,
            _ => Self::U32,
        })
    }

    /// The scalar type of a Rust name.
    #[must_use]
    pub fn from_rust_name(name: &str) -> Option<Self> {
        NAMES
            .iter()
            .find(|names| names.rust == name)
            .map(|names| names.scalar)
    }

    fn names(self) -> &'static Names {
        &NAMES[self as usize]
    }
}

/// The C++ name.
impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.c_name())
    }
}

macro_rules! scalars {
    ($($ty:ty => $c:expr $(, $header:literal)?;)+) => {
        $(
            // SAFETY: CUDA's type of this name has the size, the alignment and the values of the Rust type (CUDA C++
            // Programming Guide, on 64-bit platforms).
            unsafe impl DeviceRepr for $ty {
                fn c_type() -> CType {
                    CType::named($c)
                }

                fn declare(_declarations: &mut Declarations) {
                    $(_declarations.header($header);)?
                }
            }
        )+
    };
}

scalars! {
    bool => Scalar::Bool.c_name();
    i8 => Scalar::I8.c_name();
    u8 => Scalar::U8.c_name();
    i16 => Scalar::I16.c_name();
    u16 => Scalar::U16.c_name();
    i32 => Scalar::I32.c_name();
    u32 => Scalar::U32.c_name();
    i64 => Scalar::I64.c_name();
    u64 => Scalar::U64.c_name();
    isize => "ptrdiff_t";
    usize => "size_t";
    f16 => Scalar::F16.c_name(), "cuda_fp16.h";
    bf16 => Scalar::Bf16.c_name(), "cuda_bf16.h";
    f32 => Scalar::F32.c_name();
    f64 => Scalar::F64.c_name();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_go_both_ways() {
        for (index, names) in NAMES.iter().enumerate() {
            assert_eq!(names.scalar as usize, index, "the table is in order");
            for name in names.aliases.iter().chain([&names.c]) {
                assert_eq!(Scalar::from_c_name(name), Some(names.scalar), "{name}");
            }
            assert_eq!(Scalar::from_rust_name(names.rust), Some(names.scalar));
        }
    }

    #[test]
    fn spellings_of_integers() {
        for (name, scalar) in [
            ("unsigned", Some(Scalar::U32)),
            ("signed", Some(Scalar::I32)),
            ("long unsigned int", Some(Scalar::U64)),
            ("int long long", Some(Scalar::I64)),
            ("short int", Some(Scalar::I16)),
            ("unsigned short int", Some(Scalar::U16)),
            ("char unsigned", Some(Scalar::U8)),
            ("long double", None),
            ("unsigned float", None),
            ("unsigned signed", None),
            ("long long long", None),
            ("short long", None),
            ("int int", None),
            ("char int", None),
            ("", None),
            ("float4", None),
        ] {
            assert_eq!(Scalar::from_c_name(name), scalar, "{name}");
        }
    }
}
