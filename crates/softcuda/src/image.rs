//! What kind of image a program hands over, and what PTX text says of itself.

use std::borrow::Cow;

use cuprum_driver_sys::CUresult;

use crate::error::{Outcome, fail};

/// The PTX text of an image, which is the bytes up to its first zero.
///
/// Machine code, alone or in a fat binary, is refused: it runs on NVIDIA's devices only.
pub(crate) fn ptx(image: &[u8]) -> Outcome<Cow<'_, str>> {
    const ELF: &[u8] = b"\x7fELF";
    const FAT_BINARY: &[u8] = &0xba55_ed50_u32.to_le_bytes();
    const FAT_BINARY_WRAPPER: &[u8] = &0x4662_43b1_u32.to_le_bytes();
    if image.starts_with(ELF) {
        return fail(
            CUresult::NO_BINARY_FOR_GPU,
            "the image is a cubin, which software devices cannot run: load PTX",
        );
    }
    if image.starts_with(FAT_BINARY) || image.starts_with(FAT_BINARY_WRAPPER) {
        return fail(
            CUresult::NO_BINARY_FOR_GPU,
            "the image is a fat binary; software devices take PTX text only",
        );
    }
    // Comments may hold anything; what is not text elsewhere is an error of the parser's.
    let text = String::from_utf8_lossy(image);
    if !text.contains(".version") {
        return fail(
            CUresult::INVALID_IMAGE,
            "the image is neither PTX (no .version), nor a cubin, nor a fat binary",
        );
    }
    Ok(text)
}

/// The target architecture that PTX names in its `.target` directive, times ten: 80 for `sm_80`, also for `sm_80a`.
pub(crate) fn target(ptx: &str) -> Option<u32> {
    let mut lines = ptx.lines().map(str::trim_start);
    let names = lines.find_map(|line| line.strip_prefix(".target"))?;
    let digits = names.split_once("sm_")?.1;
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_told_apart() {
        assert!(ptx(b".version 8.0").is_ok());
        let code = |image: &[u8]| ptx(image).expect_err("refused").code;
        assert_eq!(code(b"\x7fELF\x02\x01\x01"), CUresult::NO_BINARY_FOR_GPU);
        assert_eq!(code(b"\x50\xed\x55\xba\x01"), CUresult::NO_BINARY_FOR_GPU);
        assert_eq!(code(b""), CUresult::INVALID_IMAGE);
        assert_eq!(code(b"int main() {}"), CUresult::INVALID_IMAGE);
    }

    #[test]
    fn targets_are_read() {
        assert_eq!(
            target("// .target sm_10\n.version 8.0\n.target sm_80\n"),
            Some(80)
        );
        assert_eq!(target("\t.target sm_100a, debug\n"), Some(100));
        assert_eq!(target(".version 8.0\n"), None);
    }
}
