//! Forms: templates of one or a few instructions, with typed places for operands.

use std::collections::BTreeSet;

use super::class::{Class, REGISTERS};

/// What may stand at a place of a template.
#[derive(Clone, Debug)]
pub(super) enum Slot {
    /// A register that is written (`=b32`).
    Output(Class),
    /// A register that is read (`!b32`).
    Register(Class),
    /// A register or a constant (`b32`).
    Value(Class),
    /// A predicate or its opposite (`?pred`).
    Predicate,
    /// A constant of a range with a step (`imm:0:56:8`).
    Range(u64, u64, u64),
}

impl Slot {
    fn parse(text: &str) -> Slot {
        let class =
            |name: &str| Class::from_name(name).unwrap_or_else(|| panic!("no class {name}"));
        if let Some(range) = text.strip_prefix("imm:") {
            let numbers: Vec<u64> = range
                .split(':')
                .map(|n| n.parse().expect("a number"))
                .collect();
            return Slot::Range(numbers[0], numbers[1], numbers[2]);
        }
        match text.split_at(1) {
            ("=", name) => Slot::Output(class(name)),
            ("!", name) => Slot::Register(class(name)),
            ("?", _) => Slot::Predicate,
            _ => Slot::Value(class(text)),
        }
    }
}

/// A template: `#0` to `#9` stand for operands, `;` ends an instruction.
#[derive(Clone, Debug)]
pub(super) struct Form {
    template: String,
    slots: Vec<Slot>,
    /// Whether a predicate may guard it.
    guardable: bool,
}

/// A choice of an operand, whatever the place needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) register: u8,
    /// Makes a constant where one may stand, from these bits.
    pub(super) constant: Option<u64>,
}

/// Most places of a template.
pub(super) const PLACES: usize = 10;

impl Form {
    pub(super) fn new(template: impl Into<String>, slots: &str) -> Form {
        let template = template.into();
        let slots: Vec<Slot> = slots.split_whitespace().map(Slot::parse).collect();
        assert!(
            slots.len() <= PLACES && (0..slots.len()).all(|i| template.contains(&format!("#{i}"))),
            "places of {template}"
        );
        let single = template.matches(';').count() == 0;
        let writes_predicate = slots
            .iter()
            .any(|slot| matches!(slot, Slot::Output(Class::Pred)));
        Form {
            guardable: (single || !writes_predicate) && !template.contains('@'),
            template,
            slots,
        }
    }

    pub(super) fn template(&self) -> &str {
        &self.template
    }

    /// The instructions, and the registers that they use.
    pub(super) fn render(
        &self,
        guard: Option<(u8, bool)>,
        choices: &[Choice; PLACES],
        used: &mut BTreeSet<(Class, usize)>,
    ) -> String {
        let mut texts = Vec::new();
        let mut outputs = BTreeSet::new();
        for (slot, choice) in self.slots.iter().zip(choices) {
            let mut register = usize::from(choice.register) % REGISTERS;
            let mut name = |class: Class, register: usize| {
                used.insert((class, register));
                format!("{}{register}", class.prefix())
            };
            texts.push(match slot {
                Slot::Output(class) => {
                    // Two results in one register would race.
                    while !outputs.insert((*class, register)) {
                        register = (register + 1) % REGISTERS;
                    }
                    name(*class, register)
                }
                Slot::Register(class) => name(*class, register),
                Slot::Value(class) => match choice.constant {
                    Some(random) => {
                        constant(*class, random).unwrap_or_else(|| name(*class, register))
                    }
                    None => name(*class, register),
                },
                Slot::Predicate => {
                    let not = if choice.constant.is_some() { "!" } else { "" };
                    format!("{not}{}", name(Class::Pred, register))
                }
                Slot::Range(low, high, step) => {
                    let steps = (high - low) / step + 1;
                    let random = choice.constant.unwrap_or(u64::from(choice.register));
                    (low + random % steps * step).to_string()
                }
            });
        }
        let guard = match guard {
            Some((register, negated)) if self.guardable => {
                let register = usize::from(register) % REGISTERS;
                used.insert((Class::Pred, register));
                format!("@{}%p{register} ", if negated { "!" } else { "" })
            }
            _ => String::new(),
        };
        let mut text = String::new();
        for line in self.template.split(';') {
            text += "    ";
            text += &guard;
            let mut rest = line.trim();
            while let Some(at) = rest.find('#') {
                text += &rest[..at];
                let place = rest[at + 1..at + 2].parse::<usize>().expect("a place");
                text += &texts[place];
                rest = &rest[at + 2..];
            }
            text += rest;
            text += ";\n";
        }
        text
    }
}

/// A constant of a class as PTX spells it; halves have no constants.
fn constant(class: Class, random: u64) -> Option<String> {
    let value = class.value(random);
    Some(match class {
        Class::F32 => format!("0f{value:08X}"),
        Class::F64 => format!("0d{value:016X}"),
        Class::B16 | Class::B32 | Class::B64 => {
            let bits = class.bits();
            let signed = (value << (64 - bits)).cast_signed() >> (64 - bits);
            match random >> 5 & 3 {
                0 => format!("{value:#x}"),
                1 => value.to_string(),
                // The least number has no literal of its own: minus applies to a positive one.
                _ if signed == i64::MIN => format!("{value:#x}"),
                _ => signed.to_string(),
            }
        }
        _ => return None,
    })
}
