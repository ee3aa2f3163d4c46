//! Printing any tree and parsing the text gives the tree back.

use cuprum_ptx::{
    Address, Alias, Attributes, BranchTargets, CallPrototype, CallTargets, File, Function,
    FunctionKind, Guard, Ident, Immediate, InitialValue, Initializer, Inlined, Instruction, Item,
    Linkage, Loc, Module, Operand, Param, Pointer, RegisterDecl, RegisterName, ScalarType, Section,
    Space, Span, Statement, Symbol, TextureAddress, Unified, Variable, parse,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

type Tree<T> = BoxedStrategy<T>;

/// Names that must not be taken for anything else.
const NAMES: &[&str] = &[
    "%r1",
    "%tid.x",
    "%r1.b0",
    "x",
    "p",
    "min",
    "ld",
    "generic",
    "$L__BB0_1",
    "$str$1",
    "__$temp3",
    "_Z4axpyfPf",
    "function_name",
    "inlined_at",
    "f1",
    "v.y",
    "_x",
    "U",
    "e5",
];

const OPCODES: &[&str] = &[
    "ret",
    "add.s32",
    "ld.global.L1::no_allocate.v4.f32",
    "fence.sc.gpu",
    "frobnicate.x",
    "call.uni",
    "tex.2d.v4.f32.f32",
];

const TEXTS: &[&str] = &[
    "",
    "nounroll",
    "/src/a b.cu",
    "with \\\"quotes\\\" and {",
    "é // no comment",
];

fn ident() -> Tree<Ident<'static>> {
    select(NAMES).prop_map(Ident::new).boxed()
}

fn idents() -> Tree<Vec<Ident<'static>>> {
    vec(ident(), 1..4).boxed()
}

fn ty() -> Tree<ScalarType> {
    select(ScalarType::ALL).boxed()
}

fn vector() -> Tree<u8> {
    select(&[1u8, 2, 4, 8][..]).boxed()
}

fn align() -> Tree<Option<u32>> {
    option::of((0u32..32).prop_map(|bit| 1 << bit)).boxed()
}

fn dimensions() -> Tree<Vec<Option<u64>>> {
    (any::<bool>(), vec(any::<u64>(), 0..3))
        .prop_map(|(open, rest)| {
            open.then_some(None)
                .into_iter()
                .chain(rest.into_iter().map(Some))
                .collect()
        })
        .boxed()
}

fn immediate() -> Tree<Immediate> {
    prop_oneof![
        any::<i64>().prop_map(|v| Immediate::Int(v.into())),
        any::<u64>().prop_map(|v| Immediate::Int(v.into())),
        (-9i128..9).prop_map(Immediate::Int),
        any::<u32>().prop_map(Immediate::F32),
        any::<u64>().prop_map(Immediate::F64),
    ]
    .boxed()
}

fn operand() -> Tree<Operand<'static>> {
    let texture = (
        ident(),
        option::of(ident()),
        vec(ident().prop_map(Operand::Name), 1..4),
    )
        .prop_map(|(object, sampler, coordinates)| {
            Operand::Texture(Box::new(TextureAddress {
                object,
                sampler,
                coordinates,
            }))
        });
    let leaf = prop_oneof![
        ident().prop_map(Operand::Name),
        immediate().prop_map(Operand::Immediate),
        (ident(), any::<i64>()).prop_map(|(name, offset)| Operand::Offset(name, offset)),
        (option::of(ident()), any::<i64>())
            .prop_map(|(base, offset)| Operand::Address(Address { base, offset })),
        texture,
        ident().prop_map(Operand::Not),
        ident().prop_map(Operand::Neg),
        Just(Operand::Sink),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let end = || prop_oneof![ident().prop_map(Operand::Name), Just(Operand::Sink)];
        let first = prop_oneof![end(), vec(inner.clone(), 1..4).prop_map(Operand::Vector)];
        prop_oneof![
            vec(inner.clone(), 1..5).prop_map(Operand::Vector),
            vec(inner, 0..4).prop_map(Operand::List),
            (first, end()).prop_map(|pair| Operand::Pair(Box::new(pair))),
        ]
    })
    .boxed()
}

