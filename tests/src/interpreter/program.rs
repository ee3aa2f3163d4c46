//! From the syntax tree to a flat list of instructions with names resolved. No optimisation, no control-flow graph.

use std::collections::HashMap;

use cuprum_ptx::{
    Function, Immediate, InitialValue, Item, Module, Op, Opcode, Operand, Param, Statement,
    Variable, decode,
};

use super::Stop;
use super::memory::{self, Memory};

/// Where generic addresses of shared memory start.
pub(super) const SHARED_WINDOW: u64 = 0x7100_0000_0000_0000;
/// Where generic addresses of local memory start.
pub(super) const LOCAL_WINDOW: u64 = 0x7200_0000_0000_0000;
/// Where generic addresses of parameters start.
pub(super) const PARAM_WINDOW: u64 = 0x7300_0000_0000_0000;
/// Where variables of the module lie.
const VARIABLES: u64 = 0x7400_0000_0000_0000;
/// "Addresses" of functions.
pub(super) const FUNCTIONS: u64 = 0x7500_0000_0000_0000;

/// What a name stands for, other than a register.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    /// Offset in the parameters of the frame.
    Param(u64),
    /// Offset in the frame's local memory.
    Local(u64),
    /// Offset in the block's shared memory.
    Shared(u64),
    /// Address in global (or constant) memory.
    Global(u64),
    /// Index of a function.
    Function(usize),
}

/// A resolved operand.
#[derive(Clone, Debug)]
pub(super) enum Arg {
    Register(usize),
    Not(usize),
    Immediate(Immediate),
    Special(String),
    Place(Place, i64),
    /// `[register + offset]`, `[place + offset]` or `[offset]`.
    Address(Box<Arg>, i64),
    Vector(Vec<Arg>),
    Pair(Box<(Arg, Arg)>),
    Sink,
}

/// A resolved instruction.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) op: Op,
    /// Predicate register and whether it is negated.
    pub(super) guard: Option<(usize, bool)>,
    pub(super) args: Vec<Arg>,
    /// Branch targets, as indices of instructions.
    pub(super) targets: Vec<usize>,
    pub(super) call: Option<CallSite>,
    pub(super) text: String,
}

/// A call: callee (or register with its address), and where arguments come from and results go.
#[derive(Debug)]
pub(super) struct CallSite {
    pub(super) callee: Arg,
    pub(super) arguments: Vec<Arg>,
    pub(super) returns: Vec<Arg>,
}

/// A parameter or return value in its function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    /// Register.
    Register(usize),
    /// Offset and size in parameter memory.
    Memory(u64, u64),
}

/// A function with a body.
#[derive(Debug)]
pub(super) struct Routine {
    pub(super) code: Vec<Code>,
    /// Width of each register in bits; predicates have 1.
    pub(super) registers: Vec<u32>,
    pub(super) params: Vec<Slot>,
    pub(super) returns: Vec<Slot>,
    pub(super) param_bytes: u64,
    pub(super) local_bytes: u64,
}

/// A module, ready to run.
#[derive(Debug)]
pub(super) struct Program {
    pub(super) routines: Vec<Result<Routine, String>>,
    pub(super) names: HashMap<String, usize>,
    /// Bytes of statically declared shared memory; dynamic memory follows.
    pub(super) shared_bytes: u64,
}

fn align(offset: u64, alignment: u32) -> u64 {
    offset.next_multiple_of(u64::from(alignment.max(1)))
}

/// Meaning of a name in a scope.
#[derive(Clone, Copy)]
enum Meaning {
    Register(usize),
    Vector(usize, u8),
    Place(Place),
    Label(usize),
    Targets(usize),
}

