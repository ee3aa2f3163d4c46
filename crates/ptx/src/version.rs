//! The least PTX version that a module needs.
//!
//! Compilers stamp their own version on every text, and a driver refuses versions newer than itself, however old the instructions.
//! The versions here are those of the "PTX ISA Notes" that stand with each instruction and directive of the PTX ISA.

use crate::ast::{
    Function, InitialValue, Instruction, Item, Module, Operand, Param, Statement, Variable, walk,
};
use crate::decode::{Action, Flags, Op, Opcode, Ordering, Scope, decode};
use crate::{ScalarType, Space};

/// A PTX version: major and minor.
type Version = (u8, u8);

/// The oldest version that is ever answered: that of CUDA 10, with which every target still supported begins.
const OLDEST: Version = (6, 3);

impl Module<'_> {
    /// The least `.version` with which this module is still valid: at least 6.3 and what the target asks for, never above the version
    /// it has. What is not known to be older counts as being as new as the module.
    #[must_use]
    pub fn least_version(&self) -> (u8, u8) {
        let mut need = Need {
            least: OLDEST,
            newest: self.version,
        };
        need.targets(self);
        for item in &self.items {
            need.item(item);
        }
        need.least.min(self.version)
    }

    /// Sets `.version` to [`Module::least_version`] and answers it, so that older drivers take the printed text.
    pub fn lower_version(&mut self) -> (u8, u8) {
        self.version = self.least_version();
        self.version
    }
}

/// Collects the highest of what the parts need.
struct Need {
    least: Version,
    newest: Version,
}

impl Need {
    fn at_least(&mut self, version: Version) {
        self.least = self.least.max(version);
    }

    fn when(&mut self, condition: bool, version: Version) {
        if condition {
            self.at_least(version);
        }
    }

    fn targets(&mut self, module: &Module<'_>) {
        let version = match module.architecture() {
            Some((0..=75, "")) => OLDEST,
            Some((80, "")) => (7, 0),
            Some((86, "")) => (7, 1),
            Some((87, "")) => (7, 4),
            Some((89 | 90, "")) => (7, 8),
            Some((90, "a")) => (8, 0),
            Some((100, "" | "a")) => (8, 6),
            Some((120, "" | "a")) => (8, 7),
            _ => self.newest,
        };
        self.at_least(version);
    }

    fn item(&mut self, item: &Item<'_>) {
        match item {
            Item::Variable(variable) => self.variable(variable),
            Item::Function(function) => self.function(function),
            // Differences of labels and other late forms of debug sections.
            Item::Section(_) => self.at_least((7, 5)),
            Item::Pragma(texts) => self.pragmas(texts),
            Item::Alias(_) => {}
        }
    }

    fn variable(&mut self, variable: &Variable<'_>) {
        self.ty(variable.ty);
        self.when(variable.unified.is_some(), self.newest);
        if let Some(initializer) = &variable.initializer {
            initializer.for_each(&mut |value| {
                let masked = matches!(value, InitialValue::Symbol(symbol) if symbol.mask.is_some());
                self.when(masked, (7, 1));
            });
        }
    }

    /// Older compilers refuse, not ignore, a pragma that is newer than the text's version.
    fn pragmas(&mut self, texts: &[&str]) {
        for text in texts {
            match text.split_whitespace().next() {
                None | Some("nounroll") => {}
                Some("used_bytes_mask") => self.at_least((8, 3)),
                Some(_) => self.at_least(self.newest),
            }
        }
    }

    /// A declared type; those of instructions are looked at with the instruction.
    fn ty(&mut self, ty: ScalarType) {
        self.when(ty == ScalarType::B128, (8, 3));
    }

