//! C formatting of `printf` records (PTX `vprintf`): arguments lie packed in memory with natural alignment, promoted as C promotes them.

use std::fmt::Write as _;

/// Memory that strings and arguments are read from.
pub(crate) trait Source {
    /// The byte at a generic address, if it may be read.
    fn byte(&self, address: u64) -> Option<u8>;
}

/// Longest string, record and padding: a runaway `%s` or width ends there.
const LIMIT: usize = 64 << 10;

/// Appends the zero-terminated string at `address`; what cannot be read ends it. True if it could be read at all.
pub(crate) fn read_string(source: &impl Source, address: u64, out: &mut Vec<u8>) -> bool {
    for index in 0..LIMIT as u64 {
        match source.byte(address.wrapping_add(index)) {
            Some(0) => return true,
            Some(byte) => out.push(byte),
            None => return index > 0,
        }
    }
    true
}

/// A conversion specification.
#[derive(Debug, Default, Clone, Copy)]
struct Spec {
    minus: bool,
    plus: bool,
    space: bool,
    hash: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

struct Arguments<'a, S> {
    source: &'a S,
    next: u64,
    count: u32,
}

impl<S: Source> Arguments<'_, S> {
    /// The next argument of `size` bytes.
    fn take(&mut self, size: u64) -> Result<u64, u64> {
        // Whatever wraps around is not readable.
        let address = self.next.checked_next_multiple_of(size).ok_or(self.next)?;
        self.next = address.wrapping_add(size);
        self.count += 1;
        let mut value = 0;
        for index in (0..size).rev() {
            let byte = self
                .source
                .byte(address.wrapping_add(index))
                .ok_or(address)?;
            value = value << 8 | u64::from(byte);
        }
        Ok(value)
    }
}

/// Formats the record whose format string and packed arguments are at the given addresses: the text and the number of arguments.
///
/// # Errors
/// The address that cannot be read.
pub(crate) fn format(
    source: &impl Source,
    format: u64,
    arguments: u64,
) -> Result<(Vec<u8>, u32), u64> {
    let mut template = Vec::new();
    if !read_string(source, format, &mut template) {
        return Err(format);
    }
    let mut arguments = Arguments {
        source,
        next: arguments,
        count: 0,
    };
    let mut out = Vec::with_capacity(template.len() + 32);
    let mut rest = template.as_slice();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        if out.len() > LIMIT {
            break;
        }
        let start = rest;
        match conversion(&mut rest, &mut arguments, &mut out)? {
            Conversion::Done => {}
            Conversion::Unknown => {
                // As C libraries do: what is not understood is printed as it stands.
                out.push(b'%');
                rest = start;
            }
        }
    }
    Ok((out, arguments.count))
}

enum Conversion {
    Done,
    Unknown,
}

fn number(rest: &mut &[u8]) -> usize {
    let mut value = 0usize;
    while let Some((&digit @ b'0'..=b'9', tail)) = rest.split_first() {
        value = (value * 10 + usize::from(digit - b'0')).min(LIMIT);
        *rest = tail;
    }
    value
}

