//! Several images as one module.

use std::borrow::Cow;
use std::ffi::{CString, c_void};

use cuprum_driver_sys::{CUjit_option, CUjitInputType, CUlinkState};

use crate::call::call;
use crate::image;
use crate::module::LOG_BYTES;
use crate::{Context, Error, ErrorKind, Module, Result};

/// A link that has begun; destroyed when dropped.
struct Link<'a> {
    context: &'a Context,
    state: CUlinkState,
    /// Where the driver's linker writes its words. The driver keeps the addresses until the link is destroyed.
    log: Box<[u8]>,
}

impl Module {
    /// Links PTX texts that were made for it (`-rdc=true`) and loads the result: what one declares as `.extern` is
    /// what another defines.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidImage`] if a text is wrong, or a symbol is not defined or defined twice, with the linker's
    /// words as [`Error::detail`]; [`ErrorKind::InvalidArgument`] if a text holds a null byte; what else the driver
    /// returns.
    pub fn linked(context: &Context, parts: &[&str]) -> Result<Self> {
        let mut named = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            if let Some(at) = part.bytes().position(|byte| byte == 0) {
                let problem = format!("part {index} of the PTX holds a null byte at offset {at}");
                return Err(Error::new(ErrorKind::InvalidArgument, problem));
            }
            named.push((format!("part {index}"), part.as_bytes()));
        }
        let named: Vec<(&str, &[u8])> = named
            .iter()
            .map(|(name, part)| (name.as_str(), *part))
            .collect();
        Self::linked_images(context, &named)
    }

    /// Links images that were made for it (`-rdc=true`), each with a name for messages, and loads the result: PTX texts, cubins,
    /// fat binaries, object files of the host with device code in them, and libraries of those, mixed as they come. Software devices
    /// take PTX only.
    ///
    /// # Errors
    /// As [`Module::linked`]; [`ErrorKind::InvalidImage`] also for an image that is none of these, or cut short.
    pub fn linked_images(context: &Context, parts: &[(&str, &[u8])]) -> Result<Self> {
        let mut inputs = Vec::new();
        for (name, bytes) in parts {
            let about = |error: Error| error.fact("part", format_args!("`{name}`"));
            let (kind, bytes) = match image::kind(bytes).map_err(about)? {
                // The size of PTX counts a null at its end.
                image::Kind::Ptx(text) => (
                    CUjitInputType::PTX,
                    Cow::Owned([text.as_bytes(), b"\0"].concat()),
                ),
                image::Kind::Cubin => (CUjitInputType::CUBIN, Cow::Borrowed(*bytes)),
                image::Kind::FatBinary => (CUjitInputType::FATBINARY, Cow::Borrowed(*bytes)),
                image::Kind::Object => (CUjitInputType::OBJECT, Cow::Borrowed(*bytes)),
                image::Kind::Library => (CUjitInputType::LIBRARY, Cow::Borrowed(*bytes)),
            };
            let input = Input { kind, bytes };
            inputs.push((name, input));
        }
        let link = Link::begin(context)?;
        for (name, input) in &inputs {
            link.add(name, input)
                .map_err(|error| error.fact("part", format_args!("`{name}`")))?;
        }
        let image = link.complete()?;
        // SAFETY: the driver's linker made the image, which lives as long as the link.
        unsafe { Self::load(context, image) }
    }
}

/// One image to link.
struct Input<'a> {
    kind: CUjitInputType,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Link<'a> {
    fn begin(context: &'a Context) -> Result<Self> {
        context.make_current()?;
        let mut log = vec![0u8; LOG_BYTES].into_boxed_slice();
        let mut options = [
            CUjit_option::ERROR_LOG_BUFFER,
            CUjit_option::ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        let mut values: [*mut c_void; 2] = [
            log.as_mut_ptr().cast::<c_void>(),
            std::ptr::without_provenance_mut(LOG_BYTES),
        ];
        let mut state = CUlinkState::NULL;
        // SAFETY: the two options come with a buffer, which lives as long as the link, and its size; `state` is a live
        // local that the call writes.
        unsafe {
            call!(
                context.driver(),
                cuLinkCreate_v2(2, options.as_mut_ptr(), values.as_mut_ptr(), &raw mut state)
            )
        }
        .map_err(|failure| context.raise(failure))?;
        Ok(Self {
            context,
            state,
            log,
        })
    }

    fn add(&self, name: &str, input: &Input<'_>) -> Result<()> {
        // A name with a null byte is shown as far as that.
        let name = CString::new(name.split('\0').next().unwrap_or_default())
            .expect("the text ends before a null byte");
        let bytes = &*input.bytes;
        // SAFETY: the link lives; the bytes are read during the call, and hold a null at the end of PTX and all of what an image
        // says of its size; no options.
        unsafe {
            call!(
                self.context.driver(),
                cuLinkAddData_v2(
                    self.state,
                    input.kind,
                    bytes.as_ptr().cast_mut().cast::<c_void>(),
                    bytes.len(),
                    name.as_ptr(),
                    0,
                    std::ptr::null_mut(),
                    std::ptr::null_mut()
                )
            )
        }
        .map_err(|failure| self.explained(self.context.raise(failure)))
    }

    /// The image, valid while the link lives.
    fn complete(&self) -> Result<*const c_void> {
        let (mut image, mut size) = (std::ptr::null_mut(), 0usize);
        // SAFETY: the link lives; both are live locals that the call writes.
        unsafe {
            call!(
                self.context.driver(),
                cuLinkComplete(self.state, &raw mut image, &raw mut size)
            )
        }
        .map_err(|failure| self.explained(self.context.raise(failure)))?;
        Ok(image.cast_const())
    }

    /// An error with the linker's words.
    fn explained(&self, error: Error) -> Error {
        let words = self.log.split(|&byte| byte == 0).next().unwrap_or_default();
        let words = String::from_utf8_lossy(words).trim().to_owned();
        if error.detail().is_none() && !words.is_empty() {
            error.with_detail(Some(words))
        } else {
            error
        }
    }
}

impl Drop for Link<'_> {
    fn drop(&mut self) {
        // SAFETY: the link lives, and nothing uses its image any more: loading copies it.
        let destroyed = unsafe { call!(self.context.driver(), cuLinkDestroy(self.state)) };
        self.context.inner().note_release(destroyed);
    }
}
