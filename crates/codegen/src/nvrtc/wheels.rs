//! The wheels that Cuprum knows how to fetch, each pinned to one version and to the hashes of its files.

/// A pinned NVRTC wheel, and the CUDA version whose headers belong to it.
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

/// A group of CUDA's headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Headers {
    /// `cuda_fp16.h`, `cooperative_groups.h`, `mma.h` and the like.
    Cuda,
    /// `cuda_runtime_api.h`, `cuda_device_runtime_api.h` and the like, which no NVRTC carries.
    Runtime,
    /// libcu++, CUB and Thrust.
    Cccl,
    /// `curand_kernel.h` and what it includes.
    Curand,
}

/// A wheel of one version.
#[derive(Debug)]
pub(crate) struct Package {
    requirement: &'static str,
    /// What is in it, for people.
    pub(crate) what: &'static str,
    /// Bytes to download, in MB, rounded.
    pub(crate) megabytes: u32,
    /// Whether only its folders named `include` are unpacked.
    pub(crate) headers_only: bool,
    /// SHA-256 of its files, hexadecimal, in the order of [`PLATFORMS`].
    hashes: [&'static str; 3],
}

/// `std::env::consts::OS` and `ARCH` of the machines that wheels are for.
const PLATFORMS: [(&str, &str); 3] = [
    ("linux", "x86_64"),
    ("linux", "aarch64"),
    ("windows", "x86_64"),
];

/// NVIDIA's run-time compiler.
const NVRTC_13_5: Package = Package {
    requirement: "nvidia-cuda-nvrtc==13.5.37",
    what: "NVIDIA's run-time compiler",
    megabytes: 58,
    headers_only: false,
    hashes: [
        "86b4d68058807988b7d9af5b44917a0601e9c337f35ccd657bfb3c759ff8d8bc",
        "36e4fa2a8ada293f5693d308e531c196ab6f91cf7a0ff479bf96a537d43a6096",
        "e8e6c10b251385707ae3abd7b4ee118de6736fd7678d0f0f4eab4d759f679c21",
    ],
};

/// NVIDIA's run-time compiler.
const NVRTC_13_0: Package = Package {
    requirement: "nvidia-cuda-nvrtc==13.0.88",
    what: "NVIDIA's run-time compiler",
    megabytes: 90,
    headers_only: false,
    hashes: [
        "ad9b6d2ead2435f11cbb6868809d2adeeee302e9bb94bcf0539c7a40d80e8575",
        "d27f20a0ca67a4bb34268a5e951033496c5b74870b868bacd046b1b8e0c3267b",
        "6bcd4e7f8e205cbe644f5a98f2f799bef9556fefc89dd786e79a16312ce49872",
    ],
};

/// NVIDIA's run-time compiler.
const NVRTC_12_9: Package = Package {
    requirement: "nvidia-cuda-nvrtc-cu12==12.9.86",
    what: "NVIDIA's run-time compiler",
    megabytes: 90,
    headers_only: false,
    hashes: [
        "210cf05005a447e29214e9ce50851e83fc5f4358df8b453155d5e1918094dcb4",
        "096d4de6bda726415dfaf3198d4f5c522b8e70139c97feef5cd2ca6d4cd9cead",
        "72972ebdcf504d69462d3bcd67e7b81edd25d0fb85a2c46d3ea3517666636349",
    ],
};

/// CUDA's headers.
const RUNTIME_13_0: Package = Package {
    requirement: "nvidia-cuda-runtime==13.0.88",
    what: "CUDA's headers",
    megabytes: 3,
    headers_only: true,
    hashes: [
        "422a38f7c739ecbdd3a4b6ec7ed0a1d74db43d8e9bc26685f3d845638922b178",
        "8ba16a33998ee3ee2bf11c8f13e36e3ff86a1d6ad165ffeee863d6eabd0b5f67",
        "0156cf8f3453025938aab80bcca909506f4e82f1584a17736df7edeba882cc02",
    ],
};

/// CUDA's internal headers.
const CRT_13_0: Package = Package {
    requirement: "nvidia-cuda-crt==13.0.88",
    what: "CUDA's internal headers",
    megabytes: 1,
    headers_only: true,
    hashes: [
        "2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4",
        "ee2ea2a97073e02ee62bb27841f437332be2c248e3eac013df07997ada39c003",
        "31e02c52916804ca15e31f272a96181d8fadaf40c4c82a77a6f78071a22eccf3",
    ],
};

/// CUDA's C++ libraries.
const CCCL_13_0: Package = Package {
    requirement: "nvidia-cuda-cccl==13.0.85",
    what: "CUDA's C++ libraries",
    megabytes: 4,
    headers_only: true,
    hashes: [
        "e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649",
        "6f0203e29fed809ee2b7fe9b1344df66ecab990c37d6a2e0e189b26d6c97ed7c",
        "e160c6f031687b913fbe6e82e43f1788c3dd2a2a6378d3a8b15a31934b3ab285",
    ],
};

/// cuRAND.
const CURAND_13_0: Package = Package {
    requirement: "nvidia-curand==10.4.0.35",
    what: "cuRAND",
    megabytes: 59,
    headers_only: false,
    hashes: [
        "1aee33a5da6e1db083fe2b90082def8915f30f3248d5896bcec36a579d941bfc",
        "133df5a7509c3e292aaa2b477afd0194f06ce4ea24d714d616ff36439cee349a",
        "65b1710aa6961d326b411e314b374290904c5ddf41dc3f766ebc3f1d7d4ca69f",
    ],
};

/// CUDA's headers.
const RUNTIME_12_9: Package = Package {
    requirement: "nvidia-cuda-runtime-cu12==12.9.79",
    what: "CUDA's headers",
    megabytes: 4,
    headers_only: true,
    hashes: [
        "25bba2dfb01d48a9b59ca474a1ac43c6ebf7011f1b0b8cc44f54eb6ac48a96c3",
        "83469a846206f2a733db0c42e223589ab62fd2fabac4432d2f8802de4bded0a4",
        "8e018af8fa02363876860388bd10ccb89eb9ab8fb0aa749aaf58430a9f7c4891",
    ],
};

/// CUDA's compiler: the internal headers are in its wheel.
const NVCC_12_9: Package = Package {
    requirement: "nvidia-cuda-nvcc-cu12==12.9.86",
    what: "CUDA's internal headers, in its compiler's wheel",
    megabytes: 41,
    headers_only: true,
    hashes: [
        "5d6a0d32fdc7ea39917c20065614ae93add6f577d840233237ff08e9a38f58f0",
        "44e1eca4d08926193a558d2434b1bf83d57b4d5743e0c431c0c83d51da1df62b",
        "8ed7f0b17dea662755395be029376db3b94fed5cbb17c2d35cc866c5b1b84099",
    ],
};

/// CUDA's C++ libraries.
const CCCL_12_9: Package = Package {
    requirement: "nvidia-cuda-cccl-cu12==12.9.27",
    what: "CUDA's C++ libraries",
    megabytes: 3,
    headers_only: true,
    hashes: [
        "37869e17ce2e1ecec6eddf1927cca0f8c34e64fd848d40453df559091e2d7117",
        "d7898b38aa68beaa234d48f0868273702342a196d6e2e9d0ef058dca2390ebea",
        "72106f95a9bb3be18472806b4f663ebf0f9248a86d14b4ae3305725b855d9d92",
    ],
};

/// cuRAND.
const CURAND_12_9: Package = Package {
    requirement: "nvidia-curand-cu12==10.3.10.19",
    what: "cuRAND",
    megabytes: 68,
    headers_only: false,
    hashes: [
        "49b274db4780d421bd2ccd362e1415c13887c53c214f0d4b761752b8f9f6aa1e",
        "de663377feb1697e1d30ed587b07d5721fdd6d2015c738d7528a6002a6134d37",
        "e8129e6ac40dc123bd948e33d3e11b4aa617d87a583fa2f21b3210e90c743cde",
    ],
};

impl Package {
    /// The package's name and version as pip takes it, `nvidia-cuda-nvrtc==13.5.37`.
    pub(crate) const fn requirement(&self) -> &'static str {
        self.requirement
    }