/// One conversion, after its percent sign.
fn conversion<S: Source>(
    rest: &mut &[u8],
    arguments: &mut Arguments<'_, S>,
    out: &mut Vec<u8>,
) -> Result<Conversion, u64> {
    let mut spec = Spec::default();
    while let Some((&flag, tail)) = rest.split_first() {
        match flag {
            b'-' => spec.minus = true,
            b'+' => spec.plus = true,
            b' ' => spec.space = true,
            b'#' => spec.hash = true,
            b'0' => spec.zero = true,
            _ => break,
        }
        *rest = tail;
    }
    if let Some((b'*', tail)) = rest.split_first() {
        *rest = tail;
        let width = (arguments.take(4)? as u32).cast_signed();
        spec.minus |= width < 0;
        spec.width = (width.unsigned_abs() as usize).min(LIMIT);
    } else {
        spec.width = number(rest);
    }
    if let Some((b'.', tail)) = rest.split_first() {
        *rest = tail;
        if let Some((b'*', tail)) = rest.split_first() {
            *rest = tail;
            let precision = (arguments.take(4)? as u32).cast_signed();
            spec.precision = usize::try_from(precision).ok().map(|p| p.min(LIMIT));
        } else {
            spec.precision = Some(number(rest));
        }
    }
    // CUDA knows no other length modifiers: `%zu` is printed as it stands and takes no argument, as seen on an H200.
    let mut size = 4;
    let mut narrow = 0;
    while let Some((&letter, tail)) = rest.split_first() {
        match letter {
            b'l' => size = 8,
            b'h' => narrow += 1,
            _ => break,
        }
        *rest = tail;
    }
    let Some((&letter, tail)) = rest.split_first() else {
        return Ok(Conversion::Unknown);
    };
    *rest = tail;
    match letter {
        b'%' => out.push(b'%'),
        b'd' | b'i' => {
            let value = arguments.take(size)?;
            let value = match (size, narrow) {
                (8, _) => value.cast_signed(),
                (_, 0) => i64::from((value as u32).cast_signed()),
                (_, 1) => i64::from((value as u16).cast_signed()),
                _ => i64::from((value as u8).cast_signed()),
            };
            let digits = value.unsigned_abs().to_string();
            integer(&spec, sign(&spec, value < 0), "", digits, out);
        }
        b'u' | b'o' | b'x' | b'X' => {
            let value = arguments.take(size)?;
            let value = match (size, narrow) {
                (8, _) => value,
                (_, 0) => value & 0xffff_ffff,
                (_, 1) => value & 0xffff,
                _ => value & 0xff,
            };
            let (digits, prefix) = match letter {
                b'u' => (value.to_string(), ""),
                b'o' => (format!("{value:o}"), "0"),
                b'x' => (format!("{value:x}"), "0x"),
                _ => (format!("{value:X}"), "0X"),
            };
            let prefix = if spec.hash && value != 0 { prefix } else { "" };
            integer(&spec, "", prefix, digits, out);
        }
        b'p' => {
            let value = arguments.take(8)?;
            let text = if value == 0 {
                "(nil)".to_owned()
            } else {
                format!("{value:#x}")
            };
            pad(&spec, false, "", text.as_bytes(), out);
        }
        b'c' => {
            let value = arguments.take(4)? as u8;
            pad(&spec, false, "", &[value], out);
        }
        b's' => {
            let address = arguments.take(8)?;
            let mut text = Vec::new();
            if address == 0 {
                text.extend_from_slice(b"(null)");
            } else if !read_string(arguments.source, address, &mut text) {
                return Err(address);
            }
            if let Some(precision) = spec.precision {
                text.truncate(precision);
            }
            pad(&spec, false, "", &text, out);
        }
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
            let value = f64::from_bits(arguments.take(8)?);
            float(&spec, letter, value, out);
        }
        b'n' => {
            // Not supported by devices either: the pointer is skipped.
            arguments.take(8)?;
        }
        _ => return Ok(Conversion::Unknown),
    }
    Ok(Conversion::Done)
}

fn sign(spec: &Spec, negative: bool) -> &'static str {
    if negative {
        "-"
    } else if spec.plus {
        "+"
    } else if spec.space {
        " "
    } else {
        ""
    }
}

/// Writes `prefix` and `body`, padded to the width: with zeros between them if `zeros` and the flag say so.
fn pad(spec: &Spec, zeros: bool, prefix: &str, body: &[u8], out: &mut Vec<u8>) {
    let missing = spec.width.saturating_sub(prefix.len() + body.len());
    let zeros = zeros && spec.zero && !spec.minus;
    if !zeros && !spec.minus {
        out.resize(out.len() + missing, b' ');
    }
    out.extend_from_slice(prefix.as_bytes());
    if zeros {
        out.resize(out.len() + missing, b'0');
    }
    out.extend_from_slice(body);
    if spec.minus {
        out.resize(out.len() + missing, b' ');
    }
}

fn integer(spec: &Spec, sign: &str, prefix: &str, digits: String, out: &mut Vec<u8>) {
    let digits = match spec.precision {
        Some(0) if digits == "0" => String::new(),
        Some(precision) => format!("{digits:0>precision$}"),
        None => digits,
    };
    pad(
        spec,
        spec.precision.is_none(),
        &format!("{sign}{prefix}"),
        digits.as_bytes(),
        out,
    );
}

