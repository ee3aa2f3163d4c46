//! From statements to PTX text.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::Kernel;
use super::class::{Class, REGISTERS};
use super::form::{Choice, Form};
use super::forms::{PLAIN, TOGETHER, WHOLE_WARPS};
use super::statement::{Function, Statement};

/// Bytes of a thread's place in each space: integers, then `f32`, `f64`, `f16` and `bf16`.
pub(super) const AREA: usize = 112;

/// The class of what lies at an offset of a thread's place, and its size.
pub(super) const AREAS: [(usize, usize, usize, Option<Class>); 5] = [
    (0, 64, 8, None),
    (64, 80, 4, Some(Class::F32)),
    (80, 96, 8, Some(Class::F64)),
    (96, 104, 2, Some(Class::F16)),
    (104, 112, 2, Some(Class::Bf16)),
];

/// Places that all threads change; see the atomic forms.
pub(super) const TOTALS: usize = 12;

/// Bytes of a thread's record of registers.
pub(super) const RECORD: usize = Class::ALL.len() * REGISTERS * 8;

/// What functions take, beside the thread's places: two integers and a float.
const ARGUMENTS: [Class; 3] = [Class::B32, Class::B64, Class::F32];
const RESULTS: [Class; 3] = [Class::B32, Class::B64, Class::F32];

struct Writer<'k> {
    kernel: &'k Kernel,
    body: String,
    used: BTreeSet<(Class, usize)>,
    labels: usize,
    counters: usize,
    /// Ends of the loops that threads may leave.
    ends: Vec<usize>,
    /// A number that makes labels of functions differ.
    unit: usize,
}

/// The module with the kernel `k`.
pub(super) fn module(kernel: &Kernel) -> String {
    let threads = kernel.block;
    let mut text = String::from(".version 8.0\n.target sm_80\n.address_size 64\n");
    let words = |salt: u64| {
        (0..18u64)
            .map(|i| {
                format!(
                    "{:#x}",
                    Class::B32.value(kernel.seed ^ (i * 2 + salt) << 20)
                )
            })
            .collect::<Vec<_>>()
            .join(", ")
    };
    let _ = writeln!(
        text,
        ".const .align 8 .b32 constants[18] = {{{}}};\n.global .align 8 .b32 variables[18] = {{{}}};",
        words(0),
        words(1)
    );
    for (index, function) in kernel.functions.iter().enumerate() {
        text += &device_function(kernel, function, index);
    }
    let mut writer = Writer::new(kernel, 0);
    writer.list(&kernel.body);
    let used = writer.used.clone();
    text += ".visible .entry k(.param .u64 inputs, .param .u64 outputs, .param .u64 places, .param .u64 totals, .param .u32 ways)\n{\n";
    let _ = writeln!(
        text,
        "    .shared .align 16 .b8 shared_places[{}];\n    .shared .align 4 .b8 shared_words[{}];",
        threads as usize * AREA,
        threads * 4
    );
    text += &writer.declarations();
    text += "    mov.u32 %tid, %tid.x;\n    mov.u32 %ntid, %ntid.x;\n    mov.u32 %t0, %ctaid.x;\n    mad.lo.u32 %t0, %t0, %ntid, %tid;\n";
    let _ = writeln!(
        text,
        "    ld.param.u64 %in, [inputs];\n    mad.wide.u32 %in, %t0, {RECORD}, %in;\n    ld.param.u64 %out, [outputs];\n    mad.wide.u32 %out, %t0, {RECORD}, %out;"
    );
    let needs = |name: &str| {
        writer.body.contains(name) || (!kernel.functions.is_empty() && writer.body.contains("call"))
    };
    let _ = writeln!(
        text,
        "    ld.param.u64 %gs, [places];\n    mad.wide.u32 %gs, %t0, {AREA}, %gs;\n    ld.param.u64 %tot, [totals];\n    ld.param.u32 %ways, [ways];"
    );
    if needs("%ss") || needs("%sg") {
        let _ = writeln!(
            text,
            "    mov.u32 %t1, shared_places;\n    mad.lo.u32 %ss, %tid, {AREA}, %t1;\n    cvt.u64.u32 %sg, %ss;\n    cvta.shared.u64 %sg, %sg;"
        );
        for at in (0..AREA).step_by(8) {
            let _ = writeln!(text, "    st.shared.u64 [%ss+{at}], {};", at * 0x0101);
        }
    }
    if needs("%sx") {
        text += "    mov.u32 %sb, shared_words;\n    mad.lo.u32 %sx, %tid, 4, %sb;\n";
    }
    text += &local_places(&writer.body);
    for &(class, register) in &used {
        let at = class.slot(register) * 8;
        let name = format!("{}{register}", class.prefix());
        let _ = match class {
            Class::Pred => writeln!(
                text,
                "    ld.global.u8 %t1, [%in+{at}];\n    setp.ne.u32 {name}, %t1, 0;"
            ),
            _ => writeln!(
                text,
                "    ld.global{} {name}, [%in+{at}];",
                class.declaration()
            ),
        };
    }
    text += "\n";
    text += &writer.body;
    text += "\n";
    for &(class, register) in &used {
        let at = class.slot(register) * 8;
        let name = format!("{}{register}", class.prefix());
        let _ = match class {
            Class::Pred => writeln!(
                text,
                "    selp.u32 %t1, 1, 0, {name};\n    st.global.u8 [%out+{at}], %t1;"
            ),
            _ => writeln!(
                text,
                "    st.global{} [%out+{at}], {name};",
                class.declaration()
            ),
        };
    }
    text += "    ret;\n}\n";
    text
}

