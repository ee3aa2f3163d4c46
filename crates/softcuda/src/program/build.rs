//! From the syntax tree of a function to its [`Function`].

use std::collections::HashMap;

use cuprum_ptx::{
    Action, Flags, FunctionKind, Immediate, Instruction, LineIndex, Op, Opcode, Operand as Tree,
    Param, ScalarType, Space, Statement, decode,
};

use super::ir::{
    Argument, Base, Block, BlockId, Builtin, Call, Callee, Function, Inst, Kind, Line, Operand,
    Operands, Reg, Signature, Slot, Symbol, Term, has_carry,
};
use super::scope::{Entity, Scopes, special};
use super::variables::{SharedVariable, Variable};

/// What functions know of the module around them.
pub(super) struct Environment<'a, 'm> {
    pub(super) lines: &'m LineIndex,
    /// Functions by name.
    pub(super) functions: &'m HashMap<&'a str, u32>,
    /// Which of them have a body.
    pub(super) has_body: &'m [bool],
    /// Module variables by name.
    pub(super) symbols: &'m HashMap<&'a str, (Symbol, Space)>,
    /// Grows by variables declared in bodies.
    pub(super) variables: &'m mut Vec<Variable>,
    pub(super) shared: &'m mut Vec<SharedVariable>,
    /// What no assembler would accept, in words and where: found by the way, so not all that there is.
    pub(super) problems: &'m mut Vec<(Line, String)>,
}

/// The next multiple of `align`, which may be 0 for "any"; the greatest number where there is none.
pub(super) fn align_up(offset: u32, align: u32) -> u32 {
    offset
        .checked_next_multiple_of(align.max(1))
        .unwrap_or(u32::MAX)
}