fn float(spec: &Spec, letter: u8, value: f64, out: &mut Vec<u8>) {
    let upper = letter.is_ascii_uppercase();
    let sign = sign(spec, value.is_sign_negative() && !value.is_nan());
    let magnitude = value.abs();
    if !magnitude.is_finite() {
        let text = match (magnitude.is_nan(), upper) {
            (true, false) => "nan",
            (true, true) => "NAN",
            (false, false) => "inf",
            (false, true) => "INF",
        };
        pad(spec, false, sign, text.as_bytes(), out);
        return;
    }
    let precision = spec.precision.unwrap_or(6);
    let mut text = match letter.to_ascii_lowercase() {
        b'f' => {
            let mut text = format!("{magnitude:.precision$}");
            if spec.hash && precision == 0 {
                text.push('.');
            }
            text
        }
        b'e' => exponential(magnitude, precision, spec.hash),
        b'g' => general(magnitude, precision.max(1), spec.hash),
        _ => hexadecimal(magnitude, spec.precision),
    };
    if upper {
        text.make_ascii_uppercase();
    }
    pad(spec, true, sign, text.as_bytes(), out);
}

/// Digits and decimal exponent of a number rounded to `precision` digits after the first.
fn decimal(value: f64, precision: usize) -> (String, i32) {
    let text = format!("{value:.precision$e}");
    match text.split_once('e') {
        Some((digits, exponent)) => (digits.to_owned(), exponent.parse().unwrap_or(0)),
        None => (text, 0),
    }
}

