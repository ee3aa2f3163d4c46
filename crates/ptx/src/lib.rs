//! PTX: lexer, parser, typed syntax tree with spans, decoder and printer.
