//! Changes of texts: bytes, tokens, lines, numbers, types, opcodes, registers.

use std::ops::Range;

use cuprum_ptx::{Opcode, ScalarType};

/// A reproducible source of changes.
#[derive(Clone, Debug)]
pub struct Mutator {
    state: u64,
}

/// Numbers at which something ends.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "3",
    "7",
    "8",
    "16",
    "31",
    "32",
    "33",
    "63",
    "64",
    "127",
    "128",
    "255",
    "256",
    "1023",
    "1025",
    "4095",
    "4096",
    "65535",
    "65536",
    "1000000",
    "0x7fffffff",
    "0x80000000",
    "-0x80000000",
    "0xffffffff",
    "0x100000000",
    "4294967295",
    "0x7fffffffffffffff",
    "0x7ffffffffffffff8",
    "0x8000000000000000",
    "-0x7fffffffffffffff",
    "0xffffffffffffffff",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999",
    "0f7F800000",
    "0fFFFFFFFF",
    "0d7FF8000000000000",
    "1.5",
    "1e400",
    "017",
    "0b101",
    "WARP_SZ",
];

/// Pieces of the grammar.
const PIECES: &[&str] = &[
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ",",
    ";",
    ":",
    "+",
    "-",
    "|",
    "!",
    "@",
    "=",
    "_",
    "%tid.x",
    "%laneid",
    "%r1",
    "%rd1",
    "%p1",
    "%f1",
    "%h1",
    "%clock64",
    "%nosuch",
    ".reg .pred",
    ".reg .b32 %r<9>;",
    ".reg .b128 %q;",
    ".reg .v4 .b32 %w;",
    ".reg .b8 %b;",
    ".local .align 8 .b8",
    ".shared .align 16 .b8",
    ".global .u32",
    ".const .u32",
    ".param .b64",
    ".align 3",
    ".align 0",
    ".align 4096",
    ".align 2147483648",
    ".v2",
    ".v4",
    ".v8",
    ".ftz",
    ".sat",
    ".rn",
    ".rzi",
    ".cc",
    ".wide",
    ".hi",
    ".lo",
    ".approx",
    ".sync",
    ".volatile",
    ".relaxed",
    ".gpu",
    ".global",
    ".shared",
    ".local",
    ".param",
    ".const",
    ".generic",
    ".uni",
    ".to",
    ".x",
    ".y",
    "bar.sync 0;",
    "bar.sync 15, 33;",
    "bar.arrive 1, 64;",
    "ret;",
    "exit;",
    "trap;",
    "brkpt;",
    "{ret;}",
    "@%p1 exit;",
    "@!%p1 ret;",
    "call f;",
    "call.uni (_), f, ();",
    "bra $L0_1;",
    "$L0_1:",
    "activemask.b32 %r1;",
    "elect.sync %r1|%p1, -1;",
    "nanosleep.u32 100;",
    "membar.sys;",
    "fence.sc.gpu;",
    "mov.b64 {%r1, %r2}, %rd1;",
    "mov.b128 %q, {%rd1, %rd2};",
    "ld.global.b128 %q, [%rd1];",
    "shfl.sync.idx.b32 %r1|%p1, %r2, %r3, 31, 0;",
    "vote.sync.any.pred %p1, %p2, 0;",
    "atom.global.add.f64 %rd1, [%rd2], %rd3;",
    "red.shared.xor.b64 [%r1], %rd1;",
    "cvta.to.local.u64 %rd1, %rd2;",
    "cvta.shared.u64 %rd1, %rd2;",
    "isspacep.global %p1, %rd1;",
    "prefetch.global.L2 [%rd1];",
    "stacksave.u64 %rd1;",
    "alloca.u64 %rd1, %rd2;",
    "wmma.load.a.sync.aligned.row.m16n16k16.shared.f16",
    ".loc 1 2 3",
    ".pragma \"nounroll\";",
    ".branchtargets $L0_1;",
    ".callprototype (.param .b32 _) _ (.param .b64 _);",
    ".maxntid 0",
    ".reqntid 7, 7, 7",
    ".entry k",
    ".visible",
    ".extern",
    ".weak",
    ".alias a, b;",
    "//",
    "/*",
    "*/",
    "\"",
    "é",
    "\0",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Space,
    Number,
    Register,
    /// A word with a dot before it.
    Suffix,
    Word,
    Other,
}

/// Splits a text into tokens; together they are the text.
fn tokens(text: &str) -> Vec<(Token, Range<usize>)> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let mut all = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((start, first)) = rest.next() {
        let kind = match first {
            _ if first.is_whitespace() => Token::Space,
            '0'..='9' => Token::Number,
            '%' => Token::Register,
            '.' => Token::Suffix,
            _ if word(first) => Token::Word,
            _ => Token::Other,
        };
        let mut end = start + first.len_utf8();
        while let Some(&(at, next)) = rest.peek() {
            let goes_on = match kind {
                Token::Space => next.is_whitespace(),
                Token::Other => false,
                _ => word(next),
            };
            if !goes_on {
                break;
            }
            end = at + next.len_utf8();
            rest.next();
        }
        all.push((kind, start..end));
    }
    all
}