fn instruction() -> Tree<Statement<'static>> {
    let guard = option::of(
        (any::<bool>(), ident()).prop_map(|(negated, register)| Guard { negated, register }),
    );
    (guard, select(OPCODES), vec(operand(), 0..5))
        .prop_map(|(guard, opcode, operands)| {
            Statement::Instruction(Instruction {
                guard,
                opcode: Ident::new(opcode),
                operands,
                span: Span::default(),
            })
        })
        .boxed()
}

fn initializer() -> Tree<Initializer<'static>> {
    let mask = option::of(
        (0u32..8, 1u32..=8).prop_map(|(first, count)| (!0u64 >> (64 - 8 * count)) << (8 * first)),
    );
    let symbol =
        (ident(), any::<bool>(), any::<i64>(), mask).prop_map(|(name, generic, offset, mask)| {
            InitialValue::Symbol(Symbol {
                name,
                generic,
                offset,
                mask,
            })
        });
    let value = prop_oneof![immediate().prop_map(InitialValue::Immediate), symbol];
    value
        .prop_map(Initializer::Value)
        .prop_recursive(3, 12, 4, |inner| {
            vec(inner, 0..4).prop_map(Initializer::List)
        })
        .boxed()
}

fn variable(linkage: Tree<Linkage>) -> Tree<Box<Variable<'static>>> {
    let unified = option::of((any::<u64>(), any::<u64>()).prop_map(|(a, b)| Unified(a, b)));
    let head = (linkage, select(Space::ALL), any::<bool>(), unified, align());
    (
        head,
        vector(),
        ty(),
        ident(),
        dimensions(),
        option::of(initializer()),
    )
        .prop_map(
            |(
                (linkage, space, managed, unified, align),
                vector,
                ty,
                name,
                dimensions,
                initializer,
            )| {
                Box::new(Variable {
                    linkage,
                    space,
                    managed,
                    unified,
                    align,
                    vector,
                    ty,
                    name,
                    dimensions,
                    initializer,
                    span: Span::default(),
                })
            },
        )
        .boxed()
}

fn param() -> Tree<Param<'static>> {
    let pointer = option::of(
        (option::of(select(Space::ALL)), align())
            .prop_map(|(space, align)| Pointer { space, align }),
    );
    (any::<bool>(), align(), ty(), pointer, ident(), dimensions())
        .prop_map(|(register, align, ty, pointer, name, dimensions)| Param {
            register,
            align,
            ty,
            pointer,
            name,
            dimensions,
        })
        .boxed()
}

fn loc() -> Tree<Loc<'static>> {
    let inlined = (ident(), any::<i64>(), any::<[u32; 3]>()).prop_map(
        |(function, offset, [file, line, column])| Inlined {
            function,
            offset,
            file,
            line,
            column,
        },
    );
    (any::<[u32; 3]>(), option::of(inlined))
        .prop_map(|([file, line, column], inlined)| Loc {
            file,
            line,
            column,
            inlined,
        })
        .boxed()
}

fn statement() -> Tree<Statement<'static>> {
    let name =
        (ident(), option::of(any::<u32>())).prop_map(|(name, count)| RegisterName { name, count });
    let registers = (ty(), vector(), vec(name, 1..4)).prop_map(|(ty, vector, names)| {
        Statement::Register(RegisterDecl {
            ty,
            vector,
            names,
            span: Span::default(),
        })
    });
    let prototype = (
        ident(),
        vec(param(), 0..2),
        vec(param(), 0..3),
        any::<bool>(),
    )
        .prop_map(|(label, returns, params, noreturn)| CallPrototype {
            label,
            returns,
            params,
            noreturn,
        });
    let leaf = prop_oneof![
        5 => instruction(),
        1 => ident().prop_map(Statement::Label),
        1 => registers,
        1 => variable(Just(Linkage::Internal).boxed()).prop_map(Statement::Variable),
        1 => loc().prop_map(Statement::Loc),
        1 => vec(select(TEXTS), 1..3).prop_map(Statement::Pragma),
        1 => (ident(), idents()).prop_map(|(label, targets)| Statement::BranchTargets(BranchTargets { label, targets })),
        1 => (ident(), idents()).prop_map(|(label, targets)| Statement::CallTargets(CallTargets { label, targets })),
        1 => prototype.prop_map(|p| Statement::CallPrototype(Box::new(p))),
    ];
    leaf.prop_recursive(3, 10, 3, |inner| {
        vec(inner, 0..3).prop_map(Statement::Block)
    })
    .boxed()
}

