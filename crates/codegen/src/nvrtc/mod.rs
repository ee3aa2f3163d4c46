//! NVRTC, NVIDIA's run-time compiler: found or fetched, opened by path, several versions side by side.
//!
//! It is looked for in this order: what `CUPRUM_NVRTC` names (a library, or a directory that holds one), the loader's path,
//! `CUDA_HOME` and `CUDA_PATH`, the `nvidia` packages of the Python that `python3` starts (`CUPRUM_PYTHON` names another), and what
//! Cuprum fetched before. The first that can serve the target counts: a driver of CUDA 12 cannot load what NVRTC 13 makes, and NVRTC 13
//! knows no GPU before Turing. If none can and `CUPRUM_FETCH=1`, a pinned wheel is fetched ([`Wheel`]).
//!
//! A library once opened stays open until the process ends.

mod fetch;
mod headers;
#[expect(unsafe_code, reason = "the one module that calls NVRTC")]
pub(crate) mod raw;
mod search;
mod wheels;

use std::ffi::CString;
use std::fmt;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

pub use headers::header_dirs;
pub(crate) use headers::header_dirs_in;
pub use search::Origin;
pub(crate) use search::Surroundings;
pub use wheels::{Headers, Wheel};

use crate::compile::Target;
use crate::error::{Error, ErrorKind, Result};
use crate::files::FileId;

/// An opened NVRTC. Copying it is free; it is never closed.
#[derive(Clone, Copy)]
pub struct Nvrtc(&'static Opened);

struct Opened {
    api: raw::Api,
    path: PathBuf,
    origin: Origin,
    version: (u32, u32),
    architectures: Vec<u32>,
    file: FileId,
    /// Whether precompiled headers have the room that was asked for.
    precompiled: OnceLock<bool>,
}

impl fmt::Debug for Nvrtc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nvrtc")
            .field("version", &self.0.version)
            .field("path", &self.0.path)
            .field("origin", &self.0.origin)
            .finish()
    }
}

/// `NVRTC 13.5`.
impl fmt::Display for Nvrtc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NVRTC {}.{}", self.0.version.0, self.0.version.1)
    }
}

/// What a compilation asks of the compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) target: Target,
    /// The CUDA version of the driver of the GPU that will load the result; `None` for a software device, or if no device is known.
    pub(crate) driver: Option<(u32, u32)>,
}

/// How a compiler serves a request: the architecture as NVRTC takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Plan {
    /// 90 for `sm_90` and `compute_90`.
    pub(crate) architecture: u32,
    /// Whether a cubin is made; else PTX.
    pub(crate) cubin: bool,
    /// Whether the driver has to translate PTX for an architecture that the compiler does not know.
    pub(crate) fallback: bool,
}

impl Plan {
    /// The value of `--gpu-architecture`.
    pub(crate) fn architecture_name(self) -> String {
        format!(
            "{}_{}",
            if self.cubin { "sm" } else { "compute" },
            self.architecture
        )
    }
}

impl Request {
    /// How a compiler of this version and these architectures serves the request, or why it cannot.
    ///
    /// A cubin needs a compiler that knows the architecture and whose major version the driver knows; a newer minor version does no
    /// harm. A GPU newer than the compiler gets PTX of the newest architecture that the compiler knows, which the driver translates;
    /// a driver reads only PTX of compilers up to its own version. PTX for a software device is of its compute capability, or of the
    /// next lower one that the compiler knows.
    pub(crate) fn plan(self, version: (u32, u32), architectures: &[u32]) -> Result<Plan, String> {
        let wanted = match self.target {
            Target::Ptx(wanted) | Target::Cubin(wanted) => wanted,
        };
        if let Some(driver) = self.driver
            && version.0 > driver.0
        {
            return Err(format!(
                "the driver is of CUDA {}.{} and loads nothing that NVRTC {}.{} makes",
                driver.0, driver.1, version.0, version.1
            ));
        }
        let Some(architecture) = architectures
            .iter()
            .copied()
            .filter(|&known| known <= wanted)
            .max()
        else {
            let least = architectures.iter().min().copied().unwrap_or(0);
            return Err(format!(
                "NVRTC {}.{} compiles for compute capability {}.{} and newer",
                version.0,
                version.1,
                least / 10,
                least % 10
            ));
        };
        if matches!(self.target, Target::Cubin(_)) && architecture == wanted {
            return Ok(Plan {
                architecture,
                cubin: true,
                fallback: false,
            });
        }
        if let Some(driver) = self.driver
            && version > driver
        {
            return Err(format!(
                "NVRTC {}.{} does not know sm_{wanted}, and the driver of CUDA {}.{} does not read its PTX",
                version.0, version.1, driver.0, driver.1
            ));
        }
        match self.target {
            Target::Cubin(_) if self.driver.is_none() => Err(format!(
                "NVRTC {}.{} does not know sm_{wanted}",
                version.0, version.1
            )),
            Target::Cubin(_) => Ok(Plan {
                architecture,
                cubin: false,
                fallback: true,
            }),
            Target::Ptx(_) => Ok(Plan {
                architecture,
                cubin: false,
                fallback: false,
            }),
        }
    }

