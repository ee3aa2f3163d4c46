//! What the decoder accepts and refuses.

use cuprum_ptx::{
    Action, AtomOp, BoolOp, CacheOp, Compare, DecodeErrorKind, Geometry, Ident, Op, Opcode,
    Ordering, Part, PrmtMode, Rounding, ScalarType, Scope, ShflMode, Space, Statement, VoteMode,
    decode, decode_opcode, parse,
};

fn op(spelling: &str) -> Op {
    decode_opcode(Ident::new(spelling)).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(spelling: &str) -> DecodeErrorKind {
    decode_opcode(Ident::new(spelling))
        .expect_err(spelling)
        .kind()
        .clone()
}

#[test]
fn every_spelling_that_compilers_emit_decodes() {
    let mut count = 0;
    for line in include_str!("data/opcodes.txt")
        .lines()
        .filter(|l| !l.starts_with('#'))
    {
        let mut words = line.split(' ');
        let base = words.next().expect("a line has a base opcode");
        for rest in words {
            let spelling = if rest == "." {
                base.to_owned()
            } else {
                format!("{base}{rest}")
            };
            assert_eq!(op(&spelling).opcode.spelling(), base);
            count += 1;
        }
    }
    assert_eq!(count, 1559);
}

#[test]
fn the_order_of_modifiers_means_nothing() {
    for (a, b) in [
        ("ex2.approx.f32.ftz", "ex2.approx.ftz.f32"),
        ("lg2.ftz.approx.f32", "lg2.approx.f32.ftz"),
        ("fence.gpu.sc", "fence.sc.gpu"),
        ("atom.add.acq_rel.cta.u64", "atom.acq_rel.cta.add.u64"),
        ("atom.global.cta.add.u32", "atom.cta.global.add.u32"),
        ("atom.cas.relaxed.gpu.b32", "atom.relaxed.gpu.cas.b32"),
        ("prmt.b32.f4e", "prmt.f4e.b32"),
        ("min.s16x2.relu", "min.relu.s16x2"),
        ("ld.volatile.global.v2.u32", "ld.global.v2.volatile.u32"),
    ] {
        assert_eq!(op(a), op(b));
    }
    // The order of types does mean something.
    assert_ne!(op("cvt.rn.f32.s64"), op("cvt.rn.s64.f32"));
}

#[test]
fn words_that_several_instructions_use_differently() {
    assert_eq!(op("mul.lo.s32").modifiers.part(), Some(Part::Lo));
    assert_eq!(op("setp.lo.u32").modifiers.compare(), Some(Compare::Lo));
    assert_eq!(op("setp.lo.u32").modifiers.part(), None);
    assert_eq!(op("setp.lt.and.s32").modifiers.bool_op(), Some(BoolOp::And));
    assert_eq!(op("atom.and.b32").modifiers.atom_op(), Some(AtomOp::And));
    assert_eq!(op("atom.and.b32").modifiers.bool_op(), None);
    assert_eq!(
        op("bar.red.popc.u32").modifiers.atom_op(),
        Some(AtomOp::Popc)
    );
    assert_eq!(
        op("vote.uni.pred").modifiers.vote_mode(),
        Some(VoteMode::Uni)
    );
    assert!(op("bra.uni").modifiers.uni());
    assert_eq!(
        op("shfl.sync.idx.b32").modifiers.shfl_mode(),
        Some(ShflMode::Idx)
    );
    assert!(op("shfl.sync.idx.b32").modifiers.sync() && op("bar.sync").modifiers.sync());
    assert_eq!(op("bar.warp.sync").modifiers.action(), Some(Action::Sync));
    assert_eq!(
        op("mbarrier.arrive.expect_tx.shared::cta.b64")
            .modifiers
            .action(),
        Some(Action::Arrive)
    );
}

#[test]
fn modifiers_come_out_typed() {
    let ld = op("ld.relaxed.sys.global.L1::no_allocate.v4.f32");
    assert_eq!(
        (ld.opcode, ld.vector, ld.ty()),
        (Opcode::Ld, 4, ScalarType::F32)
    );
    assert_eq!(ld.modifiers.space(), Some(Space::Global));
    assert_eq!(
        (ld.modifiers.ordering(), ld.modifiers.scope()),
        (Some(Ordering::Relaxed), Some(Scope::Sys))
    );
    assert!(op("ld.volatile.shared.u8").modifiers.volatile());
    assert_eq!(
        op("st.global.cs.u8").modifiers.cache_op(),
        Some(CacheOp::Cs)
    );
    assert_eq!(
        op("ld.shared::cta.u8").modifiers.space(),
        Some(Space::Shared)
    );
    assert_eq!(op("membar.gl").modifiers.scope(), Some(Scope::Gpu));
    assert_eq!(
        op("cvt.rzi.s32.f32").modifiers.rounding(),
        Some(Rounding::Rzi)
    );
    assert_eq!(
        op("cvt.rzi.s32.f32").types.as_slice(),
        [ScalarType::S32, ScalarType::F32]
    );
    assert_eq!(
        op("prmt.b32.rc16").modifiers.prmt_mode(),
        Some(PrmtMode::Rc16)
    );
    assert_eq!(
        op("tex.level.a2d.v4.s32.f32").modifiers.geometry(),
        Some(Geometry::A2d)
    );
    let cp = op("cp.async.cg.shared.global.L2::128B");
    assert_eq!(
        (cp.modifiers.space(), cp.modifiers.source_space()),
        (Some(Space::Shared), Some(Space::Global))
    );
    let max = op("max.ftz.NaN.xorsign.abs.f32").modifiers;
    assert!(max.ftz() && max.nan());
    assert!(op("madc.hi.cc.u32").modifiers.cc());
    assert!(op("cvta.to.shared.u64").modifiers.to());
}

#[test]
fn what_is_not_ptx_is_refused_by_name() {
    use DecodeErrorKind as K;
    assert_eq!(refused("frobnicate.u32"), K::UnknownOpcode);
    assert_eq!(
        refused("add.frob.u32"),
        K::UnknownModifier("frob".to_owned())
    );
    assert_eq!(refused("add..u32"), K::UnknownModifier(String::new()));
    assert_eq!(refused("mul.f32.lo"), K::UnknownModifier("lo".to_owned()));
    assert_eq!(
        refused("mul.lo.hi.s32"),
        K::ConflictingModifier("hi".to_owned())
    );
    assert_eq!(
        refused("fma.rn.rz.f32"),
        K::ConflictingModifier("rz".to_owned())
    );
    assert_eq!(
        refused("ld.global.shared.u32"),
        K::ConflictingModifier("shared".to_owned())
    );
    assert_eq!(
        refused("ld.v2.v4.u32"),
        K::ConflictingModifier("v4".to_owned())
    );
    assert!(matches!(refused("mul.s32"), K::MissingModifier(_)));
    assert!(matches!(
        refused("setp.s32"),
        K::MissingModifier("a comparison")
    ));
    assert!(matches!(refused("div.f32"), K::MissingModifier(_)));
    assert!(matches!(refused("shfl.sync.b32"), K::MissingModifier(_)));
    assert_eq!(refused("add"), K::Types);
    assert_eq!(refused("add.b32"), K::Types);
    assert_eq!(refused("mov.u32.u32"), K::Types);
    assert_eq!(refused("mul.wide.u64"), K::Types);
    assert_eq!(refused("cvt.u32"), K::Types);
}

#[test]
fn errors_point_at_the_word() {
    let source = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n\t.reg .b32 %r<3>;\n\tadd.s32.frob %r1, %r2, 1;\n\tadd.s32 %r1, %r2;\n}\n";
    let module = parse(source).expect("opcodes are not looked into");
    let body = module
        .functions()
        .next()
        .and_then(|f| f.body.as_deref())
        .expect("the kernel has a body");
    let errors: Vec<_> = body
        .iter()
        .filter_map(|s| match s {
            Statement::Instruction(i) => decode(i).err(),
            _ => None,
        })
        .collect();
    let [frob, count] = errors.as_slice() else {
        panic!("{errors:?}")
    };
    assert_eq!(
        (frob.line(source), frob.span().text(source), frob.spelling()),
        (7, "frob", "add.s32.frob")
    );
    assert_eq!(
        frob.render(source),
        "error: unknown modifier `.frob` in `add.s32.frob`\n  |\n7 |     add.s32.frob %r1, %r2, 1;\n  |             ^^^^ here"
    );
    assert_eq!(
        count.kind(),
        &DecodeErrorKind::OperandCount {
            found: 2,
            min: 3,
            max: 3
        }
    );
    assert_eq!(count.to_string(), "`add.s32` takes 3 operands, not 2");
    assert_eq!(count.span().text(source), "add.s32 %r1, %r2;");
}
