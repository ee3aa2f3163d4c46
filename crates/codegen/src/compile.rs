//! From a source to an image: the cache, then the compiler.

use std::collections::{BTreeSet, HashMap};
use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use crate::cache::{self, Cache, Entry};
use crate::declarations::{self, Parameter};
use crate::diagnostics::{self, Diagnostic, Location, Severity};
use crate::error::{CompileFailure, Error, ErrorKind, Result};
use crate::files::{c_string, nanoseconds, to_c_string};
use crate::headers;
use crate::includes::{self, Found, Places};
use crate::keep;
use crate::names;
use crate::nvrtc::raw::{Code, Program};
use crate::nvrtc::{Headers, Nvrtc, Plan, Request, Surroundings, Wheel, header_dirs_in};
use crate::precompiled;
use crate::source::{Key, Source};

/// What to compile for. The number is the compute capability without its point: 80 for 8.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// PTX of a virtual architecture, `compute_80`: for software devices, or for a driver to translate.
    Ptx(u32),
    /// Machine code of a GPU, `sm_90`, with the PTX it was made from.
    Cubin(u32),
}

/// Where an [`Image`] came from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Provenance {
    /// The cache had it; no compiler was needed.
    Cached,
    /// Compiled, and kept in the cache.
    Compiled,
    /// Compiled, and not kept, for this reason.
    NotKept(String),
}

/// A compiled source.
#[derive(Debug, Clone)]
pub struct Image {
    entry: Entry,
    provenance: Provenance,
}

impl Image {
    /// The PTX.
    #[must_use]
    pub fn ptx(&self) -> &str {
        &self.entry.ptx
    }

    /// The cubin, if the target is a GPU's architecture.
    #[must_use]
    pub fn cubin(&self) -> Option<&[u8]> {
        (!self.entry.cubin.is_empty()).then_some(&self.entry.cubin)
    }

    /// The architecture it was compiled for, `sm_90` or `compute_80`.
    #[must_use]
    pub fn architecture(&self) -> &str {
        &self.entry.meta.architecture
    }

    /// The compiler that made it, `NVRTC 13.5`.
    #[must_use]
    pub fn compiler(&self) -> &str {
        &self.entry.meta.compiler
    }

    /// The options given to the compiler, Cuprum's own included.
    #[must_use]
    pub fn options(&self) -> &[String] {
        &self.entry.meta.options
    }

    /// The compiler's messages as it wrote them: warnings, and what was asked for by option. Empty if there were none.
    #[must_use]
    pub fn log(&self) -> &str {
        &self.entry.meta.log
    }

    /// The messages taken apart.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        diagnostics::parse(self.log())
    }

    /// Whether it came from the cache, and if it was not kept there, why.
    #[must_use]
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// The names of the kernels in it, mangled as the driver wants them.
    #[must_use]
    pub fn entries(&self) -> &[String] {
        &self.entry.meta.entries
    }

    /// The mangled name of a kernel or variable: of a name expression given to the [`Source`], of a kernel's plain or qualified name if
    /// only one kernel has it, or of itself.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`], listing the kernels, if there is none or more than one.
    pub fn lowered_name<'a>(&'a self, name: &'a str) -> Result<&'a str> {
        if let Some(lowered) = self.entry.meta.names.get(name) {
            return Ok(lowered);
        }
        match names::find(self.entries(), name) {
            Ok(Some(entry)) => Ok(entry),
            Ok(None) => Err(self.not_found(name)),
            Err(same) => Err(Error::new(
                ErrorKind::NotFound,
                format!(
                    "the name {name} is ambiguous: it is that of {}. Add a name expression with the parameter types, or use a mangled name",
                    same.join(", ")
                ),
            )),
        }
    }

    pub(crate) fn not_found(&self, name: &str) -> Error {
        let mut listed: Vec<String> = self
            .entries()
            .iter()
            .map(|entry| {
                let (_, qualified) = names::plain(entry);
                if qualified == *entry {
                    entry.clone()
                } else {
                    format!("{qualified} ({entry})")
                }
            })
            .collect();
        for (expression, lowered) in &self.entry.meta.names {
            if let Some(at) = self.entries().iter().position(|entry| entry == lowered) {
                listed[at] = format!("{expression} ({lowered})");
            }
        }
        let list = if listed.is_empty() {
            "the module has no kernel; a template is in it only if a name expression instantiates it".to_owned()
        } else {
            format!("the module has {}", listed.join(", "))
        };
        Error::new(
            ErrorKind::NotFound,
            format!("there is no kernel {name}: {list}"),
        )
    }

    /// The parameters of a kernel as its declaration gives them, if one with `count` parameters was found in the source.
    pub(crate) fn parameters(&self, lowered: &str, count: usize) -> Option<&[Parameter]> {
        let (short, _) = names::plain(lowered);
        let mut same = self
            .entry
            .meta
            .declarations
            .iter()
            .filter(|(name, list)| name == short && list.len() == count)
            .map(|(_, list)| list);
        let first = same.next()?;
        // A declaration and its definition may differ in names only; overloads of as many parameters cannot be told apart.
        for other in same {
            if other.iter().zip(first).any(|(a, b)| a.ty != b.ty) {
                return None;
            }
        }
        Some(first)
    }
}

