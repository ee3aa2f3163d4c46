//! The macro behind every enum whose variants are words of the PTX grammar.

/// Defines an enum together with its spelling in PTX text, both ways.
macro_rules! spelled {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $( $(#[$variant_meta:meta])* $variant:ident = $text:literal, )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $( $(#[$variant_meta])* #[doc = ""] #[doc = concat!("PTX: `", $text, "`.")] $variant, )*
        }

        impl $name {
            /// Every value, in declaration order.
            pub const ALL: &'static [$name] = &[$( $name::$variant, )*];

            /// The word in PTX text, without a leading dot.
            #[must_use]
            pub const fn spelling(self) -> &'static str {
                match self { $( $name::$variant => $text, )* }
            }

            /// The value that PTX text spells `word` (no leading dot), if there is one.
            #[must_use]
            pub fn from_spelling(word: &str) -> Option<Self> {
                match word { $( $text => Some($name::$variant), )* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.spelling())
            }
        }
    };
}

pub(crate) use spelled;
