//! Calling an entry of the driver table.

use cuprum_driver_sys::CUresult;

use crate::Error;

/// A driver call that did not succeed, before it becomes an [`Error`]: small, so that paths which only retry or
/// ignore pay nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) call: &'static str,
    /// What the call returned; `None` if the driver lacks the entry.
    pub(crate) code: Option<CUresult>,
}

impl Failure {
    pub(crate) fn is(self, code: CUresult) -> bool {
        self.code == Some(code)
    }

    #[cold]
    pub(crate) fn into_error(self, software: bool) -> Error {
        match self.code {
            Some(code) if software => {
                Error::of_call(self.call, code, true).with_detail(self.software_detail())
            }
            Some(code) => Error::of_call(self.call, code, false),
            None => Error::missing_call(self.call, software),
        }
    }

    /// The software driver's account of this thread's last failing call, if it is of this one.
    #[cfg(feature = "soft")]
    fn software_detail(self) -> Option<String> {
        let text = cuprum_softcuda::last_error()?;
        let text = text.strip_prefix(self.call)?.strip_prefix(": ")?;
        // The code's name is told already.
        let name = self.code.and_then(CUresult::name).unwrap_or_default();
        let text = text
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix(": "))
            .unwrap_or(text);
        (!text.is_empty()).then(|| text.to_owned())
    }

    #[cfg(not(feature = "soft"))]
    fn software_detail(self) -> Option<String> {
        None
    }
}

/// Calls an entry: `call!(driver, cuInit(0))` is a `Result<(), Failure>`. Needs `unsafe`, as the entry does.
macro_rules! call {
    ($driver:expr, $entry:ident($($arg:expr),* $(,)?)) => {
        match $driver.table().$entry {
            Some(entry) => match entry($($arg),*) {
                ::cuprum_driver_sys::CUresult::SUCCESS => Ok(()),
                code => Err($crate::call::Failure { call: stringify!($entry), code: Some(code) }),
            },
            None => Err($crate::call::Failure { call: stringify!($entry), code: None }),
        }
    };
}
pub(crate) use call;