impl Program {
    /// Loads a module; its variables are put into `memory`.
    pub(super) fn load(module: &Module<'_>, memory: &mut Memory) -> Result<Program, Stop> {
        let mut names = HashMap::new();
        let mut globals: HashMap<String, Meaning> = HashMap::new();
        // A definition comes after its declarations and replaces them.
        let functions: Vec<&Function<'_>> =
            module.functions().filter(|f| f.body.is_some()).collect();
        for (i, function) in functions.iter().enumerate() {
            names.insert(function.name.text.to_owned(), i);
            globals.insert(
                function.name.text.to_owned(),
                Meaning::Place(Place::Function(i)),
            );
        }
        let mut shared_bytes = 0;
        let mut dynamic = Vec::new();
        let mut address = VARIABLES;
        let mut data = Vec::new();
        for variable in module.items.iter().filter_map(|item| {
            if let Item::Variable(v) = item {
                Some(v)
            } else {
                None
            }
        }) {
            let name = variable.name.text.to_owned();
            match variable.space {
                cuprum_ptx::Space::Shared if variable.is_open_array() => dynamic.push(name),
                cuprum_ptx::Space::Shared => {
                    shared_bytes = align(shared_bytes, variable.alignment());
                    globals.insert(name, Meaning::Place(Place::Shared(shared_bytes)));
                    shared_bytes += variable.size();
                }
                cuprum_ptx::Space::Global | cuprum_ptx::Space::Const => {
                    address = align(address, 256.max(variable.alignment()));
                    globals.insert(name, Meaning::Place(Place::Global(address)));
                    data.push((address, &**variable));
                    address += variable.size();
                }
                other => return Err(Stop::Unsupported(format!("variable in space {other}"))),
            }
        }
        for (address, variable) in data {
            memory.add(address, initial_bytes(variable, &globals)?);
        }
        let mut routines = Vec::new();
        for function in &functions {
            let mut builder = Builder {
                scopes: vec![globals.clone()],
                ..Builder::new(shared_bytes)
            };
            let built = builder.function(function);
            shared_bytes = builder.shared_bytes;
            dynamic.extend(builder.dynamic.iter().cloned());
            routines.push(built.map(|()| builder.routine));
        }
        // Dynamic shared arrays all start after the static ones, whose end is known only now.
        let start = align(shared_bytes, 16);
        for routine in routines.iter_mut().flatten() {
            for code in &mut routine.code {
                code.args
                    .iter_mut()
                    .for_each(|arg| place_dynamic(arg, &dynamic, start));
            }
        }
        Ok(Program {
            routines,
            names,
            shared_bytes: start,
        })
    }
}

/// Replaces the names of dynamic shared arrays, which are kept as special names until then.
fn place_dynamic(arg: &mut Arg, dynamic: &[String], start: u64) {
    match arg {
        Arg::Special(name) if dynamic.contains(name) => *arg = Arg::Place(Place::Shared(start), 0),
        Arg::Address(base, _) => place_dynamic(base, dynamic, start),
        Arg::Vector(elements) => elements
            .iter_mut()
            .for_each(|e| place_dynamic(e, dynamic, start)),
        _ => {}
    }
}

fn initial_bytes(
    variable: &Variable<'_>,
    globals: &HashMap<String, Meaning>,
) -> Result<Vec<u8>, Stop> {
    let mut bytes = vec![0; variable.size() as usize];
    let size = variable.ty.size() as usize;
    let mut at = 0;
    let mut failure = None;
    if let Some(initializer) = &variable.initializer {
        initializer.for_each(&mut |value| {
            let bits = match value {
                InitialValue::Immediate(immediate) => {
                    Some(u128::from(immediate_bits(*immediate, variable.ty)))
                }
                InitialValue::Symbol(symbol) => match globals.get(symbol.name.text) {
                    Some(Meaning::Place(Place::Global(address))) if symbol.mask.is_none() => {
                        Some(u128::from(address.wrapping_add_signed(symbol.offset)))
                    }
                    Some(Meaning::Place(Place::Function(index))) => {
                        Some(u128::from(FUNCTIONS + *index as u64))
                    }
                    _ => None,
                },
            };
            match (bits, bytes.get_mut(at..at + size)) {
                (Some(bits), Some(place)) => memory::write(place, bits),
                _ => {
                    failure = Some(Stop::Unsupported(format!(
                        "initial value of {}",
                        variable.name
                    )));
                }
            }
            at += size;
        });
    }
    failure.map_or(Ok(bytes), Err)
}

/// Bits of a constant as the type of the instruction wants them.
pub(super) fn immediate_bits(immediate: Immediate, ty: cuprum_ptx::ScalarType) -> u64 {
    use cuprum_ptx::ScalarType::{F32, F64};
    match (immediate, ty) {
        (Immediate::Int(value), _) => value as u64,
        (Immediate::F32(bits), F64) => super::float::F32.convert(
            super::float::F64,
            bits.into(),
            super::float::Direction::Nearest,
        ),
        (Immediate::F32(bits), _) => bits.into(),
        (Immediate::F64(bits), F32) => {
            super::float::F64.convert(super::float::F32, bits, super::float::Direction::Nearest)
        }
        (Immediate::F64(bits), _) => bits,
    }
}

struct Builder {
    scopes: Vec<HashMap<String, Meaning>>,
    routine: Routine,
    /// Label number to index of the instruction it stands before.
    labels: Vec<usize>,
    /// Lists of `.branchtargets`, as label numbers.
    target_lists: Vec<Vec<usize>>,
    shared_bytes: u64,
    dynamic: Vec<String>,
}

