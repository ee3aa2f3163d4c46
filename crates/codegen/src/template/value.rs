//! What a template is rendered with.

use std::collections::BTreeMap;

use crate::repr::Scalar;

/// A value for a [`Template`](crate::Template): a number, a truth value, a text, a list, or a map.
///
/// Made by `into()` from numbers, `bool`, strings, [`Scalar`]s (their C++ names), and lists, options and maps of such.
#[derive(Clone)]
pub struct TemplateValue(pub(super) minijinja::Value);

impl std::fmt::Debug for TemplateValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

macro_rules! plain {
    ($($ty:ty)+) => {
        $(
            impl From<$ty> for TemplateValue {
                fn from(value: $ty) -> Self {
                    Self(minijinja::Value::from(value))
                }
            }
        )+
    };
}

plain!(bool i8 u8 i16 u16 i32 u32 i64 u64 isize usize f32 f64 String);

impl From<&str> for TemplateValue {
    fn from(value: &str) -> Self {
        Self(minijinja::Value::from(value))
    }
}

impl From<&String> for TemplateValue {
    fn from(value: &String) -> Self {
        Self::from(value.as_str())
    }
}

impl From<Scalar> for TemplateValue {
    fn from(value: Scalar) -> Self {
        Self::from(value.c_name())
    }
}

impl<T: Into<TemplateValue>> From<Vec<T>> for TemplateValue {
    fn from(list: Vec<T>) -> Self {
        list.into_iter().collect()
    }
}

impl<T: Into<TemplateValue> + Clone> From<&[T]> for TemplateValue {
    fn from(list: &[T]) -> Self {
        list.iter().cloned().collect()
    }
}

impl<T: Into<TemplateValue>, const N: usize> From<[T; N]> for TemplateValue {
    fn from(list: [T; N]) -> Self {
        list.into_iter().collect()
    }
}

impl<T: Into<TemplateValue>> From<Option<T>> for TemplateValue {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self(minijinja::Value::from(())), Into::into)
    }
}

impl<K: Into<String>, V: Into<TemplateValue>> From<BTreeMap<K, V>> for TemplateValue {
    fn from(map: BTreeMap<K, V>) -> Self {
        Self(minijinja::Value::from_pairs(
            map.into_iter()
                .map(|(key, value)| (key.into(), value.into().0)),
        ))
    }
}

impl<T: Into<TemplateValue>> FromIterator<T> for TemplateValue {
    fn from_iter<I: IntoIterator<Item = T>>(list: I) -> Self {
        Self(
            list.into_iter()
                .map(|one| one.into().0)
                .collect::<minijinja::Value>(),
        )
    }
}
