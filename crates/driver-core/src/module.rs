//! Modules: loaded images of code, and the kernels in them.

use std::ffi::{CStr, CString, c_char, c_void};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cuprum_driver_sys::{
    CUdeviceptr, CUfunction, CUfunction_attribute, CUjit_option, CUmodule, CUresult,
};

use crate::call::call;
use crate::context::Context;
use crate::image;
use crate::launch::{KernelName, intern};
use crate::memory::{DeviceBuffer, DeviceCopy, or_make_room};
use crate::parking::Resource;
use crate::stream::Stream;
use crate::tracking::{Access, Tracker};
use crate::{Error, ErrorKind, Result};

/// The size of the buffers for the messages of the driver's PTX compiler, bytes.
pub(crate) const LOG_BYTES: usize = 16 * 1024;

/// A module, counted: one image of code loaded into a context.
///
/// Functions hold their module. The last handle parks the module, which is unloaded once the launches from it have
/// finished.
#[derive(Clone)]
pub struct Module {
    inner: Arc<ModuleInner>,
}

struct ModuleInner {
    context: Context,
    raw: CUmodule,
    /// The streams that its kernels were launched on.
    uses: Tracker,
}

impl Module {
    /// Loads PTX text, which the driver compiles for its device.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidImage`] with the compiler's words as [`Error::detail`]; [`ErrorKind::InvalidArgument`] if
    /// the text holds a null byte; what else the driver returns.
    pub fn from_ptx(context: &Context, ptx: &str) -> Result<Self> {
        let text = CString::new(ptx).map_err(|error| {
            Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "the PTX holds a null byte at offset {}",
                    error.nul_position()
                ),
            )
        })?;
        // SAFETY: null-terminated text is what the driver wants for PTX.
        unsafe { Self::load(context, text.as_ptr().cast::<c_void>()) }
            .map_err(|error| error.fact("image", format_args!("PTX of {} bytes", ptx.len())))
    }

    /// Loads an image: a cubin, a fat binary, or PTX text with or without a null at the end.
    ///
    /// Cubins and fat binaries carry their size, and the driver trusts it: an image cut short is refused here.
    ///
    /// # Errors
    /// As [`Module::from_ptx`]; [`ErrorKind::InvalidImage`] also for what is none of the three.
    pub fn from_image(context: &Context, image: &[u8]) -> Result<Self> {
        match image::kind(image)? {
            image::Kind::Ptx(text) => Self::from_ptx(context, text),
            image::Kind::Cubin => {
                // SAFETY: an ELF image whose headers, sections and segments lie inside the slice.
                unsafe { Self::load(context, image.as_ptr().cast::<c_void>()) }.map_err(|error| {
                    error.fact("image", format_args!("cubin of {} bytes", image.len()))
                })
            }
            image::Kind::Object | image::Kind::Library => Err(Error::new(
                ErrorKind::InvalidImage,
                "object files and libraries are linked with others, not loaded: Module::linked_images",
            )),
            image::Kind::FatBinary => {
                // SAFETY: a fat binary whose own size lies inside the slice.
                unsafe { Self::load(context, image.as_ptr().cast::<c_void>()) }.map_err(|error| {
                    error.fact("image", format_args!("fat binary of {} bytes", image.len()))
                })
            }
        }
    }

    /// # Safety
    /// `image` points at null-terminated PTX or at a whole cubin or fat binary.
    pub(crate) unsafe fn load(context: &Context, image: *const c_void) -> Result<Self> {
        context.inner().parking().collect(context.inner());
        context.make_current()?;
        let mut errors = vec![0u8; LOG_BYTES];
        let buffer = errors.as_mut_ptr();
        let load = || {
            let mut options = [
                CUjit_option::ERROR_LOG_BUFFER,
                CUjit_option::ERROR_LOG_BUFFER_SIZE_BYTES,
            ];
            let mut values: [*mut c_void; 2] = [
                buffer.cast::<c_void>(),
                std::ptr::without_provenance_mut(LOG_BYTES),
            ];
            let mut raw = CUmodule::NULL;
            // SAFETY: the image is the caller's promise; the two options come with a buffer and its size, which live
            // through the call; `raw` is a live local that the call writes.
            unsafe {
                call!(
                    context.driver(),
                    cuModuleLoadDataEx(
                        &raw mut raw,
                        image,
                        2,
                        options.as_mut_ptr(),
                        values.as_mut_ptr()
                    )
                )
            }
            .map(|()| raw)
        };
        // Code and variables of a module need device memory.
        let raw = or_make_room(context, load, |failure| {
            let log = errors.split(|&byte| byte == 0).next().unwrap_or_default();
            let log = String::from_utf8_lossy(log).trim().to_owned();
            let error = context.raise(failure);
            if error.detail().is_none() && !log.is_empty() {
                error.with_detail(Some(log))
            } else {
                error
            }
        })?;
        Ok(Self {
            inner: Arc::new(ModuleInner {
                context: context.clone(),
                raw,
                uses: Tracker::unused(),
            }),
        })
    }

    /// The context.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// The driver's handle, valid while any clone of this module, or a function of it, lives.
    #[must_use]
    pub fn raw(&self) -> CUmodule {
        self.inner.raw
    }

    /// The kernel called `name`, as it is spelled in the image.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`], with the names that are there if the driver can list them.
    pub fn function(&self, name: &str) -> Result<Function> {
        let symbol = symbol(name)?;
        let context = self.context();
        context.make_current()?;
        let mut raw = CUfunction::NULL;
        // SAFETY: `raw` is a live local that the call writes; the module lives; the name is null-terminated.
        unsafe {
            call!(
                context.driver(),
                cuModuleGetFunction(&raw mut raw, self.raw(), symbol.as_ptr())
            )
        }
        .map_err(|failure| {
            let error = context
                .raise(failure)
                .fact("kernel", format_args!("`{name}`"));
            match failure.is(CUresult::NOT_FOUND).then(|| self.functions()) {
                Some(Ok(names)) => {
                    error.fact("the module has", format_args!("[{}]", names.join(", ")))
                }
                _ => error,
            }
        })?;
        Function::new(self, raw, name)
    }

    /// The names of the kernels in the image.
    ///
    /// # Errors
    /// [`ErrorKind::Unsupported`] if the driver is older than CUDA 12.4 and cannot list them.
    pub fn functions(&self) -> Result<Vec<String>> {
        let context = self.context();
        let driver = context.driver();
        context.make_current()?;
        let mut count = 0u32;
        // SAFETY: `count` is a live local that the call writes, and the module lives.
        unsafe { call!(driver, cuModuleGetFunctionCount(&raw mut count, self.raw())) }
            .map_err(|failure| context.raise(failure))?;
        let mut list = vec![CUfunction::NULL; count as usize];
        if count > 0 {
            // SAFETY: `list` has room for `count` handles.
            unsafe {
                call!(
                    driver,
                    cuModuleEnumerateFunctions(list.as_mut_ptr(), count, self.raw())
                )
            }
            .map_err(|failure| context.raise(failure))?;
        }
        list.into_iter()
            .map(|function| {
                let mut name: *const c_char = std::ptr::null();
                // SAFETY: `name` is a live local that the call writes; the function is of this module.
                unsafe { call!(driver, cuFuncGetName(&raw mut name, function)) }
                    .map_err(|failure| context.raise(failure))?;
                if name.is_null() {
                    return Ok(String::new());
                }
                // SAFETY: the driver answers with null-terminated text that lives as long as the module.
                Ok(unsafe { CStr::from_ptr(name) }
                    .to_string_lossy()
                    .into_owned())
            })
            .collect()
    }

    /// A module-scope variable: `__device__`, `__constant__` or `__managed__`.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`]; [`ErrorKind::InvalidArgument`] if its size is no multiple of the size of `T`.
    pub fn global<T: DeviceCopy>(&self, name: &str) -> Result<Global<T>> {
        let symbol = symbol(name)?;
        let context = self.context();
        context.make_current()?;
        let (mut address, mut bytes) = (0, 0usize);
        // SAFETY: both are live locals that the call writes; the module lives; the name is null-terminated.
        unsafe {
            call!(
                context.driver(),
                cuModuleGetGlobal_v2(
                    &raw mut address,
                    &raw mut bytes,
                    self.raw(),
                    symbol.as_ptr()
                )
            )
        }
        .map_err(|failure| {
            context
                .raise(failure)
                .fact("variable", format_args!("`{name}`"))
        })?;
        if size_of::<T>() == 0 || bytes % size_of::<T>() != 0 {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "variable `{name}` has {bytes} bytes, which is no multiple of the {} bytes of {}",
                    size_of::<T>(),
                    std::any::type_name::<T>()
                ),
            ));
        }
        Ok(Global {
            module: self.clone(),
            address,
            len: bytes / size_of::<T>(),
            elements: std::marker::PhantomData,
        })
    }

    /// Gives this handle up. The last one unloads the module, waiting for the context's work first.
    ///
    /// # Errors
    /// The failure of earlier work, and of `cuModuleUnload`, which dropping would keep to itself.
    pub fn close(self) -> Result<()> {
        let context = self.context().clone();
        drop(self);
        context.synchronize()?;
        context.collect()
    }

    /// Puts a launch from this module on record, so that it is not unloaded under it.
    #[inline]
    pub(crate) fn note_use(&self, stream: &Stream) {
        self.inner.uses.note(stream, 0..1, Access::Read, 1);
    }
}

