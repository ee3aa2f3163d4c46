//! Odd forms that occur in real texts, one by one.

use cuprum_ptx::{
    Address, Guard, Ident, Immediate, InitialValue, Initializer, Instruction, Item, Operand,
    ScalarType, Statement, Symbol, parse,
};

/// The statements of a kernel with this body.
fn body(text: &str) -> Vec<Statement<'static>> {
    let source =
        format!(".version 8.8\n.target sm_90\n.address_size 64\n.entry k()\n{{\n{text}\n}}\n");
    let module = parse(Box::leak(source.into_boxed_str())).unwrap_or_else(|e| panic!("{e}"));
    let printed: &'static str = Box::leak(module.to_string().into_boxed_str());
    assert_eq!(
        parse(printed).unwrap_or_else(|e| panic!("{e}")),
        module,
        "{printed}"
    );
    let Some(Item::Function(function)) = module.items.into_iter().next() else {
        panic!("there is a kernel")
    };
    function.body.expect("the kernel has a body")
}

fn instruction(text: &str) -> Instruction<'static> {
    match body(text).as_slice() {
        [Statement::Instruction(instruction)] => instruction.clone(),
        other => panic!("{text}: {other:?}"),
    }
}

fn operand(text: &str) -> Operand<'static> {
    instruction(&format!("op {text};"))
        .operands
        .into_iter()
        .next()
        .expect("there is an operand")
}

fn name(text: &'static str) -> Operand<'static> {
    Operand::Name(Ident::new(text))
}

fn int(value: i128) -> Operand<'static> {
    Operand::Immediate(Immediate::Int(value))
}

fn error(text: &str) -> String {
    let source =
        format!(".version 8.8\n.target sm_90\n.address_size 64\n.entry k()\n{{\n{text}\n}}\n");
    let error = parse(&source).expect_err(text);
    format!("{}:{}: {}", error.line(), error.column(), error.message())
}

#[test]
fn addresses() {
    let at = |base: &'static str, offset| {
        Operand::Address(Address {
            base: Some(Ident::new(base)),
            offset,
        })
    };
    assert_eq!(operand("[%rd46+-256]"), at("%rd46", -256));
    assert_eq!(operand("[param0+0]"), at("param0", 0));
    assert_eq!(operand("[$str]"), at("$str", 0));
    assert_eq!(operand("[%SP-8]"), at("%SP", -8));
    assert_eq!(operand("[ %r1 + 4 ]"), at("%r1", 4));
    assert_eq!(
        operand("[16]"),
        Operand::Address(Address {
            base: None,
            offset: 16
        })
    );
    let Operand::Texture(texture) = operand("[%rd1, {%f1, %f2}]") else {
        panic!()
    };
    assert_eq!(
        (
            texture.object.text,
            texture.sampler,
            texture.coordinates.len()
        ),
        ("%rd1", None, 2)
    );
    let Operand::Texture(texture) = operand("[tex_a, smp, {%f1}]") else {
        panic!()
    };
    assert_eq!(
        (
            texture.object.text,
            texture.sampler.map(|s| s.text),
            texture.coordinates.len()
        ),
        ("tex_a", Some("smp"), 1)
    );
    let Operand::Texture(texture) = operand("[tex_a, %f1]") else {
        panic!()
    };
    assert_eq!(texture.coordinates, [name("%f1")]);
}

#[test]
fn constants() {
    assert_eq!(operand("0x3f803f80U"), int(0x3f80_3f80));
    assert_eq!(operand("-736899890"), int(-736_899_890));
    assert_eq!(operand("- 9223372036854775808"), int(i128::from(i64::MIN)));
    assert_eq!(operand("18446744073709551615"), int(i128::from(u64::MAX)));
    assert_eq!(operand("+-+5"), int(-5));
    assert_eq!(operand("WARP_SZ"), int(32));
    assert_eq!(operand("-WARP_SZ"), int(-32));
    assert_eq!(
        operand("-1.5"),
        Operand::Immediate(Immediate::F64((-1.5f64).to_bits()))
    );
    assert_eq!(
        operand("0f7FC00001"),
        Operand::Immediate(Immediate::F32(0x7fc0_0001))
    );
    assert_eq!(
        operand("-0f00000000"),
        Operand::Immediate(Immediate::F32(0x8000_0000))
    );
    assert_eq!(
        operand("0dFFF8000000000000"),
        Operand::Immediate(Immediate::F64(0xfff8_0000_0000_0000))
    );
}

