//! What a compilation was made of and gave, as files to look at.

use std::fs;
use std::path::{Path, PathBuf};

use crate::compile::Image;
use crate::error::{Error, Result};
use crate::source::Source;

/// Writes the source and what is known of its compilation into a directory of its own in `dir`. Answers with that directory.
pub(crate) fn write(
    dir: &Path,
    source: &Source,
    key: &str,
    result: Result<&Image, &Error>,
) -> Result<PathBuf> {
    let path = Path::new(&source.file_name);
    let file = path.file_name().unwrap_or("kernel.cu".as_ref());
    let stem = path.file_stem().unwrap_or("kernel".as_ref());
    let mut name = stem.to_os_string();
    name.push(format!("-{}", &key[..8]));
    let dir = dir.join(name);
    let write = |path: PathBuf, bytes: &[u8]| {
        fs::write(&path, bytes).map_err(|error| Error::io("write", &path, error))
    };
    fs::create_dir_all(&dir).map_err(|error| Error::io("create", &dir, error))?;
    // As the compiler gets it.
    write(dir.join(file), source.wrapped().as_bytes())?;
    for (name, text) in &source.headers {
        // In memory, names are only names: one that would leave the directory is flattened.
        let flat: String = name
            .chars()
            .map(|c| {
                if matches!(c, '/' | '\\' | ':') {
                    '_'
                } else {
                    c
                }
            })
            .collect();
        write(dir.join(flat), text.as_bytes())?;
    }
    let (options, log) = match result {
        Ok(image) => {
            write(dir.join(stem).with_extension("ptx"), image.ptx().as_bytes())?;
            if let Some(cubin) = image.cubin() {
                write(dir.join(stem).with_extension("cubin"), cubin)?;
            }
            (
                format!("{}\n{}\n", image.compiler(), image.options().join("\n")),
                image.log().to_owned(),
            )
        }
        Err(error) => match error.compile_failure() {
            Some(failure) => (
                format!("{}\n{}\n", failure.compiler, failure.options.join("\n")),
                failure.log.clone(),
            ),
            None => (String::new(), error.to_string()),
        },
    };
    write(dir.join("options.txt"), options.as_bytes())?;
    write(dir.join("log.txt"), log.as_bytes())?;
    Ok(dir)
}