fn attributes() -> Tree<Attributes<'static>> {
    let shapes = (
        option::of(any::<[u32; 3]>()),
        option::of(any::<[u32; 3]>()),
        option::of(prop_oneof![any::<[u32; 3]>(), Just([0; 3])]),
    );
    let numbers = any::<[Option<u32>; 6]>();
    let unified = option::of((any::<u64>(), any::<u64>()).prop_map(|(a, b)| Unified(a, b)));
    (
        shapes,
        numbers,
        any::<[bool; 3]>(),
        unified,
        vec(select(TEXTS), 0..2),
    )
        .prop_map(|(shapes, numbers, flags, unified, pragmas)| Attributes {
            max_threads: shapes.0,
            required_threads: shapes.1,
            min_blocks_per_sm: numbers[0],
            max_blocks_per_sm: numbers[1],
            max_registers: numbers[2],
            noreturn: flags[0],
            explicit_cluster: flags[1],
            required_cluster: shapes.2,
            max_cluster_rank: numbers[3],
            blocks_are_clusters: flags[2],
            unified,
            abi_preserve: numbers[4],
            abi_preserve_control: numbers[5],
            pragmas,
        })
        .boxed()
}

fn linkage() -> Tree<Linkage> {
    select(
        &[
            Linkage::Internal,
            Linkage::Extern,
            Linkage::Visible,
            Linkage::Weak,
            Linkage::Common,
        ][..],
    )
    .boxed()
}

fn function() -> Tree<Function<'static>> {
    let signature = (any::<bool>(), vec(param(), 0..2), vec(param(), 0..4));
    (
        linkage(),
        signature,
        ident(),
        attributes(),
        option::of(vec(statement(), 0..8)),
    )
        .prop_map(
            |(linkage, (entry, returns, params), name, attributes, body)| Function {
                linkage,
                kind: if entry {
                    FunctionKind::Entry
                } else {
                    FunctionKind::Func
                },
                name,
                returns: if entry { Vec::new() } else { returns },
                params,
                attributes,
                body,
                span: Span::default(),
            },
        )
        .boxed()
}

fn item() -> Tree<Item<'static>> {
    let section = (
        select(&[".debug_str", ".debug_info"][..]),
        select(&["", "a: .b8 1,2", "{ .b8 \"}\" } // }\n.b64 x-y"][..]),
    );
    prop_oneof![
        3 => variable(linkage()).prop_map(Item::Variable),
        3 => function().prop_map(|f| Item::Function(Box::new(f))),
        1 => (ident(), ident()).prop_map(|(name, target)| Item::Alias(Alias { name, target })),
        1 => section.prop_map(|(name, text)| Item::Section(Section { name: Ident::new(name), text })),
        1 => vec(select(TEXTS), 1..3).prop_map(Item::Pragma),
    ]
    .boxed()
}

fn module() -> Tree<Module<'static>> {
    let file = (any::<u32>(), select(TEXTS), option::of(any::<(u64, u64)>()))
        .prop_map(|(index, name, stamp)| File { index, name, stamp });
    (
        any::<(u8, u8)>(),
        vec(ident(), 0..3),
        any::<bool>(),
        vec(item(), 0..5),
        vec(file, 0..3),
    )
        .prop_map(|(version, targets, wide, items, files)| Module {
            version,
            targets,
            address_size: if wide { 64 } else { 32 },
            items,
            files,
        })
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn print_then_parse_gives_the_same_tree(tree in module()) {
        let text = tree.to_string();
        match parse(&text) {
            Ok(again) => {
                prop_assert_eq!(&again, &tree, "{}", text);
                prop_assert_eq!(again.to_string(), text);
            }
            Err(error) => prop_assert!(false, "{}\n{}", error, text),
        }
    }
}
