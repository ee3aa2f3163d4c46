//! Functions: by name, recursive, through addresses, with barriers; printf and the rest of the device runtime.

use cuprum_driver_sys::CUresult;

use super::{Arg, Config, Machine, load_error};

const HEAD: &str = ".version 7.0\n.target sm_80\n.address_size 64\n";

const REGS: &str = ".reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .f64 %g<9>;";

fn run(ptx: &str, grid: u32, block: u32, count: usize) -> (Vec<u32>, String) {
    let machine = Machine::new();
    let out = machine.alloc(4 * count);
    machine.succeed(
        &format!("{HEAD}{ptx}"),
        "k",
        &Config::new(grid, block),
        &[Arg::U64(out)],
    );
    (machine.download(out, count), machine.text())
}

/// `main` is the body of the kernel, with the global index in `%r1` and the address of its result in `%d1`.
fn kernel(main: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out) {{ {REGS} ld.param.u64 %d0, [out]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r1, %r2, %r3, %r4; mul.wide.s32 %d1, %r1, 4; add.s64 %d1, %d1, %d0;
         {main} ret; }}"
    )
}

const SQUARE: &str = ".func (.param .b32 ret0) square(.param .b32 a) { .reg .b32 %r<4>; ld.param.b32 %r1, [a]; mul.lo.s32 %r2, %r1, %r1; st.param.b32 [ret0+0], %r2; ret; }\n";

fn call(name: &str, argument: &str, result: &str) -> String {
    format!(
        "{{ .param .b32 param0; st.param.b32 [param0+0], {argument}; .param .b32 retval0; call.uni (retval0), {name}, (param0); ld.param.b32 {result}, [retval0+0]; }}"
    )
}

#[test]
fn a_function_is_called() {
    let main = call("square", "%r1", "%r5") + "st.global.u32 [%d1], %r5;";
    let (result, _) = run(&(SQUARE.to_owned() + &kernel(&main)), 2, 40, 80);
    assert!(
        result
            .iter()
            .enumerate()
            .all(|(i, &value)| value == (i * i) as u32)
    );
}

#[test]
fn recursion_has_a_stack_for_each_thread() {
    let factorial = format!(
        ".func (.param .b32 ret0) fact(.param .b32 a);\n.func (.param .b32 ret0) fact(.param .b32 a) {{ {REGS} ld.param.b32 %r1, [a]; setp.gt.s32 %p1, %r1, 1; @%p1 bra MORE; st.param.b32 [ret0], 1; ret;
         MORE: sub.s32 %r2, %r1, 1; {} mul.lo.s32 %r4, %r3, %r1; st.param.b32 [ret0], %r4; ret; }}\n",
        call("fact", "%r2", "%r3")
    );
    let main = call("fact", "%r1", "%r5") + "st.global.u32 [%d1], %r5;";
    let (result, _) = run(&(factorial + &kernel(&main)), 1, 13, 13);
    assert_eq!(result[12], 479_001_600);
    assert_eq!(result[..5], [1, 1, 2, 6, 24]);
}

#[test]
fn unbounded_recursion_is_a_fault() {
    let endless = format!(
        ".func (.param .b32 ret0) down(.param .b32 a) {{ {REGS} ld.param.b32 %r1, [a]; add.s32 %r1, %r1, 1; {} add.s32 %r2, %r2, 1; st.param.b32 [ret0], %r2; ret; }}\n",
        call("down", "%r1", "%r2")
    );
    let main = call("down", "%r1", "%r5") + "st.global.u32 [%d1], %r5;";
    let machine = Machine::new();
    let out = machine.alloc(4);
    let fault = machine.fail(
        &format!("{HEAD}{endless}{}", kernel(&main)),
        "k",
        &Config::new(1, 1),
        &[Arg::U64(out)],
    );
    assert_eq!(fault.code, CUresult::HARDWARE_STACK_ERROR);
    assert!(
        fault.message.contains("stack overflow"),
        "{}",
        fault.message
    );
}

#[test]
fn functions_with_barriers_are_inlined() {
    let exchange = format!(
        ".func (.param .b32 ret0) exchange(.param .b32 a) {{ {REGS} .shared .align 4 .b8 buf[256]; ld.param.b32 %r1, [a]; mov.u32 %r2, %tid.x; shl.b32 %r3, %r2, 2; mov.u32 %r4, buf; add.s32 %r3, %r3, %r4; bar.sync 0; st.shared.u32 [%r3], %r1; bar.sync 0;
         xor.b32 %r5, %r2, 1; shl.b32 %r5, %r5, 2; add.s32 %r5, %r5, %r4; ld.shared.u32 %r6, [%r5]; st.param.b32 [ret0], %r6; ret; }}\n"
    );
    let main = format!(
        "{}{} add.s32 %r6, %r6, 1000; st.global.u32 [%d1], %r6;",
        call("exchange", "%r1", "%r5"),
        call("exchange", "%r5", "%r6")
    );
    let (result, _) = run(&(exchange + &kernel(&main)), 2, 64, 128);
    assert!(
        result
            .iter()
            .enumerate()
            .all(|(i, &value)| value == i as u32 + 1000)
    );
}

