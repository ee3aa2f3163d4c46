//! Hand-written texts in each dialect that compilers emit.

use cuprum_ptx::{
    Address, FunctionKind, Immediate, InitialValue, Initializer, Item, LineIndex, Linkage, Operand,
    Pointer, ScalarType, Space, Statement, Symbols, decode, parse, walk,
};

const CLASSIC: &str = include_str!("data/classic.ptx");
const MIDDLE: &str = include_str!("data/middle.ptx");
const UNTYPED: &str = include_str!("data/untyped.ptx");
const DEBUG: &str = include_str!("data/debug.ptx");

#[test]
fn all_dialects_parse_decode_and_survive_printing() {
    for (source, instructions) in [(CLASSIC, 37), (MIDDLE, 13), (UNTYPED, 19), (DEBUG, 5)] {
        let module = parse(source).unwrap_or_else(|e| panic!("{e}"));
        let printed = module.to_string();
        let again = parse(&printed).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(module, again);
        assert_eq!(printed, again.to_string(), "printing is canonical");
        let mut count = 0;
        for instruction in module.functions().flat_map(|f| f.instructions()) {
            decode(instruction).unwrap_or_else(|e| panic!("{}", e.render(source)));
            count += 1;
        }
        assert_eq!(count, instructions, "{:?}", module.targets);
    }
}

#[test]
fn heads_and_variables_of_the_classic_dialect() {
    let module = parse(CLASSIC).expect("the sample is good");
    assert_eq!(
        (module.version, module.address_size, module.architecture()),
        ((8, 8), 64, Some((75, "")))
    );
    let scale = module.function("scale").expect("the kernel is there");
    assert_eq!(
        (scale.kind, scale.linkage),
        (FunctionKind::Entry, Linkage::Visible)
    );
    assert_eq!(scale.attributes.max_threads, Some([256, 1, 1]));
    assert_eq!(scale.attributes.min_blocks_per_sm, Some(2));
    let sizes: Vec<_> = scale
        .params
        .iter()
        .map(|p| (p.size(), p.alignment()))
        .collect();
    assert_eq!(sizes, [(8, 8), (4, 4), (4, 4), (12, 4)]);
    assert!(
        module
            .function("_Z4twicef")
            .is_some_and(|f| f.body.is_some()),
        "the definition, not the declaration"
    );

    let variables: Vec<_> = module.variables().collect();
    assert_eq!(
        variables.iter().map(|v| v.name.text).collect::<Vec<_>>(),
        ["$str", "limit", "us_c", "ctable", "unit", "dyn"]
    );
    assert_eq!(
        (variables[0].size(), variables[0].space),
        (7, Space::Global)
    );
    assert_eq!(
        variables[1].initializer,
        Some(Initializer::Value(InitialValue::Immediate(Immediate::Int(
            -1
        ))))
    );
    assert!(
        variables[5].is_open_array()
            && variables[5].size() == 0
            && variables[5].linkage == Linkage::Extern
    );
}

#[test]
fn calls_show_their_parts() {
    let module = parse(CLASSIC).expect("the sample is good");
    let symbols = Symbols::new(&module);
    let scale = symbols.function("scale").expect("the kernel is there");
    let calls: Vec<_> = scale
        .instructions()
        .into_iter()
        .filter_map(|i| i.call().map(|c| (i, c)))
        .collect();
    let [(first, twice), (_, printf)] = calls.as_slice() else {
        panic!("{calls:?}")
    };
    assert_eq!(
        (
            twice.target.text,
            twice.returns.len(),
            twice.arguments.len(),
            twice.prototype
        ),
        ("_Z4twicef", 1, 1, None)
    );
    assert_eq!((printf.target.text, printf.arguments.len()), ("vprintf", 2));
    assert_eq!(
        symbols.call_target(first).map(|f| f.name.text),
        Some("_Z4twicef")
    );

    let reachable = symbols.reachable(scale);
    assert_eq!(reachable.functions[0].name.text, "scale");
    let mut names: Vec<_> = reachable.functions.iter().map(|f| f.name.text).collect();
    names.sort_unstable();
    assert_eq!(names, ["_Z4twicef", "scale", "vprintf"]);
    assert!(
        reachable.variables.is_empty(),
        "shared memory of the body is no variable of the module"
    );

    let module = parse(MIDDLE).expect("the sample is good");
    let dispatch = module.function("dispatch").expect("the kernel is there");
    let indirect = dispatch
        .instructions()
        .into_iter()
        .find_map(|i| i.call())
        .expect("there is an indirect call");
    assert_eq!(
        (indirect.target.text, indirect.prototype.map(|p| p.text)),
        ("%rd5", Some("prototype_0"))
    );
    assert!(indirect.returns.is_empty());
}

