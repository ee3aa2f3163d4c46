//! Modules: loaded code, its variables and its kernels.

use std::ffi::CString;
use std::fmt;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use cuprum_driver_sys::{CUfunction, CUfunction_attribute as A, CUmodule, CUresult};
use cuprum_ptx::{Linkage, ScalarType, Space};

use crate::attributes::SHARED_PER_BLOCK;
use crate::context::Context;
use crate::driver::{Driver, driver};
use crate::error::{Failure, Outcome, fail, lock};
use crate::exec::CompiledKernel;
use crate::image;
use crate::memory::{Kind, Request};
use crate::program::{KernelInfo, LoadError, MAX_LOCAL, Program};
use crate::registry::{handle, next_id};

/// Constant memory that the variables of a module may take, bytes.
const CONSTANT_BYTES: u64 = 64 << 10;
/// Bytes of parameters that a kernel may have (PTX ISA 8.1, `sm_70`).
const PARAMETER_BYTES: u64 = 32_764;

/// One loaded image.
pub(crate) struct Module {
    /// A number unique in the process.
    pub(crate) id: u64,
    /// The context it was loaded into.
    pub(crate) context: Arc<Context>,
    program: Program,
    /// Target architecture of the PTX, times ten.
    target: u32,
    /// The address of each variable of the program; 0 for one without bytes.
    addresses: Vec<u64>,
    /// The number of the function of each kernel that was looked up.
    functions: Mutex<Vec<Option<u64>>>,
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Module({}, {} kernels)",
            self.id,
            self.program.kernels().len()
        )
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        Self::new(error.code, error.message)
    }
}

impl Module {
    /// Loads PTX into a context: variables get their memory and contents. Kernels are compiled when looked up.
    pub(crate) fn load(context: &Arc<Context>, image: &[u8]) -> Outcome<Arc<Self>> {
        let ptx = image::ptx(image)?;
        let (major, minor) = context.device.config.compute_capability;
        let target = image::target(&ptx).unwrap_or(0);
        if target > major * 10 + minor {
            return fail(
                CUresult::INVALID_PTX,
                format!(
                    "the PTX is for sm_{target}, the device has compute capability {major}.{minor}"
                ),
            );
        }
        let program = Program::parse(&ptx)?;
        check(&program)?;
        let driver = driver()?;
        let addresses = place_variables(driver, context, &program)?;
        let functions = Mutex::new(vec![None; program.kernels().len()]);
        let module = Arc::new(Self {
            id: next_id(),
            context: Arc::clone(context),
            program,
            target,
            addresses,
            functions,
        });
        driver.modules.insert(module.id, Arc::clone(&module));
        context.keep(|| drop(driver.modules.remove(handle(module.id))))?;
        context.printf.flush();
        Ok(module)
    }

    /// Ends the module: waits for the work of its context, then frees variables and code.
    pub(crate) fn unload(&self, driver: &Driver) -> Outcome {
        self.context.synchronize()?;
        if driver.modules.remove(handle(self.id)).is_none() {
            return fail(
                CUresult::INVALID_HANDLE,
                "the module has been unloaded already",
            );
        }
        for id in lock(&self.functions).drain(..).flatten() {
            driver.functions.remove(handle(id));
        }
        let (textures, surfaces) = self
            .context
            .objects
            .references
            .forget(|variable| self.addresses.contains(&variable));
        for id in textures {
            driver.texture_references.remove(handle(id));
        }
        for id in surfaces {
            driver.surface_references.remove(handle(id));
        }
        for &address in self.addresses.iter().filter(|&&address| address != 0) {
            driver
                .space
                .free(address, &[Kind::Variable, Kind::Constant, Kind::Managed])?;
        }
        Ok(())
    }

    /// The handle that the program holds.
    pub(crate) fn handle(&self) -> CUmodule {
        CUmodule(handle(self.id))
    }

    /// How many kernels it has.
    pub(crate) fn kernel_count(&self) -> usize {
        self.program.kernels().len()
    }

