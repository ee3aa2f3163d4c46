//! The only file of this crate that calls foreign code: NVRTC's functions, resolved by name, behind safe types.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr;

use libloading::Library;

/// `nvrtcResult`: 0 is success. Open, because a newer NVRTC may answer numbers that this one does not know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Code(pub(crate) c_int);

impl Code {
    pub(crate) const SUCCESS: Self = Self(0);
    pub(crate) const INVALID_OPTION: Self = Self(5);
    pub(crate) const COMPILATION: Self = Self(6);
    pub(crate) const BUILTIN_OPERATION_FAILURE: Self = Self(7);

    pub(crate) fn check(self) -> Result<(), Self> {
        if self == Self::SUCCESS {
            Ok(())
        } else {
            Err(self)
        }
    }
}

/// `nvrtcProgram`.
type Handle = *mut c_void;

macro_rules! api {
    (required { $($name:ident : fn($($arg:ty),*) $(-> $ret:ty)?;)* } optional { $($oname:ident : fn($($oarg:ty),*) -> $oret:ty;)* }) => {
        /// NVRTC's functions, each named by its exported symbol. The optional ones are younger than the oldest NVRTC that is accepted.
        #[expect(non_snake_case, reason = "the fields are named by the symbols that they hold")]
        #[derive(Debug)]
        pub(crate) struct Api {
            $($name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
            $($oname: Option<unsafe extern "C" fn($($oarg),*) -> $oret>,)*
        }

        impl Api {
            /// Resolves all functions; the error names the first that is missing.
            fn load(library: &Library) -> Result<Self, String> {
                Ok(Self {
                    $($name: {
                        // SAFETY: the symbol is NVRTC's, and this is its type in nvrtc.h of every version from 11.2 on.
                        let symbol = unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) };
                        *symbol.map_err(|_| format!("it has no function {}", stringify!($name)))?
                    },)*
                    $($oname: {
                        // SAFETY: the symbol is NVRTC's, and this is its type in nvrtc.h of 13.5 and of every version before that has it.
                        let symbol = unsafe { library.get(concat!(stringify!($oname), "\0").as_bytes()) };
                        symbol.ok().map(|symbol| *symbol)
                    },)*
                })
            }
        }
    };
}

api! {
    required {
        nvrtcVersion: fn(*mut c_int, *mut c_int) -> Code;
        nvrtcGetErrorString: fn(Code) -> *const c_char;
        nvrtcGetNumSupportedArchs: fn(*mut c_int) -> Code;
        nvrtcGetSupportedArchs: fn(*mut c_int) -> Code;
        nvrtcCreateProgram: fn(*mut Handle, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char) -> Code;
        nvrtcDestroyProgram: fn(*mut Handle) -> Code;
        nvrtcCompileProgram: fn(Handle, c_int, *const *const c_char) -> Code;
        nvrtcGetPTXSize: fn(Handle, *mut usize) -> Code;
        nvrtcGetPTX: fn(Handle, *mut u8) -> Code;
        nvrtcGetCUBINSize: fn(Handle, *mut usize) -> Code;
        nvrtcGetCUBIN: fn(Handle, *mut u8) -> Code;
        nvrtcGetProgramLogSize: fn(Handle, *mut usize) -> Code;
        nvrtcGetProgramLog: fn(Handle, *mut u8) -> Code;
        nvrtcAddNameExpression: fn(Handle, *const c_char) -> Code;
        nvrtcGetLoweredName: fn(Handle, *const c_char, *mut *const c_char) -> Code;
    }
    optional {
        nvrtcInstallBundledHeaders: fn(*const c_char, c_uint, *mut *const c_char) -> Code;
        nvrtcSetPCHHeapSize: fn(usize) -> Code;
    }
}

/// Opens a library and never closes it: NVRTC keeps threads and tables of its own, and the code of a closed library is gone.
fn open_for_good(path: &Path) -> Result<&'static Library, String> {
    // SAFETY: runs the initialisers of a library that the user named or that lies where NVIDIA's installers put it; that trust is what
    // opening a compiler means. NVRTC's own initialisers only build tables.
    let library = unsafe { Library::new(path) }.map_err(|error| error.to_string())?;
    Ok(Box::leak(Box::new(library)))
}