    fn params(&mut self, params: &[Param<'_>]) {
        params.iter().for_each(|param| self.ty(param.ty));
    }

    fn function(&mut self, function: &Function<'_>) {
        let attributes = &function.attributes;
        let clusters = attributes.explicit_cluster
            || attributes.required_cluster.is_some()
            || attributes.max_cluster_rank.is_some();
        self.when(clusters, (7, 8));
        self.when(attributes.noreturn, (6, 4));
        let late = attributes.blocks_are_clusters
            || attributes.unified.is_some()
            || attributes.abi_preserve.is_some()
            || attributes.abi_preserve_control.is_some();
        self.when(late, self.newest);
        self.pragmas(&attributes.pragmas);
        self.params(&function.returns);
        self.params(&function.params);
        walk(
            function.body.as_deref().unwrap_or_default(),
            &mut |statement| match statement {
                Statement::Pragma(texts) => self.pragmas(texts),
                Statement::Register(registers) => self.ty(registers.ty),
                Statement::Variable(variable) => self.variable(variable),
                Statement::Loc(loc) => self.when(loc.inlined.is_some(), (7, 2)),
                Statement::CallPrototype(prototype) => {
                    self.when(prototype.noreturn, (6, 4));
                    self.params(&prototype.returns);
                    self.params(&prototype.params);
                }
                Statement::Instruction(instruction) => self.instruction(instruction),
                _ => {}
            },
        );
    }

    fn instruction(&mut self, instruction: &Instruction<'_>) {
        match decode(instruction) {
            Ok(op) => {
                self.at_least(opcode(&op));
                self.at_least(types(&op));
                self.modifiers(&op, instruction);
            }
            Err(_) => self.at_least(self.newest),
        }
        let mut sink = false;
        for operand in &instruction.operands {
            sink |= operand.elements().contains(&Operand::Sink);
            operand.for_each_name(&mut |name| self.at_least(special_register(name.text)));
        }
        self.when(sink && instruction.base() == "mov", (7, 1));
    }

    fn modifiers(&mut self, op: &Op, instruction: &Instruction<'_>) {
        let m = &op.modifiers;
        let spelling = instruction.opcode.text;
        self.when(m.flags().contains(Flags::CACHE_HINT), (7, 4));
        self.when(m.scope() == Some(Scope::Cluster), (7, 8));
        self.when(m.ordering() == Some(Ordering::Mmio), (8, 2));
        self.when(spelling.contains("shared::"), (7, 8));
        self.when(spelling.contains("param::"), (8, 3));
        self.when(op.vector == 8, (8, 8));
        self.when(
            m.flags().intersects(Flags::MECHANISM | Flags::UNIFIED),
            self.newest,
        );
        let texture = matches!(op.opcode, Opcode::Tex | Opcode::Tld4);
        let sparse = texture && matches!(instruction.operands.first(), Some(Operand::Pair(_)));
        self.when(sparse, (7, 1));
        let three =
            matches!(op.opcode, Opcode::Min | Opcode::Max) && instruction.operands.len() == 4;
        self.when(three, (8, 8));
    }
}

/// What a special register needs.
fn special_register(name: &str) -> Version {
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    if starts(&["%cluster", "%ncluster", "%is_explicit_cluster"]) {
        (7, 8)
    } else if starts(&["%reserved_smem"]) {
        (7, 6)
    } else if starts(&["%current_graph_exec"]) {
        (8, 0)
    } else if starts(&["%aggr_smem_size"]) {
        (8, 1)
    } else {
        OLDEST
    }
}

/// What a base opcode needs, with those modifiers that came later than it.
fn opcode(op: &Op) -> Version {
    let m = &op.modifiers;
    let flags = m.flags();
    match op.opcode {
        Opcode::Alloca | Opcode::Stacksave | Opcode::Stackrestore => (7, 3),
        Opcode::Bmsk | Opcode::Szext => (7, 6),
        Opcode::Cp if flags.contains(Flags::BULK) => (8, 0),
        Opcode::Cp | Opcode::Redux | Opcode::Tanh | Opcode::Wmma => (7, 0),
        Opcode::Elect => (8, 0),
        Opcode::Mapa
        | Opcode::Getctarank
        | Opcode::Griddepcontrol
        | Opcode::Stmatrix
        | Opcode::Movmatrix => (7, 8),
        Opcode::Mma => (7, 8),
        Opcode::Ldmatrix => (6, 5),
        Opcode::Mbarrier => mbarrier(op),
        Opcode::Barrier if flags.contains(Flags::CLUSTER) && m.ordering().is_some() => (8, 0),
        Opcode::Barrier if flags.contains(Flags::CLUSTER) => (7, 8),
        Opcode::Fence if m.action().is_some() => (8, 6),
        Opcode::Fence if matches!(m.ordering(), Some(Ordering::Acquire | Ordering::Release)) => {
            (8, 6)
        }
        Opcode::Isspacep | Opcode::Cvta if m.space() == Some(Space::Param) => (7, 7),
        Opcode::Lop3 if m.bool_op().is_some() => (8, 2),
        Opcode::St | Opcode::Red if flags.contains(Flags::ASYNC) => (8, 1),
        Opcode::Atom | Opcode::Red if op.vector > 1 => (8, 1),
        Opcode::Fma if m.relu() => (7, 0),
        Opcode::Min | Opcode::Max if m.relu() => (8, 0),
        Opcode::Min | Opcode::Max if flags.intersects(Flags::XORSIGN | Flags::ABS) => (7, 2),
        Opcode::Min | Opcode::Max if m.nan() => (7, 0),
        _ => OLDEST,
    }
}

fn mbarrier(op: &Op) -> Version {
    let m = &op.modifiers;
    let late =
        m.ordering().is_some() || m.scope().is_some() || m.flags().contains(Flags::EXPECT_TX);
    match m.action() {
        Some(Action::ExpectTx | Action::CompleteTx) => (8, 0),
        _ if late => (8, 0),
        Some(Action::TryWait) => (7, 8),
        _ if m.flags().intersects(Flags::PARITY | Flags::NO_COMPLETE) => (7, 1),
        _ => (7, 0),
    }
}

/// What the types of an instruction need.
fn types(op: &Op) -> Version {
    if op.opcode == Opcode::Cvt {
        return conversion(op);
    }
    let wmma = matches!(op.opcode, Opcode::Mma | Opcode::Wmma);
    op.types
        .iter()
        .map(|&ty| {
            if wmma {
                matrix_type(ty)
            } else {
                operand_type(op.opcode, ty)
            }
        })
        .max()
        .unwrap_or(OLDEST)
}

fn matrix_type(ty: ScalarType) -> Version {
    match ty {
        ScalarType::E4m3 | ScalarType::E5m2 => (8, 4),
        _ => (7, 0),
    }
}

fn operand_type(opcode: Opcode, ty: ScalarType) -> Version {
    use ScalarType as T;
    let sign = matches!(opcode, Opcode::Abs | Opcode::Neg);
    let order = matches!(opcode, Opcode::Min | Opcode::Max);
    match ty {
        T::F16 | T::F16x2 if order || opcode == Opcode::Ex2 => (7, 0),
        T::F16 | T::F16x2 if sign => (6, 5),
        T::Bf16 | T::Bf16x2 if order || sign || opcode == Opcode::Fma => (7, 0),
        T::Bf16 | T::Bf16x2 => (7, 8),
        T::U16x2 | T::S16x2 => (8, 0),
        T::F32 if opcode == Opcode::Redux => (8, 6),
        T::B128 => (8, 3),
        T::F32x2 => (8, 6),
        T::U8x4 | T::S8x4 => (9, 2),
        _ => OLDEST,
    }
}

fn conversion(op: &Op) -> Version {
    use ScalarType as T;
    let m = &op.modifiers;
    let small = |ty: T| matches!(ty, T::E4m3x2 | T::E5m2x2);
    let brain = |ty: T| matches!(ty, T::Bf16 | T::Bf16x2);
    match op.types.as_slice() {
        _ if m.flags().contains(Flags::PACK) => (6, 5),
        &[to, from] if small(to) || small(from) => {
            if brain(to) || brain(from) {
                (9, 1)
            } else {
                (7, 8)
            }
        }
        &[to, _] if m.satfinite() && !small(to) => (8, 1),
        &[to, T::F32] if brain(to) => (7, 0),
        &[T::F32, T::Bf16] => (7, 1),
        &[to, from] if brain(to) || brain(from) => (7, 8),
        &[T::Tf32, T::F32] => (7, 8),
        &[T::F16x2, T::F32] => (7, 0),
        &[_, _] if m.relu() => (7, 0),
        types
            if types.iter().all(|ty| {
                ty.is_integer() || ty.is_bits() || matches!(ty, T::F16 | T::F32 | T::F64)
            }) =>
        {
            OLDEST
        }
        // The formats of 4 and 6 bits, and whatever comes next.
        _ => (9, 1),
    }
}

#[cfg(test)]
mod tests {
    use crate::parse;

