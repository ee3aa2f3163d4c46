//! How an error reads.

use std::fmt;

use super::Error;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        match (inner.call, inner.code) {
            // The text of a driver problem tells its call and code already.
            _ if inner.problem.is_some() => f.write_str(&inner.message)?,
            (Some(call), Some(code)) => {
                write!(f, "{call} failed: {code:?}")?;
                if let Some(text) = code.description() {
                    write!(f, ": {text}")?;
                }
                if !inner.message.is_empty() {
                    write!(f, ": {}", inner.message)?;
                }
            }
            (Some(call), None) => write!(f, "{call}: {}", inner.message)?,
            (None, _) => f.write_str(&inner.message)?,
        }
        if !inner.facts.is_empty() {
            f.write_str(" (")?;
            for (index, (name, value)) in inner.facts.iter().enumerate() {
                if index > 0 {
                    f.write_str(", ")?;
                }
                write!(f, "{name} {value}")?;
            }
            f.write_str(")")?;
        }
        if let Some(detail) = &inner.detail {
            write!(f, "\n{}", detail.trim_end())?;
        }
        if inner.asynchronous {
            f.write_str("\nThe failure belongs to work queued earlier, not to this call.")?;
            if !inner.suspects.is_empty() {
                f.write_str(" Launches that can be guilty:")?;
                for launch in &inner.suspects {
                    write!(
                        f,
                        "\n  kernel `{}`, grid {}, block {}, {}",
                        launch.kernel,
                        Extent(launch.grid),
                        Extent(launch.block),
                        launch.stream
                    )?;
                }
            }
        }
        if let Some(hint) = &inner.hint {
            write!(f, "\nHint: {hint}.")?;
        }
        Ok(())
    }
}

/// The same text as `Display`: what `unwrap` prints should be readable.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Three extents as `4x2x1`.
pub(crate) struct Extent(pub(crate) [u32; 3]);

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.0;
        write!(f, "{x}x{y}x{z}")
    }
}