/// The thread's place in local memory, if the body uses it.
fn local_places(body: &str) -> String {
    let mut text = String::new();
    if body.contains("%ls") || body.contains("%lg") {
        text += "    mov.u64 %ls, local_place;\n    cvta.local.u64 %lg, %ls;\n";
        for at in (0..AREA).step_by(8) {
            let _ = writeln!(text, "    st.local.u64 [%ls+{at}], {};", at * 0x0101);
        }
    }
    text
}

fn device_function(kernel: &Kernel, function: &Function, index: usize) -> String {
    let mut writer = Writer::new(kernel, index + 1);
    let result = RESULTS[usize::from(function.result) % RESULTS.len()];
    writer.used.insert((result, 1));
    writer.list(&function.body);
    let kind = if function.registers { ".reg" } else { ".param" };
    let names: &[&str] = if function.registers {
        &["%argp", "%args", "%arg0", "%arg1", "%arg2"]
    } else {
        &["argp", "args", "arg0", "arg1", "arg2"]
    };
    let result_name = if function.registers {
        "%result"
    } else {
        "result"
    };
    let mut text = format!(
        ".func ({kind} {} {result_name}) f{index}({kind} .b64 {}, {kind} .b32 {}",
        result.declaration(),
        names[0],
        names[1]
    );
    for (class, name) in ARGUMENTS.iter().zip(&names[2..]) {
        let _ = write!(text, ", {kind} {} {name}", class.declaration());
    }
    text += ")\n{\n";
    text += &writer.declarations();
    let take = |to: &str, name: &str, ty: &str| {
        if function.registers {
            format!("    mov{ty} {to}, {name};\n")
        } else {
            format!("    ld.param{ty} {to}, [{name}];\n")
        }
    };
    text += &take("%gs", names[0], ".b64");
    text += &take("%ss", names[1], ".b32");
    text += "    cvt.u64.u32 %sg, %ss;\n    cvta.shared.u64 %sg, %sg;\n    mov.u32 %tid, %tid.x;\n    mov.u32 %ntid, %ntid.x;\n";
    text += &take("%t2", names[2], ".b32");
    text += &take("%u2", names[3], ".b64");
    text += &take("%g2", names[4], ".f32");
    text += &local_places(&writer.body);
    for &(class, register) in &writer.used {
        let name = format!("{}{register}", class.prefix());
        let salt = Class::B64.value(kernel.seed.rotate_left(7 * register as u32 + class as u32));
        let _ = match class {
            Class::Pred => writeln!(
                text,
                "    and.b32 %t1, %t2, {};\n    setp.ne.u32 {name}, %t1, 0;",
                1 << register
            ),
            Class::B32 if register == 0 => writeln!(text, "    mov.b32 {name}, %t2;"),
            Class::B64 if register == 0 => writeln!(text, "    mov.b64 {name}, %u2;"),
            Class::F32 if register == 0 => writeln!(text, "    mov.f32 {name}, %g2;"),
            Class::F32 => writeln!(
                text,
                "    mov.f32 {name}, 0f{:08X};",
                Class::F32.value(salt)
            ),
            Class::F64 => writeln!(
                text,
                "    mov.f64 {name}, 0d{:016X};",
                Class::F64.value(salt)
            ),
            Class::B64 => writeln!(text, "    xor.b64 {name}, %u2, {salt:#x};"),
            Class::B32 => writeln!(text, "    xor.b32 {name}, %t2, {:#x};", salt as u32),
            Class::F16x2 | Class::Bf16x2 => {
                writeln!(text, "    mov.b32 {name}, {:#x};", class.value(salt))
            }
            Class::B16 | Class::F16 | Class::Bf16 => {
                writeln!(text, "    mov.b16 {name}, {:#x};", class.value(salt))
            }
        };
    }
    text += &writer.body;
    let value = format!("{}1", result.prefix());
    let ty = result.declaration();
    text += &if function.registers {
        format!("    mov{ty} %result, {value};\n")
    } else {
        format!("    st.param{ty} [result], {value};\n")
    };
    text += "    ret;\n}\n";
    text
}

