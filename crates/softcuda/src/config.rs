//! What the software driver pretends to be.

use std::fmt;
use std::time::Duration;

/// How many devices the software driver offers, what they are like, and how it behaves.
///
/// Start from [`Config::from_env`] or [`Config::default`], change fields, and hand it to
/// [`configure`](crate::configure) before the first driver call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Config {
    /// The devices, by ordinal. May be empty: then `cuInit` answers `CUDA_ERROR_NO_DEVICE`.
    pub devices: Vec<DeviceConfig>,
    /// Bytes of address space to reserve for the memory of all devices and page-locked host memory. Rounded up to a
    /// power of two; halved until the system grants it. Costs no memory.
    pub address_space: u64,
    /// Delays each piece of queued work by a random time of up to so much, so that missing synchronisation in the
    /// caller shows. Copies from pageable memory then return before the data is on the device, as they may on hardware.
    pub jitter: Option<Duration>,
    /// Each launch returns only when the kernel is done (`CUDA_LAUNCH_BLOCKING=1`).
    pub launch_blocking: bool,
    /// A kernel that runs longer is stopped with `CUDA_ERROR_LAUNCH_TIMEOUT`, which poisons its context. `None`: never.
    pub kernel_time_limit: Option<Duration>,
    /// Fills new device memory with this byte, so that reads of what was never written show. `None`: zero.
    pub poison: Option<u8>,
    /// How kernels are compiled.
    pub code: CodeQuality,
}

/// How much the compiler does for the speed of kernels. Results do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CodeQuality {
    /// For kernels that run long.
    #[default]
    Optimised,
    /// Compiled in about a third of the time, to slower code: for tests of many kernels on little data. A kernel that cannot
    /// be compiled so is compiled the other way.
    Quick,
}

/// What one software device is like.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DeviceConfig {
    /// The name that `cuDeviceGetName` tells.
    pub name: String,
    /// The compute capability, major and minor. PTX for a higher target is refused.
    pub compute_capability: (u32, u32),
    /// The number of multiprocessors: with the occupancy of a kernel it decides how many blocks are resident at once.
    pub multiprocessors: u32,
    /// Device memory in bytes: an allocation past it fails with `CUDA_ERROR_OUT_OF_MEMORY`.
    pub memory_bytes: u64,
    /// Host threads that execute blocks.
    pub worker_threads: usize,
    /// Whether managed memory may be used by host and device at once (`CONCURRENT_MANAGED_ACCESS`).
    pub concurrent_managed_access: bool,
}

impl Default for DeviceConfig {
    /// Compute capability 8.0, 4 GiB of memory, as many multiprocessors and workers as the host has hardware threads
    /// (multiprocessors 2 at least).
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            name: "Cuprum software device".into(),
            compute_capability: (8, 0),
            multiprocessors: u32::try_from(threads).unwrap_or(u32::MAX).clamp(2, 128),
            memory_bytes: 4 << 30,
            worker_threads: threads,
            concurrent_managed_access: true,
        }
    }
}

impl Default for Config {
    /// One default device, 64 GiB of address space, no delays, no limits; the environment is not read.
    fn default() -> Self {
        Self {
            devices: vec![DeviceConfig::default()],
            address_space: 64 << 30,
            jitter: None,
            launch_blocking: false,
            kernel_time_limit: None,
            poison: None,
            code: CodeQuality::Optimised,
        }
    }
}

/// Why a configuration was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(pub(crate) String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

