//! What a kind of misbehaviour is, and how one is run.

use std::ffi::{CString, c_void};
use std::time::{Duration, Instant};

use crate::common::*;
use crate::{cu, ok};

/// What a test answers: nothing, or what is wrong.
pub(crate) type Outcome = Result<(), String>;

/// A kind of misbehaviour.
pub(crate) struct Kind {
    pub(crate) name: String,
    body: Box<dyn FnOnce() -> Outcome + Send>,
}

impl Kind {
    /// Calls that misbehave: `body` runs with a context of its own and asserts.
    pub(crate) fn calls(name: impl Into<String>, body: impl FnOnce() + Send + 'static) -> Self {
        Self {
            name: name.into(),
            body: Box::new(|| {
                let context = TestContext::on(0);
                body();
                drop(context);
                Ok(())
            }),
        }
    }

    /// Runs it, and then sees that the device still works.
    pub(crate) fn run(self) -> Outcome {
        (self.body)()?;
        works()
    }
}

impl From<Kernel> for Kind {
    fn from(kernel: Kernel) -> Self {
        Self {
            name: kernel.name.clone(),
            body: Box::new(move || kernel.run()),
        }
    }
}

/// How a launch ends.
enum End {
    /// With this code, which takes the context, and an account that holds these words.
    Fault(CUresult, Vec<String>),
    /// Well, with these words at the start of the result buffer.
    Fine(Vec<u32>),
}

/// A kernel that misbehaves: PTX, a launch, and what is expected of it.
pub(crate) struct Kernel {
    name: String,
    module: String,
    declarations: String,
    body: String,
    everybody: bool,
    grid: u32,
    block: u32,
    shared: u32,
    address: fn() -> u64,
    limit: Duration,
    limits: Vec<(CUlimit, usize)>,
    told: bool,
    end: End,
}

/// Enough for every kernel that ends, on a loaded machine too: a hang fails a test and does not stop it.
const PATIENCE: Duration = Duration::from_secs(30);
/// For kernels that do not end.
const IMPATIENCE: Duration = Duration::from_millis(150);

/// The line that [`Kernel`] says the body stands at.
const LINE: u32 = 42;

impl Kernel {
    /// A kernel whose `body` one thread of 128 executes: that of block 1 with index 5. `%a` holds what
    /// [`at`](Self::at) says, `%q` the result buffer of 1024 words, zero at first. `%p`, `%r`, `%d`, `%f` and `%g` are
    /// registers of the usual types.
    pub(crate) fn new(name: impl Into<String>, body: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            module: String::new(),
            declarations: String::new(),
            body: body.into(),
            everybody: false,
            grid: 2,
            block: 64,
            shared: 0,
            address: || 0,
            limit: PATIENCE,
            limits: Vec::new(),
            told: true,
            end: End::Fine(Vec::new()),
        }
    }

    /// Every thread executes the body, so whose fault it is may differ.
    pub(crate) fn everybody(mut self, grid: u32, block: u32) -> Self {
        (self.everybody, self.grid, self.block) = (true, grid, block);
        self
    }

    /// Text before the kernel: variables and functions.
    pub(crate) fn module(mut self, text: impl Into<String>) -> Self {
        self.module = text.into();
        self
    }

    /// Declarations at the start of the kernel.
    pub(crate) fn declare(mut self, text: &str) -> Self {
        self.declarations = text.into();
        self
    }

    /// What `%a` holds.
    pub(crate) fn at(mut self, address: fn() -> u64) -> Self {
        self.address = address;
        self
    }

    /// Bytes of dynamic shared memory.
    pub(crate) fn shared(mut self, bytes: u32) -> Self {
        self.shared = bytes;
        self
    }

    /// A limit of the context.
    pub(crate) fn limit(mut self, limit: CUlimit, value: usize) -> Self {
        self.limits.push((limit, value));
        self
    }

    /// It faults: the account holds these words, the kernel's name, and, if one thread is at fault, the line, the block
    /// and the thread.
    pub(crate) fn fails(mut self, code: CUresult, words: &[&str]) -> Self {
        self.end = End::Fault(code, words.iter().map(|&word| word.to_owned()).collect());
        self
    }

    /// The fault is in a function that has no line, or has no one place.
    pub(crate) fn somewhere(mut self) -> Self {
        self.told = false;
        self
    }

    /// It never ends.
    pub(crate) fn never_ends(mut self) -> Self {
        self.limit = IMPATIENCE;
        self.told = false;
        self.fails(
            CUresult::LAUNCH_TIMEOUT,
            &["time limit of 150ms", "blocks had finished"],
        )
    }

    /// It ends well, and the result buffer begins with these words.
    pub(crate) fn ends_well(mut self, result: &[u32]) -> Self {
        self.end = End::Fine(result.to_vec());
        self
    }

    fn ptx(&self) -> String {
        let choice = if self.everybody {
            ""
        } else {
            "mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 1; @%p1 bra DONE;\n\
             mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 5; @%p1 bra DONE;\n"
        };
        format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n{}\n\
             .visible .entry guilty(.param .u64 a, .param .u64 q)\n{{\n\
             .reg .pred %p<16>; .reg .b16 %h<16>; .reg .b32 %r<64>; .reg .b64 %d<64>; .reg .f32 %f<16>; .reg .f64 %g<16>;\n\
             .reg .b64 %a, %q;\n{}\n\
             ld.param.u64 %a, [a]; ld.param.u64 %q, [q];\n{choice}.loc 1 {LINE} 0\n{}\n\
             DONE: ret;\n}}\n.file 1 \"guilty.cu\"\n\0",
            self.module, self.declarations, self.body
        )
    }

    fn run(self) -> Outcome {
        let context = TestContext::on(0);
        assert!(cuprum_softcuda::set_time_limit(context.0, Some(self.limit)));
        for &(limit, value) in &self.limits {
            ok!(cuCtxSetLimit(limit, value));
        }
        let mut module = CUmodule::NULL;
        ok!(cuModuleLoadData(&mut module, self.ptx().as_ptr().cast()));
        let mut guilty = CUfunction::NULL;
        ok!(cuModuleGetFunction(&mut guilty, module, c"guilty".as_ptr()));
        let (result, address) = (alloc(4096), (self.address)());
        ok!(cuMemsetD32_v2(result, 0, 1024));
        let mut args = [arg(&address), arg(&result)];
        ok!(cuLaunchKernel(
            guilty,
            self.grid,
            1,
            1,
            self.block,
            1,
            1,
            self.shared,
            CUstream::NULL,
            args.as_mut_ptr(),
            std::ptr::null_mut()
        ));
        let begun = Instant::now();
        let code = cu!(cuCtxSynchronize());
        let text = cuprum_softcuda::last_fault(context.0).unwrap_or_default();
        let wrong = |what: String| {
            Err(format!(
                "{what}\ncode: {code:?}\naccount: {text}\n{}",
                self.body
            ))
        };
        match &self.end {
            End::Fine(expected) => {
                if !code.is_success() {
                    return wrong("it should end well".into());
                }
                let found = download::<u32>(result, expected.len());
                if found != *expected {
                    return wrong(format!("it found {found:?}, want {expected:?}"));
                }
            }
            End::Fault(expected, words) => {
                if code != *expected {
                    return wrong(format!("want {expected:?}"));
                }
                let mut words = words.clone();
                words.push("kernel `guilty`".into());
                if self.told && !self.everybody {
                    words.push(format!("guilty.cu:{LINE} (PTX line "));
                    words.push("block (1, 0, 0), thread (5, 0, 0)".into());
                }
                for word in &words {
                    if !text.contains(word) {
                        return wrong(format!("{word:?} is not in the account"));
                    }
                }
                // The context is lost, and says so.
                let later = cu!(cuMemAlloc_v2(&mut 0, 8));
                if later != *expected {
                    return wrong(format!("a later allocation answers {later:?}"));
                }
                if *expected == CUresult::LAUNCH_TIMEOUT && begun.elapsed() > PATIENCE {
                    return wrong("it was stopped far too late".into());
                }
            }
        }
        drop(context);
        Ok(())
    }
}