impl<'k> Writer<'k> {
    fn new(kernel: &'k Kernel, unit: usize) -> Self {
        Writer {
            kernel,
            body: String::new(),
            used: BTreeSet::new(),
            labels: 0,
            counters: 0,
            ends: Vec::new(),
            unit,
        }
    }

    fn declarations(&self) -> String {
        let mut text = String::new();
        for class in Class::ALL {
            let _ = writeln!(
                text,
                "    .reg {} {}<{REGISTERS}>;",
                class.declaration(),
                class.prefix()
            );
        }
        // Scratch of forms, addresses and counters of loops.
        text += "    .reg .pred %q<4>;\n    .reg .b16 %s<3>;\n    .reg .b32 %t<3>;\n    .reg .b64 %u<3>;\n    .reg .f32 %g<3>;\n    .reg .f64 %gd<1>;\n";
        text += "    .reg .b32 %tid, %ntid, %ss, %sb, %sx, %ways;\n    .reg .b64 %in, %out, %gs, %sg, %ls, %lg, %tot;\n";
        if self.counters > 0 {
            let _ = writeln!(text, "    .reg .b32 %c<{}>;", self.counters);
        }
        let _ = writeln!(text, "    .local .align 16 .b8 local_place[{AREA}];");
        text
    }

    fn label(&mut self) -> usize {
        self.labels += 1;
        self.labels
    }

    fn counter(&mut self) -> usize {
        self.counters += 1;
        self.counters - 1
    }