    /// The wheel that serves the request.
    fn wheel(self) -> Result<Wheel, String> {
        let (Target::Ptx(wanted) | Target::Cubin(wanted)) = self.target;
        match self.driver {
            Some((major, minor)) if major < 12 => Err(format!(
                "the driver is of CUDA {major}.{minor}; the oldest that Cuprum's compilers serve is 12.0: update the driver"
            )),
            Some((12, _)) => Ok(Wheel::Cuda12_9),
            _ if wanted < 75 => Ok(Wheel::Cuda12_9),
            _ => Ok(Wheel::Cuda13_5),
        }
    }
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target {
            Target::Ptx(arch) => write!(f, "compute_{arch}")?,
            Target::Cubin(arch) => write!(f, "sm_{arch}")?,
        }
        match self.driver {
            Some((major, minor)) => write!(f, " on a driver of CUDA {major}.{minor}"),
            None => Ok(()),
        }
    }
}

/// All libraries opened in this process.
static OPENED: Mutex<Vec<Nvrtc>> = Mutex::new(Vec::new());

impl Nvrtc {
    /// Opens the library at `path`, with the builtins that lie beside it.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::BrokenCompiler`] if it is no NVRTC, too old (before 11.2), or cannot be loaded.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_as(path.as_ref(), Origin::Named)
    }

    fn open_as(path: &Path, origin: Origin) -> Result<Self> {
        let broken = |why: String| {
            Error::new(
                ErrorKind::BrokenCompiler,
                format!("cannot use {} as NVRTC: {why}", path.display()),
            )
        };
        let path = std::path::absolute(path).map_err(|error| broken(error.to_string()))?;
        let mut opened = OPENED
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = opened.iter().find(|known| known.0.path == path) {
            return Ok(*known);
        }
        let file = FileId::of(&path).map_err(|error| broken(error.to_string()))?;
        let mut builtins = search::builtins_beside(&path);
        if builtins.is_empty()
            && let Ok(real) = path.canonicalize()
        {
            // The path may be a link to a library whose builtins have none beside it.
            builtins = search::builtins_beside(&real);
        }
        let api = raw::Api::open(&builtins, &path).map_err(broken)?;
        let version = api.version().map_err(|code| broken(api.describe(code)))?;
        let mut architectures = api
            .architectures()
            .map_err(|code| broken(api.describe(code)))?;
        architectures.sort_unstable();
        let new = Self(Box::leak(Box::new(Opened {
            api,
            path,
            origin,
            version,
            architectures,
            file,
            precompiled: OnceLock::new(),
        })));
        opened.push(new);
        Ok(new)
    }

    /// The first NVRTC that the search of this module finds, or the default wheel fetched.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoCompiler`] if there is none and fetching is not allowed; the text tells how to get one.
    /// [`ErrorKind::Fetch`] if fetching failed.
    pub fn find() -> Result<Self> {
        Self::find_for(
            Request {
                target: Target::Ptx(80),
                driver: None,
            },
            &Surroundings::from_env(),
        )
        .map(|(nvrtc, _)| nvrtc)
    }

    /// The NVRTC of a pinned wheel, from Cuprum's cache or, with `CUPRUM_FETCH=1`, fetched into it: for tests that compare versions.
    ///
    /// # Errors
    ///
    /// As [`Nvrtc::find`].
    pub fn of_wheel(wheel: Wheel) -> Result<Self> {
        let surroundings = Surroundings::from_env();
        if let Some(folder) = surroundings
            .cache
            .as_ref()
            .map(|cache| cache.join("nvrtc").join(wheel.folder()))
            && let Some(path) = search::named(&folder)
        {
            return Self::open_as(&path, Origin::Cache);
        }
        if !surroundings.fetch {
            return Err(Error::new(
                ErrorKind::NoCompiler,
                how_to_get(
                    wheel,
                    &format!("{} is not in Cuprum's cache", wheel.requirement()),
                ),
            ));
        }
        Self::fetch(wheel, &surroundings)
    }

    fn fetch(wheel: Wheel, surroundings: &Surroundings) -> Result<Self> {
        let folder = fetch::fetch(wheel.package(), surroundings)?;
        let path = search::named(&folder).ok_or_else(|| {
            Error::new(
                ErrorKind::Fetch,
                format!(
                    "the wheel {} holds no NVRTC library: {}",
                    wheel.requirement(),
                    folder.display()
                ),
            )
        })?;
        Self::open_as(&path, Origin::Cache)
    }

    /// The compiler for a request and how it serves it.
    pub(crate) fn find_for(request: Request, surroundings: &Surroundings) -> Result<(Self, Plan)> {
        let wheel = request
            .wheel()
            .map_err(|text| Error::new(ErrorKind::NoCompiler, text))?;
        if let Some(path) = &surroundings.named {
            let library = search::named(path).ok_or_else(|| {
                Error::new(
                    ErrorKind::BrokenCompiler,
                    format!(
                        "CUPRUM_NVRTC is {}, where there is no NVRTC library",
                        path.display()
                    ),
                )
            })?;
            let nvrtc = Self::open_as(&library, Origin::Named)?;
            let plan = nvrtc.plan(request).map_err(|why| {
                Error::new(
                    ErrorKind::NoCompiler,
                    format!(
                        "CUPRUM_NVRTC names {}, which cannot serve {request}: {why}",
                        library.display()
                    ),
                )
            })?;
            return Ok((nvrtc, plan));
        }
        let mut fallback = None;
        let mut refused = String::new();
        for candidate in search::candidates(surroundings) {
            let tried =
                Self::open_as(&candidate.path, candidate.origin).map_err(|error| error.to_string());
            match tried.and_then(|nvrtc| Ok((nvrtc, nvrtc.plan(request)?))) {
                Ok((nvrtc, plan)) if !plan.fallback => return Ok((nvrtc, plan)),
                Ok(found) => fallback = fallback.or(Some(found)),
                Err(why) => {
                    let _ = write!(refused, "\nfound {}: {why}", candidate.path.display());
                }
            }
        }
        if let Some(found) = fallback {
            return Ok(found);
        }
        if !surroundings.fetch {
            let problem =
                format!("no NVRTC, NVIDIA's run-time compiler, was found for {request}{refused}");
            return Err(Error::new(
                ErrorKind::NoCompiler,
                how_to_get(wheel, &problem),
            ));
        }
        let nvrtc = Self::fetch(wheel, surroundings)?;
        let plan = nvrtc.plan(request).map_err(|why| {
            Error::new(
                ErrorKind::NoCompiler,
                format!("nothing can compile for {request}: {why}"),
            )
        })?;
        Ok((nvrtc, plan))
    }

    /// How this compiler serves a request.
    pub(crate) fn plan(self, request: Request) -> Result<Plan, String> {
        request.plan(self.0.version, &self.0.architectures)
    }

    /// Its version, (13, 5).
    #[must_use]
    pub fn version(self) -> (u32, u32) {
        self.0.version
    }

    /// The library's absolute path.
    #[must_use]
    pub fn path(self) -> &'static Path {
        &self.0.path
    }

    /// Where it was found.
    #[must_use]
    pub fn origin(self) -> Origin {
        self.0.origin
    }

    /// The architectures it compiles for, ascending: 75, 80, ...
    #[must_use]
    pub fn architectures(self) -> &'static [u32] {
        &self.0.architectures
    }

    pub(crate) fn api(self) -> &'static raw::Api {
        &self.0.api
    }

    /// The library's file as it was when opened.
    pub(crate) fn file(self) -> &'static FileId {
        &self.0.file
    }

    /// The directories with CUDA's headers that belong to this compiler: beside it in a toolkit or in the wheels' shared folder.
    pub(crate) fn header_dirs_beside(self) -> Vec<PathBuf> {
        let Some(root) = self.0.path.parent().and_then(Path::parent) else {
            return Vec::new();
        };
        // CUDA 12's wheels have a folder each: nvidia/cuda_nvrtc/lib beside nvidia/cuda_runtime/include and nvidia/cuda_cccl/include.
        let siblings = root
            .parent()
            .filter(|nvidia| nvidia.ends_with("nvidia"))
            .into_iter()
            .flat_map(|nvidia| {
                ["cuda_runtime", "cuda_cccl", "curand", "cuda_nvcc"]
                    .map(|package| nvidia.join(package).join("include"))
            });
        let own = ["include", "include/cccl"].map(|below| root.join(below));
        // The lib64 of a toolkit may be targets/x86_64-linux/lib, and its headers lie in the toolkit's root.
        let above = root
            .parent()
            .filter(|targets| targets.ends_with("targets"))
            .and_then(Path::parent)
            .map(|toolkit| toolkit.join("include"));
        own.into_iter()
            .chain(siblings)
            .chain(above)
            .filter(|dir| dir.is_dir())
            .collect()
    }

    /// Gives precompiled headers so many bytes, the first time that it is called, which is before any are made. Whether they have them.
    pub(crate) fn has_room_for_precompiled(self, bytes: usize) -> bool {
        *self.0.precompiled.get_or_init(|| {
            self.0
                .api
                .set_precompiled_bytes(bytes)
                .is_some_and(|set| set.is_ok())
        })
    }

    /// The directories with the headers that this NVRTC carries, unpacked into `cache`; `None` if it carries none.
    pub(crate) fn bundled_header_dirs(self, cache: &Path) -> Option<Result<Vec<PathBuf>>> {
        let (major, minor) = self.0.version;
        // The file's size tells builds of one version apart.
        let dir = cache
            .join("headers")
            .join(format!("nvrtc-{major}.{minor}-{}", self.0.file.len));
        let installed = (|| {
            std::fs::create_dir_all(&dir)
                .map_err(|error| Error::io("create the directory", &dir, error))?;
            let text = crate::files::to_c_string(&dir)?;
            Ok::<CString, Error>(text)
        })();
        let text = match installed {
            Ok(text) => text,
            Err(error) => return Some(Err(error)),
        };
        let result = self.0.api.install_headers(&text)?;
        Some(match result {
            Ok(()) => Ok(vec![dir.clone(), dir.join("cccl")]),
            Err(why) => Err(Error::new(
                ErrorKind::Compiler,
                format!(
                    "{self} could not unpack its headers to {}: {why}",
                    dir.display()
                ),
            )),
        })
    }
}

