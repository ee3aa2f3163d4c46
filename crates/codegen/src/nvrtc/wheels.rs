//! The wheels that Cuprum knows how to fetch, each pinned to one version and to the hashes of its files.

/// A pinned NVRTC wheel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Wheel {
    /// NVRTC 13.5.37, 58 MB: for software devices and drivers of CUDA 13. Carries CUDA's headers. The default.
    Cuda13_5,
    /// NVRTC 13.0.88, 90 MB: its PTX loads on every driver of CUDA 13, which tests that compare devices need.
    Cuda13_0,
    /// NVRTC 12.9.86, 90 MB: for drivers of CUDA 12 and for GPUs before Turing.
    Cuda12_9,
}

/// One file of a wheel.
#[derive(Debug)]
pub(crate) struct File {
    /// `std::env::consts::OS` and `ARCH` of the machines it is for.
    os: &'static str,
    arch: &'static str,
    /// SHA-256 of the file, hexadecimal.
    pub(crate) sha256: &'static str,
}

impl Wheel {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cuda13_5, Self::Cuda13_0, Self::Cuda12_9];

    /// The package's name and version as pip takes it, `nvidia-cuda-nvrtc==13.5.37`.
    #[must_use]
    pub const fn requirement(self) -> &'static str {
        match self {
            Self::Cuda13_5 => "nvidia-cuda-nvrtc==13.5.37",
            Self::Cuda13_0 => "nvidia-cuda-nvrtc==13.0.88",
            Self::Cuda12_9 => "nvidia-cuda-nvrtc-cu12==12.9.86",
        }
    }

    /// NVRTC's version in it.
    #[must_use]
    pub const fn version(self) -> (u32, u32) {
        match self {
            Self::Cuda13_5 => (13, 5),
            Self::Cuda13_0 => (13, 0),
            Self::Cuda12_9 => (12, 9),
        }
    }

    /// Bytes to download, in MB, rounded.
    #[must_use]
    pub const fn megabytes(self) -> u32 {
        match self {
            Self::Cuda13_5 => 58,
            Self::Cuda13_0 | Self::Cuda12_9 => 90,
        }
    }

    /// The folder it is unpacked into, in Cuprum's cache.
    pub(crate) fn folder(self) -> String {
        format!(
            "{}-{}-{}",
            self.requirement().replace("==", "-"),
            std::env::consts::OS,
            std::env::consts::ARCH
        )
    }

    /// All files of this version.
    pub(crate) fn files(self) -> &'static [File] {
        match self {
            Self::Cuda13_5 => &[
                File {
                    os: "linux",
                    arch: "x86_64",
                    sha256: "86b4d68058807988b7d9af5b44917a0601e9c337f35ccd657bfb3c759ff8d8bc",
                },
                File {
                    os: "linux",
                    arch: "aarch64",
                    sha256: "36e4fa2a8ada293f5693d308e531c196ab6f91cf7a0ff479bf96a537d43a6096",
                },
                File {
                    os: "windows",
                    arch: "x86_64",
                    sha256: "e8e6c10b251385707ae3abd7b4ee118de6736fd7678d0f0f4eab4d759f679c21",
                },
            ],
            Self::Cuda13_0 => &[
                File {
                    os: "linux",
                    arch: "x86_64",
                    sha256: "ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575",
                },
                File {
                    os: "linux",
                    arch: "aarch64",
                    sha256: "d27f20a0ca67a4bb34268a5e951033496c5b74870b868bacd046b1b8e0c3267b",
                },
                File {
                    os: "windows",
                    arch: "x86_64",
                    sha256: "6bcd4e7f8e205cbe644f5a98f2f799bef9556fefc89dd786e79a16312ce49872",
                },
            ],
            Self::Cuda12_9 => &[
                File {
                    os: "linux",
                    arch: "x86_64",
                    sha256: "210cf05005a447e29214e9ce50851e83fc5f4358df8b453155d5e1918094dcb4",
                },
                File {
                    os: "linux",
                    arch: "aarch64",
                    sha256: "096d4de6bda726415dfaf3198d4f5c522b8e70139c97feef5cd2ca6d4cd9cead",
                },
                File {
                    os: "windows",
                    arch: "x86_64",
                    sha256: "72972ebdcf504d69462d3bcd67e7b81edd25d0fb85a2c46d3ea3517666636349",
                },
            ],
        }
    }

    /// Whether there is a file for this machine.
    pub(crate) fn fits_this_machine(self) -> bool {
        self.files()
            .iter()
            .any(|file| file.os == std::env::consts::OS && file.arch == std::env::consts::ARCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_a_hash_of_its_own() {
        let mut seen = std::collections::BTreeSet::new();
        for wheel in Wheel::ALL {
            assert!(wheel.requirement().ends_with(char::is_numeric));
            for file in wheel.files() {
                assert_eq!(file.sha256.len(), 64);
                assert!(file.sha256.bytes().all(|byte| byte.is_ascii_hexdigit()));
                assert!(seen.insert(file.sha256), "{} twice", file.sha256);
            }
        }
    }
}