#[test]
fn recursion_with_barriers_is_refused_by_name() {
    let bad = format!(
        ".func (.param .b32 ret0) again(.param .b32 a) {{ {REGS} bar.sync 0; {} st.param.b32 [ret0], %r2; ret; }}\n",
        call("again", "%r1", "%r2")
    );
    let error = load_error(&format!(
        "{HEAD}{bad}{}",
        kernel(&call("again", "%r1", "%r5"))
    ));
    assert_eq!(error.code, CUresult::NOT_SUPPORTED);
    assert!(
        error.message.contains("recursive call of `again`"),
        "{}",
        error.message
    );
}

#[test]
fn structs_by_value() {
    let function = ".func (.param .align 8 .b8 ret0[16]) swap(.param .align 8 .b8 s[16]) { .reg .b64 %d<4>; ld.param.b64 %d1, [s]; ld.param.b64 %d2, [s+8]; st.param.b64 [ret0], %d2; st.param.b64 [ret0+8], %d1; ret; }\n";
    let main = "cvt.u64.u32 %d2, %r1; { .param .align 8 .b8 param0[16]; st.param.v2.b64 [param0], {%d2, 9}; .param .align 8 .b8 retval0[16]; call.uni (retval0), swap, (param0); ld.param.b64 %d3, [retval0]; ld.param.b64 %d4, [retval0+8]; }
        shl.b64 %d4, %d4, 8; add.s64 %d3, %d3, %d4; cvt.u32.u64 %r5, %d3; st.global.u32 [%d1], %r5;";
    let (result, _) = run(&(function.to_owned() + &kernel(main)), 1, 5, 5);
    assert_eq!(result, [9, 0x109, 0x209, 0x309, 0x409]);
}

#[test]
fn registers_as_parameters() {
    let function = ".func (.reg .b32 r) sum(.reg .b32 a, .reg .b32 b) { add.s32 r, a, b; ret; }\n";
    let (result, _) = run(
        &(function.to_owned() + &kernel("call (%r5), sum, (%r1, 30); st.global.u32 [%d1], %r5;")),
        1,
        3,
        3,
    );
    assert_eq!(result, [30, 31, 32]);
}

#[test]
fn exit_inside_a_function_ends_the_thread() {
    let function = format!(
        ".func leave(.param .b32 a) {{ {REGS} ld.param.b32 %r1, [a]; and.b32 %r2, %r1, 1; setp.eq.s32 %p1, %r2, 0; @%p1 exit; ret; }}\n"
    );
    let main = "{ .param .b32 param0; st.param.b32 [param0], %r1; call.uni leave, (param0); } bar.sync 0; st.global.u32 [%d1], 1;";
    let (result, _) = run(&(function + &kernel(main)), 1, 70, 70);
    assert!(
        result
            .iter()
            .enumerate()
            .all(|(i, &value)| value == (i % 2) as u32)
    );
}

#[test]
fn calls_through_addresses() {
    let functions = "
        .func (.param .b32 ret0) twice(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.s32 %r2, %r1, %r1; st.param.b32 [ret0], %r2; ret; }
        .func (.param .b32 ret0) more(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; add.s32 %r2, %r1, 100; st.param.b32 [ret0], %r2; ret; }
        .global .align 8 .u64 table[2] = {twice, more};\n";
    let main = "and.b32 %r5, %r1, 1; mul.wide.u32 %d2, %r5, 8; mov.u64 %d3, table; add.s64 %d3, %d3, %d2; ld.global.u64 %d4, [%d3];
        { .param .b32 param0; st.param.b32 [param0], %r1; .param .b32 retval0; proto : .callprototype (.param .b32 _) _ (.param .b32 _); call (retval0), %d4, (param0), proto; ld.param.b32 %r6, [retval0]; } st.global.u32 [%d1], %r6;";
    let (result, _) = run(&(functions.to_owned() + &kernel(main)), 1, 4, 4);
    assert_eq!(result, [0, 101, 4, 103]);
    let wild = main.replace("ld.global.u64 %d4, [%d3];", "mov.u64 %d4, 12345;");
    let machine = Machine::new();
    let out = machine.alloc(16);
    let fault = machine.fail(
        &format!("{HEAD}{functions}{}", kernel(&wild)),
        "k",
        &Config::new(1, 1),
        &[Arg::U64(out)],
    );
    assert!(fault.message.contains("no function"), "{}", fault.message);
}