fn symbol(name: &str) -> Result<CString> {
    CString::new(name).map_err(|_| {
        Error::new(
            ErrorKind::InvalidArgument,
            format!("the name {name:?} holds a null byte"),
        )
    })
}

impl Drop for ModuleInner {
    fn drop(&mut self) {
        let context = self.context.inner();
        context.parking().park(
            context,
            Resource::Module(self.raw),
            &self.uses.last_uses().to_past(),
        );
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({:?})", self.inner.raw.0)
    }
}

/// A variable of a module in device memory. It holds the module.
pub struct Global<T> {
    module: Module,
    address: CUdeviceptr,
    len: usize,
    elements: std::marker::PhantomData<T>,
}

impl<T: DeviceCopy> Global<T> {
    /// How many elements it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Its device address.
    #[must_use]
    pub fn address(&self) -> CUdeviceptr {
        self.address
    }

    /// Its elements, copied to the host on `stream`. Waits for the work queued there.
    ///
    /// # Errors
    /// What the driver returns; the failure of earlier work.
    pub fn read(&self, stream: &Stream) -> Result<Vec<T>> {
        self.on(stream)?.to_vec()
    }

    /// Writes its elements on `stream`, and waits for that. Work on other streams that uses the variable is the
    /// caller's to order: kernels name variables themselves, so nothing is tracked.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] unless the lengths are equal; what the driver returns.
    pub fn write(&self, stream: &Stream, elements: &[T]) -> Result<()> {
        self.on(stream)?.copy_from_slice(elements)
    }

