//! Linking: several PTX texts become one module, in which what one declares is what another defines.

use std::collections::{HashMap, HashSet};
use std::ffi::{CString, c_void};
use std::sync::{Arc, Mutex};

use cuprum_driver_sys::{CUlinkState, CUresult};
use cuprum_ptx::{Item, Linkage, Loc, Module, Space, Statement};

use crate::driver::driver;
use crate::error::{Outcome, fail, lock};
use crate::image;
use crate::registry::{handle, next_id};

/// A link that has begun.
#[derive(Debug)]
pub(crate) struct Link {
    id: u64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Names and texts of the inputs.
    inputs: Vec<(String, String)>,
    /// The result. It lives as long as the link, for the program holds its address.
    image: Option<CString>,
}

impl Link {
    /// Begins a link.
    pub(crate) fn create() -> Outcome<Arc<Self>> {
        let link = Arc::new(Self {
            id: next_id(),
            state: Mutex::default(),
        });
        driver()?.links.insert(link.id, Arc::clone(&link));
        Ok(link)
    }

    /// The handle that the program holds.
    pub(crate) fn handle(&self) -> CUlinkState {
        CUlinkState(handle(self.id))
    }

    /// Adds PTX text.
    pub(crate) fn add(&self, name: String, ptx: &[u8]) -> Outcome {
        let text = image::ptx(ptx)?;
        if let Err(error) = cuprum_ptx::parse(&text) {
            return fail(CUresult::INVALID_PTX, format!("{name}: {error}"));
        }
        let mut state = lock(&self.state);
        if state.image.is_some() {
            return fail(CUresult::INVALID_VALUE, "the link has been completed");
        }
        state.inputs.push((name, text.into_owned()));
        Ok(())
    }

    /// Ends the link: address and size of the image, the zero at its end counted.
    pub(crate) fn complete(&self) -> Outcome<(*mut c_void, usize)> {
        let mut state = lock(&self.state);
        if state.image.is_none() {
            let joined = join(&state.inputs)?;
            let Ok(text) = CString::new(joined) else {
                return fail(CUresult::INVALID_PTX, "an input holds a zero byte");
            };
            state.image = Some(text);
        }
        let image = state.image.as_ref().expect("it has been set");
        let bytes = image.as_bytes_with_nul();
        Ok((bytes.as_ptr().cast_mut().cast(), bytes.len()))
    }

    /// Ends the link's life.
    pub(crate) fn destroy(&self) -> Outcome {
        match driver()?.links.remove(handle(self.id)) {
            Some(_) => Ok(()),
            None => fail(CUresult::INVALID_HANDLE, "the link has been destroyed"),
        }
    }
}

/// What an item is called, if it is a symbol, and whether this is its definition.
fn symbol<'a>(item: &Item<'a>) -> Option<(&'a str, Linkage, bool)> {
    match item {
        Item::Variable(variable) => {
            let declared = variable.linkage == Linkage::Extern;
            Some((variable.name.text, variable.linkage, !declared))
        }
        Item::Function(function) => {
            let defined = function.body.is_some() && function.linkage != Linkage::Extern;
            Some((function.name.text, function.linkage, defined))
        }
        Item::Alias(alias) => Some((alias.name.text, Linkage::Visible, true)),
        Item::Section(_) | Item::Pragma(_) => None,
    }
}

/// One PTX text of several.
fn join(inputs: &[(String, String)]) -> Outcome<String> {
    let mut modules = Vec::new();
    for (name, text) in inputs {
        match cuprum_ptx::parse(text) {
            Ok(module) => modules.push(module),
            Err(error) => return fail(CUresult::INVALID_PTX, format!("{name}: {error}")),
        }
    }
    let chosen = definitions(inputs, &modules)?;
    // The newest language and architecture of them: each instruction is known to it.
    let Some(newest) = modules
        .iter()
        .max_by_key(|module| (target(module), module.version))
    else {
        return fail(CUresult::INVALID_VALUE, "a link without inputs");
    };
    let mut joined = Module {
        version: modules.iter().map(|m| m.version).max().unwrap_or_default(),
        targets: newest.targets.clone(),
        address_size: newest.address_size,
        items: Vec::new(),
        files: Vec::new(),
    };
    let mut declared = HashSet::new();
    for (index, mut module) in modules.iter().cloned().enumerate() {
        if module.address_size != joined.address_size {
            let text = format!("{} has another address size", inputs[index].0);
            return fail(CUresult::INVALID_PTX, text);
        }
        let first_file = joined
            .files
            .iter()
            .map(|file| file.index + 1)
            .max()
            .unwrap_or(0);
        for mut file in module.files.drain(..) {
            file.index += first_file;
            joined.files.push(file);
        }
        for mut item in module.items.drain(..) {
            let keep = match symbol(&item) {
                // What debuggers read refers to one text alone.
                None => !matches!(item, Item::Section(_)),
                Some((name, _, true)) => chosen.get(name) == Some(&index),
                // A declaration stays where nothing defines it: dynamic shared memory, and functions of the driver.
                Some((name, _, false)) => !chosen.contains_key(name) && declared.insert(name),
            };
            if !keep {
                continue;
            }
            if let Item::Function(function) = &mut item {
                renumber(function.body.as_deref_mut().unwrap_or_default(), first_file);
            }
            joined.items.push(item);
        }
    }
    let undefined = joined.items.iter().find_map(|item| match item {
        Item::Variable(variable) if variable.linkage == Linkage::Extern => {
            (variable.space != Space::Shared).then_some(variable.name.text)
        }
        _ => None,
    });
    if let Some(name) = undefined {
        let text = format!("the variable `{name}` is declared, but no input defines it");
        return fail(CUresult::INVALID_PTX, text);
    }
    Ok(joined.to_string())
}

