//! Modules and functions.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use cuprum_driver_sys::{
    CUdeviceptr, CUfunc_cache, CUfunction, CUfunction_attribute, CUjit_option, CUmodule, CUresult,
};

use super::context::check_cache_config;
use super::{List, Out, Text, entries};
use crate::context::current;
use crate::driver::driver;
use crate::error::{Failure, Outcome, fail};
use crate::module::{Function, Module};

/// The bytes of an image up to its first zero: all of PTX text, and enough of the others to know them.
struct Image(Text);

impl super::Argument for Image {
    type Raw = *const c_void;

    unsafe fn from_raw(raw: *const c_void) -> Self {
        // SAFETY: PTX is null-terminated text, as the manual demands; the headers of cubins and fat binaries hold a
        // zero byte among their first sixteen.
        Self(unsafe { Text::from_raw(raw.cast::<c_char>()) })
    }
}

entries! {
    fn cuModuleLoadData(module: Out<CUmodule>, image: Image) {
        let context = current()?;
        module.require()?;
        module.set(Module::load(&context, image.0.read()?.to_bytes())?.handle())
    }

    fn cuModuleLoadDataEx(
        module: Out<CUmodule>,
        image: Image,
        count: u32,
        options: List<CUjit_option>,
        values: List<*mut c_void>,
    ) {
        let context = current()?;
        module.require()?;
        let options = JitOptions::read(count, options, values)?;
        let begun = Instant::now();
        let loaded = Module::load(&context, image.0.read()?.to_bytes());
        options.answer(&loaded, begun.elapsed().as_secs_f32() * 1e3);
        module.set(loaded?.handle())
    }

    fn cuModuleLoad(module: Out<CUmodule>, path: Text) {
        let context = current()?;
        module.require()?;
        let path = path.read()?.to_string_lossy();
        let image = match std::fs::read(&*path) {
            Ok(image) => image,
            Err(error) => return fail(CUresult::FILE_NOT_FOUND, format!("{path}: {error}")),
        };
        let text = image.split(|&byte| byte == 0).next().unwrap_or_default();
        module.set(Module::load(&context, text)?.handle())
    }

    fn cuModuleUnload(module: CUmodule) {
        by_handle(module)?.unload(driver()?)
    }

    fn cuModuleGetFunction(function: Out<CUfunction>, module: CUmodule, name: Text) {
        let module = by_handle(module)?;
        function.require()?;
        let kernel = module.find_kernel(&name.read()?.to_string_lossy())?;
        let found = module.function(kernel)?;
        // What the device cannot run is told here rather than at the first launch.
        found.compiled()?;
        function.set(found.handle())
    }

    fn cuModuleGetGlobal_v2(address: Out<CUdeviceptr>, bytes: Out<usize>, module: CUmodule, name: Text) {
        let (at, size) = by_handle(module)?.find_variable(&name.read()?.to_string_lossy())?;
        address.set_if_wanted(at);
        bytes.set_if_wanted(usize::try_from(size).unwrap_or(usize::MAX));
        Ok(())
    }

    fn cuModuleGetFunctionCount(count: Out<u32>, module: CUmodule) {
        let module = by_handle(module)?;
        count.set(u32::try_from(module.kernel_count()).unwrap_or(u32::MAX))
    }

    fn cuModuleEnumerateFunctions(functions: List<CUfunction>, count: u32, module: CUmodule) {
        let module = by_handle(module)?;
        functions.require()?;
        for kernel in 0..module.kernel_count().min(count as usize) {
            let function = module.function(kernel)?;
            // SAFETY: the program passed room for `count` handles.
            unsafe { functions.set(kernel, function.handle()) };
        }
        Ok(())
    }

    fn cuFuncGetAttribute(value: Out<i32>, attribute: CUfunction_attribute, function: CUfunction) {
        let function = function_by_handle(function)?;
        value.require()?;
        value.set(function.attribute(attribute)?)
    }

    fn cuFuncSetAttribute(function: CUfunction, attribute: CUfunction_attribute, value: i32) {
        function_by_handle(function)?.set_attribute(attribute, value)
    }

    fn cuFuncSetCacheConfig(function: CUfunction, config: CUfunc_cache) {
        let function = function_by_handle(function)?;
        check_cache_config(config)?;
        function.cache_config.store(config.0, Ordering::Relaxed);
        Ok(())
    }

    fn cuFuncGetName(name: Out<*const c_char>, function: CUfunction) {
        // The text lives as long as the function: until its module is unloaded.
        name.set(function_by_handle(function)?.name.as_ptr())
    }

    fn cuFuncGetModule(module: Out<CUmodule>, function: CUfunction) {
        module.set(function_by_handle(function)?.module.handle())
    }

    fn cuFuncGetParamInfo(function: CUfunction, index: usize, offset: Out<usize>, size: Out<usize>) {
        let function = function_by_handle(function)?;
        offset.require()?;
        let params = &function.info().params;
        let Some(param) = params.get(index) else {
            return fail(CUresult::INVALID_VALUE, format!("parameter {index} of {}", params.len()));
        };
        size.set_if_wanted(param.size as usize);
        offset.set(param.offset as usize)
    }
}