    /// The variable as a buffer for one copy on `stream`.
    fn on(&self, stream: &Stream) -> Result<DeviceBuffer<T>> {
        stream.check_context(self.module.context(), "the variable")?;
        // SAFETY: the address and size are the driver's, the module is held for the duration of the copy, and without
        // an allocator nothing is released.
        Ok(unsafe { DeviceBuffer::from_raw_parts(stream, self.address, self.len, None) })
    }
}

impl<T> fmt::Debug for Global<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Global<{}>({:#x}, {} elements)",
            std::any::type_name::<T>(),
            self.address,
            self.len
        )
    }
}

/// Where a kernel expects a parameter, in bytes of its parameter block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ParamInfo {
    /// Bytes from the start of the block.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

/// What the source calls a parameter.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ParamName {
    /// Its name; empty if not known.
    pub name: String,
    /// Its type as written; empty if not known.
    pub c_type: String,
}

/// What a kernel needs and allows, as the driver tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FunctionAttributes {
    /// Threads a block may have at most.
    pub max_threads: u32,
    /// Static shared memory of a block in bytes.
    pub static_shared: u32,
    /// Local memory of a thread in bytes.
    pub local_bytes: u32,
    /// Constant memory in bytes.
    pub const_bytes: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Version of the PTX it was compiled from, times ten; 0 if the driver cannot tell.
    pub ptx_version: u32,
    /// Version of the machine code, times ten; 0 if the driver cannot tell.
    pub binary_version: u32,
}