/// The text of an error that lacks a compiler.
fn how_to_get(wheel: Wheel, problem: &str) -> String {
    format!(
        "{problem}\nlooked at CUPRUM_NVRTC, the loader's path, CUDA_HOME, CUDA_PATH, the nvidia packages of Python and Cuprum's cache; to get one, either\n\
         - set CUPRUM_FETCH=1, and Cuprum fetches {requirement} ({size} MB) by pip into its cache, or\n\
         - run: python3 -m pip install {requirement}, or\n\
         - set CUPRUM_NVRTC to the NVRTC library of a CUDA toolkit (libnvrtc.so) or to the directory that holds it",
        requirement = wheel.requirement(),
        size = wheel.megabytes(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const V13_5: (u32, u32) = (13, 5);
    const A13: &[u32] = &[75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121];

    fn plan(target: Target, driver: Option<(u32, u32)>) -> Result<Plan, String> {
        Request { target, driver }.plan(V13_5, A13)
    }

    #[test]
    fn a_gpu_gets_a_cubin_also_from_a_newer_minor_version() {
        let expected = Plan {
            architecture: 90,
            cubin: true,
            fallback: false,
        };
        assert_eq!(plan(Target::Cubin(90), Some((13, 0))), Ok(expected));
        assert_eq!(plan(Target::Cubin(90), None), Ok(expected));
        assert!(
            plan(Target::Cubin(90), Some((12, 9))).is_err(),
            "another major version"
        );
    }

    #[test]
    fn a_gpu_newer_than_the_compiler_gets_ptx_if_the_driver_reads_it() {
        assert_eq!(
            plan(Target::Cubin(130), Some((13, 6))),
            Ok(Plan {
                architecture: 121,
                cubin: false,
                fallback: true
            })
        );
        assert!(
            plan(Target::Cubin(130), Some((13, 4))).is_err(),
            "the driver is older than the PTX"
        );
        assert!(
            plan(Target::Cubin(130), None).is_err(),
            "no driver is there to translate"
        );
    }

    #[test]
    fn software_devices_get_ptx_of_their_or_the_next_lower_architecture() {
        assert_eq!(
            plan(Target::Ptx(80), None).map(|plan| plan.architecture_name()),
            Ok("compute_80".into())
        );
        assert_eq!(
            plan(Target::Ptx(95), None).map(|plan| plan.architecture_name()),
            Ok("compute_90".into())
        );
        assert_eq!(
            plan(Target::Ptx(70), None),
            Err("NVRTC 13.5 compiles for compute capability 7.5 and newer".into())
        );
    }

    #[test]
    fn wheels_by_driver_and_architecture() {
        let wheel = |target, driver| Request { target, driver }.wheel();
        assert_eq!(wheel(Target::Ptx(80), None), Ok(Wheel::Cuda13_5));
        assert_eq!(wheel(Target::Cubin(90), Some((13, 0))), Ok(Wheel::Cuda13_5));
        assert_eq!(wheel(Target::Cubin(90), Some((12, 4))), Ok(Wheel::Cuda12_9));
        assert_eq!(wheel(Target::Cubin(70), Some((13, 0))), Ok(Wheel::Cuda12_9));
        assert!(wheel(Target::Cubin(90), Some((11, 8))).is_err());
    }

    #[test]
    fn without_a_compiler_the_error_tells_how_to_get_one() {
        let empty = tempfile::tempdir().expect("a directory");
        let surroundings = Surroundings {
            named: None,
            loader_dirs: Vec::new(),
            loader_cache: None,
            toolkits: Vec::new(),
            python: "/nonexistent/python".into(),
            cache: Some(empty.path().to_owned()),
            fetch: false,
        };
        let request = Request {
            target: Target::Cubin(90),
            driver: Some((12, 4)),
        };
        let error = Nvrtc::find_for(request, &surroundings).expect_err("there is none");
        assert_eq!(error.kind(), ErrorKind::NoCompiler);
        insta::assert_snapshot!(error, @r"
        no NVRTC, NVIDIA's run-time compiler, was found for sm_90 on a driver of CUDA 12.4
        looked at CUPRUM_NVRTC, the loader's path, CUDA_HOME, CUDA_PATH, the nvidia packages of Python and Cuprum's cache; to get one, either
        - set CUPRUM_FETCH=1, and Cuprum fetches nvidia-cuda-nvrtc-cu12==12.9.86 (90 MB) by pip into its cache, or
        - run: python3 -m pip install nvidia-cuda-nvrtc-cu12==12.9.86, or
        - set CUPRUM_NVRTC to the NVRTC library of a CUDA toolkit (libnvrtc.so) or to the directory that holds it
        ");
    }

    #[test]
    fn a_named_library_that_is_none_is_an_error_and_not_skipped() {
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("libnvrtc.so.13");
        std::fs::write(&file, b"no library").expect("write");
        let surroundings = |named: &Path| Surroundings {
            named: Some(named.to_owned()),
            ..Surroundings::from_env()
        };
        let request = Request {
            target: Target::Ptx(80),
            driver: None,
        };
        for named in [file.as_path(), dir.path(), Path::new("/nonexistent")] {
            let error = Nvrtc::find_for(request, &surroundings(named)).expect_err("no library");
            assert_eq!(error.kind(), ErrorKind::BrokenCompiler, "{error}");
        }
    }
}
