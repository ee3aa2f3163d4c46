use cuprum_codegen::{DeviceRepr, kernel};

#[derive(Clone, Copy, DeviceRepr)]
struct NoRepr {
    x: f32,
}

#[derive(Clone, Copy, DeviceRepr)]
#[repr(C, packed)]
struct Packed {
    x: f32,
}

#[derive(Clone, Copy, DeviceRepr)]
#[repr(C)]
struct Tuple(f32);

#[derive(Clone, Copy, DeviceRepr)]
#[repr(C)]
struct Reserved {
    class: f32,
}

#[derive(Clone, Copy, DeviceRepr)]
#[repr(C)]
struct Unknown {
    text: &'static str,
}

#[derive(Clone, Copy, DeviceRepr)]
#[repr(u8)]
enum Choice {
    A,
}

kernel! {
    struct Reference;
    fn reference(x: &f32);
}

kernel! {
    struct Method;
    fn method(&self);
}

fn main() {}
