//! Names of a module, and who needs whom.

use std::collections::{HashMap, HashSet};

use super::{Function, Instruction, Item, Module, Statement, Variable, walk};

/// The names of a module's functions and variables.
#[derive(Clone, Debug)]
pub struct Symbols<'t, 'a> {
    functions: HashMap<&'a str, &'t Function<'a>>,
    variables: HashMap<&'a str, &'t Variable<'a>>,
    aliases: HashMap<&'a str, &'a str>,
}

/// What a function needs: see [`Symbols::reachable`].
#[derive(Clone, Debug, Default)]
pub struct Reachable<'t, 'a> {
    /// The function itself first, then those it may call, each once; declarations without a body included.
    pub functions: Vec<&'t Function<'a>>,
    /// Variables at module scope that any of them names, each once.
    pub variables: Vec<&'t Variable<'a>>,
}

impl<'t, 'a> Symbols<'t, 'a> {
    /// Collects the names of `module`. Of a function that is declared and defined the definition counts, as for variables.
    #[must_use]
    pub fn new(module: &'t Module<'a>) -> Self {
        let (mut functions, mut variables, mut aliases) =
            (HashMap::new(), HashMap::new(), HashMap::new());
        for item in &module.items {
            match item {
                Item::Function(function) => {
                    let known: &mut &Function<'a> =
                        functions.entry(function.name.text).or_insert(function);
                    if known.body.is_none() {
                        *known = function;
                    }
                }
                Item::Variable(variable) => {
                    let known: &mut &Variable<'a> =
                        variables.entry(variable.name.text).or_insert(variable);
                    if known.linkage == super::Linkage::Extern {
                        *known = variable;
                    }
                }
                Item::Alias(alias) => {
                    aliases.insert(alias.name.text, alias.target.text);
                }
                Item::Section(_) | Item::Pragma(_) => {}
            }
        }
        Symbols {
            functions,
            variables,
            aliases,
        }
    }

    /// The function of this name, an alias followed.
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&'t Function<'a>> {
        let defined = |name: &str| self.functions.get(name).copied();
        // The target of an alias is a function, never another alias (PTX ISA, section 11.6), so one step is enough.
        match self.aliases.get(name) {
            Some(target) => defined(target),
            None => defined(name),
        }
    }

    /// The variable at module scope of this name.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<&'t Variable<'a>> {
        self.variables.get(name).copied()
    }

    /// The function that a direct call goes to; `None` for indirect calls, other instructions, and names that the module does not have.
    #[must_use]
    pub fn call_target(&self, instruction: &Instruction<'a>) -> Option<&'t Function<'a>> {
        self.function(instruction.call()?.target.text)
    }

    /// What `function` needs, by names: direct calls, addresses taken, targets of indirect calls, and what initializers of the needed
    /// variables point to, all the way down. A local name equal to a symbol's counts as that symbol, so this may be more than is used,
    /// never less.
    #[must_use]
    pub fn reachable(&self, function: &'t Function<'a>) -> Reachable<'t, 'a> {
        let mut found = Reachable::default();
        let mut seen = HashSet::new();
        let mut names = vec![function.name.text];
        while let Some(name) = names.pop() {
            let name = self.aliases.get(name).copied().unwrap_or(name);
            if !seen.insert(name) {
                continue;
            }
            if let Some(function) = self.functions.get(name) {
                found.functions.push(function);
                names_of_body(function, &mut names);
            }
            if let Some(variable) = self.variables.get(name) {
                found.variables.push(variable);
                if let Some(initializer) = &variable.initializer {
                    initializer.for_each_name(&mut |name| names.push(name.text));
                }
            }
        }
        found
    }
}

/// Every name that the body mentions as an operand.
fn names_of_body<'a>(function: &Function<'a>, names: &mut Vec<&'a str>) {
    walk(
        function.body.as_deref().unwrap_or_default(),
        &mut |statement| match statement {
            Statement::Instruction(instruction) => {
                for operand in &instruction.operands {
                    operand.for_each_name(&mut |name| names.push(name.text));
                }
            }
            Statement::CallTargets(table) => names.extend(table.targets.iter().map(|t| t.text)),
            Statement::Variable(variable) => {
                if let Some(initializer) = &variable.initializer {
                    initializer.for_each_name(&mut |name| names.push(name.text));
                }
            }
            _ => {}
        },
    );
}