impl Builder {
    fn new(shared_bytes: u64) -> Self {
        let routine = Routine {
            code: Vec::new(),
            registers: Vec::new(),
            params: Vec::new(),
            returns: Vec::new(),
            param_bytes: 0,
            local_bytes: 0,
        };
        Builder {
            scopes: Vec::new(),
            routine,
            labels: Vec::new(),
            target_lists: Vec::new(),
            shared_bytes,
            dynamic: Vec::new(),
        }
    }

    fn function(&mut self, function: &Function<'_>) -> Result<(), String> {
        self.scopes.push(HashMap::new());
        for param in &function.params {
            let slot = self.param(param);
            self.routine.params.push(slot);
        }
        for param in &function.returns {
            let slot = self.param(param);
            self.routine.returns.push(slot);
        }
        self.block(
            function
                .body
                .as_deref()
                .expect("functions without a body were left out"),
        )?;
        // Label numbers become positions.
        for code in &mut self.routine.code {
            for target in &mut code.targets {
                *target = self.labels[*target];
            }
        }
        Ok(())
    }

    fn bind(&mut self, name: &str, meaning: Meaning) {
        self.scopes
            .last_mut()
            .expect("a scope is open")
            .insert(name.to_owned(), meaning);
    }

    fn register(&mut self, bits: u32) -> usize {
        self.routine.registers.push(bits);
        self.routine.registers.len() - 1
    }

    fn param(&mut self, param: &Param<'_>) -> Slot {
        if param.register {
            let register = self.register(param.ty.bits());
            self.bind(param.name.text, Meaning::Register(register));
            Slot::Register(register)
        } else {
            let offset = align(self.routine.param_bytes, param.alignment());
            self.routine.param_bytes = offset + param.size();
            self.bind(param.name.text, Meaning::Place(Place::Param(offset)));
            Slot::Memory(offset, param.size())
        }
    }

    fn lookup(&self, name: &str) -> Option<Meaning> {
        self.scopes
            .iter()
            .rev()
            .find_map(|scope| scope.get(name))
            .copied()
    }