fn exponential(value: f64, precision: usize, hash: bool) -> String {
    let (mut digits, exponent) = decimal(value, precision);
    if hash && precision == 0 {
        digits.push('.');
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

fn general(value: f64, precision: usize, hash: bool) -> String {
    let (digits, exponent) = decimal(value, precision - 1);
    let trim = |text: String| {
        if hash || !text.contains('.') {
            text
        } else {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    };
    if exponent < -4 || exponent >= precision as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trim(digits), exponent.abs())
    } else {
        let decimals = (precision as i32 - 1 - exponent).max(0) as usize;
        trim(format!("{value:.decimals$}"))
    }
}

/// `%a`, for a non-negative finite number.
fn hexadecimal(value: f64, precision: Option<usize>) -> String {
    let bits = value.to_bits();
    let biased = (bits >> 52) as i32;
    let mut fraction = bits & ((1 << 52) - 1);
    let (mut lead, exponent) = match biased {
        0 if fraction == 0 => (0u64, 0),
        0 => (0, -1022),
        _ => (1, biased - 1023),
    };
    let mut text = String::new();
    let digits = match precision {
        Some(precision) if precision < 13 => {
            // Round to nearest even at the digit.
            let shift = 52 - 4 * precision as u32;
            let whole = lead << 52 | fraction;
            let half = 1u64 << (shift - 1);
            let mut kept = whole >> shift;
            let below = whole & ((1 << shift) - 1);
            if below > half || (below == half && kept & 1 == 1) {
                kept += 1;
            }
            lead = kept >> (4 * precision as u32);
            fraction = kept & ((1 << (4 * precision as u32)) - 1);
            precision
        }
        Some(_) => 13,
        None => 13 - fraction.trailing_zeros().min(52) as usize / 4,
    };
    if precision.is_none() {
        fraction >>= 52 - 4 * digits as u32;
    }
    let _ = write!(text, "0x{lead}");
    if digits > 0 {
        let _ = write!(text, ".{fraction:0digits$x}");
    }
    if let Some(precision) = precision {
        text.extend(std::iter::repeat_n('0', precision.saturating_sub(digits)));
    }
    let _ = write!(text, "p{exponent:+}");
    text
}

#[cfg(test)]
mod tests {
    use super::{Source, format};

    /// Memory that starts at address 64.
    struct Bytes(Vec<u8>);

    impl Source for Bytes {
        fn byte(&self, address: u64) -> Option<u8> {
            self.0
                .get(usize::try_from(address).ok()?.checked_sub(64)?)
                .copied()
        }
    }

    enum Arg {
        I(i32),
        L(i64),
        F(f64),
        S(&'static str),
    }

    fn text(template: &str, args: &[Arg]) -> String {
        let mut memory = template.as_bytes().to_vec();
        memory.push(0);
        let mut strings = Vec::new();
        for arg in args {
            if let Arg::S(string) = arg {
                strings.push(64 + memory.len() as u64);
                memory.extend_from_slice(string.as_bytes());
                memory.push(0);
            }
        }
        memory.resize(memory.len().next_multiple_of(8), 0);
        let arguments = 64 + memory.len() as u64;
        let mut strings = strings.into_iter();
        for arg in args {
            let bytes = match arg {
                Arg::I(value) => value.to_le_bytes().to_vec(),
                Arg::L(value) => value.to_le_bytes().to_vec(),
                Arg::F(value) => value.to_le_bytes().to_vec(),
                Arg::S(_) => strings.next().unwrap_or(0).to_le_bytes().to_vec(),
            };
            memory.resize(memory.len().next_multiple_of(bytes.len()), 0);
            memory.extend_from_slice(&bytes);
        }
        let (out, count) = format(&Bytes(memory), 64, arguments).expect("everything is readable");
        assert_eq!(count as usize, args.len());
        String::from_utf8(out).expect("the test prints ASCII")
    }

    #[test]
    fn integers_as_c_prints_them() {
        use Arg::{I, L};
        assert_eq!(
            text("%d %5d|%-5d|%05d|%+d", &[I(-1), I(42), I(42), I(-42), I(7)]),
            "-1    42|42   |-0042|+7"
        );
        assert_eq!(
            text("%u %x %#X %o", &[I(-1), I(255), I(255), I(8)]),
            "4294967295 ff 0XFF 10"
        );
        assert_eq!(
            text("%lld %d %lu", &[L(i64::MIN), I(3), L(-1)]),
            "-9223372036854775808 3 18446744073709551615"
        );
        assert_eq!(text("%hhd %hu %.3d", &[I(257), I(65537), I(7)]), "1 1 007");
        assert_eq!(text("%*d|%-*d|", &[I(4), I(1), I(3), I(2)]), "   1|2  |");
    }

    #[test]
    fn floats_as_c_prints_them() {
        use Arg::F;
        assert_eq!(
            text(
                "%f %5.2f %e %g",
                &[F(1.5), F(2.345), F(12345.678), F(0.0001)]
            ),
            "1.500000  2.35 1.234568e+04 0.0001"
        );
        assert_eq!(
            text("%g %g %g %G", &[F(1e10), F(100000.0), F(1e-5), F(1e-10)]),
            "1e+10 100000 1e-05 1E-10"
        );
        assert_eq!(
            text("%08.3f|%+.1e|%.0f", &[F(-3.14259), F(0.5), F(2.5)]),
            "-003.143|+5.0e-01|2"
        );
        assert_eq!(
            text(
                "%f %F %5.1f",
                &[F(f64::INFINITY), F(f64::NAN), F(f64::NEG_INFINITY)]
            ),
            "inf NAN  -inf"
        );
        assert_eq!(
            text("%a %a %.1a", &[F(1.0), F(0.75), F(1.97)]),
            "0x1p+0 0x1.8p-1 0x2.0p+0"
        );
    }

    #[test]
    fn strings_pointers_and_percent() {
        use Arg::{I, L, S};
        assert_eq!(
            text(
                "%s|%6s|%-6s|%.2s|%c%%",
                &[S("ab"), S("ab"), S("ab"), S("abc"), I(65)]
            ),
            "ab|    ab|ab    |ab|A%"
        );
        assert_eq!(text("%p %p", &[L(0x7f00), L(0)]), "0x7f00 (nil)");
        assert_eq!(text("100%", &[]), "100%");
    }

    #[test]
    fn unreadable_memory_is_told() {
        assert_eq!(format(&Bytes(b"%d\0".to_vec()), 8, 0), Err(8));
        assert_eq!(format(&Bytes(b"%d\0".to_vec()), 64, 4096), Err(4096));
    }
}