/// A kernel, counted. It holds its module.
#[derive(Clone)]
pub struct Function {
    inner: Arc<FunctionInner>,
}

struct FunctionInner {
    module: Module,
    raw: CUfunction,
    name: &'static KernelName,
    /// `None` if the driver cannot tell: then arguments are not checked.
    params: Option<Box<[ParamInfo]>>,
    param_names: Box<[ParamName]>,
    attributes: FunctionAttributes,
    /// Dynamic shared memory that launches may ask for now, bytes.
    dynamic_shared: AtomicU32,
}

impl Function {
    fn new(module: &Module, raw: CUfunction, name: &str) -> Result<Self> {
        let context = module.context();
        let ask = |attribute| -> Result<u32> {
            let mut value = 0;
            // SAFETY: `value` is a live local that the call writes; the function is of this module.
            unsafe {
                call!(
                    context.driver(),
                    cuFuncGetAttribute(&raw mut value, attribute, raw)
                )
            }
            .map_err(|failure| {
                context
                    .raise(failure)
                    .fact("kernel", format_args!("`{name}`"))
            })?;
            Ok(u32::try_from(value).unwrap_or(0))
        };
        let attributes = FunctionAttributes {
            max_threads: ask(CUfunction_attribute::MAX_THREADS_PER_BLOCK)?,
            static_shared: ask(CUfunction_attribute::SHARED_SIZE_BYTES)?,
            local_bytes: ask(CUfunction_attribute::LOCAL_SIZE_BYTES)?,
            const_bytes: ask(CUfunction_attribute::CONST_SIZE_BYTES)?,
            registers: ask(CUfunction_attribute::NUM_REGS)?,
            ptx_version: ask(CUfunction_attribute::PTX_VERSION).unwrap_or(0),
            binary_version: ask(CUfunction_attribute::BINARY_VERSION).unwrap_or(0),
        };
        let dynamic = match ask(CUfunction_attribute::MAX_DYNAMIC_SHARED_SIZE_BYTES) {
            Ok(bytes) => bytes,
            Err(_) => context
                .inner()
                .limits()
                .shared
                .saturating_sub(attributes.static_shared),
        };
        Ok(Self {
            inner: Arc::new(FunctionInner {
                module: module.clone(),
                raw,
                name: intern(name),
                params: ask_for_params(context, raw),
                param_names: Box::default(),
                attributes,
                dynamic_shared: AtomicU32::new(dynamic),
            }),
        })
    }