    /// The least version of a kernel with this body, out of a text stamped 9.5.
    fn least(target: &str, body: &str) -> (u8, u8) {
        let source = format!(
            ".version 9.5\n.target {target}\n.address_size 64\n.entry k()\n{{\n{body}\n}}\n"
        );
        let mut module = parse(&source).unwrap_or_else(|e| panic!("{e}"));
        let version = module.lower_version();
        assert_eq!(module.version, version);
        let printed = module.to_string();
        assert_eq!(
            parse(&printed).expect("the printed text is good").version,
            version
        );
        version
    }

    #[test]
    fn old_instructions_need_what_the_target_needs() {
        for (target, version) in [
            ("sm_75", (6, 3)),
            ("sm_80", (7, 0)),
            ("sm_90", (7, 8)),
            ("sm_90a", (8, 0)),
            ("sm_120", (8, 7)),
            ("sm_999", (9, 5)),
        ] {
            assert_eq!(
                least(
                    target,
                    "add.f32 %f1, %f2, %f3; shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1; ret;"
                ),
                version
            );
        }
    }

    #[test]
    fn later_forms_raise_the_version() {
        for (body, version) in [
            ("redux.sync.add.s32 %r1, %r2, -1;", (7, 0)),
            ("bmsk.clamp.b32 %r1, %r2, %r3;", (7, 6)),
            ("ld.shared::cta.u32 %r1, [%r2];", (7, 8)),
            ("ld.global.L2::128B.u32 %r1, [%rd2];", (7, 4)),
            (
                "atom.global.add.v2.f32 {%f1, %f2}, [%rd1], {%f3, %f4};",
                (8, 1),
            ),
            ("mov.u32 %r1, %cluster_ctarank;", (7, 8)),
            (".reg .b128 %x;", (8, 3)),
            ("add.bf16 %h1, %h2, %h3;", (7, 8)),
            ("fma.rn.bf16 %h1, %h2, %h3, %h4;", (7, 0)),
            ("cvt.rn.bf16.f32 %h1, %f1;", (7, 0)),
            ("cvt.rn.satfinite.e4m3x2.f32 %h1, %f1, %f2;", (7, 8)),
            ("isspacep.param %p1, %rd1;", (7, 7)),
            ("min.s16x2 %r1, %r2, %r3;", (8, 0)),
            (".loc 1 2 3, function_name $x, inlined_at 1 2 3", (7, 2)),
            (".pragma \"nounroll\";", (6, 3)),
            (".pragma \"used_bytes_mask 0xf\";", (8, 3)),
            ("frobnicate %r1;", (9, 5)),
        ] {
            assert_eq!(least("sm_75", body), version, "{body}");
        }
    }

    #[test]
    fn the_version_is_never_raised() {
        let module =
            parse(".version 6.0\n.target sm_90\n.address_size 64\n").expect("the text is good");
        assert_eq!(module.least_version(), (6, 0));
    }
}
