//! One error for programs that use several parts.

use std::fmt;

/// What any part of Cuprum can answer instead of working: the error of that part, one pointer wide.
///
/// Every part's error converts into it, so a program that uses several parts writes `fn main() -> cuprum::Result<()>`.
/// [`Error::part`] tells them apart.
pub struct Error(Box<Part>);

/// The result of a call into any part.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Which part an [`Error`] is of, with that part's own error.
#[derive(Debug)]
#[non_exhaustive]
pub enum Part {
    /// The driver, or `cuprum-driver-core`.
    Driver(cuprum_driver_core::Error),
    /// Compiling CUDA C++.
    Codegen(cuprum_codegen::Error),
    /// Arrays and their expressions.
    Array(cuprum_gpuarray::Error),
}

impl Error {
    /// The part's own error.
    #[must_use]
    pub fn part(&self) -> &Part {
        &self.0
    }

    fn inner(&self) -> &(dyn std::error::Error + 'static) {
        match &*self.0 {
            Part::Driver(error) => error,
            Part::Codegen(error) => error,
            Part::Array(error) => error,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.inner(), f)
    }
}

// A program whose `main` ends with an error prints its `Debug`: show people the text, not the structure.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.inner(), f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.inner().source()
    }
}

impl From<cuprum_driver_core::Error> for Error {
    fn from(error: cuprum_driver_core::Error) -> Self {
        Self(Box::new(Part::Driver(error)))
    }
}

impl From<cuprum_codegen::Error> for Error {
    fn from(error: cuprum_codegen::Error) -> Self {
        Self(Box::new(Part::Codegen(error)))
    }
}

impl From<cuprum_gpuarray::Error> for Error {
    fn from(error: cuprum_gpuarray::Error) -> Self {
        Self(Box::new(Part::Array(error)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_one_pointer_wide() {
        assert_eq!(size_of::<Error>(), size_of::<*const ()>());
        assert_eq!(
            size_of::<cuprum_driver_core::Error>(),
            size_of::<*const ()>()
        );
        assert_eq!(size_of::<cuprum_codegen::Error>(), size_of::<*const ()>());
        assert_eq!(size_of::<cuprum_gpuarray::Error>(), size_of::<*const ()>());
    }
}