    /// The function of a kernel by its place in the module; the same one each time.
    pub(crate) fn function(self: &Arc<Self>, kernel: usize) -> Outcome<Arc<Function>> {
        let functions = &driver()?.functions;
        let mut known = lock(&self.functions);
        let Some(slot) = known.get_mut(kernel) else {
            return fail(CUresult::INVALID_HANDLE, "the module has been unloaded");
        };
        if let Some(found) = slot.and_then(|id| functions.get(handle(id))) {
            return Ok(found);
        }
        let function = Arc::new(Function::new(self, kernel));
        functions.insert(function.id, Arc::clone(&function));
        *slot = Some(function.id);
        drop(known);
        self.context
            .keep(|| drop(functions.remove(handle(function.id))))?;
        Ok(function)
    }

    /// The kernel with this name.
    pub(crate) fn find_kernel(&self, name: &str) -> Outcome<usize> {
        let kernels = self.program.kernels();
        kernels
            .iter()
            .position(|kernel| kernel.name == name)
            .map_or_else(
                || {
                    fail(
                        CUresult::NOT_FOUND,
                        not_found(
                            "kernel",
                            name,
                            kernels.iter().map(|kernel| kernel.name.as_str()),
                        ),
                    )
                },
                Ok,
            )
    }

    /// Address and size of the variable with this name.
    pub(crate) fn find_variable(&self, name: &str) -> Outcome<(u64, u64)> {
        let variables = self.program.variables();
        match variables.iter().position(|variable| variable.name == name) {
            Some(index) => Ok((self.addresses[index], variables[index].size)),
            None => {
                let names = variables.iter().map(|variable| variable.name.as_str());
                fail(CUresult::NOT_FOUND, not_found("variable", name, names))
            }
        }
    }

    /// The address of the texture (`is_surface`: surface) reference with this name.
    pub(crate) fn find_reference(&self, name: &str, is_surface: bool) -> Outcome<u64> {
        let (what, ty) = if is_surface {
            ("surface reference", ScalarType::SurfRef)
        } else {
            ("texture reference", ScalarType::TexRef)
        };
        let variables = self.program.variables();
        let found = variables
            .iter()
            .position(|variable| variable.name == name && variable.ty == ty);
        found.map_or_else(
            || {
                let names = variables
                    .iter()
                    .filter(|variable| variable.ty == ty)
                    .map(|variable| variable.name.as_str());
                fail(CUresult::NOT_FOUND, not_found(what, name, names))
            },
            |index| Ok(self.addresses[index]),
        )
    }

    /// What the compiler says of the module: a line for each kernel.
    pub(crate) fn describe(&self) -> String {
        let line = |k: &KernelInfo| {
            let KernelInfo {
                name,
                registers,
                static_shared,
                local_bytes,
                ..
            } = k;
            format!(
                "kernel `{name}`: about {registers} registers, {static_shared} bytes of shared memory, \
                 {local_bytes} bytes of local memory\n"
            )
        };
        self.program.kernels().iter().map(line).collect()
    }
}

fn not_found<'a>(what: &str, name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        return format!("the module has no {what} `{name}`, nor any other");
    }
    format!(
        "the module has no {what} `{name}`; it has: {}",
        names.join(", ")
    )
}

/// What hardware's assembler refuses beyond syntax.
fn check(program: &Program) -> Outcome {
    let variables = program.variables();
    let invalid = |text: String| fail(CUresult::INVALID_PTX, text);
    if let Some(variable) = variables.iter().find(|v| v.linkage == Linkage::Extern) {
        return invalid(format!(
            "the variable `{}` is declared, but not defined anywhere",
            variable.name
        ));
    }
    for variable in variables {
        if let Some(problem) = &variable.problem {
            return fail(
                CUresult::NOT_SUPPORTED,
                format!("the initial value of `{}`: {problem}", variable.name),
            );
        }
        if u64::from(variable.align) > crate::memory::GRANULE {
            let (name, align) = (&variable.name, variable.align);
            return fail(
                CUresult::NOT_SUPPORTED,
                format!("the variable `{name}` is aligned to {align} bytes"),
            );
        }
    }
    let constant = constant_bytes(program);
    if constant > CONSTANT_BYTES {
        return invalid(format!(
            "the module has {constant} bytes of constant memory: at most {CONSTANT_BYTES}"
        ));
    }
    if let Some(kernel) = program
        .kernels()
        .iter()
        .find(|k| k.static_shared > SHARED_PER_BLOCK)
    {
        let (name, bytes) = (&kernel.name, kernel.static_shared);
        return invalid(format!(
            "kernel `{name}` has {bytes} bytes of static shared memory: at most {SHARED_PER_BLOCK}"
        ));
    }
    if let Some(function) = program.bodies().find(|f| f.frame_bytes > MAX_LOCAL) {
        return invalid(format!(
            "function `{}` has {} bytes of local memory: at most {MAX_LOCAL}",
            function.name, function.frame_bytes
        ));
    }
    let parameters = |k: &KernelInfo| {
        k.params
            .last()
            .map_or(0, |p| u64::from(p.offset) + u64::from(p.size))
    };
    if let Some(kernel) = program
        .kernels()
        .iter()
        .find(|k| parameters(k) > PARAMETER_BYTES)
    {
        return invalid(format!(
            "kernel `{}` has {} bytes of parameters: at most {PARAMETER_BYTES}",
            kernel.name,
            parameters(kernel)
        ));
    }
    Ok(())
}

