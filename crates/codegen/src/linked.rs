//! Several sources as one module.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cuprum_driver_core::{Context, Function, Module};

use crate::compile::{Image, compile_for};
use crate::error::{Error, ErrorKind, Result};
use crate::module::{named, request_for};
use crate::nvrtc::{Nvrtc, Surroundings};
use crate::source::Source;

/// Sources and images that are compiled for each other and linked: what one declares `extern` is what another defines, as
/// `pycuda.compiler.DynamicSourceModule`.
///
/// ```
/// use cuprum_codegen::{LinkedModule, Source};
/// use cuprum_driver_core::{Device, DeviceBuffer, LaunchConfig};
///
/// # fn main() -> Result<(), cuprum_codegen::Error> {
/// let context = Device::default()?.context()?;
/// let module = LinkedModule::builder()
///     .source(Source::new("extern __device__ int twice(int x); __global__ void k(int *x) { *x = twice(*x); }").file_name("k.cu"))
///     .source(Source::new("__device__ int twice(int x) { return 2 * x; }").file_name("twice.cu"))
///     .build(&context)?;
/// let stream = context.default_stream();
/// let mut x = DeviceBuffer::from_slice(&stream, &[21])?;
/// // SAFETY: the kernel accesses the first element of x.
/// unsafe { module.function("k")?.launch(&stream, LaunchConfig::grid_1d(1, 1), (&mut x,))? };
/// assert_eq!(x.to_vec()?, [42]);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "pycuda.compiler.DynamicSourceModule")]
#[derive(Clone)]
pub struct LinkedModule {
    inner: Arc<Inner>,
}

struct Inner {
    module: Module,
    images: Vec<Image>,
}

/// One thing to link.
#[derive(Debug, Clone)]
enum Part {
    Source(Box<Source>),
    Image { name: String, bytes: Vec<u8> },
}

/// A [`LinkedModule`] to be.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct LinkBuilder {
    parts: Vec<Part>,
}

impl LinkBuilder {
    /// A source. It is compiled with `--relocatable-device-code=true`, and kept in the cache as any other.
    pub fn source(mut self, source: Source) -> Self {
        self.parts.push(Part::Source(Box::new(source)));
        self
    }

    /// An image that was made relocatable: PTX text, or where the device is a GPU also a cubin, a fat binary, an object file with device
    /// code in it or a library of those. The name is for messages.
    pub fn image(mut self, name: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        self.parts.push(Part::Image {
            name: name.into(),
            bytes: bytes.into(),
        });
        self
    }

    /// The file at `path`: PTX, a cubin, a fat binary, an object file with device code in it, or a library of those. What it is, its
    /// content tells.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if it cannot be read.
    pub fn file(self, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|error| Error::io("read", path, error))?;
        Ok(self.image(path.display().to_string(), bytes))
    }

    /// CUDA's device runtime, for kernels that launch kernels: `libcudadevrt.a` of the compiler's toolkit or wheel, of `CUDA_HOME` and
    /// `CUDA_PATH`, of the loader's path, or of the system.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`], with the directories that were looked at.
    pub fn device_runtime(self) -> Result<Self> {
        let dirs = Surroundings::from_env().device_library_dirs(Nvrtc::find().ok());
        match find_in(&dirs, DEVICE_RUNTIME) {
            Some(path) => self.file(path),
            None => {
                let looked: Vec<String> =
                    dirs.iter().map(|dir| dir.display().to_string()).collect();
                Err(Error::new(
                    ErrorKind::NotFound,
                    format!(
                        "{DEVICE_RUNTIME} is in none of {}: set CUDA_HOME to a CUDA toolkit, or give the file to LinkBuilder::file",
                        looked.join(", ")
                    ),
                ))
            }
        }
    }

    /// Compiles the sources, links all and loads the result.
    ///
    /// # Errors
    /// As [`SourceModule::new`](crate::SourceModule::new) for each source; [`ErrorKind::Driver`] with the linker's words if a symbol is not
    /// defined, or defined twice.
    pub fn build(&self, context: &Context) -> Result<LinkedModule> {
        let request = request_for(context.device());
        let mut images = Vec::new();
        let mut linked: Vec<(&str, Vec<u8>)> = Vec::new();
        for part in &self.parts {
            match part {
                Part::Source(source) => {
                    let image = compile_for(&relocatable(source), request)?;
                    // A GPU's driver may be older than the compiler's PTX, never than its cubin.
                    let bytes = image.cubin().unwrap_or(image.ptx().as_bytes()).to_vec();
                    linked.push((source.file_name.as_str(), bytes));
                    images.push(image);
                }
                Part::Image { name, bytes } => linked.push((name.as_str(), bytes.clone())),
            }
        }
        if linked.is_empty() {
            return Err(Error::new(ErrorKind::Source, "there is nothing to link"));
        }
        let parts: Vec<(&str, &[u8])> = linked
            .iter()
            .map(|(name, bytes)| (*name, bytes.as_slice()))
            .collect();
        let module = Module::linked_images(context, &parts)?;
        Ok(LinkedModule {
            inner: Arc::new(Inner { module, images }),
        })
    }
}