    /// The hashes of its files.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = &'static str> {
        self.hashes.into_iter()
    }

    /// The folder it is unpacked into, in Cuprum's cache.
    pub(crate) fn folder(&self) -> String {
        format!(
            "{}-{}-{}",
            self.requirement.replace("==", "-"),
            std::env::consts::OS,
            std::env::consts::ARCH
        )
    }

    /// Whether there is a file for this machine.
    pub(crate) fn fits_this_machine(&self) -> bool {
        PLATFORMS.contains(&(std::env::consts::OS, std::env::consts::ARCH))
    }
}

impl Wheel {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cuda13_5, Self::Cuda13_0, Self::Cuda12_9];

    /// The wheel of a version of NVRTC.
    pub(crate) fn of_version(version: (u32, u32)) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|wheel| wheel.version() == version)
    }

    pub(crate) const fn package(self) -> &'static Package {
        match self {
            Self::Cuda13_5 => &NVRTC_13_5,
            Self::Cuda13_0 => &NVRTC_13_0,
            Self::Cuda12_9 => &NVRTC_12_9,
        }
    }

    /// The packages with a group of headers of this CUDA version; none for what NVRTC carries itself. CUDA's headers
    /// and its C++ libraries include each other.
    pub(crate) const fn headers(self, group: Headers) -> &'static [&'static Package] {
        match (self, group) {
            (Self::Cuda13_5, Headers::Cuda | Headers::Cccl) => &[],
            (Self::Cuda13_5 | Self::Cuda13_0, Headers::Runtime) => &[&RUNTIME_13_0, &CRT_13_0],
            (Self::Cuda12_9, Headers::Runtime) => &[&RUNTIME_12_9],
            (Self::Cuda13_0, Headers::Cuda | Headers::Cccl) => {
                &[&RUNTIME_13_0, &CRT_13_0, &CCCL_13_0]
            }
            (Self::Cuda12_9, Headers::Cuda | Headers::Cccl) => {
                &[&RUNTIME_12_9, &NVCC_12_9, &CCCL_12_9]
            }
            (Self::Cuda13_5 | Self::Cuda13_0, Headers::Curand) => &[&CURAND_13_0],
            (Self::Cuda12_9, Headers::Curand) => &[&CURAND_12_9],
        }
    }

    /// The package's name and version as pip takes it, `nvidia-cuda-nvrtc==13.5.37`.
    #[must_use]
    pub const fn requirement(self) -> &'static str {
        self.package().requirement()
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
        self.package().megabytes
    }

    /// The folder it is unpacked into, in Cuprum's cache.
    pub(crate) fn folder(self) -> String {
        self.package().folder()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_a_hash_of_its_own() {
        let mut seen = std::collections::BTreeMap::new();
        for wheel in Wheel::ALL {
            let groups = [
                Headers::Cuda,
                Headers::Runtime,
                Headers::Cccl,
                Headers::Curand,
            ];
            let headers = groups
                .iter()
                .flat_map(|&group| wheel.headers(group))
                .copied();
            for package in headers.chain([wheel.package()]) {
                assert!(package.requirement().ends_with(char::is_numeric));
                for hash in package.hashes() {
                    assert_eq!(hash.len(), 64);
                    assert!(hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
                    let known = seen.insert(hash, package.requirement());
                    assert!(
                        known.is_none_or(|known| known == package.requirement()),
                        "{hash} twice"
                    );
                }
            }
        }
    }
}