impl Mutator {
    /// A source that begins at a number.
    #[must_use]
    pub fn new(seed: u64) -> Mutator {
        Mutator { state: seed }
    }

    fn next(&mut self) -> u64 {
        // splitmix64
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn pick<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len())]
    }

    /// A changed text: one change most often, many rarely.
    #[must_use]
    pub fn mutate(&mut self, text: &str) -> String {
        let changes = [1, 1, 1, 2, 2, 3, 5, 12][self.below(8)];
        let mut text = text.to_owned();
        for _ in 0..changes {
            if text.is_empty() {
                break;
            }
            text = match self.below(16) {
                0 => self.bytes(&text),
                1..=3 => self.lines(&text),
                _ => self.tokens(&text),
            };
        }
        text
    }

    fn bytes(&mut self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        let at = self.below(bytes.len());
        match self.below(5) {
            0 => bytes[at] ^= 1 << self.below(8),
            1 => bytes[at] = self.next() as u8,
            2 => {
                let end = (at + 1 + self.below(30)).min(bytes.len());
                bytes.drain(at..end);
            }
            3 => {
                let end = (at + 1 + self.below(200)).min(bytes.len());
                let piece = bytes[at..end].to_vec();
                let to = self.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => bytes.truncate(at),
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn lines(&mut self, text: &str) -> String {
        let mut lines: Vec<&str> = text.lines().collect();
        let at = self.below(lines.len());
        let other = self.below(lines.len());
        match self.below(5) {
            0 => {
                lines.remove(at);
            }
            1 => lines.insert(other, lines[at]),
            2 => lines.swap(at, other),
            3 => {
                let (first, last) = (at.min(other), at.max(other));
                let piece = lines[first..=last.min(first + 12)].to_vec();
                let to = self.below(lines.len());
                lines.splice(to..to, piece);
            }
            _ => lines.insert(at, self.pick(PIECES)),
        }
        lines.join("\n")
    }

    fn tokens(&mut self, text: &str) -> String {
        let tokens = tokens(text);
        let of = |kind: Token| {
            tokens
                .iter()
                .filter(move |token| token.0 == kind)
                .map(|token| token.1.clone())
                .collect::<Vec<_>>()
        };
        let whole: Vec<Range<usize>> = tokens
            .iter()
            .filter(|token| token.0 != Token::Space)
            .map(|token| token.1.clone())
            .collect();
        if whole.is_empty() {
            return text.to_owned();
        }
        let any = whole[self.below(whole.len())].clone();
        let replaced = |range: Range<usize>, with: &str| {
            format!("{}{with}{}", &text[..range.start], &text[range.end..])
        };
        let choice = self.below(12);
        match choice {
            0 => replaced(any, ""),
            1 => {
                let piece = self.pick(PIECES);
                replaced(any.end..any.end, &format!(" {piece} "))
            }
            2 => {
                let piece = self.pick(PIECES);
                replaced(any, piece)
            }
            3 => {
                let other = whole[self.below(whole.len())].clone();
                replaced(any, &text[other])
            }
            // One of a kind by another: what results still parses most often.
            4..=6 => {
                let numbers = of(Token::Number);
                if numbers.is_empty() {
                    return text.to_owned();
                }
                let at = numbers[self.below(numbers.len())].clone();
                let number = match self.below(3) {
                    0 => text[numbers[self.below(numbers.len())].clone()].to_owned(),
                    1 => (self.next() >> self.below(64)).to_string(),
                    _ => self.pick(NUMBERS).to_owned(),
                };
                replaced(at, &number)
            }
            7 | 8 => {
                let registers = of(Token::Register);
                if registers.is_empty() {
                    return text.to_owned();
                }
                let at = registers[self.below(registers.len())].clone();
                let with = registers[self.below(registers.len())].clone();
                replaced(at, &text[with])
            }
            9 | 10 => {
                let suffixes = of(Token::Suffix);
                if suffixes.is_empty() {
                    return text.to_owned();
                }
                let at = suffixes[self.below(suffixes.len())].clone();
                let is_type = ScalarType::from_spelling(&text[at.start + 1..at.end]).is_some();
                let with = if is_type || self.below(3) == 0 {
                    let ty = ScalarType::ALL[self.below(ScalarType::ALL.len())];
                    format!(".{}", ty.spelling())
                } else if self.below(4) == 0 {
                    String::new()
                } else {
                    text[suffixes[self.below(suffixes.len())].clone()].to_owned()
                };
                replaced(at, &with)
            }
            _ => {
                let words = of(Token::Word);
                if words.is_empty() {
                    return text.to_owned();
                }
                let at = words[self.below(words.len())].clone();
                let with = if Opcode::from_spelling(&text[at.clone()]).is_some() {
                    Opcode::ALL[self.below(Opcode::ALL.len())]
                        .spelling()
                        .to_owned()
                } else {
                    text[words[self.below(words.len())].clone()].to_owned()
                };
                replaced(at, &with)
            }
        }
    }
}