    fn name(&mut self, class: Class, register: u8) -> String {
        let register = usize::from(register) % REGISTERS;
        self.used.insert((class, register));
        format!("{}{register}", class.prefix())
    }

    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.body, "    {text};");
    }

    fn mark(&mut self, label: usize) {
        let _ = writeln!(self.body, "$L{}_{label}:", self.unit);
    }

    fn list(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn form(
        &mut self,
        form: &Form,
        guard: Option<(u8, bool)>,
        choices: &[Choice; super::form::PLACES],
    ) {
        // Functions are not given what only kernels have.
        if self.unit > 0 && form.template().contains("%tot") {
            return;
        }
        let text = form.render(guard, choices, &mut self.used);
        self.body += &text;
    }

    fn statement(&mut self, statement: &Statement) {
        let unit = self.unit;
        match statement {
            Statement::Form {
                family,
                form,
                guard,
                choices,
            } => self.form(&PLAIN[*family].forms[*form], *guard, choices),
            Statement::Together { form, choices } => {
                let form = &TOGETHER.forms[*form];
                let whole = self.kernel.block.is_multiple_of(32);
                if whole || !form.template().contains(WHOLE_WARPS) {
                    self.form(form, None, choices);
                }
            }
            Statement::If {
                condition,
                then,
                otherwise,
            } => {
                let name = self.name(Class::Pred, condition.0);
                let (other, end) = (self.label(), self.label());
                let not = if condition.1 { "" } else { "!" };
                self.line(format_args!("@{not}{name} bra $L{unit}_{other}"));
                self.list(then);
                if !otherwise.is_empty() {
                    self.line(format_args!("bra.uni $L{unit}_{end}"));
                }
                self.mark(other);
                if !otherwise.is_empty() {
                    self.list(otherwise);
                    self.mark(end);
                }
            }
            Statement::Loop { count, body } => {
                let source = self.name(Class::B32, *count);
                let counter = self.counter();
                let (head, end) = (self.label(), self.label());
                self.line(format_args!("and.b32 %c{counter}, {source}, 3"));
                self.mark(head);
                self.line(format_args!("setp.eq.u32 %q3, %c{counter}, 0"));
                self.line(format_args!("@%q3 bra $L{unit}_{end}"));
                self.ends.push(end);
                self.list(body);
                self.ends.pop();
                self.line(format_args!("sub.u32 %c{counter}, %c{counter}, 1"));
                self.line(format_args!("bra $L{unit}_{head}"));
                self.mark(end);
            }
            Statement::Leave { condition } => {
                if let Some(&end) = self.ends.last() {
                    let name = self.name(Class::Pred, condition.0);
                    let not = if condition.1 { "!" } else { "" };
                    self.line(format_args!("@{not}{name} bra $L{unit}_{end}"));
                }
            }
            Statement::Switch { index, arms } => self.switch(*index, arms),
            Statement::Rounds { count, body } => {
                let counter = self.counter();
                let head = self.label();
                self.line(format_args!("mov.u32 %c{counter}, {count}"));
                self.mark(head);
                self.list(body);
                self.line(format_args!("sub.u32 %c{counter}, %c{counter}, 1"));
                self.line(format_args!("setp.ne.s32 %q3, %c{counter}, 0"));
                self.line(format_args!("@%q3 bra $L{unit}_{head}"));
            }
            Statement::Way {
                bit,
                then,
                otherwise,
            } => {
                let (other, end) = (self.label(), self.label());
                self.line(format_args!("and.b32 %t0, %ways, {:#x}", 1u32 << bit));
                self.line(format_args!("setp.eq.u32 %q3, %t0, 0"));
                self.line(format_args!("@%q3 bra.uni $L{unit}_{other}"));
                self.list(then);
                self.line(format_args!("bra.uni $L{unit}_{end}"));
                self.mark(other);
                self.list(otherwise);
                self.mark(end);
            }
            Statement::Call { function, choices } => self.call(*function, choices),
        }
    }

    fn switch(&mut self, index: u8, arms: &[Vec<Statement>]) {
        let unit = self.unit;
        let source = self.name(Class::B32, index);
        let (table, end) = (self.label(), self.label());
        let labels: Vec<usize> = arms.iter().map(|_| self.label()).collect();
        self.line(format_args!("rem.u32 %t0, {source}, {}", arms.len()));
        // An arm may be named twice.
        let mut targets: Vec<String> = labels.iter().map(|l| format!("$L{unit}_{l}")).collect();
        targets.push(targets[0].clone());
        let _ = writeln!(
            self.body,
            "$T{unit}_{table}: .branchtargets {};",
            targets.join(", ")
        );
        self.line(format_args!("brx.idx %t0, $T{unit}_{table}"));
        for (label, arm) in labels.iter().zip(arms) {
            self.mark(*label);
            self.list(arm);
            self.line(format_args!("bra $L{unit}_{end}"));
        }
        self.mark(end);
    }

    fn call(&mut self, function: u8, choices: &[Choice; 4]) {
        let index = usize::from(function);
        let Some(callee) = self.kernel.functions.get(index) else {
            return;
        };
        let arguments: Vec<String> = ARGUMENTS
            .iter()
            .zip(choices)
            .map(|(&class, choice)| self.name(class, choice.register))
            .collect();
        let class = RESULTS[usize::from(callee.result) % RESULTS.len()];
        let result = self.name(class, choices[3].register);
        let ty = class.declaration();
        if callee.registers {
            self.line(format_args!(
                "call ({result}), f{index}, (%gs, %ss, {})",
                arguments.join(", ")
            ));
            return;
        }
        self.body += "    {\n    .param .b64 p0;\n    .param .b32 p1;\n";
        for (i, class) in ARGUMENTS.iter().enumerate() {
            let _ = writeln!(self.body, "    .param {} p{};", class.declaration(), i + 2);
        }
        let _ = writeln!(self.body, "    .param {ty} back;");
        self.line(format_args!("st.param.b64 [p0], %gs"));
        self.line(format_args!("st.param.b32 [p1], %ss"));
        for (i, (class, argument)) in ARGUMENTS.iter().zip(&arguments).enumerate() {
            self.line(format_args!(
                "st.param{} [p{}], {argument}",
                class.declaration(),
                i + 2
            ));
        }
        self.line(format_args!(
            "call.uni (back), f{index}, (p0, p1, p2, p3, p4)"
        ));
        self.line(format_args!("ld.param{ty} {result}, [back]"));
        self.body += "    }\n";
    }
}