#[test]
fn registers_and_other_names() {
    assert_eq!(operand("%tid.x"), name("%tid.x"));
    assert_eq!(operand("__$temp3"), name("__$temp3"));
    assert_eq!(operand("sym+8"), Operand::Offset(Ident::new("sym"), 8));
    assert_eq!(operand("!%p1"), Operand::Not(Ident::new("%p1")));
    assert_eq!(operand("-%r1"), Operand::Neg(Ident::new("%r1")));
    assert_eq!(operand("_"), Operand::Sink);
    assert_eq!(
        operand("{_, %r5}"),
        Operand::Vector(vec![Operand::Sink, name("%r5")])
    );
    assert_eq!(
        operand("{0, hl}"),
        Operand::Vector(vec![int(0), name("hl")])
    );
    assert_eq!(operand("{%r9}").elements(), [name("%r9")]);
    assert_eq!(
        operand("r0|p"),
        Operand::Pair(Box::new((name("r0"), name("p"))))
    );
    assert_eq!(
        operand("_|p"),
        Operand::Pair(Box::new((Operand::Sink, name("p"))))
    );
    let Operand::Pair(pair) = operand("{%f1,%f2,%f3,%f4}|%p1") else {
        panic!()
    };
    assert_eq!((pair.0.elements().len(), &pair.1), (4, &name("%p1")));
    assert_eq!(Ident::new("%tid.x").split_component(), ("%tid", Some("x")));
    assert_eq!(Ident::new("%r1").split_component(), ("%r1", None));
}

#[test]
fn pasted_assembly() {
    assert_eq!(body(";;"), []);
    assert_eq!(body("{add.f16x2 %r3,%r1,%r2;\n}").len(), 1);
    assert_eq!(body("add.s32 a,b,c; sub.s32 a,b,c; /* x */ // y").len(), 2);
    assert_eq!(body("add.s32\n a\n,b,\nc\n;").len(), 1);
    let guarded = instruction("@!p sub.s32 %r1, %r2, 1;");
    assert_eq!(
        guarded.guard,
        Some(Guard {
            negated: true,
            register: Ident::new("p")
        })
    );
    assert_eq!(guarded.base(), "sub");
    let [Statement::Register(glued)] = &body(".reg.b32 fl,fu;")[..] else {
        panic!()
    };
    assert_eq!(
        (glued.ty, glued.names.len(), glued.names[1].name.text),
        (ScalarType::B32, 2, "fu")
    );
    let [Statement::Register(family)] = &body(".reg .v2 .f32 %v<3>, w;")[..] else {
        panic!()
    };
    assert_eq!(
        (family.vector, family.names[0].count, family.names[1].count),
        (2, Some(3), None)
    );
    assert!(instruction("ret;").operands.is_empty());
}

#[test]
fn labels_and_tables() {
    assert_eq!(body("a: b:\n").len(), 2);
    assert_eq!(body("L1_0: ret; $L__func_end0:").len(), 3);
    let [Statement::CallPrototype(p)] = &body(
        "prototype_9 : .callprototype (.param .b32 _) _ (.param .align 4 .b8 _[80], .param .b64 _) ;",
    )[..] else {
        panic!()
    };
    assert_eq!(
        (
            p.label.text,
            p.returns.len(),
            p.params[0].size(),
            p.noreturn
        ),
        ("prototype_9", 1, 80, false)
    );
    assert!(
        matches!(&body("p: .callprototype _ (.reg .b32 _) .noreturn;")[..], [Statement::CallPrototype(p)] if p.noreturn && p.params[0].register)
    );
    assert!(
        matches!(&body("$L_brx_0: .branchtargets\n a,\n b;")[..], [Statement::BranchTargets(t)] if t.targets.len() == 2)
    );
    assert!(
        matches!(&body("t: .calltargets f, g;")[..], [Statement::CallTargets(t)] if t.targets.len() == 2)
    );
    assert!(
        matches!(&body(".pragma \"used_bytes_mask 0xff\", \"x\";")[..], [Statement::Pragma(t)] if t.len() == 2)
    );
}

#[test]
fn calls_of_all_shapes() {
    let parts = |text: &str| {
        let instruction = instruction(text);
        instruction.call().map(|c| {
            (
                c.returns.len(),
                c.target.text,
                c.arguments.len(),
                c.prototype.map(|p| p.text),
            )
        })
    };
    assert_eq!(
        parts("call.uni (retval0), f, (param0, param1);"),
        Some((1, "f", 2, None))
    );
    assert_eq!(parts("call.uni f, ();"), Some((0, "f", 0, None)));
    assert_eq!(parts("call f;"), Some((0, "f", 0, None)));
    assert_eq!(
        parts("call (r), %rd8, (a, b), prototype_9;"),
        Some((1, "%rd8", 2, Some("prototype_9")))
    );
    assert_eq!(
        parts("call %rd8, prototype_9;"),
        Some((0, "%rd8", 0, Some("prototype_9")))
    );
    assert_eq!(parts("call (r), 5;"), None);
    assert_eq!(parts("callx f;"), None);
}

