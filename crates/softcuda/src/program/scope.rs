//! Names in a function body: scopes of registers, variables, labels; special registers.

use std::collections::HashMap;

use cuprum_ptx::ScalarType;

use super::ir::{BlockId, Function, Reg, Special, Symbol};

/// What a name stands for.
#[derive(Debug, Clone)]
pub(super) enum Entity<'a> {
    Reg(Reg),
    /// The components of a vector register.
    VectorReg(Vec<Reg>),
    /// A variable and its size in bytes.
    Symbol(Symbol, u32),
    Label(BlockId),
    Table(Vec<&'a str>),
    /// An index into the prototypes of the function.
    Prototype(u32),
}

#[derive(Debug, Default)]
struct Scope<'a> {
    names: HashMap<&'a str, Entity<'a>>,
    /// Numbered register families: stem, count, type.
    families: Vec<(&'a str, u32, ScalarType)>,
}

/// The scopes around the current statement, innermost last.
#[derive(Debug, Default)]
pub(super) struct Scopes<'a> {
    stack: Vec<Scope<'a>>,
}

impl<'a> Scopes<'a> {
    pub(super) fn push(&mut self) {
        self.stack.push(Scope::default());
    }

    pub(super) fn pop(&mut self) {
        self.stack.pop();
    }

    fn top(&mut self) -> &mut Scope<'a> {
        if self.stack.is_empty() {
            self.push();
        }
        self.stack.last_mut().expect("a scope was pushed above")
    }

    /// Whether the innermost scope declares this name.
    pub(super) fn is_declared_here(&mut self, name: &str) -> bool {
        self.top().names.contains_key(name)
    }

    pub(super) fn declare(&mut self, name: &'a str, entity: Entity<'a>) {
        self.top().names.insert(name, entity);
    }

    pub(super) fn declare_family(&mut self, stem: &'a str, count: u32, ty: ScalarType) {
        self.top().families.push((stem, count, ty));
    }

    /// What `name` stands for here. Members of register families get their number when they are first named.
    pub(super) fn lookup(&mut self, name: &'a str, function: &mut Function) -> Option<Entity<'a>> {
        for scope in self.stack.iter_mut().rev() {
            if let Some(entity) = scope.names.get(name) {
                return Some(entity.clone());
            }
            for &(stem, count, ty) in &scope.families {
                let index = name
                    .strip_prefix(stem)
                    .filter(|digits| {
                        !digits.is_empty()
                            && digits.bytes().all(|b| b.is_ascii_digit())
                            && (digits.len() == 1 || !digits.starts_with('0'))
                    })
                    .and_then(|digits| digits.parse::<u32>().ok());
                if index.is_some_and(|index| index < count) {
                    let entity = Entity::Reg(function.new_reg(ty));
                    scope.names.insert(name, entity.clone());
                    return Some(entity);
                }
            }
        }
        None
    }

    /// As [`lookup`](Self::lookup) for a register, also a component of a vector register.
    pub(super) fn register(&mut self, name: &'a str, function: &mut Function) -> Option<Reg> {
        match self.lookup(name, function) {
            Some(Entity::Reg(reg)) => return Some(reg),
            Some(_) => return None,
            None => {}
        }
        let (stem, component) = name.rsplit_once('.')?;
        let index = match component {
            "x" | "r" => 0,
            "y" | "g" => 1,
            "z" | "b" => 2,
            "w" | "a" => 3,
            _ => return None,
        };
        match self.lookup(stem, function)? {
            Entity::VectorReg(regs) => regs.get(index).copied(),
            _ => None,
        }
    }
}

/// The special register of that name.
pub(super) fn special(name: &str) -> Option<Special> {
    let name = name.strip_prefix('%')?;
    let (stem, component) = match name.split_once('.') {
        Some((stem, component)) => {
            let index = match component {
                "x" => 0,
                "y" => 1,
                "z" => 2,
                _ => return None,
            };
            (stem, Some(index))
        }
        None => (name, None),
    };
    if let Some(index) = component {
        return Some(match stem {
            "tid" => Special::Tid(index),
            "ntid" => Special::Ntid(index),
            "ctaid" => Special::Ctaid(index),
            "nctaid" => Special::Nctaid(index),
            // Every block is a cluster of its own.
            "clusterid" => Special::Ctaid(index),
            "nclusterid" => Special::Nctaid(index),
            "cluster_ctaid" => Special::Constant(0),
            "cluster_nctaid" => Special::Constant(1),
            _ => return None,
        });
    }
    Some(match stem {
        "laneid" => Special::LaneId,
        "warpid" => Special::WarpId,
        "nwarpid" => Special::WarpCount,
        "smid" => Special::SmId,
        "nsmid" => Special::SmCount,
        "gridid" => Special::GridId,
        "lanemask_eq" => Special::LaneMaskEq,
        "lanemask_le" => Special::LaneMaskLe,
        "lanemask_lt" => Special::LaneMaskLt,
        "lanemask_ge" => Special::LaneMaskGe,
        "lanemask_gt" => Special::LaneMaskGt,
        "clock" | "clock64" | "globaltimer" | "globaltimer_lo" => Special::Clock,
        "clock_hi" | "globaltimer_hi" => Special::ClockHigh,
        "dynamic_smem_size" => Special::DynamicShared,
        "total_smem_size" | "aggr_smem_size" => Special::TotalShared,
        "envreg1" => Special::GridWorkspaceHigh,
        "envreg2" => Special::GridWorkspaceLow,
        "cluster_nctarank" => Special::Constant(1),
        "cluster_ctarank" | "is_explicit_cluster" => Special::Constant(0),
        _ if stem.starts_with("pm")
            || stem.starts_with("envreg")
            || stem.starts_with("reserved_smem_offset") =>
        {
            Special::Constant(0)
        }
        _ => return None,
    })
}