/// A pointer to an argument.
pub(crate) fn arg<T>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

/// Loads PTX into the current context; answers the code.
pub(crate) fn load(ptx: &str) -> (CUresult, CUmodule) {
    let text = CString::new(ptx).expect("no zero inside");
    let mut module = CUmodule::NULL;
    (
        cu!(cuModuleLoadData(&mut module, text.as_ptr().cast())),
        module,
    )
}

/// Looks a kernel up; answers the code.
pub(crate) fn look_up(module: CUmodule, name: &str) -> (CUresult, CUfunction) {
    let name = CString::new(name).expect("no zero inside");
    let mut function = CUfunction::NULL;
    (
        cu!(cuModuleGetFunction(&mut function, module, name.as_ptr())),
        function,
    )
}

/// A kernel that computes, to see that a device does.
const GOOD: &str = ".version 7.8\n.target sm_80\n.address_size 64\n\
.visible .entry triple(.param .u64 x, .param .u32 n)\n{\n.reg .pred %p; .reg .b32 %r<6>; .reg .b64 %d<4>;\n\
ld.param.u64 %d1, [x]; ld.param.u32 %r1, [n];\n\
mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.u32 %r2, %r2, %r3, %r4;\n\
setp.ge.u32 %p, %r2, %r1; @%p bra END;\n\
mul.wide.u32 %d2, %r2, 4; add.u64 %d3, %d1, %d2; ld.global.u32 %r5, [%d3]; mul.lo.u32 %r5, %r5, 3; st.global.u32 [%d3], %r5;\n\
END: ret;\n}\n";

/// The kernel [`GOOD`], in the current context.
pub(crate) fn good() -> CUfunction {
    let (code, module) = load(GOOD);
    assert!(code.is_success(), "{:?}", last_error());
    let (code, function) = look_up(module, "triple");
    assert!(code.is_success(), "{:?}", last_error());
    function
}

/// Runs [`GOOD`] in the current context and compares what it computed.
pub(crate) fn computes() -> Outcome {
    let function = good();
    let host: Vec<u32> = (0..1000u32)
        .map(|i| i.wrapping_mul(2_654_435_761))
        .collect();
    let data = alloc(4 * host.len());
    upload(data, &host);
    let count = host.len() as u32;
    let mut args = [arg(&data), arg(&count)];
    let (p, none) = (args.as_mut_ptr(), std::ptr::null_mut());
    ok!(cuLaunchKernel(
        function,
        8,
        1,
        1,
        128,
        1,
        1,
        0,
        CUstream::NULL,
        p,
        none
    ));
    let found = download::<u32>(data, host.len());
    let expected: Vec<u32> = host.iter().map(|x| x.wrapping_mul(3)).collect();
    if found == expected {
        Ok(())
    } else {
        Err("a kernel computed wrong results".into())
    }
}

/// Sees that a new context computes.
fn works() -> Outcome {
    let context = TestContext::on(0);
    let outcome = computes().map_err(|text| format!("{text} in a new context"));
    drop(context);
    outcome
}