#[test]
fn initializers() {
    let value = |text: &str| {
        let source = format!(
            ".version 8.8\n.target sm_90\n.address_size 64\n.global .align 8 .u64 v[9] = {text};"
        );
        let module = parse(Box::leak(source.into_boxed_str())).unwrap_or_else(|e| panic!("{e}"));
        let printed = module.to_string();
        assert_eq!(parse(&printed).unwrap_or_else(|e| panic!("{e}")), module);
        module
            .variables()
            .next()
            .and_then(|v| v.initializer.clone())
            .expect("there is an initializer")
    };
    let symbol = |name, generic, offset, mask| {
        Initializer::Value(InitialValue::Symbol(Symbol {
            name: Ident::new(name),
            generic,
            offset,
            mask,
        }))
    };
    let number = |n| Initializer::Value(InitialValue::Immediate(Immediate::Int(n)));
    assert_eq!(value("generic(arr)+8"), symbol("arr", true, 8, None));
    assert_eq!(value("f"), symbol("f", false, 0, None));
    assert_eq!(value("generic"), symbol("generic", false, 0, None));
    assert_eq!(
        value("{0XFF(generic(x))}"),
        Initializer::List(vec![symbol("x", true, 0, Some(0xff))])
    );
    assert_eq!(
        value("{1, 0xFF00(generic(x)), 0xFF00000000000000(y+4)}"),
        Initializer::List(vec![
            number(1),
            symbol("x", true, 0, Some(0xff00)),
            symbol("y", false, 4, Some(0xff << 56))
        ])
    );
    assert_eq!(value("{{1, 2}, {3}, {}}"), {
        let list = |l: &[i128]| Initializer::List(l.iter().copied().map(number).collect());
        Initializer::List(vec![list(&[1, 2]), list(&[3]), list(&[])])
    });
    assert_eq!(
        value("{-1, 18446744073709551615}"),
        Initializer::List(vec![number(-1), number(i128::from(u64::MAX))])
    );
}

#[test]
fn module_scope() {
    let module = parse(
        ".version 8.0\n.target sm_80\n.weak .global .v4 .f32 a, b = 1; .visible .const .b8 m[2][3];\
         .func noargs { ret; }\n.pragma \"x\"; .alias a1, noargs;\n\
         .extern .global .attribute(.unified(1, 2)) .u32 u;\n\
         .entry e(.param .b8 p[]) .maxnreg 32 .reqntid 1, 2 .noreturn { }\0\0",
    )
    .unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(module.address_size, 32);
    let variables: Vec<_> = module.variables().collect();
    assert_eq!(variables.len(), 4);
    assert_eq!(
        (
            variables[0].vector,
            variables[0].size(),
            variables[0].alignment()
        ),
        (4, 16, 16)
    );
    assert_eq!((variables[2].size(), variables[2].dimensions.len()), (6, 2));
    assert!(variables[3].unified.is_some());
    let e = module.function("e").expect("the kernel is there");
    assert_eq!(e.attributes.required_threads, Some([1, 2, 1]));
    assert_eq!(e.attributes.max_registers, Some(32));
    assert!(e.attributes.noreturn && e.params[0].dimensions == [None]);
}

#[test]
fn faults_are_placed() {
    assert_eq!(error("add.s32 a, b"), "7:1: expected `;`, found `}`");
    assert_eq!(
        error("add.s32 a,, b;"),
        "6:11: expected an operand, found `,`"
    );
    assert_eq!(error("ld.u32 a, [;"), "6:12: expected a number, found `;`");
    assert_eq!(error(".reg a;"), "6:6: expected a type, found `a`");
    assert_eq!(
        error(".frob 1;"),
        "6:1: expected a statement, found `.frob`"
    );
    assert_eq!(error("mov {}, a;"), "6:7: a vector cannot be empty");
    assert_eq!(
        error(".local .align 3 .b8 x[4];"),
        "6:15: an alignment must be a power of two"
    );
    assert_eq!(
        error("x -9223372036854775809;"),
        "6:3: this number does not fit 64 bits"
    );
    assert_eq!(error(&"{".repeat(200)), "6:128: blocks nest too deep here");
    assert_eq!(error("é"), "6:1: unexpected character");
    let unclosed = parse(".version 8.0 .entry k() {").expect_err("the brace is open");
    assert_eq!(
        (unclosed.column(), unclosed.message()),
        (25, "this block does not end")
    );
    let empty = parse("").expect_err("there is nothing");
    assert_eq!(
        empty.message(),
        "expected `.version`, with which every module begins, found the end of the text"
    );
}

#[test]
fn errors_show_the_line_with_a_caret() {
    let error = parse(".version 8.0\n.target sm_80\n.func f()\n{\n\tret\n}\n")
        .expect_err("the semicolon is missing");
    assert_eq!(
        error.to_string(),
        "error: expected an operand, found `}`\n  |\n6 | }\n  | ^ here"
    );
    let long = format!(
        ".version 8.0\n// {}\n.global .u32 {} x;{}",
        "é".repeat(500),
        "a".repeat(5000),
        " ".repeat(100_000)
    );
    let shown = parse(&long).expect_err("two names").to_string();
    assert!(shown.len() < 2000, "{}", shown.len());
}