/// Compiles a source for a target; no device is needed.
///
/// The cache is asked first, and a hit needs no compiler. Otherwise NVRTC is found or fetched ([`nvrtc`](crate::nvrtc)), and the result
/// kept.
///
/// ```
/// use cuprum_codegen::{Source, Target, compile};
///
/// # fn main() -> Result<(), cuprum_codegen::Error> {
/// let source = Source::new("extern \"C\" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }");
/// let image = compile(&source, Target::Ptx(80))?;
/// assert_eq!(image.entries(), ["twice"]);
/// assert!(image.ptx().contains(".target sm_80"));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`ErrorKind::Compile`] with the compiler's messages if the source does not compile; [`ErrorKind::Option`] and [`ErrorKind::Source`]
/// for what cannot be given to the compiler; [`ErrorKind::NoCompiler`], [`ErrorKind::BrokenCompiler`] and [`ErrorKind::Fetch`] if there
/// is no compiler to be had. A cache that cannot be used is no error: see [`Image::provenance`].
pub fn compile(source: &Source, target: Target) -> Result<Image> {
    compile_for(
        source,
        Request {
            target,
            driver: None,
        },
    )
}

/// Compiles for a device whose driver is known, and keeps the files if that is asked.
pub(crate) fn compile_for(source: &Source, request: Request) -> Result<Image> {
    let result = cached_or_compiled(source, request);
    if let Some(dir) = &source.keep {
        let key = source.key(request).to_hex();
        let kept = keep::write(dir, source, &key, result.as_ref());
        // What is wrong with the source is told before what is wrong with the directory.
        if result.is_ok() {
            kept?;
        }
    }
    result
}

fn cached_or_compiled(source: &Source, request: Request) -> Result<Image> {
    source.check()?;
    let kept = Kept::of(source);
    let cache = match &kept {
        Kept::In(cache) => cache,
        Kept::No(why) => {
            let (entry, _) = run(source, request)?;
            return Ok(Image {
                entry,
                provenance: Provenance::NotKept(why.clone()),
            });
        }
    };
    let key = source.key(request);
    let cached = |entry| Image {
        entry,
        provenance: Provenance::Cached,
    };
    if let Some(entry) = cache.load(key) {
        return Ok(cached(entry));
    }
    // One thread of this process compiles, the others wait and find the result. Other processes may compile it too; the last one's
    // entry stays, and all are alike.
    let turn = turn(key);
    let _mine = turn.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(entry) = cache.load(key) {
        return Ok(cached(entry));
    }
    let (entry, found) = run(source, request)?;
    let provenance = if found.computed {
        Provenance::NotKept(
            "an #include names its file by a macro, so the headers it depends on are not known"
                .into(),
        )
    } else {
        match cache.store(key, &entry) {
            Ok(()) => Provenance::Compiled,
            Err(why) => Provenance::NotKept(why),
        }
    };
    Ok(Image { entry, provenance })
}

/// Where the results of a source are kept.
enum Kept {
    In(Cache),
    No(String),
}

impl Kept {
    fn of(source: &Source) -> Self {
        if !source.cache {
            return Self::No("the cache is off for this source".into());
        }
        if !cache::enabled() {
            return Self::No("CUPRUM_CACHE=0".into());
        }
        match source.cache_dir.clone().or_else(cache::directory) {
            Some(dir) => Self::In(Cache::at(&dir)),
            None => Self::No("there is no home directory".into()),
        }
    }
}