    /// The name in the image.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.name.0
    }

    /// The module.
    #[must_use]
    pub fn module(&self) -> &Module {
        &self.inner.module
    }

    /// The context.
    #[must_use]
    #[inline]
    pub fn context(&self) -> &Context {
        &self.inner.module.inner.context
    }

    /// The driver's handle, valid while any clone of this function lives.
    #[must_use]
    #[inline]
    pub fn raw(&self) -> CUfunction {
        self.inner.raw
    }

    /// The parameters; none if the driver cannot tell ([`Function::params_known`]).
    #[must_use]
    pub fn params(&self) -> &[ParamInfo] {
        self.known_params().unwrap_or_default()
    }

    /// Whether the driver tells the parameters (CUDA 12.4 and newer, and the software device). If not, the number and
    /// sizes of arguments cannot be checked against the image.
    #[must_use]
    pub fn params_known(&self) -> bool {
        self.inner.params.is_some()
    }

    /// The same kernel with the names and types of its parameters, for messages.
    #[must_use]
    pub fn with_param_names(&self, names: impl IntoIterator<Item = ParamName>) -> Self {
        let inner = &*self.inner;
        Self {
            inner: Arc::new(FunctionInner {
                module: inner.module.clone(),
                raw: inner.raw,
                name: inner.name,
                params: inner.params.clone(),
                param_names: names.into_iter().collect(),
                attributes: inner.attributes,
                dynamic_shared: AtomicU32::new(inner.dynamic_shared.load(Ordering::Relaxed)),
            }),
        }
    }

    /// The names and types of the parameters, where the source is known: see [`Function::with_param_names`].
    #[must_use]
    pub fn param_names(&self) -> &[ParamName] {
        &self.inner.param_names
    }

    /// What the kernel needs and allows.
    #[must_use]
    #[inline]
    pub fn attributes(&self) -> &FunctionAttributes {
        &self.inner.attributes
    }

    /// Threads a block may have at most: the device's limit, lowered by the kernel's registers and bounds.
    #[must_use]
    pub fn max_threads_per_block(&self) -> u32 {
        self.inner.attributes.max_threads
    }

    /// How many blocks of `threads` threads with `shared_bytes` of dynamic shared memory are resident on one
    /// multiprocessor at once.
    ///
    /// # Errors
    /// What the driver returns.
    pub fn max_blocks_per_multiprocessor(&self, threads: u32, shared_bytes: usize) -> Result<u32> {
        let context = self.context();
        context.make_current()?;
        let mut blocks = 0;
        let threads = i32::try_from(threads).unwrap_or(i32::MAX);
        // SAFETY: `blocks` is a live local that the call writes; the function is kept by its module.
        unsafe {
            call!(
                context.driver(),
                cuOccupancyMaxActiveBlocksPerMultiprocessor(
                    &raw mut blocks,
                    self.raw(),
                    threads,
                    shared_bytes
                )
            )
        }
        .map_err(|failure| {
            context
                .raise(failure)
                .fact("kernel", format_args!("`{}`", self.name()))
        })?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    #[inline]
    pub(crate) fn kernel_name(&self) -> &'static KernelName {
        self.inner.name
    }

    #[inline]
    pub(crate) fn known_params(&self) -> Option<&[ParamInfo]> {
        self.inner.params.as_deref()
    }

    pub(crate) fn param_name(&self, index: usize) -> Option<&ParamName> {
        self.inner.param_names.get(index)
    }

    #[inline]
    pub(crate) fn dynamic_shared_limit(&self) -> u32 {
        self.inner.dynamic_shared.load(Ordering::Relaxed)
    }

    pub(crate) fn raise_dynamic_shared_limit(&self, bytes: u32) {
        self.inner
            .dynamic_shared
            .fetch_max(bytes, Ordering::Relaxed);
    }
}

/// The parameters of a function, if the driver can tell.
fn ask_for_params(context: &Context, function: CUfunction) -> Option<Box<[ParamInfo]>> {
    let mut params = Vec::new();
    loop {
        let (mut offset, mut size) = (0usize, 0usize);
        // SAFETY: both are live locals that the call writes; the function's module lives.
        let answer = unsafe {
            call!(
                context.driver(),
                cuFuncGetParamInfo(function, params.len(), &raw mut offset, &raw mut size)
            )
        };
        match answer {
            Ok(()) => {
                params.push(ParamInfo {
                    offset: u32::try_from(offset).ok()?,
                    size: u32::try_from(size).ok()?,
                });
            }
            Err(failure) if failure.is(CUresult::INVALID_VALUE) => {
                return Some(params.into_boxed_slice());
            }
            Err(_) => return None,
        }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Function(`{}`, {} parameters)",
            self.name(),
            self.params().len()
        )
    }
}