impl Config {
    /// The default configuration, changed by the environment:
    ///
    /// | variable | meaning | example |
    /// |---|---|---|
    /// | `CUPRUM_SOFT_DEVICES` | number of devices, all alike | `2` |
    /// | `CUPRUM_SOFT_MEMORY` | memory of each device; suffixes `K`, `M`, `G` are powers of 1024 | `512M` |
    /// | `CUPRUM_SOFT_ADDRESS_SPACE` | address space for all memory | `16G` |
    /// | `CUPRUM_SOFT_THREADS` | host threads that execute blocks, for each device | `4` |
    /// | `CUPRUM_SOFT_SMS` | multiprocessors of each device | `16` |
    /// | `CUPRUM_SOFT_COMPUTE` | compute capability | `7.5` |
    /// | `CUPRUM_SOFT_MANAGED` | `concurrent` or `exclusive` access to managed memory | `exclusive` |
    /// | `CUPRUM_SOFT_JITTER` | longest random delay of queued work, microseconds | `500` |
    /// | `CUPRUM_SOFT_TIME_LIMIT` | longest run of a kernel, seconds | `10` |
    /// | `CUPRUM_SOFT_POISON` | byte that fills new memory, decimal or `0x` | `0xcd` |
    /// | `CUPRUM_SOFT_CODE` | `optimised` or `quick`: slower code, compiled sooner | `quick` |
    /// | `CUDA_LAUNCH_BLOCKING` | `1`: launches wait for the kernel | `1` |
    ///
    /// # Errors
    ///
    /// Names the variable whose value makes no sense.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_lookup(|name| std::env::var(name).ok())
    }

    /// [`from_env`](Self::from_env) over any source of variables.
    pub(crate) fn from_lookup(
        lookup: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let mut config = Self::default();
        let mut device = DeviceConfig::default();
        let get = |name: &str| {
            lookup(name)
                .map(|v| v.trim().to_owned())
                .filter(|v| !v.is_empty())
        };
        let bad = |name: &str, value: &str, wanted: &str| {
            ConfigError(format!("{name}={value}: expected {wanted}"))
        };
        let number = |name: &str| -> Result<Option<u64>, ConfigError> {
            get(name)
                .map(|v| v.parse().map_err(|_| bad(name, &v, "a number")))
                .transpose()
        };
        let size = |name: &str| -> Result<Option<u64>, ConfigError> {
            get(name)
                .map(|v| parse_size(&v).ok_or_else(|| bad(name, &v, "a size such as 512M or 4G")))
                .transpose()
        };

        if let Some(bytes) = size("CUPRUM_SOFT_MEMORY")? {
            device.memory_bytes = bytes;
        }
        if let Some(bytes) = size("CUPRUM_SOFT_ADDRESS_SPACE")? {
            config.address_space = bytes;
        }
        if let Some(threads) = number("CUPRUM_SOFT_THREADS")? {
            device.worker_threads = usize::try_from(threads).unwrap_or(usize::MAX);
        }
        if let Some(count) = number("CUPRUM_SOFT_SMS")? {
            device.multiprocessors = u32::try_from(count).unwrap_or(u32::MAX);
        }
        if let Some(text) = get("CUPRUM_SOFT_COMPUTE") {
            device.compute_capability = text
                .split_once('.')
                .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
                .ok_or_else(|| bad("CUPRUM_SOFT_COMPUTE", &text, "major.minor such as 8.0"))?;
        }
        if let Some(text) = get("CUPRUM_SOFT_MANAGED") {
            device.concurrent_managed_access = match text.as_str() {
                "concurrent" => true,
                "exclusive" => false,
                _ => return Err(bad("CUPRUM_SOFT_MANAGED", &text, "concurrent or exclusive")),
            };
        }
        config.jitter = number("CUPRUM_SOFT_JITTER")?
            .filter(|&us| us > 0)
            .map(Duration::from_micros);
        if let Some(text) = get("CUPRUM_SOFT_TIME_LIMIT") {
            let seconds = text
                .parse()
                .ok()
                .and_then(|s| Duration::try_from_secs_f64(s).ok());
            let limit = seconds.ok_or_else(|| bad("CUPRUM_SOFT_TIME_LIMIT", &text, "seconds"))?;
            config.kernel_time_limit = Some(limit).filter(|limit| !limit.is_zero());
        }
        if let Some(text) = get("CUPRUM_SOFT_POISON") {
            let byte = match text.strip_prefix("0x") {
                Some(hex) => u8::from_str_radix(hex, 16).ok(),
                None => text.parse().ok(),
            };
            config.poison =
                Some(byte.ok_or_else(|| bad("CUPRUM_SOFT_POISON", &text, "a byte such as 0xcd"))?);
        }
        if let Some(text) = get("CUPRUM_SOFT_CODE") {
            config.code = match text.as_str() {
                "optimised" => CodeQuality::Optimised,
                "quick" => CodeQuality::Quick,
                _ => return Err(bad("CUPRUM_SOFT_CODE", &text, "`optimised` or `quick`")),
            };
        }
        config.launch_blocking = get("CUDA_LAUNCH_BLOCKING").is_some_and(|v| v != "0");
        let count = number("CUPRUM_SOFT_DEVICES")?.unwrap_or(1);
        let count = usize::try_from(count).ok().filter(|&n| n <= MAX_DEVICES);
        let count = count
            .ok_or_else(|| ConfigError(format!("CUPRUM_SOFT_DEVICES: at most {MAX_DEVICES}")))?;
        config.devices = vec![device; count];
        config.check()?;
        Ok(config)
    }

    /// Whether the driver can be what the configuration says.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.devices.len() > MAX_DEVICES {
            return Err(ConfigError(format!(
                "{} devices: at most {MAX_DEVICES}",
                self.devices.len()
            )));
        }
        if self.address_space < MIN_ADDRESS_SPACE {
            return Err(ConfigError(format!(
                "address space of {} bytes: at least 64 MiB",
                self.address_space
            )));
        }
        for (ordinal, device) in self.devices.iter().enumerate() {
            let complain = |what: String| Err(ConfigError(format!("device {ordinal}: {what}")));
            let (major, minor) = device.compute_capability;
            if !(5..=19).contains(&major) || minor > 9 {
                return complain(format!("compute capability {major}.{minor} does not exist"));
            }
            if !(1..=1024).contains(&device.multiprocessors) {
                return complain(format!(
                    "{} multiprocessors: 1 to 1024",
                    device.multiprocessors
                ));
            }
            if !(1..=1024).contains(&device.worker_threads) {
                return complain(format!(
                    "{} worker threads: 1 to 1024",
                    device.worker_threads
                ));
            }
            if device.memory_bytes < 1 << 20 {
                return complain(format!(
                    "{} bytes of memory: at least 1 MiB",
                    device.memory_bytes
                ));
            }
        }
        Ok(())
    }
}