/// Lays parameters out one after another with their alignment.
fn layout(params: &[Param<'_>], offset: &mut u32) -> Vec<Slot> {
    params
        .iter()
        .map(|param| {
            let size = u32::try_from(param.size()).unwrap_or(u32::MAX / 4);
            *offset = align_up(*offset, param.alignment());
            let slot = Slot {
                offset: *offset,
                size,
            };
            *offset = offset.saturating_add(size);
            slot
        })
        .collect()
}

/// Where parameters and results of a function lie in its frame.
pub(super) fn signature(returns: &[Param<'_>], params: &[Param<'_>]) -> Signature {
    let mut offset = 0;
    let returns = layout(returns, &mut offset);
    let params = layout(params, &mut offset);
    Signature {
        returns,
        params,
        bytes: align_up(offset, 16),
    }
}

/// Where the parameters of a kernel lie in its parameter memory.
pub(super) fn kernel_params(params: &[Param<'_>]) -> Vec<Slot> {
    layout(params, &mut 0)
}

/// Builds the function. Whatever cannot be compiled becomes an instruction that says so.
pub(super) fn build<'a>(
    tree: &cuprum_ptx::Function<'a>,
    body: &[Statement<'a>],
    environment: &mut Environment<'a, '_>,
) -> Function {
    let is_entry = tree.kind == FunctionKind::Entry;
    let mut builder = Builder {
        function: Function {
            name: tree.name.text.to_owned(),
            is_entry,
            regs: Vec::new(),
            blocks: Vec::new(),
            signature: Signature::default(),
            reg_params: Vec::new(),
            reg_returns: Vec::new(),
            prototypes: Vec::new(),
            frame_bytes: 0,
        },
        scopes: Scopes::default(),
        current: None,
        line: Line::default(),
        carry: None,
        environment,
    };
    builder.scopes.push();
    builder.declare_params(tree, is_entry);
    let entry = builder.new_block();
    builder.current = Some(entry);
    for index in 0..builder.function.reg_params.len() {
        let (to, slot) = builder.function.reg_params[index];
        builder.emit(Kind::FrameLoad {
            to,
            offset: slot.offset,
            size: slot.size,
        });
    }
    builder.statements(body);
    builder.finish_block(Term::Ret);
    let mut function = builder.function;
    function.frame_bytes = align_up(function.frame_bytes, 16);
    function
}

struct Builder<'a, 'e, 'm> {
    function: Function,
    scopes: Scopes<'a>,
    current: Option<BlockId>,
    line: Line,
    carry: Option<Reg>,
    environment: &'e mut Environment<'a, 'm>,
}

/// Marks a block whose terminator is not known yet.
const OPEN: Term = Term::Exit;

impl<'a> Builder<'a, '_, '_> {
    fn declare_params(&mut self, tree: &cuprum_ptx::Function<'a>, is_entry: bool) {
        if is_entry {
            for (param, slot) in tree.params.iter().zip(kernel_params(&tree.params)) {
                let symbol = Symbol::Param(slot.offset);
                self.scopes
                    .declare(param.name.text, Entity::Symbol(symbol, slot.size));
            }
            return;
        }
        let signature = signature(&tree.returns, &tree.params);
        let slots = signature
            .returns
            .iter()
            .zip(&tree.returns)
            .map(|pair| (pair, true));
        let slots = slots.chain(
            signature
                .params
                .iter()
                .zip(&tree.params)
                .map(|pair| (pair, false)),
        );
        for ((slot, param), is_return) in slots {
            let entity = if param.register {
                let reg = self.function.new_reg(param.ty);
                let list = if is_return {
                    &mut self.function.reg_returns
                } else {
                    &mut self.function.reg_params
                };
                list.push((reg, *slot));
                Entity::Reg(reg)
            } else {
                Entity::Symbol(Symbol::Frame(slot.offset), slot.size)
            };
            self.scopes.declare(param.name.text, entity);
        }
        self.function.frame_bytes = signature.bytes;
        self.function.signature = signature;
    }

    fn new_block(&mut self) -> BlockId {
        self.function.blocks.push(Block {
            insts: Vec::new(),
            term: OPEN,
        });
        self.function.blocks.len() as BlockId - 1
    }

    /// The block that instructions go to; one that nobody reaches after a jump.
    fn block(&mut self) -> &mut Block {
        let current = match self.current {
            Some(current) => current,
            None => {
                let block = self.new_block();
                self.current = Some(block);
                block
            }
        };
        &mut self.function.blocks[current as usize]
    }

    fn emit(&mut self, kind: Kind) {
        let line = self.line;
        self.block().insts.push(Inst { kind, line });
    }

    fn invalid(&mut self, text: String) {
        self.environment.problems.push((self.line, text));
    }

    fn unsupported(&mut self, text: String) {
        self.emit(Kind::Unsupported(text.into()));
    }

    fn finish_block(&mut self, term: Term) {
        if self.current.is_none() {
            return;
        }
        let term = if matches!(term, Term::Ret) {
            for index in 0..self.function.reg_returns.len() {
                let (reg, slot) = self.function.reg_returns[index];
                self.emit(Kind::FrameStore {
                    from: Operand::Reg(reg),
                    offset: slot.offset,
                    size: slot.size,
                });
            }
            if self.function.is_entry {
                Term::Exit
            } else {
                term
            }
        } else {
            term
        };
        self.block().term = term;
        self.current = None;
    }

    /// Declares what a scope declares before its statements are read, so that labels can be used before they stand.
    fn predeclare(&mut self, statements: &[Statement<'a>]) {
        for statement in statements {
            match statement {
                Statement::Label(name) => {
                    if self.scopes.is_declared_here(name.text) {
                        self.line.ptx = self.environment.lines.line(name.span);
                        self.invalid(format!("the label `{}` is defined twice", name.text));
                    }
                    let block = self.new_block();
                    self.scopes.declare(name.text, Entity::Label(block));
                }
                Statement::BranchTargets(table) => {
                    let targets = table.targets.iter().map(|target| target.text).collect();
                    self.scopes
                        .declare(table.label.text, Entity::Table(targets));
                }
                Statement::CallPrototype(prototype) => {
                    self.function
                        .prototypes
                        .push(signature(&prototype.returns, &prototype.params));
                    let index = self.function.prototypes.len() as u32 - 1;
                    self.scopes
                        .declare(prototype.label.text, Entity::Prototype(index));
                }
                Statement::CallTargets(targets) => {
                    // All targets have one signature; it is looked up by the first at the call.
                    let names = targets.targets.iter().map(|target| target.text).collect();
                    self.scopes
                        .declare(targets.label.text, Entity::Table(names));
                }
                _ => {}
            }
        }
    }

    fn statements(&mut self, statements: &[Statement<'a>]) {
        self.predeclare(statements);
        for statement in statements {
            match statement {
                Statement::Label(name) => {
                    let Some(Entity::Label(block)) =
                        self.scopes.lookup(name.text, &mut self.function)
                    else {
                        continue;
                    };
                    self.finish_block(Term::Jump(block));
                    self.current = Some(block);
                }
                Statement::Register(declaration) => {
                    for name in &declaration.names {
                        self.declare_register(declaration.ty, declaration.vector, name);
                    }
                }
                Statement::Variable(variable) => self.declare_variable(variable),
                Statement::Instruction(instruction) => {
                    self.line.ptx = self.environment.lines.line(instruction.span);
                    self.instruction(instruction);
                }
                Statement::Loc(loc) => {
                    self.line.file = loc.file;
                    self.line.source = loc.line;
                }
                Statement::Block(inner) => {
                    self.scopes.push();
                    self.statements(inner);
                    self.scopes.pop();
                }
                Statement::Pragma(_)
                | Statement::BranchTargets(_)
                | Statement::CallPrototype(_)
                | Statement::CallTargets(_) => {}
            }
        }
    }

    fn declare_register(
        &mut self,
        ty: ScalarType,
        vector: u8,
        name: &cuprum_ptx::RegisterName<'a>,
    ) {
        match (name.count, vector) {
            (Some(count), 1) => self.scopes.declare_family(name.name.text, count, ty),
            (None, 1) => {
                let reg = self.function.new_reg(ty);
                self.scopes.declare(name.name.text, Entity::Reg(reg));
            }
            (None, n) => {
                let regs = (0..n).map(|_| self.function.new_reg(ty)).collect();
                self.scopes.declare(name.name.text, Entity::VectorReg(regs));
            }
            // Families of vector registers: nobody emits them; uses will be reported as unknown names.
            (Some(_), _) => {}
        }
    }

    fn declare_variable(&mut self, variable: &cuprum_ptx::Variable<'a>) {
        let size = u32::try_from(variable.size()).unwrap_or(u32::MAX / 4);
        let align = variable.alignment();
        let symbol = match variable.space {
            Space::Local | Space::Param => {
                let offset = align_up(self.function.frame_bytes, align.max(1));
                self.function.frame_bytes = offset.saturating_add(size);
                Symbol::Frame(offset)
            }
            Space::Shared if variable.is_open_array() => Symbol::DynamicShared,
            Space::Shared => {
                self.environment.shared.push(SharedVariable { size, align });
                Symbol::Shared(self.environment.shared.len() as u32 - 1)
            }
            _ => {
                let built = Variable::new(
                    variable,
                    self.environment.functions,
                    self.environment.symbols,
                );
                self.environment.variables.push(built);
                Symbol::Variable(self.environment.variables.len() as u32 - 1)
            }
        };
        self.scopes
            .declare(variable.name.text, Entity::Symbol(symbol, size));
    }

    fn instruction(&mut self, instruction: &Instruction<'a>) {
        let op = match decode(instruction) {
            Ok(op) => op,
            Err(error) => return self.unsupported(error.to_string()),
        };
        let Some(guard) = instruction.guard else {
            return self.plain_instruction(instruction, op);
        };
        let Some(pred) = self
            .scopes
            .register(guard.register.text, &mut self.function)
        else {
            return self.unsupported(format!("unknown register `{}`", guard.register.text));
        };
        if self.function.regs[pred as usize] != ScalarType::Pred {
            let name = guard.register.text;
            return self.unsupported(format!("the guard `{name}` is no predicate"));
        }
        let rest = self.new_block();
        let then = match op.opcode {
            Opcode::Bra => match self.label(instruction.operands.first()) {
                Some(target) => target,
                None => return self.invalid_branch(instruction),
            },
            _ => self.new_block(),
        };
        self.block();
        self.finish_block(Term::Branch {
            pred,
            negated: guard.negated,
            then,
            otherwise: rest,
        });
        if op.opcode != Opcode::Bra {
            self.current = Some(then);
            self.plain_instruction(instruction, op);
            self.finish_block(Term::Jump(rest));
        }
        self.current = Some(rest);
    }

    fn invalid_branch(&mut self, instruction: &Instruction<'a>) {
        let name = instruction.operands.first().and_then(Tree::name);
        let name = name.map_or("", |name| name.text);
        self.invalid(format!("a branch to `{name}`, which is no label here"));
    }

    fn label(&mut self, operand: Option<&Tree<'a>>) -> Option<BlockId> {
        let name = operand?.name()?;
        match self.scopes.lookup(name.text, &mut self.function)? {
            Entity::Label(block) => Some(block),
            _ => None,
        }
    }

    fn plain_instruction(&mut self, instruction: &Instruction<'a>, op: Op) {
        match op.opcode {
            Opcode::Bra => match self.label(instruction.operands.first()) {
                Some(target) => {
                    self.block();
                    self.finish_block(Term::Jump(target));
                }
                None => self.invalid_branch(instruction),
            },
            Opcode::Brx => self.indexed_branch(instruction),
            Opcode::Ret => self.terminate(Term::Ret),
            Opcode::Exit => self.terminate(Term::Exit),
            Opcode::Trap => self.terminate(Term::Trap(self.line)),
            Opcode::Brkpt => self.terminate(Term::Breakpoint(self.line)),
            Opcode::Call => match self.call(instruction) {
                Ok(call) => self.emit(Kind::Call(Box::new(call))),
                Err(text) => self.unsupported(text),
            },
            _ => {
                let operands = match self.operands(instruction, &op) {
                    Ok(operands) => operands,
                    Err(text) => {
                        let spelling = instruction.opcode.text;
                        return self.unsupported(format!("`{spelling}`: {text}"));
                    }
                };
                let suspends = is_synchronising(&op);
                let inst = Inst {
                    kind: Kind::Op(op, operands),
                    line: self.line,
                };
                if suspends {
                    self.block();
                    let next = self.new_block();
                    self.finish_block(Term::Suspend {
                        inst: Box::new(inst),
                        next,
                    });
                    self.current = Some(next);
                } else {
                    self.block().insts.push(inst);
                }
            }
        }
    }

    fn terminate(&mut self, term: Term) {
        self.block();
        self.finish_block(term);
    }

    fn indexed_branch(&mut self, instruction: &Instruction<'a>) {
        let [index, Tree::Name(table)] = instruction.operands.as_slice() else {
            return self.unsupported(format!("operands of `{}`", instruction.opcode.text));
        };
        let targets = match self.scopes.lookup(table.text, &mut self.function) {
            Some(Entity::Table(names)) => names
                .into_iter()
                .map(|name| match self.scopes.lookup(name, &mut self.function) {
                    Some(Entity::Label(block)) => Some(block),
                    _ => None,
                })
                .collect::<Option<Vec<_>>>(),
            _ => None,
        };
        match (targets, self.operand(index)) {
            (Some(targets), Ok(index)) if !targets.is_empty() => {
                self.terminate(Term::Table { index, targets });
            }
            (_, Err(text)) => self.unsupported(text),
            _ => self.unsupported(format!("unknown branch targets `{}`", table.text)),
        }
    }

    fn operands(&mut self, instruction: &Instruction<'a>, op: &Op) -> Result<Operands, String> {
        let in_function = !self.function.is_entry && op.modifiers.space() == Some(Space::Param);
        let mut operands = Operands::new();
        for tree in &instruction.operands {
            let mut operand = self.operand(tree)?;
            if let (true, Operand::Address(base, _)) = (in_function, &mut operand)
                && let Base::Reg(reg) = *base
            {
                *base = Base::FrameReg(reg);
            }
            operands.push(operand);
        }
        if has_carry(op) {
            let carry = match self.carry {
                Some(carry) => carry,
                None => {
                    let carry = self.function.new_reg(ScalarType::Pred);
                    self.carry = Some(carry);
                    carry
                }
            };
            operands.push(Operand::Reg(carry));
        }
        Ok(operands)
    }

    fn operand(&mut self, tree: &Tree<'a>) -> Result<Operand, String> {
        Ok(match tree {
            Tree::Name(name) => return self.name(name.text, 0),
            Tree::Offset(name, offset) => return self.name(name.text, *offset),
            Tree::Immediate(Immediate::Int(value)) => Operand::Int(*value as u64),
            Tree::Immediate(Immediate::F32(bits)) => Operand::F32(*bits),
            Tree::Immediate(Immediate::F64(bits)) => Operand::F64(*bits),
            Tree::Address(address) => {
                let base = match address.base {
                    None => Base::None,
                    Some(name) => match self.name(name.text, 0)? {
                        Operand::Reg(reg) => Base::Reg(reg),
                        Operand::Symbol(symbol, _) => Base::Symbol(symbol),
                        _ => return Err(format!("`{}` is no address", name.text)),
                    },
                };
                Operand::Address(base, address.offset)
            }
            Tree::Vector(elements) => Operand::Vector(
                elements
                    .iter()
                    .map(|element| self.operand(element))
                    .collect::<Result<_, _>>()?,
            ),
            Tree::Pair(pair) => {
                Operand::Pair(Box::new([self.operand(&pair.0)?, self.operand(&pair.1)?]))
            }
            Tree::Not(name) => match self.scopes.register(name.text, &mut self.function) {
                Some(reg) => Operand::Not(reg),
                None => return Err(format!("unknown register `{}`", name.text)),
            },
            Tree::Sink => Operand::Sink,
            // The object, then the coordinates.
            Tree::Texture(address) => {
                if address.sampler.is_some() {
                    return Err("a texture with a sampler of its own is not supported".to_owned());
                }
                let mut operands = vec![self.name(address.object.text, 0)?];
                for coordinate in &address.coordinates {
                    operands.push(self.operand(coordinate)?);
                }
                Operand::Vector(operands.into())
            }
            Tree::Neg(_) | Tree::List(_) => {
                return Err("this kind of operand is not supported".to_owned());
            }
        })
    }

    fn name(&mut self, name: &'a str, offset: i64) -> Result<Operand, String> {
        if let Some(reg) = self.scopes.register(name, &mut self.function) {
            return Ok(Operand::Reg(reg));
        }
        match self.scopes.lookup(name, &mut self.function) {
            Some(Entity::Symbol(symbol, ..)) => return Ok(Operand::Symbol(symbol, offset)),
            Some(Entity::VectorReg(regs)) => {
                return Ok(Operand::Vector(
                    regs.into_iter().map(Operand::Reg).collect(),
                ));
            }
            _ => {}
        }
        if let Some(&(symbol, _)) = self.environment.symbols.get(name) {
            return Ok(Operand::Symbol(symbol, offset));
        }
        if let Some(&function) = self.environment.functions.get(name) {
            return Ok(Operand::Symbol(Symbol::Function(function), offset));
        }
        if let Some(special) = special(name) {
            return Ok(Operand::Special(special));
        }
        if name == "WARP_SZ" {
            return Ok(Operand::Int(32));
        }
        Err(format!("unknown name `{name}`"))
    }

    fn call(&mut self, instruction: &Instruction<'a>) -> Result<Call, String> {
        let call = instruction
            .call()
            .ok_or_else(|| "operands of `call`".to_owned())?;
        let target = call.target.text;
        let callee = if let Some(reg) = self.scopes.register(target, &mut self.function) {
            let prototype = call.prototype.ok_or("an indirect call without prototype")?;
            match self.scopes.lookup(prototype.text, &mut self.function) {
                Some(Entity::Prototype(index)) => Callee::Indirect(reg, index),
                _ => return Err(format!("unknown prototype `{}`", prototype.text)),
            }
        } else {
            match self.environment.functions.get(target) {
                Some(&index) if self.environment.has_body[index as usize] => {
                    Callee::Function(index)
                }
                _ => Callee::Builtin(match target {
                    "vprintf" => Builtin::Vprintf,
                    "__assertfail" => Builtin::AssertFail,
                    "malloc" => Builtin::Malloc,
                    "free" => Builtin::Free,
                    // What the device runtime of CUDA has, and this one has not yet.
                    _ if target.starts_with("cuda") || target.starts_with("__") => {
                        return Err(format!("call of `{target}`, which is not supported"));
                    }
                    _ if self.environment.functions.contains_key(target) => {
                        self.invalid(format!(
                            "a call of `{target}`, which is declared, but not defined anywhere"
                        ));
                        return Err(format!("call of `{target}`, which is not defined"));
                    }
                    _ => return Err(format!("call of `{target}`, which is not defined")),
                }),
            }
        };
        let mut arguments = |trees: &[Tree<'a>]| {
            trees
                .iter()
                .map(|tree| {
                    if let Tree::Name(name) = tree
                        && let Some(Entity::Symbol(Symbol::Frame(offset), size)) =
                            self.scopes.lookup(name.text, &mut self.function)
                    {
                        return Ok(Argument::Frame { offset, size });
                    }
                    self.operand(tree).map(Argument::Value)
                })
                .collect::<Result<Vec<_>, String>>()
        };
        Ok(Call {
            callee,
            returns: arguments(call.returns)?,
            args: arguments(call.arguments)?,
        })
    }
}

/// Whether threads stop at the instruction for others.
fn is_synchronising(op: &Op) -> bool {
    match op.opcode {
        Opcode::Bar | Opcode::Barrier => {
            !op.modifiers.flags().contains(Flags::CLUSTER)
                && matches!(
                    op.modifiers.action(),
                    Some(Action::Sync | Action::Arrive | Action::Red)
                )
        }
        Opcode::Shfl
        | Opcode::Vote
        | Opcode::Match
        | Opcode::Redux
        | Opcode::Activemask
        | Opcode::Elect => true,
        _ => false,
    }
}
