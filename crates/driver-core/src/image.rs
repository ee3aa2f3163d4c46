//! What an image is, and whether all of it is there: the driver takes no length.

use crate::{Error, ErrorKind, Result};

/// The kinds of image that a driver loads or links.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind<'a> {
    Ptx(&'a str),
    Cubin,
    FatBinary,
    /// An object file of the host with device code in it: to be linked only.
    Object,
    /// An archive of such: to be linked only.
    Library,
}

const ELF: &[u8] = b"\x7fELF";
const ARCHIVE: &[u8] = b"!<arch>\n";
/// The hosts' machines in an ELF header: x86-64 and aarch64.
const HOSTS: [u16; 2] = [62, 183];
const FAT_BINARY: u32 = 0xba55_ed50;
/// The size of the header of a fat binary, bytes.
const FAT_HEADER: usize = 16;

/// Tells what `image` is and checks that the sizes it claims lie inside it.
pub(crate) fn kind(image: &[u8]) -> Result<Kind<'_>> {
    if image.starts_with(ELF) {
        let host = u16_at(image, 18).is_some_and(|machine| HOSTS.contains(&machine));
        let (kind, cut) = if host {
            (Kind::Object, "the object file is cut short")
        } else {
            (Kind::Cubin, "the cubin is cut short")
        };
        return match check_elf(image) {
            Some(()) => Ok(kind),
            None => Err(refuse(cut, image)),
        };
    }
    if image.starts_with(ARCHIVE) {
        return Ok(Kind::Library);
    }
    if u32_at(image, 0) == Some(FAT_BINARY) {
        let whole = u16_at(image, 6)
            .zip(u64_at(image, 8))
            .and_then(|(header, files)| {
                let end = u64::from(header).checked_add(files)?;
                (usize::from(header) >= FAT_HEADER && end <= image.len() as u64).then_some(())
            });
        return whole
            .map(|()| Kind::FatBinary)
            .ok_or_else(|| refuse("the fat binary is cut short", image));
    }
    let text = match image.iter().position(|&byte| byte == 0) {
        Some(end) if image[end..].iter().all(|&byte| byte == 0) => &image[..end],
        Some(_) => {
            return Err(refuse(
                "the image is no cubin, fat binary or PTX text",
                image,
            ));
        }
        None => image,
    };
    match std::str::from_utf8(text) {
        Ok(text) if !text.trim().is_empty() => Ok(Kind::Ptx(text)),
        _ => Err(refuse(
            "the image is no cubin, fat binary or PTX text",
            image,
        )),
    }
}

#[cold]
fn refuse(why: &'static str, image: &[u8]) -> Error {
    Error::new(ErrorKind::InvalidImage, why).fact("image of", format_args!("{} bytes", image.len()))
}

/// Checks that the header tables of a 64-bit little-endian ELF, and all that they point at, lie inside `image`.
fn check_elf(image: &[u8]) -> Option<()> {
    const NO_BITS: u32 = 8; // a section without bytes in the file
    let inside =
        |offset: u64, size: u64| (offset.checked_add(size)? <= image.len() as u64).then_some(());
    let at = |offset: u64| usize::try_from(offset).ok();
    // 64-bit (class 2), little-endian (data 1).
    (image.len() >= 64 && image[4] == 2 && image[5] == 1).then_some(())?;
    let (segments, segment_size, segment_count) =
        (u64_at(image, 32)?, u16_at(image, 54)?, u16_at(image, 56)?);
    let (sections, section_size, section_count) =
        (u64_at(image, 40)?, u16_at(image, 58)?, u16_at(image, 60)?);
    if segment_count > 0 {
        (segment_size >= 56).then_some(())?;
        inside(segments, u64::from(segment_size) * u64::from(segment_count))?;
    }
    for index in 0..u64::from(segment_count) {
        let entry = at(segments + index * u64::from(segment_size))?;
        inside(u64_at(image, entry + 8)?, u64_at(image, entry + 32)?)?;
    }
    if section_count > 0 {
        (section_size >= 64).then_some(())?;
        inside(sections, u64::from(section_size) * u64::from(section_count))?;
    }
    for index in 0..u64::from(section_count) {
        let entry = at(sections + index * u64::from(section_size))?;
        if u32_at(image, entry + 4)? != NO_BITS {
            inside(u64_at(image, entry + 24)?, u64_at(image, entry + 32)?)?;
        }
    }
    Some(())
}

fn bytes_at<const N: usize>(image: &[u8], offset: usize) -> Option<[u8; N]> {
    image.get(offset..offset.checked_add(N)?)?.try_into().ok()
}

fn u16_at(image: &[u8], offset: usize) -> Option<u16> {
    bytes_at(image, offset).map(u16::from_le_bytes)
}

fn u32_at(image: &[u8], offset: usize) -> Option<u32> {
    bytes_at(image, offset).map(u32::from_le_bytes)
}

fn u64_at(image: &[u8], offset: usize) -> Option<u64> {
    bytes_at(image, offset).map(u64::from_le_bytes)
}