impl Api {
    /// Opens `builtins`, then `library`, both by path, and resolves the functions.
    ///
    /// The order matters: NVRTC opens its builtins by bare name at the first compilation, which finds the one already open; otherwise
    /// the loader's search could give it that of another version.
    pub(crate) fn open(builtins: &[std::path::PathBuf], library: &Path) -> Result<Self, String> {
        for path in builtins {
            open_for_good(path)?;
        }
        Self::load(open_for_good(library)?)
    }

    /// `nvrtcVersion`.
    pub(crate) fn version(&self) -> Result<(u32, u32), Code> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both pointers are to live integers.
        unsafe { (self.nvrtcVersion)(&raw mut major, &raw mut minor) }.check()?;
        Ok((major.unsigned_abs(), minor.unsigned_abs()))
    }

    /// The architectures it compiles for, ascending: 75, 80, ...
    pub(crate) fn architectures(&self) -> Result<Vec<u32>, Code> {
        let mut count = 0;
        // SAFETY: the pointer is to a live integer.
        unsafe { (self.nvrtcGetNumSupportedArchs)(&raw mut count) }.check()?;
        let mut found: Vec<c_int> = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: the array has the number of elements that NVRTC just asked for.
        unsafe { (self.nvrtcGetSupportedArchs)(found.as_mut_ptr()) }.check()?;
        Ok(found.into_iter().map(c_int::unsigned_abs).collect())
    }

    /// NVRTC's name of a result, `NVRTC_ERROR_COMPILATION`.
    pub(crate) fn describe(&self, code: Code) -> String {
        // SAFETY: takes any value, and answers a string constant of the library, which is never closed.
        let text = unsafe { (self.nvrtcGetErrorString)(code) };
        if text.is_null() {
            return format!("NVRTC result {}", code.0);
        }
        // SAFETY: not null, and a constant string that ends in a zero byte (see above).
        unsafe { CStr::from_ptr(text) }
            .to_string_lossy()
            .into_owned()
    }

    /// Gives precompiled headers so many bytes of address space, before the first are made. `None` if this NVRTC has none.
    pub(crate) fn set_precompiled_bytes(&self, bytes: usize) -> Option<Result<(), Code>> {
        let set = self.nvrtcSetPCHHeapSize?;
        // SAFETY: takes any number; the heap that it replaces is used only while precompiled headers are made or used, and the caller
        // comes before all of those.
        Some(unsafe { set(bytes) }.check())
    }

    /// Unpacks the CUDA headers that this NVRTC carries to `directory`, unless they lie there already. `None` if it carries none.
    pub(crate) fn install_headers(&self, directory: &CStr) -> Option<Result<(), String>> {
        let install = self.nvrtcInstallBundledHeaders?;
        let mut text = ptr::null();
        // SAFETY: the path ends in a zero byte; flag 0 skips what is there; the text pointer is live. The function is documented as safe
        // for threads and processes.
        let code = unsafe { install(directory.as_ptr(), 0, &raw mut text) };
        Some(code.check().map_err(|code| {
            if text.is_null() {
                return self.describe(code);
            }
            // SAFETY: NVRTC set it to a string that lasts until this thread's next call.
            unsafe { CStr::from_ptr(text) }
                .to_string_lossy()
                .into_owned()
        }))
    }
}

/// One program: a source with its headers, compiled once. Owned by one thread, because NVRTC allows concurrent calls only for
/// different programs (NVRTC manual, "Thread Safety"); the handle makes it neither `Send` nor `Sync`.
pub(crate) struct Program<'a> {
    api: &'a Api,
    handle: Handle,
}

impl std::fmt::Debug for Program<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").finish_non_exhaustive()
    }
}