/// The lock of a key, shared by the threads that want it at this moment.
fn turn(key: Key) -> Arc<Mutex<()>> {
    static TURNS: Mutex<Option<HashMap<Key, Arc<Mutex<()>>>>> = Mutex::new(None);
    let mut turns = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    let turns = turns.get_or_insert_default();
    // Those that nobody holds are done.
    turns.retain(|_, turn| Arc::strong_count(turn) > 1);
    Arc::clone(turns.entry(key).or_default())
}

/// Finds a compiler and compiles.
fn run(source: &Source, request: Request) -> Result<(Entry, Found)> {
    let surroundings = Surroundings::from_env();
    let (nvrtc, plan) = match source.compiler {
        Some(nvrtc) => {
            let plan = nvrtc.plan(request).map_err(|why| {
                Error::new(
                    ErrorKind::NoCompiler,
                    format!("{nvrtc} cannot serve {request}: {why}"),
                )
            })?;
            (nvrtc, plan)
        }
        None => Nvrtc::find_for(request, &surroundings)?,
    };
    let made = nanoseconds(SystemTime::now());
    let dirs = source.all_include_dirs();
    let text = source.wrapped();
    let pre_includes = source.pre_includes();
    let look = |cuda_dirs: &[PathBuf]| {
        let places = Places {
            memory: &source.headers,
            virtual_headers: source.virtual_headers,
            dirs: &dirs,
            cuda_dirs,
        };
        includes::find(&source.text, &source.file_name, &pre_includes, &places)
    };
    let mut found = look(&[]);
    let mut cuda_dirs = Vec::new();
    if !found.unresolved.is_empty() {
        cuda_dirs = cuda_header_dirs(nvrtc, &found.unresolved, &surroundings)?;
        if !cuda_dirs.is_empty() {
            found = look(&cuda_dirs);
        }
    }

    let memory = headers_in_memory(source, &found)?;
    let mut options = options(source, plan, &cuda_dirs)?;
    let shown: Vec<String> = options
        .iter()
        .map(|option| option.to_string_lossy().into_owned())
        .collect();
    if source.precompiled_headers
        && let Some(dir) = precompiled::directory(
            nvrtc,
            surroundings.cache.as_deref(),
            &found,
            &memory,
            &options,
        )
    {
        for option in ["--pch", "--pch-messages=false"] {
            options.push(c_string("an option", option)?);
        }
        let mut option = b"--pch-dir=".to_vec();
        option.extend_from_slice(to_c_string(&dir)?.as_bytes());
        options.push(CString::new(option).expect("a path without a zero byte"));
    }
    let api = nvrtc.api();
    let internal = |doing: &str, code: Code| {
        let hint = if code == Code::BUILTIN_OPERATION_FAILURE {
            "; its builtins library (libnvrtc-builtins) is missing beside it, or of another version"
        } else {
            ""
        };
        Error::new(
            ErrorKind::Compiler,
            format!(
                "{nvrtc} ({}) failed to {doing}: {}{hint}",
                nvrtc.path().display(),
                api.describe(code)
            ),
        )
    };
    let text = c_string("the source", &text)?;
    let name = c_string("the file name", &source.file_name)?;
    let mut program = Program::new(api, &text, &name, &memory)
        .map_err(|code| internal("take the source", code))?;
    let expressions: Vec<(&String, CString)> = source
        .name_expressions
        .iter()
        .map(|expression| Ok((expression, c_string("a name expression", expression)?)))
        .collect::<Result<_>>()?;
    for (_, expression) in &expressions {
        program
            .add_name_expression(expression)
            .map_err(|code| internal("take a name expression", code))?;
    }
    match program.compile(&options) {
        Ok(()) => {}
        Err(code) if code == Code::COMPILATION || code == Code::INVALID_OPTION => {
            return Err(failure(source, nvrtc, code, program.log(), shown, &found));
        }
        Err(code) => return Err(internal("compile", code)),
    }
    let ptx = program
        .ptx()
        .map_err(|code| internal("give its PTX", code))?;
    let cubin = if plan.cubin {
        program
            .cubin()
            .map_err(|code| internal("give its cubin", code))?
    } else {
        Vec::new()
    };
    let mut lowered = std::collections::BTreeMap::new();
    for (expression, text) in &expressions {
        let name = program
            .lowered_name(text)
            .map_err(|code| internal("give a mangled name", code))?;
        lowered.insert((*expression).clone(), name);
    }
    let log = program.log();
    let meta = cache::Meta {
        key: String::new(),
        name: source.file_name.clone(),
        made,
        compiler: nvrtc.to_string(),
        compiler_file: nvrtc.file().clone(),
        architecture: plan.architecture_name(),
        options: shown,
        log: if log.trim().is_empty() {
            String::new()
        } else {
            log
        },
        names: lowered,
        entries: names::entries(&ptx),
        declarations: declared(source, &found, &cuda_dirs),
        headers: std::mem::take(&mut found.headers),
        absent: std::mem::take(&mut found.absent).into_iter().collect(),
    };
    Ok((Entry { meta, ptx, cubin }, found))
}

