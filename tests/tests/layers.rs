//! The layers of the house: dependencies point down only.
//!
//! The order is the one of ARCHITECTURE.md. A crate may depend on crates of lower layers, never on its own or a higher
//! one, and nothing above the software device sees Cranelift unless the feature `soft` brings the device itself.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{CargoOpt, DependencyKind, Metadata, MetadataCommand};

/// Our packages from the ground up; those on one line may not depend on each other.
const LAYERS: &[&[&str]] = &[
    &[
        "cuprum-driver-sys",
        "cuprum-ptx",
        "cuprum-kernels",
        "cuprum-codegen-derive",
    ],
    &["cuprum-softcuda"],
    &["cuprum-driver-core"],
    &["cuprum-mempool", "cuprum-codegen"],
    &["cuprum-gpuarray"],
    &[
        "cuprum-curand",
        "cuprum-texsurf",
        "cuprum-managed",
        "cuprum-gl-interop",
    ],
    &["cuprum"],
    &["cuprum-checks"],
    &["cuprum-explorer", "cuprum-tests", "cuprum-benches"],
];

/// Outside the layers: developer commands.
const OUTSIDE: &[&str] = &["cuprum-xtask"];

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .other_options(vec!["--locked".to_owned()])
        .exec()
        .expect("cargo metadata describes this workspace")
}

fn level(package: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&package))
}

#[test]
fn dependencies_point_down_only() {
    let metadata = metadata();
    let mut seen = 0;
    for package in metadata.workspace_packages() {
        let name = package.name.as_str();
        if OUTSIDE.contains(&name) {
            continue;
        }
        let own =
            level(name).unwrap_or_else(|| panic!("{name} has no place in the layers: give it one"));
        seen += 1;
        for dependency in &package.dependencies {
            let Some(lower) = level(&dependency.name) else {
                assert!(
                    !dependency.name.starts_with("cuprum"),
                    "{name} depends on {}, which has no layer",
                    dependency.name
                );
                continue;
            };
            // Development dependencies serve tests and examples; they may look upwards only to the facade's examples.
            if dependency.kind == DependencyKind::Development {
                continue;
            }
            assert!(
                lower < own,
                "{name} (layer {own}) depends on {} (layer {lower})",
                dependency.name
            );
        }
    }
    assert!(seen >= 8, "only {seen} packages were looked at");
}

#[test]
fn folders_name_their_packages() {
    for package in metadata().workspace_packages() {
        let folder = package
            .manifest_path
            .parent()
            .and_then(|p| p.file_name())
            .expect("a package has a folder");
        let name = package.name.as_str();
        assert!(
            name == format!("cuprum-{folder}") || (name == "cuprum" && folder == "cuprum"),
            "the package {name} lies in the folder {folder}"
        );
    }
}

/// Without the feature `soft`, no crate brings the software device or its compiler.
#[test]
fn without_soft_there_is_no_cranelift() {
    let mut checked = BTreeSet::new();
    for package in metadata().workspace_packages() {
        if !package.features.contains_key("soft") {
            continue;
        }
        let needs = |features: Option<CargoOpt>| {
            let mut command = MetadataCommand::new();
            command
                .manifest_path(&package.manifest_path)
                .other_options(vec!["--locked".to_owned()]);
            if let Some(features) = features {
                command.features(features);
            }
            reachable(
                &command
                    .exec()
                    .expect("cargo metadata describes this package"),
                &package.name,
            )
        };
        // The control: with its default features the same package does bring the device.
        assert!(
            needs(None).contains("cuprum-softcuda"),
            "{} does not bring the device by default",
            package.name
        );
        for name in &needs(Some(CargoOpt::NoDefaultFeatures)) {
            assert!(
                !name.starts_with("cranelift") && name != "cuprum-softcuda",
                "{} without features depends on {name}",
                package.name
            );
        }
        checked.insert(package.name.to_string());
    }
    assert!(
        checked.contains("cuprum-driver-core") && checked.contains("cuprum"),
        "checked {checked:?}"
    );
}

/// The names of the packages that `root` needs to be built, itself excluded.
fn reachable(metadata: &Metadata, root: &str) -> BTreeSet<String> {
    let resolve = metadata
        .resolve
        .as_ref()
        .expect("the dependency graph is resolved");
    let names: BTreeMap<_, _> = metadata
        .packages
        .iter()
        .map(|p| (&p.id, p.name.to_string()))
        .collect();
    let nodes: BTreeMap<_, _> = resolve.nodes.iter().map(|n| (&n.id, n)).collect();
    let start = metadata
        .packages
        .iter()
        .find(|p| p.name.as_str() == root)
        .expect("the package exists");
    let mut todo = vec![&start.id];
    let mut seen = BTreeSet::new();
    while let Some(id) = todo.pop() {
        for dependency in &nodes[id].deps {
            let needed = dependency
                .dep_kinds
                .iter()
                .any(|k| k.kind != DependencyKind::Development);
            if needed && seen.insert(names[&dependency.pkg].clone()) {
                todo.push(&dependency.pkg);
            }
        }
    }
    seen
}