fn constant_bytes(program: &Program) -> u64 {
    program
        .variables()
        .iter()
        .filter(|v| v.space == Space::Const)
        .fold(0, |sum, v| sum.saturating_add(v.size))
}

/// Allocates the variables and writes their initial values; on failure none stays allocated.
fn place_variables(driver: &Driver, context: &Context, program: &Program) -> Outcome<Vec<u64>> {
    let mut addresses = Vec::new();
    let placed = program.variables().iter().try_for_each(|variable| {
        let kind = match (variable.managed, variable.space) {
            (true, _) => Kind::Managed,
            (_, Space::Const) => Kind::Constant,
            _ => Kind::Variable,
        };
        let (device, context) = (context.device.ordinal, context.id);
        let request = Request {
            size: variable.size,
            kind,
            device,
            context,
            flags: 0,
        };
        let address = match variable.size {
            0 => 0,
            _ => driver.space.allocate(request)?.address,
        };
        addresses.push(address);
        Ok(())
    });
    if let Err(failure) = placed {
        for &address in addresses.iter().filter(|&&address| address != 0) {
            driver
                .space
                .free(address, &[Kind::Variable, Kind::Constant, Kind::Managed])?;
        }
        return Err(failure);
    }
    for (variable, &address) in program.variables().iter().zip(&addresses) {
        let mut contents = variable.initial.clone();
        let end = variable
            .relocations
            .iter()
            .map(|r| r.offset.saturating_add(u64::from(r.bytes)))
            .max()
            .unwrap_or(0);
        contents.resize(
            contents
                .len()
                .max(usize::try_from(end.min(variable.size)).unwrap_or(0)),
            0,
        );
        for relocation in &variable.relocations {
            relocation.apply(&mut contents, &addresses);
        }
        if address != 0 {
            driver.space.write(address, &contents);
        }
    }
    Ok(addresses)
}

/// One kernel of a module.
pub(crate) struct Function {
    /// A number unique in the process.
    pub(crate) id: u64,
    /// The module.
    pub(crate) module: Arc<Module>,
    /// The name, for C.
    pub(crate) name: CString,
    kernel: usize,
    compiled: OnceLock<Outcome<Arc<CompiledKernel>>>,
    /// Dynamic shared memory that a launch may ask for, bytes.
    max_dynamic_shared: AtomicU32,
    carveout: AtomicI32,
    cluster_policy: AtomicI32,
    /// The cache preference; kept, without effect.
    pub(crate) cache_config: AtomicU32,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({:?} of module {})", self.name, self.module.id)
    }
}

impl Function {
    fn new(module: &Arc<Module>, kernel: usize) -> Self {
        let info = &module.program.kernels()[kernel];
        Self {
            id: next_id(),
            module: Arc::clone(module),
            name: CString::new(info.name.as_str()).unwrap_or_default(),
            kernel,
            compiled: OnceLock::new(),
            max_dynamic_shared: AtomicU32::new(SHARED_PER_BLOCK.saturating_sub(info.static_shared)),
            carveout: AtomicI32::new(-1),
            cluster_policy: AtomicI32::new(0),
            cache_config: AtomicU32::new(0),
        }
    }