pub(super) fn by_handle(module: CUmodule) -> Outcome<Arc<Module>> {
    current()?;
    let Some(module) = driver()?.modules.get(module.0) else {
        return fail(
            CUresult::INVALID_HANDLE,
            "the handle is not that of a loaded module",
        );
    };
    module.context.check()?;
    Ok(module)
}

/// The function behind a handle.
pub(super) fn function_by_handle(function: CUfunction) -> Outcome<Arc<Function>> {
    current()?;
    let Some(function) = driver()?.functions.get(function.0) else {
        return fail(
            CUresult::INVALID_HANDLE,
            "the handle is not that of a function of a loaded module",
        );
    };
    function.context().check()?;
    Ok(function)
}

/// The options of a load that have an effect.
struct JitOptions {
    values: List<*mut c_void>,
    info: Option<Log>,
    error: Option<Log>,
    wall_time: Option<usize>,
}

/// A buffer for a log.
struct Log {
    buffer: *mut c_char,
    size: usize,
    /// The place of its size among the values, where the number of bytes written goes.
    answer: usize,
}

impl JitOptions {
    fn read(count: u32, options: List<CUjit_option>, values: List<*mut c_void>) -> Outcome<Self> {
        let count = count as usize;
        if count > 0 {
            options.require()?;
            values.require()?;
        }
        // SAFETY: the program passed `count` options and values.
        let given: Vec<(CUjit_option, *mut c_void)> = (0..count)
            .map(|i| unsafe { (options.get(i), values.get(i)) })
            .collect();
        let place = |wanted: CUjit_option| given.iter().position(|&(option, _)| option == wanted);
        let log = |buffer: CUjit_option, size: CUjit_option| {
            let (buffer, answer) = (given[place(buffer)?].1, place(size)?);
            // Sizes travel as numbers of 32 bits in the place of a pointer.
            let size = given[answer].1.addr() & 0xffff_ffff;
            (!buffer.is_null()).then_some(Log {
                buffer: buffer.cast(),
                size,
                answer,
            })
        };
        Ok(Self {
            info: log(
                CUjit_option::INFO_LOG_BUFFER,
                CUjit_option::INFO_LOG_BUFFER_SIZE_BYTES,
            ),
            error: log(
                CUjit_option::ERROR_LOG_BUFFER,
                CUjit_option::ERROR_LOG_BUFFER_SIZE_BYTES,
            ),
            wall_time: place(CUjit_option::WALL_TIME),
            values,
        })
    }

    fn answer(&self, loaded: &Result<Arc<Module>, Failure>, milliseconds: f32) {
        let (info, error) = match loaded {
            Ok(module) => (module.describe(), String::new()),
            Err(failure) => (String::new(), failure.text.clone()),
        };
        for (log, text) in [(&self.info, info), (&self.error, error)] {
            let Some(log) = log else { continue };
            let written = log.write(&text);
            // SAFETY: the place was found among the values that the program passed.
            unsafe {
                self.values
                    .set(log.answer, std::ptr::without_provenance_mut(written));
            }
        }
        if let Some(place) = self.wall_time {
            let bits = milliseconds.to_bits() as usize;
            // SAFETY: as above.
            unsafe {
                self.values
                    .set(place, std::ptr::without_provenance_mut(bits));
            }
        }
    }
}

impl Log {
    /// Writes text and a terminating zero, cut to the buffer; answers the bytes of text written.
    fn write(&self, text: &str) -> usize {
        let size = i32::try_from(self.size).unwrap_or(i32::MAX);
        if size == 0 || Out(self.buffer).set_text(text, size).is_err() {
            return 0;
        }
        text.len().min(size as usize - 1)
    }
}