fn target(module: &Module<'_>) -> u32 {
    let digits = |text: &str| {
        let number = text.strip_prefix("sm_")?;
        let end = number.find(|c: char| !c.is_ascii_digit());
        number[..end.unwrap_or(number.len())].parse().ok()
    };
    module
        .targets
        .iter()
        .find_map(|name| digits(name.text))
        .unwrap_or(0)
}

/// Which input defines each symbol.
fn definitions<'a>(
    inputs: &[(String, String)],
    modules: &[Module<'a>],
) -> Outcome<HashMap<&'a str, usize>> {
    let mut chosen: HashMap<&str, (usize, Linkage)> = HashMap::new();
    for (index, module) in modules.iter().enumerate() {
        for (name, linkage, defined) in module.items.iter().filter_map(symbol) {
            if !defined {
                continue;
            }
            let Some(&(other, before)) = chosen.get(name) else {
                chosen.insert(name, (index, linkage));
                continue;
            };
            let between = format!("`{name}` of {} and of {}", inputs[other].0, inputs[index].0);
            match (before, linkage) {
                _ if other == index => {}
                (Linkage::Internal, _) | (_, Linkage::Internal) => {
                    let text = format!(
                        "{between}: linking symbols of one input is not supported where another has the same name"
                    );
                    return fail(CUresult::NOT_SUPPORTED, text);
                }
                (_, Linkage::Weak | Linkage::Common) => {}
                (Linkage::Weak | Linkage::Common, _) => {
                    chosen.insert(name, (index, linkage));
                }
                _ => {
                    let text = format!("{between}: a symbol is defined twice");
                    return fail(CUresult::INVALID_PTX, text);
                }
            }
        }
    }
    Ok(chosen
        .into_iter()
        .map(|(name, (index, _))| (name, index))
        .collect())
}

/// Makes source lines refer to files by their new numbers.
fn renumber(statements: &mut [Statement<'_>], first: u32) {
    for statement in statements {
        match statement {
            Statement::Loc(Loc { file, inlined, .. }) => {
                *file += first;
                if let Some(inlined) = inlined {
                    inlined.file += first;
                }
            }
            Statement::Block(inner) => renumber(inner, first),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 7.0\n.target sm_70\n.address_size 64\n";

    fn linked(parts: &[&str]) -> Outcome<String> {
        let inputs: Vec<(String, String)> = parts
            .iter()
            .enumerate()
            .map(|(index, part)| (format!("part {index}"), format!("{HEAD}{part}")))
            .collect();
        join(&inputs)
    }

    #[test]
    fn declarations_meet_definitions() {
        let text = linked(&[
            ".extern .global .align 4 .u32 x; .extern .shared .align 4 .b8 s[];",
            ".visible .global .align 4 .u32 x = 5; .extern .shared .align 4 .b8 s[]; .global .align 4 .u32 own;",
        ])
        .expect("it links");
        let module = cuprum_ptx::parse(&text).expect("it parses");
        let names: Vec<&str> = module.variables().map(|v| v.name.text).collect();
        assert_eq!(names, ["s", "x", "own"]);
        let x = module.variables().nth(1).expect("there are three");
        assert_eq!(x.linkage, Linkage::Visible);
    }

    #[test]
    fn of_weak_definitions_one_stays() {
        let weak = ".weak .global .align 4 .u32 x = 1;";
        let strong = ".visible .global .align 4 .u32 x = 2;";
        for (parts, value) in [
            ([weak, strong], "2"),
            ([strong, weak], "2"),
            ([weak, weak], "1"),
        ] {
            let text = linked(&parts).expect("it links");
            assert_eq!(text.matches(" x").count(), 1, "{text}");
            assert!(text.contains(&format!("x = {value}")), "{text}");
        }
    }

    #[test]
    fn what_does_not_meet_is_told() {
        let code = |parts: &[&str]| linked(parts).expect_err("it does not link").code;
        let strong = ".visible .global .align 4 .u32 x = 2;";
        assert_eq!(code(&[strong, strong]), CUresult::INVALID_PTX);
        assert_eq!(
            code(&[".extern .const .align 4 .u32 y;"]),
            CUresult::INVALID_PTX
        );
        let internal = ".global .align 4 .u32 x = 2;";
        assert_eq!(code(&[strong, internal]), CUresult::NOT_SUPPORTED);
        assert_eq!(code(&[]), CUresult::INVALID_VALUE);
    }

    #[test]
    fn lines_keep_their_files() {
        let part = |name: &str| {
            format!(".visible .func {name}() {{ .loc 1 7 3\n ret; }}\n.file 1 \"{name}.cu\"\n")
        };
        let text = linked(&[&part("a"), &part("b")]).expect("it links");
        let module = cuprum_ptx::parse(&text).expect("it parses");
        let file = |function: usize| {
            let function = module.functions().nth(function).expect("there are two");
            let loc = function
                .body
                .iter()
                .flatten()
                .find_map(|statement| match statement {
                    Statement::Loc(loc) => Some(loc.file),
                    _ => None,
                });
            module.file(loc.expect("a line is told"))
        };
        let names = [file(0), file(1)].map(|file| file.expect("the file is listed"));
        assert_eq!(names, ["a.cu", "b.cu"]);
    }
}
