//! A source compiled and loaded.

use std::fmt;
use std::sync::Arc;

use cuprum_driver_core::{Context, Device, Function, Module, ParamName};

use crate::compile::{Image, Target, compile_for};
use crate::error::Result;
use crate::nvrtc::Request;
use crate::source::Source;

/// CUDA C++ compiled at run time and loaded into a context, as `pycuda.compiler.SourceModule`.
///
/// ```
/// use cuprum_codegen::SourceModule;
/// use cuprum_driver_core::{Device, DeviceBuffer, LaunchConfig};
///
/// # fn main() -> Result<(), cuprum_codegen::Error> {
/// let context = Device::default()?.context()?;
/// let module = SourceModule::new(&context, "__global__ void twice(float *x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }")?;
/// let twice = module.function("twice")?;
///
/// let stream = context.default_stream();
/// let mut x = DeviceBuffer::from_slice(&stream, &[1.0_f32, 2.0, 3.0])?;
/// // SAFETY: the kernel writes x[0..n] only, and n is its length.
/// unsafe { twice.launch(&stream, LaunchConfig::for_elements(3), (&mut x, 3_i32))? };
/// assert_eq!(x.to_vec()?, [2.0, 4.0, 6.0]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "pycuda.compiler.SourceModule")]
#[derive(Clone)]
pub struct SourceModule {
    inner: Arc<Inner>,
}

struct Inner {
    module: Module,
    image: Image,
    source: String,
}

impl SourceModule {
    /// Compiles `source` with the defaults and loads it: [`SourceModule::builder`] has the options.
    ///
    /// # Errors
    ///
    /// As [`compile`](crate::compile), and [`ErrorKind::Driver`](crate::ErrorKind::Driver) if the driver does not load the result.
    pub fn new(context: &Context, source: impl Into<String>) -> Result<Self> {
        Source::new(source).build(context)
    }

    /// Loads what was compiled from a source.
    pub(crate) fn load(context: &Context, image: Image, source: &str) -> Result<Self> {
        let module = match image.cubin() {
            Some(cubin) => Module::from_image(context, cubin)?,
            None => Module::from_ptx(context, image.ptx())?,
        };
        Ok(Self {
            inner: Arc::new(Inner {
                module,
                image,
                source: source.to_owned(),
            }),
        })
    }

    /// A source to be given options and then built.
    pub fn builder(source: impl Into<String>) -> Source {
        Source::new(source)
    }

    /// The kernel of this name: its plain name, its qualified name (`my::kernel`), the text of a name expression given to the builder
    /// (`axpy<float>`), or its mangled name. The function holds the module.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound), which lists the module's kernels.
    pub fn function(&self, name: &str) -> Result<Function> {
        let image = &self.inner.image;
        let lowered = image.lowered_name(name)?;
        if !image.entries().iter().any(|entry| entry == lowered) {
            // A variable's name expression, or a kernel that was optimised away.
            return Err(image.not_found(name));
        }
        Ok(named(image, lowered, self.inner.module.function(lowered)?))
    }

    /// The loaded module, for its variables. A C++ variable's mangled name is found by [`Image::lowered_name`].
    #[must_use]
    pub fn module(&self) -> &Module {
        &self.inner.module
    }

    /// What was compiled, and by which compiler.
    #[must_use]
    pub fn image(&self) -> &Image {
        &self.inner.image
    }

    /// The source as given.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.inner.source
    }

    /// The PTX, also where a cubin was loaded.
    #[must_use]
    pub fn ptx(&self) -> &str {
        self.inner.image.ptx()
    }

    /// The compiler's messages; empty if there were none.
    #[must_use]
    pub fn log(&self) -> &str {
        self.inner.image.log()
    }
}

impl fmt::Debug for SourceModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceModule")
            .field("architecture", &self.inner.image.architecture())
            .field("entries", &self.inner.image.entries())
            .finish_non_exhaustive()
    }
}

impl Source {
    /// Compiles for the context's device and loads the result: a cubin of its architecture for a GPU, PTX of its compute capability for
    /// a software device.
    ///
    /// # Errors
    ///
    /// As [`SourceModule::new`].
    pub fn build(&self, context: &Context) -> Result<SourceModule> {
        let image = compile_for(self, request_for(context.device()))?;
        SourceModule::load(context, image, &self.text)
    }
}

/// The function with the names of its parameters, where the source tells them.
pub(crate) fn named(image: &Image, lowered: &str, function: Function) -> Function {
    let count = function.params().len();
    match image.parameters(lowered, count) {
        Some(parameters) => function.with_param_names(parameters.iter().map(|one| ParamName {
            name: one.name.clone(),
            c_type: one.ty.clone(),
        })),
        None => function,
    }
}

/// What a device needs.
pub(crate) fn request_for(device: &Device) -> Request {
    let (major, minor) = device.compute_capability();
    let capability = major * 10 + minor;
    if device.is_software() {
        Request {
            target: Target::Ptx(capability),
            driver: None,
        }
    } else {
        Request {
            target: Target::Cubin(capability),
            driver: Some(device.driver_version()),
        }
    }
}