/// More devices than any test needs, few enough that an absurd number is seen as the mistake it is.
const MAX_DEVICES: usize = 64;

/// Below this the reserved range cannot hold the driver's own blocks.
pub(crate) const MIN_ADDRESS_SPACE: u64 = 64 << 20;

/// Bytes from a number with an optional suffix `K`, `M` or `G` (powers of 1024).
fn parse_size(text: &str) -> Option<u64> {
    let (digits, shift) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 10),
        b'm' | b'M' => (&text[..text.len() - 1], 20),
        b'g' | b'G' => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(vars: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let vars: Vec<(String, String)> = vars.iter().map(|&(k, v)| (k.into(), v.into())).collect();
        Config::from_lookup(move |name| {
            vars.iter().find(|(k, _)| k == name).map(|(_, v)| v.clone())
        })
    }

    #[test]
    fn an_empty_environment_is_the_default() {
        assert_eq!(with(&[]), Ok(Config::default()));
    }

    #[test]
    fn every_variable_is_read() {
        let config = with(&[
            ("CUPRUM_SOFT_DEVICES", "3"),
            ("CUPRUM_SOFT_MEMORY", "512M"),
            ("CUPRUM_SOFT_ADDRESS_SPACE", "1g"),
            ("CUPRUM_SOFT_THREADS", "7"),
            ("CUPRUM_SOFT_SMS", "9"),
            ("CUPRUM_SOFT_COMPUTE", "7.5"),
            ("CUPRUM_SOFT_MANAGED", "exclusive"),
            ("CUPRUM_SOFT_JITTER", "250"),
            ("CUPRUM_SOFT_TIME_LIMIT", "1.5"),
            ("CUPRUM_SOFT_POISON", "0xCD"),
            ("CUPRUM_SOFT_CODE", "quick"),
            ("CUDA_LAUNCH_BLOCKING", "1"),
        ])
        .expect("all values make sense");
        assert_eq!(config.devices.len(), 3);
        let device = &config.devices[2];
        assert_eq!(device.memory_bytes, 512 << 20);
        assert_eq!(device.worker_threads, 7);
        assert_eq!(device.multiprocessors, 9);
        assert_eq!(device.compute_capability, (7, 5));
        assert!(!device.concurrent_managed_access);
        assert_eq!(config.address_space, 1 << 30);
        assert_eq!(config.jitter, Some(Duration::from_micros(250)));
        assert_eq!(config.kernel_time_limit, Some(Duration::from_millis(1500)));
        assert_eq!(config.poison, Some(0xcd));
        assert_eq!(config.code, CodeQuality::Quick);
        assert!(config.launch_blocking);
    }

    #[test]
    fn nonsense_names_the_variable() {
        for (name, value) in [
            ("CUPRUM_SOFT_DEVICES", "many"),
            ("CUPRUM_SOFT_DEVICES", "65"),
            ("CUPRUM_SOFT_MEMORY", "4X"),
            ("CUPRUM_SOFT_COMPUTE", "8"),
            ("CUPRUM_SOFT_MANAGED", "maybe"),
            ("CUPRUM_SOFT_TIME_LIMIT", "-1"),
            ("CUPRUM_SOFT_POISON", "256"),
            ("CUPRUM_SOFT_CODE", "fast"),
        ] {
            let error = with(&[(name, value)]).expect_err(value).to_string();
            assert!(error.contains(name), "{error}");
        }
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        assert!(with(&[("CUPRUM_SOFT_MEMORY", "1K")]).is_err());
        assert!(with(&[("CUPRUM_SOFT_THREADS", "0")]).is_err());
        assert!(with(&[("CUPRUM_SOFT_COMPUTE", "1.0")]).is_err());
        assert_eq!(parse_size("17179869184G"), None); // overflows
    }
}