/// CUDA's device runtime.
const DEVICE_RUNTIME: &str = if cfg!(windows) {
    "cudadevrt.lib"
} else {
    "libcudadevrt.a"
};

/// The first file of this name in the directories.
fn find_in(dirs: &[PathBuf], name: &str) -> Option<PathBuf> {
    dirs.iter()
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
}

/// The source, compiled so that it can be linked.
fn relocatable(source: &Source) -> Source {
    let asked = source.options.iter().any(|option| {
        matches!(
            option.as_str(),
            "-rdc=true" | "--relocatable-device-code=true" | "-dc" | "--device-c"
        )
    });
    let source = source.clone();
    if asked {
        source
    } else {
        source.option("--relocatable-device-code=true")
    }
}

impl LinkedModule {
    /// Nothing to link yet.
    pub fn builder() -> LinkBuilder {
        LinkBuilder::default()
    }

    /// The kernel of this name, in any of the parts: see [`SourceModule::function`](crate::SourceModule::function). Kernels of images
    /// have the names that they have there.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`].
    pub fn function(&self, name: &str) -> Result<Function> {
        let module = &self.inner.module;
        let mut failed = None;
        for image in &self.inner.images {
            match image.lowered_name(name) {
                Ok(lowered) if image.entries().iter().any(|entry| entry == lowered) => {
                    return Ok(named(image, lowered, module.function(lowered)?));
                }
                Ok(_) => {}
                Err(error) => {
                    failed.get_or_insert(error);
                }
            }
        }
        match (module.function(name), failed) {
            (Ok(function), _) => Ok(function),
            // A name that is ambiguous in one of the sources is told so.
            (Err(_), Some(error)) if error.to_string().contains("ambiguous") => Err(error),
            (Err(error), _) => Err(Error::new(
                ErrorKind::NotFound,
                format!("there is no kernel {name} in what was linked: {error}"),
            )),
        }
    }

    /// The loaded module, for its variables.
    #[must_use]
    pub fn module(&self) -> &Module {
        &self.inner.module
    }

    /// What was compiled of each source, in order.
    #[must_use]
    pub fn images(&self) -> &[Image] {
        &self.inner.images
    }
}

impl fmt::Debug for LinkedModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kernels: Vec<&str> = self
            .inner
            .images
            .iter()
            .flat_map(Image::entries)
            .map(String::as_str)
            .collect();
        f.debug_struct("LinkedModule")
            .field("kernels", &kernels)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_device_runtime_is_looked_for_beside_toolkits_and_on_the_loaders_path() {
        let root = tempfile::tempdir().expect("a directory");
        let (toolkit, loader) = (root.path().join("toolkit"), root.path().join("loader"));
        std::fs::create_dir_all(toolkit.join("lib64")).expect("created");
        std::fs::create_dir_all(&loader).expect("created");
        let surroundings = Surroundings {
            toolkits: vec![toolkit.clone()],
            loader_dirs: vec![loader.clone()],
            ..Surroundings::from_env()
        };
        let find = || find_in(&surroundings.device_library_dirs(None), DEVICE_RUNTIME);
        let in_loader = loader.join(DEVICE_RUNTIME);
        std::fs::write(&in_loader, "!<arch>\n").expect("written");
        assert_eq!(find(), Some(in_loader));
        let in_toolkit = toolkit.join("lib64").join(DEVICE_RUNTIME);
        std::fs::write(&in_toolkit, "!<arch>\n").expect("written");
        assert_eq!(find(), Some(in_toolkit));
    }
}