    fn block(&mut self, statements: &[Statement<'_>]) -> Result<(), String> {
        self.scopes.push(HashMap::new());
        // Labels and target lists may be used before they stand.
        for statement in statements {
            if let Statement::Label(label) = statement {
                self.labels.push(usize::MAX);
                self.bind(label.text, Meaning::Label(self.labels.len() - 1));
            }
        }
        for statement in statements {
            if let Statement::BranchTargets(list) = statement {
                let labels = list
                    .targets
                    .iter()
                    .map(|target| match self.lookup(target.text) {
                        Some(Meaning::Label(label)) => Ok(label),
                        _ => Err(format!("no label {}", target.text)),
                    });
                let labels = labels.collect::<Result<_, _>>()?;
                self.target_lists.push(labels);
                self.bind(
                    list.label.text,
                    Meaning::Targets(self.target_lists.len() - 1),
                );
            }
        }
        for statement in statements {
            match statement {
                Statement::Label(label) => {
                    if let Some(Meaning::Label(number)) = self.lookup(label.text) {
                        self.labels[number] = self.routine.code.len();
                    }
                }
                Statement::Register(declaration) => {
                    for name in &declaration.names {
                        let texts: Vec<String> = match name.count {
                            None => vec![name.name.text.to_owned()],
                            Some(count) => (0..count)
                                .map(|i| format!("{}{i}", name.name.text))
                                .collect(),
                        };
                        for text in texts {
                            let first = self.register(declaration.ty.bits());
                            for _ in 1..declaration.vector {
                                self.register(declaration.ty.bits());
                            }
                            let meaning = if declaration.vector > 1 {
                                Meaning::Vector(first, declaration.vector)
                            } else {
                                Meaning::Register(first)
                            };
                            self.bind(&text, meaning);
                        }
                    }
                }
                Statement::Variable(variable) => self.variable(variable)?,
                Statement::Instruction(instruction) => self.instruction(instruction)?,
                Statement::Block(inner) => self.block(inner)?,
                Statement::Loc(_)
                | Statement::Pragma(_)
                | Statement::BranchTargets(_)
                | Statement::CallPrototype(_)
                | Statement::CallTargets(_) => {}
            }
        }
        self.scopes.pop();
        Ok(())
    }

    fn variable(&mut self, variable: &Variable<'_>) -> Result<(), String> {
        use cuprum_ptx::Space;
        let place = |at: &mut u64| {
            let offset = align(*at, variable.alignment());
            *at = offset + variable.size();
            offset
        };
        let place = match variable.space {
            Space::Shared if variable.is_open_array() => {
                self.dynamic.push(variable.name.text.to_owned());
                return Ok(());
            }
            Space::Shared => Place::Shared(place(&mut self.shared_bytes)),
            Space::Local => Place::Local(place(&mut self.routine.local_bytes)),
            Space::Param => Place::Param(place(&mut self.routine.param_bytes)),
            other => return Err(format!("variable in space {other} inside a function")),
        };
        self.bind(variable.name.text, Meaning::Place(place));
        Ok(())
    }

    fn predicate(&self, name: &str) -> Result<usize, String> {
        match self.lookup(name) {
            Some(Meaning::Register(register)) => Ok(register),
            _ => Err(format!("no register {name}")),
        }
    }

    fn name(&self, name: &str) -> Result<Arg, String> {
        if let Some(meaning) = self.lookup(name) {
            return match meaning {
                Meaning::Register(register) => Ok(Arg::Register(register)),
                Meaning::Vector(first, count) => Ok(Arg::Vector(
                    (0..usize::from(count))
                        .map(|i| Arg::Register(first + i))
                        .collect(),
                )),
                Meaning::Place(place) => Ok(Arg::Place(place, 0)),
                Meaning::Label(_) | Meaning::Targets(_) => Err(format!("label {name} as a value")),
            };
        }
        if let Some((vector, component)) = name.rsplit_once('.')
            && let Some(Meaning::Vector(first, count)) = self.lookup(vector)
        {
            let index = "xyzwrgba"
                .find(component)
                .map(|i| i % 4)
                .filter(|i| *i < usize::from(count));
            return index
                .map(|i| Arg::Register(first + i))
                .ok_or_else(|| format!("no component {name}"));
        }
        // Special registers; also dynamic shared arrays, whose place is found at the end.
        Ok(Arg::Special(name.to_owned()))
    }

    fn operand(&self, operand: &Operand<'_>) -> Result<Arg, String> {
        Ok(match operand {
            Operand::Name(name) => self.name(name.text)?,
            Operand::Immediate(immediate) => Arg::Immediate(*immediate),
            Operand::Offset(name, offset) => match self.name(name.text)? {
                Arg::Place(place, _) => Arg::Place(place, *offset),
                other => Arg::Address(Box::new(other), *offset),
            },
            Operand::Address(address) => {
                let base = match address.base {
                    Some(base) => self.name(base.text)?,
                    None => Arg::Immediate(Immediate::Int(0)),
                };
                Arg::Address(Box::new(base), address.offset)
            }
            Operand::Vector(elements) => Arg::Vector(
                elements
                    .iter()
                    .map(|e| self.operand(e))
                    .collect::<Result<_, _>>()?,
            ),
            Operand::Pair(pair) => {
                Arg::Pair(Box::new((self.operand(&pair.0)?, self.operand(&pair.1)?)))
            }
            Operand::Not(name) => Arg::Not(self.predicate(name.text)?),
            Operand::Sink => Arg::Sink,
            Operand::Texture(_) | Operand::Neg(_) | Operand::List(_) => {
                return Err(format!("operand {operand:?}"));
            }
        })
    }

    fn instruction(&mut self, instruction: &cuprum_ptx::Instruction<'_>) -> Result<(), String> {
        let op = decode(instruction).map_err(|e| e.to_string())?;
        let guard = match &instruction.guard {
            Some(guard) => Some((self.predicate(guard.register.text)?, guard.negated)),
            None => None,
        };
        let mut code = Code {
            op,
            guard,
            args: Vec::new(),
            targets: Vec::new(),
            call: None,
            text: instruction.opcode.text.to_owned(),
        };
        let label = |operand: &Operand<'_>| match operand
            .name()
            .map(|name| (name.text, self.lookup(name.text)))
        {
            Some((_, Some(Meaning::Label(label)))) => Ok(vec![label]),
            Some((_, Some(Meaning::Targets(list)))) => Ok(self.target_lists[list].clone()),
            other => Err(format!("no label {:?}", other.map(|(name, _)| name))),
        };
        match code.op.opcode {
            Opcode::Bra => code.targets = label(&instruction.operands[0])?,
            Opcode::Brx => {
                code.args = vec![self.operand(&instruction.operands[0])?];
                code.targets = label(&instruction.operands[1])?;
            }
            Opcode::Call => {
                let call = instruction.call().ok_or("a malformed call")?;
                let all = |operands: &[Operand<'_>]| {
                    operands
                        .iter()
                        .map(|o| self.operand(o))
                        .collect::<Result<Vec<_>, _>>()
                };
                code.call = Some(CallSite {
                    callee: self.name(call.target.text)?,
                    arguments: all(call.arguments)?,
                    returns: all(call.returns)?,
                });
            }
            _ => {
                code.args = instruction
                    .operands
                    .iter()
                    .map(|o| self.operand(o))
                    .collect::<Result<_, _>>()?;
            }
        }
        self.routine.code.push(code);
        Ok(())
    }
}
