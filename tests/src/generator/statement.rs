//! Statements of a random kernel, and the strategies that make them.
//!
//! A statement names registers by numbers that are always valid, so that any part of a kernel can be left out: that is how failures shrink.

use proptest::prelude::*;

use super::form::{Choice, PLACES};
use super::forms::{PLAIN, TOGETHER};

/// A condition: a predicate register and whether it is negated.
pub(super) type Condition = (u8, bool);

#[derive(Clone, Debug)]
pub(super) enum Statement {
    /// Some instructions.
    Form {
        family: usize,
        form: usize,
        guard: Option<Condition>,
        choices: [Choice; PLACES],
    },
    /// Instructions that all threads of the block execute together.
    Together {
        form: usize,
        choices: [Choice; PLACES],
    },
    /// Threads part.
    If {
        condition: Condition,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    /// Each thread has its own number of rounds, up to 3.
    Loop { count: u8, body: Vec<Statement> },
    /// Leaves the innermost loop.
    Leave { condition: Condition },
    /// A jump by a table.
    Switch {
        index: u8,
        arms: Vec<Vec<Statement>>,
    },
    /// All threads make the same number of rounds.
    Rounds { count: u8, body: Vec<Statement> },
    /// All threads go the same way, which the host chose.
    Way {
        bit: u8,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    /// A call of a device function.
    Call { function: u8, choices: [Choice; 4] },
}

/// A device function.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) body: Vec<Statement>,
    /// Parameters and results are registers, not memory.
    pub(super) registers: bool,
    /// Class of the result: 32 bits, 64 bits or `f32`.
    pub(super) result: u8,
}

fn choice() -> impl Strategy<Value = Choice> {
    (0..6u8, prop::option::weighted(0.25, any::<u64>()))
        .prop_map(|(register, constant)| Choice { register, constant })
}

fn choices() -> impl Strategy<Value = [Choice; PLACES]> {
    prop::collection::vec(choice(), PLACES)
        .prop_map(|all| all.try_into().expect("that many places"))
}

fn condition() -> impl Strategy<Value = Condition> {
    (0..6u8, any::<bool>())
}

fn form() -> impl Strategy<Value = Statement> {
    (
        0..PLAIN.len(),
        any::<prop::sample::Index>(),
        prop::option::weighted(0.2, condition()),
        choices(),
    )
        .prop_map(|(family, index, guard, choices)| Statement::Form {
            family,
            form: index.index(PLAIN[family].forms.len()),
            guard,
            choices,
        })
}

fn together() -> impl Strategy<Value = Statement> {
    (0..TOGETHER.forms.len(), choices())
        .prop_map(|(form, choices)| Statement::Together { form, choices })
}

fn call() -> impl Strategy<Value = Statement> {
    (0..3u8, prop::array::uniform4(choice()))
        .prop_map(|(function, choices)| Statement::Call { function, choices })
}

/// Statements that each thread may execute by itself.
fn apart(calls: bool) -> BoxedStrategy<Statement> {
    let leaf = if calls {
        prop_oneof![
            30 => form(),
            2 => call(),
            1 => condition().prop_map(|condition| Statement::Leave { condition }),
        ]
        .boxed()
    } else {
        prop_oneof![
            30 => form(),
            1 => condition().prop_map(|condition| Statement::Leave { condition }),
        ]
        .boxed()
    };
    leaf.prop_recursive(3, 40, 6, |inner| {
        let list = || prop::collection::vec(inner.clone(), 0..6);
        prop_oneof![
            6 => inner.clone(),
            2 => (condition(), list(), list()).prop_map(|(condition, then, otherwise)| Statement::If { condition, then, otherwise }),
            1 => (0..6u8, list()).prop_map(|(count, body)| Statement::Loop { count, body }),
            1 => (0..6u8, prop::collection::vec(prop::collection::vec(inner.clone(), 0..3), 1..5))
                .prop_map(|(index, arms)| Statement::Switch { index, arms }),
        ]
    })
    .boxed()
}

/// Statements of a kernel's own level, where all threads of a block are together.
pub(super) fn body() -> impl Strategy<Value = Vec<Statement>> {
    let leaf = prop_oneof![6 => apart(true), 2 => together()];
    let statement = leaf.prop_recursive(2, 30, 5, |inner| {
        let list = || prop::collection::vec(inner.clone(), 0..5);
        prop_oneof![
            8 => inner.clone(),
            1 => (1..4u8, list()).prop_map(|(count, body)| Statement::Rounds { count, body }),
            1 => (0..32u8, list(), list()).prop_map(|(bit, then, otherwise)| Statement::Way { bit, then, otherwise }),
        ]
    });
    prop::collection::vec(statement, 1..16)
}

pub(super) fn function() -> impl Strategy<Value = Function> {
    (
        prop::collection::vec(apart(false), 0..6),
        any::<bool>(),
        0..3u8,
    )
        .prop_map(|(body, registers, result)| Function {
            body,
            registers,
            result,
        })
}

/// A form with operands made from a number: registers in the first turns, then constants.
pub(super) fn single(family: Option<usize>, form: usize, seed: u64) -> Statement {
    let choices = std::array::from_fn(|place| {
        let random = seed
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add((place as u64).wrapping_mul(0xd134_2543_de82_ef95));
        let random = random ^ random >> 29;
        Choice {
            register: (random >> 40) as u8 % 6,
            constant: (random >> 60 < 5).then_some(random.rotate_left(17)),
        }
    });
    match family {
        Some(family) => Statement::Form {
            family,
            form,
            guard: None,
            choices,
        },
        None => Statement::Together { form, choices },
    }
}