    /// The context of the module.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.module.context
    }

    /// The handle that the program holds.
    pub(crate) fn handle(&self) -> CUfunction {
        CUfunction(handle(self.id))
    }

    /// What is known of the kernel without compiling it.
    pub(crate) fn info(&self) -> &KernelInfo {
        &self.module.program.kernels()[self.kernel]
    }

    /// The kernel, compiled now if it has not been; a failure stays.
    pub(crate) fn compiled(&self) -> Outcome<Arc<CompiledKernel>> {
        let compile = || {
            let Module {
                program, addresses, ..
            } = &*self.module;
            Ok(program.compile(self.kernel, addresses, driver()?.config.code)?)
        };
        self.compiled.get_or_init(compile).clone()
    }

    /// Dynamic shared memory that a launch may ask for, bytes.
    pub(crate) fn max_dynamic_shared(&self) -> u32 {
        self.max_dynamic_shared.load(Ordering::Relaxed)
    }

    /// The greatest value that [`max_dynamic_shared`](Self::max_dynamic_shared) can be set to.
    fn dynamic_shared_limit(&self) -> u32 {
        self.context()
            .device
            .limits()
            .shared_per_block_optin
            .saturating_sub(self.info().static_shared)
    }

    /// An attribute's value.
    pub(crate) fn attribute(&self, attribute: A) -> Outcome<i32> {
        let info = self.info();
        let int = |value: u32| i32::try_from(value).unwrap_or(i32::MAX);
        let (major, minor) = self.context().device.config.compute_capability;
        Ok(match attribute {
            A::MAX_THREADS_PER_BLOCK => int(info.max_threads),
            A::SHARED_SIZE_BYTES => int(info.static_shared),
            A::CONST_SIZE_BYTES => int(constant_bytes(&self.module.program) as u32),
            A::LOCAL_SIZE_BYTES => int(info.local_bytes),
            A::NUM_REGS => int(info.registers),
            A::PTX_VERSION => int(self.module.target),
            A::BINARY_VERSION => int(major * 10 + minor),
            A::CACHE_MODE_CA => 0,
            A::MAX_DYNAMIC_SHARED_SIZE_BYTES => int(self.max_dynamic_shared()),
            A::PREFERRED_SHARED_MEMORY_CARVEOUT => self.carveout.load(Ordering::Relaxed),
            A::CLUSTER_SIZE_MUST_BE_SET
            | A::REQUIRED_CLUSTER_WIDTH
            | A::REQUIRED_CLUSTER_HEIGHT
            | A::REQUIRED_CLUSTER_DEPTH
            | A::NON_PORTABLE_CLUSTER_SIZE_ALLOWED => 0,
            A::CLUSTER_SCHEDULING_POLICY_PREFERENCE => self.cluster_policy.load(Ordering::Relaxed),
            other => {
                return fail(
                    CUresult::INVALID_VALUE,
                    format!("functions have no attribute {}", other.0),
                );
            }
        })
    }

    /// Sets an attribute that can be set.
    pub(crate) fn set_attribute(&self, attribute: A, value: i32) -> Outcome {
        let out_of_range = |most: i64| {
            fail(
                CUresult::INVALID_VALUE,
                format!(
                    "function attribute {} cannot be {value}: at most {most}",
                    attribute.0
                ),
            )
        };
        match attribute {
            A::MAX_DYNAMIC_SHARED_SIZE_BYTES => {
                let most = self.dynamic_shared_limit();
                match u32::try_from(value) {
                    Ok(bytes) if bytes <= most => {
                        self.max_dynamic_shared.store(bytes, Ordering::Relaxed);
                    }
                    _ => return out_of_range(most.into()),
                }
            }
            A::PREFERRED_SHARED_MEMORY_CARVEOUT if (-1..=100).contains(&value) => {
                self.carveout.store(value, Ordering::Relaxed);
            }
            A::PREFERRED_SHARED_MEMORY_CARVEOUT => return out_of_range(100),
            A::CLUSTER_SCHEDULING_POLICY_PREFERENCE if (0..=2).contains(&value) => {
                self.cluster_policy.store(value, Ordering::Relaxed);
            }
            A::NON_PORTABLE_CLUSTER_SIZE_ALLOWED if value == 0 => {}
            A::NON_PORTABLE_CLUSTER_SIZE_ALLOWED => {
                return fail(
                    CUresult::NOT_SUPPORTED,
                    "software devices have no clusters of blocks",
                );
            }
            other => {
                return fail(
                    CUresult::INVALID_VALUE,
                    format!("function attribute {} cannot be set to {value}", other.0),
                );
            }
        }
        Ok(())
    }
}
