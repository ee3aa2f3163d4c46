//! What must hold for any text. Run by the fuzzer, and within bounds by the tests of the crate.

use cuprum_ptx::{Symbols, decode, parse};

/// Panics if the text breaks a promise of the crate.
pub(crate) fn check(data: &[u8]) {
    let Ok(source) = std::str::from_utf8(data) else {
        return;
    };
    let module = match parse(source) {
        Ok(module) => module,
        Err(error) => {
            assert!(error.line() >= 1 && error.column() >= 1);
            assert!(
                error.span().start <= error.span().end && error.span().end as usize <= source.len()
            );
            // A window of the line, the message and the frame around them.
            assert!(error.to_string().len() < 4096);
            return;
        }
    };
    let printed = module.to_string();
    let again = parse(&printed).expect("printed text parses");
    assert_eq!(again, module, "printed text parses to the same tree");
    let symbols = Symbols::new(&module);
    for function in module.functions() {
        assert!(symbols.reachable(function).functions.len() <= module.items.len());
        for instruction in function.instructions() {
            if let Err(error) = decode(instruction) {
                assert!(error.line(source) >= 1);
                assert!(error.render(source).contains("error: "));
            }
        }
    }
}
