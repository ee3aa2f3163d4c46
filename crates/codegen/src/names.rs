//! Mangled names, as far as finding a kernel by its plain name needs it (Itanium C++ ABI, section 5.1).

/// The plain and the qualified name in a mangled one, without template arguments and parameter types: `saxpy` and `saxpy` for
/// `_Z5saxpyfPKfPfi`, `k` and `a::b::k` for `_ZN1a1b1kIfEEvPT_`. A name that is not mangled is both itself.
pub(crate) fn plain(name: &str) -> (&str, String) {
    let whole = || (name, name.to_owned());
    let Some(rest) = name.strip_prefix("_Z") else {
        return whole();
    };
    let (mut rest, nested) = match rest.strip_prefix('N') {
        Some(rest) => (rest, true),
        None => (rest, false),
    };
    let mut parts: Vec<&str> = Vec::new();
    loop {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Ok(len) = rest[..digits].parse::<usize>() else {
            break;
        };
        let Some(part) = rest.get(digits..digits + len) else {
            return whole();
        };
        // Unnamed namespaces are mangled as _GLOBAL__N_ and a number of the file.
        parts.push(if part.starts_with("_GLOBAL__N_") {
            "(anonymous namespace)"
        } else {
            part
        });
        rest = &rest[digits + len..];
        if !nested {
            break;
        }
        // Template arguments of an enclosing class would have to be stepped over: the name is then given up at the last part before.
    }
    match parts.last() {
        Some(last) => (last, parts.join("::")),
        None => whole(),
    }
}

/// The entry that a plain or qualified name means, if only one does.
pub(crate) fn find<'a>(entries: &'a [String], name: &str) -> Result<Option<&'a str>, Vec<&'a str>> {
    if let Some(exact) = entries.iter().find(|entry| *entry == name) {
        return Ok(Some(exact));
    }
    let same: Vec<&str> = entries
        .iter()
        .map(String::as_str)
        .filter(|entry| {
            let (short, qualified) = plain(entry);
            short == name || qualified == name
        })
        .collect();
    match same.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one)),
        _ => Err(same),
    }
}

/// The kernels of a PTX text, in its order.
pub(crate) fn entries(ptx: &str) -> Vec<String> {
    let name = |line: &str| {
        let code = line.split("//").next()?;
        let (before, after) = code.split_once(".entry")?;
        // ".visible .entry k(" and ".weak .entry k(": nothing but linkage stands before it.
        if !before
            .split_whitespace()
            .all(|word| matches!(word, ".visible" | ".weak" | ".extern"))
        {
            return None;
        }
        let name: String = after
            .trim_start()
            .chars()
            .take_while(|&c| c.is_alphanumeric() || matches!(c, '_' | '$' | '%'))
            .collect();
        (!name.is_empty()).then_some(name)
    };
    let mut found: Vec<String> = Vec::new();
    for entry in ptx.lines().filter_map(name) {
        // A kernel may be declared and then defined.
        if !found.contains(&entry) {
            found.push(entry);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names() {
        let of = |name| {
            let (short, qualified) = plain(name);
            format!("{short} {qualified}")
        };
        assert_eq!(of("_Z5saxpyfPKfPfi"), "saxpy saxpy");
        assert_eq!(of("_ZN1a1b1kIfEEvPT_"), "k a::b::k");
        assert_eq!(of("_Z4axpyIfEvT_PKS0_PS0_i"), "axpy axpy");
        assert_eq!(of("_ZN12_GLOBAL__N_11kEPf"), "k (anonymous namespace)::k");
        for odd in ["k", "_Z", "_ZN", "_Z99x", "_Zé", "", "_Z5é"] {
            assert_eq!(of(odd), format!("{odd} {odd}"));
        }
    }

    #[test]
    fn a_name_means_one_entry_or_is_ambiguous() {
        let entries = ["_Z1kf", "_Z1ki", "_Z1gv", "h", "_ZN1a1hEv"].map(String::from);
        assert_eq!(find(&entries, "g"), Ok(Some("_Z1gv")));
        assert_eq!(find(&entries, "_Z1ki"), Ok(Some("_Z1ki")));
        assert_eq!(find(&entries, "h"), Ok(Some("h")));
        assert_eq!(find(&entries, "a::h"), Ok(Some("_ZN1a1hEv")));
        assert_eq!(find(&entries, "k"), Err(vec!["_Z1kf", "_Z1ki"]));
        assert_eq!(find(&entries, "none"), Ok(None));
    }

    #[test]
    fn entries_of_ptx() {
        let ptx = "\t// .globl\tk\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n}\n.weak .entry _Z1hIfEvPT_(\n)\n.visible .func (.param .b32 r) f()\n.entry k()\n";
        assert_eq!(entries(ptx), ["k", "_Z1hIfEvPT_"]);
    }
}