impl<'a> Program<'a> {
    /// `nvrtcCreateProgram`. Each header is its include name and its text.
    pub(crate) fn new(
        api: &'a Api,
        source: &CStr,
        name: &CStr,
        headers: &[(CString, CString)],
    ) -> Result<Self, Code> {
        let names: Vec<*const c_char> = headers.iter().map(|(name, _)| name.as_ptr()).collect();
        let texts: Vec<*const c_char> = headers.iter().map(|(_, text)| text.as_ptr()).collect();
        let count = c_int::try_from(headers.len()).expect("fewer than 2^31 headers");
        let mut handle = ptr::null_mut();
        // SAFETY: all strings end in a zero byte and outlive the call, which copies them; both arrays have `count` elements.
        unsafe {
            (api.nvrtcCreateProgram)(
                &raw mut handle,
                source.as_ptr(),
                name.as_ptr(),
                count,
                texts.as_ptr(),
                names.as_ptr(),
            )
        }
        .check()?;
        Ok(Self { api, handle })
    }

    /// `nvrtcAddNameExpression`: to be called before compiling.
    pub(crate) fn add_name_expression(&mut self, expression: &CStr) -> Result<(), Code> {
        // SAFETY: the handle is live, the string ends in a zero byte and is copied.
        unsafe { (self.api.nvrtcAddNameExpression)(self.handle, expression.as_ptr()) }.check()
    }

    /// `nvrtcCompileProgram`.
    pub(crate) fn compile(&mut self, options: &[CString]) -> Result<(), Code> {
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).expect("fewer than 2^31 options");
        // SAFETY: the handle is live and used by this thread alone (`&mut`, not Send); `count` strings outlive the call.
        unsafe { (self.api.nvrtcCompileProgram)(self.handle, count, pointers.as_ptr()) }.check()
    }

    /// The messages of the compilation.
    pub(crate) fn log(&self) -> String {
        let bytes = self
            .read(self.api.nvrtcGetProgramLogSize, self.api.nvrtcGetProgramLog)
            .unwrap_or_default();
        String::from_utf8_lossy(until_zero(&bytes)).into_owned()
    }

    /// The PTX.
    pub(crate) fn ptx(&self) -> Result<String, Code> {
        let bytes = self.read(self.api.nvrtcGetPTXSize, self.api.nvrtcGetPTX)?;
        Ok(String::from_utf8_lossy(until_zero(&bytes)).into_owned())
    }

    /// The cubin; empty for a virtual architecture.
    pub(crate) fn cubin(&self) -> Result<Vec<u8>, Code> {
        self.read(self.api.nvrtcGetCUBINSize, self.api.nvrtcGetCUBIN)
    }

    /// The mangled name of an expression added before.
    pub(crate) fn lowered_name(&self, expression: &CStr) -> Result<String, Code> {
        let mut name = ptr::null();
        // SAFETY: the handle is live, the string ends in a zero byte, the pointer is to a live pointer.
        unsafe { (self.api.nvrtcGetLoweredName)(self.handle, expression.as_ptr(), &raw mut name) }
            .check()?;
        // SAFETY: after success it is a string owned by the program, which outlives this line.
        Ok(unsafe { CStr::from_ptr(name) }
            .to_string_lossy()
            .into_owned())
    }

    fn read(
        &self,
        size: unsafe extern "C" fn(Handle, *mut usize) -> Code,
        get: unsafe extern "C" fn(Handle, *mut u8) -> Code,
    ) -> Result<Vec<u8>, Code> {
        let mut length = 0;
        // SAFETY: the handle is live, the pointer is to a live integer.
        unsafe { size(self.handle, &raw mut length) }.check()?;
        let mut bytes = vec![0_u8; length];
        if length > 0 {
            // SAFETY: the buffer has the size that NVRTC asked for.
            unsafe { get(self.handle, bytes.as_mut_ptr()) }.check()?;
        }
        Ok(bytes)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is live and this is its last use. Its only failure is an invalid handle, which this is not.
        let _ = unsafe { (self.api.nvrtcDestroyProgram)(&raw mut self.handle) };
    }
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}