#[test]
fn reachable_follows_tables_of_functions() {
    let source = ".version 8.0 .target sm_80 .address_size 64
        .func f() { ret; } .func g() { ret; } .func unused() { ret; }
        .alias h, g;
        .global .u64 inner[1] = {f}; .global .u64 outer = generic(inner);
        .entry k() { .reg .b64 %rd<2>; mov.u64 %rd1, outer; call h; }";
    let module = parse(source).expect("the text is good");
    let symbols = Symbols::new(&module);
    let reachable = symbols.reachable(symbols.function("k").expect("k is there"));
    let mut names: Vec<_> = reachable.functions.iter().map(|f| f.name.text).collect();
    names.sort_unstable();
    assert_eq!(names, ["f", "g", "k"]);
    assert_eq!(
        reachable
            .variables
            .iter()
            .map(|v| v.name.text)
            .collect::<Vec<_>>()
            .len(),
        2
    );
    assert_eq!(symbols.function("h").map(|f| f.name.text), Some("g"));
}

#[test]
fn pointers_tables_and_prototypes_of_the_middle_dialect() {
    let module = parse(MIDDLE).expect("the sample is good");
    let dispatch = module.function("dispatch").expect("the kernel is there");
    assert_eq!(
        dispatch.params[0].pointer,
        Some(Pointer {
            space: None,
            align: Some(1)
        })
    );
    assert_eq!(
        dispatch.params[1].pointer,
        Some(Pointer {
            space: Some(Space::Global),
            align: Some(16)
        })
    );
    assert_eq!(dispatch.params[0].ty, ScalarType::U64);
    assert_eq!(dispatch.attributes.max_threads, Some([64, 1, 1]));
    assert_eq!(dispatch.attributes.required_cluster, Some([2, 1, 1]));
    assert!(dispatch.attributes.explicit_cluster);
    assert!(module.variables().next().is_some_and(|v| v.managed));
    let (mut targets, mut prototypes) = (0, 0);
    walk(
        dispatch.body.as_deref().expect("it has a body"),
        &mut |s| match s {
            Statement::BranchTargets(table) => {
                assert_eq!(table.label.text, "$L_brx_0");
                targets += table.targets.len();
            }
            Statement::CallPrototype(prototype) => {
                assert_eq!(
                    (
                        prototype.label.text,
                        prototype.returns.len(),
                        prototype.params[0].name.text
                    ),
                    ("prototype_0", 0, "_")
                );
                prototypes += 1;
            }
            _ => {}
        },
    );
    assert_eq!((targets, prototypes), (2, 1));
}

#[test]
fn debug_information_names_source_lines() {
    let module = parse(DEBUG).expect("the sample is good");
    assert_eq!(module.file(1), Some("/src/min.cu"));
    assert_eq!(module.file(2), Some("/src/with \\\"quotes\\\".h"));
    assert_eq!(module.file(3), None);
    assert_eq!(
        module.targets.iter().map(|t| t.text).collect::<Vec<_>>(),
        ["sm_75", "debug"]
    );
    let min = module
        .function("min")
        .expect("a function may be named as an instruction");
    let body = min.body.as_deref().expect("it has a body");
    let locs: Vec<_> = body
        .iter()
        .filter_map(|s| match s {
            Statement::Loc(loc) => Some(*loc),
            _ => None,
        })
        .collect();
    assert_eq!((locs[1].file, locs[1].line, locs[1].column), (1, 3, 0));
    let inlined = locs[2].inlined.expect("the code was inlined");
    assert_eq!(
        (inlined.function.text, inlined.offset, inlined.line),
        ("$L__info_string0", 0, 9)
    );
    assert_eq!(locs[3].inlined.map(|i| (i.offset, i.file)), Some((8, 2)));
    assert!(
        matches!(
            body[body.len() - 2..],
            [Statement::Label(_), Statement::Label(_)]
        ),
        "labels may stand before the brace"
    );
    let sections: Vec<_> = module
        .items
        .iter()
        .filter_map(|i| match i {
            Item::Section(s) => Some(s.name.text),
            _ => None,
        })
        .collect();
    assert_eq!(sections, [".debug_abbrev", ".debug_info", ".debug_str"]);
}

#[test]
fn spans_lead_back_to_the_text() {
    let module = parse(CLASSIC).expect("the sample is good");
    let index = LineIndex::new(CLASSIC);
    let scale = module.function("scale").expect("the kernel is there");
    for instruction in scale.instructions() {
        assert_eq!(
            instruction.opcode.span.text(CLASSIC),
            instruction.opcode.text
        );
        let text = instruction.span.text(CLASSIC);
        assert!(
            text.ends_with(';') && text.contains(instruction.opcode.text),
            "{text}"
        );
        assert_eq!(
            index.line(instruction.span),
            cuprum_ptx::line_column(CLASSIC, instruction.span).0
        );
    }
    let load = scale
        .instructions()
        .into_iter()
        .find(|i| i.opcode.text == "ld.global.f32")
        .expect("it loads");
    let Some(Operand::Address(Address {
        base: Some(base),
        offset: -4,
    })) = load.operands.get(1)
    else {
        panic!("{load:?}")
    };
    assert_eq!(base.text, "%rd4");
}