/// The kernels declared in the source and in its headers, CUDA's own aside.
fn declared(
    source: &Source,
    found: &Found,
    cuda_dirs: &[PathBuf],
) -> Vec<(String, Vec<Parameter>)> {
    let files = found
        .headers
        .iter()
        .map(|header| &header.file.path)
        .filter(|path| !cuda_dirs.iter().any(|dir| path.starts_with(dir)))
        .filter_map(|path| std::fs::read_to_string(path).ok());
    let memory = source.headers.iter().map(|(_, text)| text.clone());
    let texts = std::iter::once(source.text.clone())
        .chain(memory)
        .chain(files);
    texts
        .flat_map(|text| declarations::kernels(&text))
        .map(|one| (one.name, one.parameters))
        .collect()
}

/// The options as NVRTC gets them.
fn options(source: &Source, plan: Plan, cuda_dirs: &[PathBuf]) -> Result<Vec<CString>> {
    let mut options = vec![c_string(
        "an option",
        &format!("--gpu-architecture={}", plan.architecture_name()),
    )?];
    if source.virtual_headers {
        options.push(c_string(
            "an option",
            &format!("--pre-include={}", headers::PRELUDE),
        )?);
    }
    for option in &source.options {
        options.push(c_string("an option", option)?);
    }
    for dir in source.include_dirs.iter().chain(cuda_dirs) {
        let mut option = b"--include-path=".to_vec();
        option.extend_from_slice(to_c_string(dir)?.as_bytes());
        options.push(CString::new(option).expect("a path without a zero byte"));
    }
    Ok(options)
}

/// The headers given in memory: the user's, then the virtual ones that nothing of the user's replaces.
fn headers_in_memory(source: &Source, found: &Found) -> Result<Vec<(CString, CString)>> {
    let own: BTreeSet<&str> = source
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    let supplied = headers::VIRTUAL
        .iter()
        .filter(|(name, _)| {
            (source.virtual_headers || headers::is_own(name))
                && !own.contains(name)
                && !found.shadowed.contains(*name)
        })
        .map(|(name, text)| (*name, *text));
    source
        .headers
        .iter()
        .map(|(name, text)| (name.as_str(), text.as_str()))
        .chain(supplied)
        .map(|(name, text)| {
            Ok((
                c_string("a header's name", name)?,
                c_string("a header", text)?,
            ))
        })
        .collect()
}

/// The directories with CUDA's headers that hold some of the names: beside the compiler; carried by it, for what the wheels or the
/// toolkit beside it lack; and for what is then still missing, the pinned wheels of headers of the compiler's version, from Cuprum's
/// cache or, with `CUPRUM_FETCH=1`, fetched into it.
fn cuda_header_dirs(
    nvrtc: Nvrtc,
    names: &BTreeSet<String>,
    surroundings: &Surroundings,
) -> Result<Vec<PathBuf>> {
    let holds = |dirs: &[PathBuf], name: &str| dirs.iter().any(|dir| dir.join(name).is_file());
    let mut dirs = nvrtc.header_dirs_beside();
    // A full set has both CUDA's own headers and those of its C++ library.
    if !(holds(&dirs, "cuda_fp16.h") && holds(&dirs, "nv/target"))
        && let Some(carried) = surroundings
            .cache
            .as_deref()
            .and_then(|cache| nvrtc.bundled_header_dirs(cache))
    {
        dirs.extend(carried?);
    }
    let mut groups: Vec<Headers> = names
        .iter()
        .filter(|name| !holds(&dirs, name))
        .filter_map(|name| Headers::of(name))
        .collect();
    groups.dedup();
    if let Some(wheel) = Wheel::of_version(nvrtc.version())
        && !groups.is_empty()
    {
        match header_dirs_in(wheel, &groups, surroundings) {
            Ok(fetched) => {
                let new = fetched.into_iter().filter(|dir| !dirs.contains(dir));
                let new: Vec<PathBuf> = new.collect();
                dirs.extend(new);
            }
            // The compiler's message says that the header is missing, and our hint how to get it.
            Err(_) if !surroundings.fetch => {}
            Err(error) => return Err(error),
        }
    }
    if !names.iter().any(|name| holds(&dirs, name)) {
        dirs.clear();
    }
    Ok(dirs)
}

