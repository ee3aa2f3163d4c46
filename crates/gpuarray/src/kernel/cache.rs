//! Compiled kernels by structure.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use cuprum_codegen::SourceModule;
use cuprum_driver_core::{Context, Function};

use crate::error::Result;
use crate::kernel::key::Key;
use crate::kernel::source::KERNEL_NAME;

/// Loaded kernels. Each holds its context, so a context's handle (which is part of the key) cannot come to mean another one meanwhile.
static KERNELS: LazyLock<RwLock<Kernels>> = LazyLock::new(RwLock::default);

type Kernels = HashMap<Box<[u64]>, Arc<Function>, BuildHasherDefault<WordHasher>>;

/// The kernel with this key, built from `source` if it is not there yet.
pub(crate) fn kernel(
    context: &Context,
    key: &Key,
    source: impl FnOnce() -> String,
) -> Result<Arc<Function>> {
    let kernels = KERNELS.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(kernel) = kernels.get(&key[..]) {
        return Ok(Arc::clone(kernel));
    }
    drop(kernels);
    build(context, key, source())
}

/// Compiles without holding the lock: two threads may compile one kernel at once, and the first to finish wins.
#[cold]
fn build(context: &Context, key: &Key, source: String) -> Result<Arc<Function>> {
    // Contraction would make values depend on how expressions are cut into kernels.
    let module = SourceModule::builder(source)
        .file_name("expression.cu")
        .option("-fmad=false")
        .build(context)?;
    let function = Arc::new(module.function(KERNEL_NAME)?);
    let mut kernels = KERNELS.write().unwrap_or_else(PoisonError::into_inner);
    // Kernels of a context that a fault has taken are of no use, and hold it.
    kernels.retain(|_, kernel| !kernel.module().context().is_lost());
    Ok(Arc::clone(
        kernels.entry(key[..].into()).or_insert(function),
    ))
}

/// The number of kernels that are loaded, over all contexts.
pub fn cached_kernels() -> usize {
    KERNELS.read().unwrap_or_else(PoisonError::into_inner).len()
}

/// Unloads the kernels of a context. Kernels are kept, and with them their context, until this is called or a fault takes the context; they
/// are compiled again (or read from the compiler's cache) when they are needed again.
pub fn clear_kernels(context: &Context) {
    let mut kernels = KERNELS.write().unwrap_or_else(PoisonError::into_inner);
    let cleared: Vec<_> = kernels
        .extract_if(|_, kernel| kernel.module().context() == context)
        .collect();
    // Unloading calls the driver: not under the lock.
    drop(kernels);
    drop(cleared);
}

/// Hashes words by multiplying and folding: keys are short, and their words are well known numbers, not an adversary's.
#[derive(Default)]
struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_ne_bytes(word));
        }
    }

    fn write_u64(&mut self, word: u64) {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let product = u128::from(self.0.rotate_left(5) ^ word).wrapping_mul(u128::from(ODD));
        self.0 = product as u64 ^ (product >> 64) as u64;
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
}