#[test]
fn printf_formats_on_the_host() {
    let globals = ".global .align 1 .b8 fmt[22] = {105, 61, 37, 100, 32, 120, 61, 37, 46, 50, 102, 32, 115, 61, 37, 115, 10};\n.global .align 1 .b8 name[4] = {97, 98, 99};\n.extern .func (.param .b32 ret) vprintf(.param .b64 a, .param .b64 b);\n";
    let main = ".local .align 8 .b8 args[24]; mov.u64 %d2, args; cvta.local.u64 %d3, %d2; st.local.u32 [args], %r1; cvt.rn.f64.u32 %g1, %r1; mul.f64 %g1, %g1, 0d3FF8000000000000; st.local.f64 [args+8], %g1; mov.u64 %d4, name; cvta.global.u64 %d5, %d4; st.local.u64 [args+16], %d5; mov.u64 %d6, fmt; cvta.global.u64 %d7, %d6;
        { .param .b64 param0; st.param.b64 [param0], %d7; .param .b64 param1; st.param.b64 [param1], %d3; .param .b32 retval0; call.uni (retval0), vprintf, (param0, param1); ld.param.b32 %r5, [retval0]; } st.global.u32 [%d1], %r5;";
    let (result, text) = run(&(globals.to_owned() + &kernel(main)), 1, 3, 3);
    assert_eq!(result, [3, 3, 3]);
    assert_eq!(
        text,
        "i=0 x=0.00 s=abc\ni=1 x=1.50 s=abc\ni=2 x=3.00 s=abc\n"
    );
}

#[test]
fn assertions_print_and_fault() {
    let globals = ".global .align 1 .b8 what[6] = {110, 32, 60, 32, 51};\n.global .align 1 .b8 file[5] = {97, 46, 99, 117};\n.global .align 1 .b8 func[2] = {107};\n.extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n";
    let main = "setp.lt.s32 %p1, %r1, 3; @%p1 bra OK; mov.u64 %d2, what; mov.u64 %d3, file; mov.u64 %d4, func;
        { .param .b64 param0; st.param.b64 [param0], %d2; .param .b64 param1; st.param.b64 [param1], %d3; .param .b32 param2; st.param.b32 [param2], 12; .param .b64 param3; st.param.b64 [param3], %d4; .param .b64 param4; st.param.b64 [param4], 1; call.uni __assertfail, (param0, param1, param2, param3, param4); }
        OK: st.global.u32 [%d1], 1;";
    let machine = Machine::new();
    let out = machine.alloc(20);
    let fault = machine.fail(
        &format!("{HEAD}{globals}{}", kernel(main)),
        "k",
        &Config::new(1, 5),
        &[Arg::U64(out)],
    );
    assert_eq!(fault.code, CUresult::ASSERT);
    assert_eq!(
        machine.text(),
        "a.cu:12: k: block: [0,0,0], thread: [3,0,0] Assertion `n < 3` failed.\n"
    );
    assert_eq!(machine.download::<u32>(out, 5), [1, 1, 1, 0, 0]);
}

#[test]
fn faults_inside_functions_name_their_place() {
    let function = format!(
        ".func poke(.param .b64 a) {{ {REGS} ld.param.b64 %d1, [a]; st.u32 [%d1], 7;\nret; }}\n"
    );
    let main = "{ .param .b64 param0; st.param.b64 [param0], 16; call.uni poke, (param0); } st.global.u32 [%d1], 1;";
    let machine = Machine::new();
    let out = machine.alloc(4);
    let fault = machine.fail(
        &format!("{HEAD}{function}{}", kernel(main)),
        "k",
        &Config::new(1, 1),
        &[Arg::U64(out)],
    );
    assert_eq!(fault.code, CUresult::ILLEGAL_ADDRESS);
    assert!(fault.message.contains("PTX line 4"), "{}", fault.message);
}

#[test]
fn carries_survive_inlining() {
    // A barrier makes the function part of the kernel; its carry flag is read and written by one instruction.
    let function = format!(
        ".func (.param .b32 ret0) wide(.param .b32 a) {{ {REGS} ld.param.b32 %r1, [a]; bar.sync 0;
         add.cc.u32 %r2, %r1, 0xffffffff; addc.cc.u32 %r3, %r1, 0xfffffffe; addc.u32 %r4, %r1, 0;
         sub.cc.u32 %r5, %r1, 5; subc.cc.u32 %r6, %r1, 5; subc.u32 %r7, %r1, 0;
         mad.lo.cc.u32 %r8, %r1, 0x80000000, 0x80000000; madc.hi.cc.u32 %r9, %r1, %r1, 0xffffffff; addc.u32 %r10, %r1, 0;
         xor.b32 %r4, %r4, %r7; xor.b32 %r4, %r4, %r10; st.param.b32 [ret0], %r4; ret; }}\n"
    );
    let main = call("wide", "%r1", "%r5") + "st.global.u32 [%d1], %r5;";
    let (result, _) = run(&(function + &kernel(&main)), 1, 40, 40);
    for (index, &value) in result.iter().enumerate() {
        let n = index as u64;
        let sum = (n + 0xffff_ffff) >> 32;
        let high = (n + 0xffff_fffe + sum) >> 32;
        let borrow = u64::from(n < 5);
        let second = u64::from(n < 5 + borrow);
        let odd = u64::from(n % 2 == 1);
        let product = ((n * n) >> 32) + 0xffff_ffff + odd;
        let want = (n + high) ^ n.wrapping_sub(second) ^ (n + (product >> 32));
        assert_eq!(value, want as u32, "{n}");
    }
}