/// The error of a source that NVRTC refused.
fn failure(
    source: &Source,
    nvrtc: Nvrtc,
    code: Code,
    log: String,
    options: Vec<String>,
    found: &Found,
) -> Error {
    let mut diagnostics = diagnostics::parse(&log);
    // A text that stands in the source more than once, by #line, has its messages as often.
    let mut seen: Vec<Diagnostic> = Vec::new();
    diagnostics.retain(|one| {
        let new = one.location.is_none() || !seen.contains(one);
        if new {
            seen.push(one.clone());
        }
        new
    });
    for one in &mut diagnostics {
        let Some(place) = &mut one.location else {
            continue;
        };
        if place.file == "__nv_name_map" {
            // A message about a name expression: NVRTC puts each on a line of a text of its own, from line 2.
            let index = (place.line as usize).checked_sub(2);
            if let Some(expression) = index.and_then(|index| source.name_expressions.get(index)) {
                place.file = format!("name expression `{expression}`");
            }
        } else {
            one.included_from = found.chain(&place.file);
            let (file, line) = (place.file.clone(), place.line);
            from_template(source, one, &file, line);
        }
    }
    if code == Code::INVALID_OPTION {
        let text = diagnostics
            .first()
            .map_or_else(|| log.trim().to_owned(), |first| first.message.clone());
        return Error::new(
            ErrorKind::Option,
            format!(
                "{nvrtc} refuses the options {}: {text}. NVRTC takes fewer options than nvcc",
                options.join(" ")
            ),
        );
    }
    let hints = hints(&log);
    Error::compile(CompileFailure {
        file_name: source.file_name.clone(),
        source: source.text.clone(),
        options,
        compiler: nvrtc.to_string(),
        diagnostics,
        log,
        hints,
    })
}

/// Adds the line of the template that a line was rendered from, if they differ.
fn from_template(source: &Source, one: &mut Diagnostic, file: &str, line: u32) {
    let Some(text) = source
        .template
        .as_ref()
        .and_then(|files| files.line(file, line))
    else {
        return;
    };
    if one
        .source_line
        .as_deref()
        .is_some_and(|shown| shown.trim() == text.trim())
    {
        return;
    }
    let mut note = Diagnostic::new(
        Severity::Note,
        None,
        "this line of the template gave it",
        Some(Location {
            file: file.to_owned(),
            line,
            column: None,
        }),
    );
    note.source_line = Some(text.to_owned());
    one.notes.push(note);
}

/// Advice for the causes that are met most.
fn hints(log: &str) -> Vec<String> {
    let mut hints = Vec::new();
    let missing: Vec<&str> = log
        .lines()
        .filter_map(|line| Some(line.split_once("open source file \"")?.1.split_once('"')?.0))
        .collect();
    if !missing.is_empty() {
        hints.push(format!(
            "not found: {}. Add the directory with include_dir, or the text with header. CUDA's own headers are found beside a toolkit's NVRTC, NVRTC 13.5 carries most of them, and with CUPRUM_FETCH=1 Cuprum fetches them; a host's C++ headers do not exist for kernels",
            missing.join(", ")
        ));
    }
    if log.contains("-default-device flag") {
        hints.push("the option --device-as-default-execution-space takes functions and variables without __device__ as the device's".into());
    }
    if log.contains("may not have extern \"C\" linkage")
        || log.contains("cannot have \"C\" linkage")
    {
        hints.push("templates and overloads cannot stand in extern \"C\": use extern_c(false), and name expressions for templates".into());
    }
    if log.contains("texture is not a template") {
        hints.push(
            "texture references are gone since CUDA 12: take a cudaTextureObject_t as parameter"
                .into(),
        );
    }
    hints
}
