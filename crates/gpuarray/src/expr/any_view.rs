//! Views whose element type is a value.

use cuprum_driver_core::{Args, Context, DeviceBuffer, DeviceView, DeviceViewMut, Stream};

use crate::element::{DType, Element};
use crate::error::Result;
use crate::trusted;

/// Typed views to erased ones: a hidden part of [`Element`](crate::Element).
pub trait Erase: Sized {
    #[doc(hidden)]
    fn any_view(view: DeviceView<'_, Self>) -> AnyView<'_>;
    #[doc(hidden)]
    fn any_view_mut(view: DeviceViewMut<'_, Self>) -> AnyViewMut<'_>;
}

macro_rules! any_view {
    ($($dtype:ident $type:ident),+ $(,)?) => {
        /// A view of device memory with elements of one of the types of arrays.
        #[derive(Clone, Debug)]
        pub enum AnyView<'a> {
            $($dtype(DeviceView<'a, $type>),)+
        }

        /// As [`AnyView`], to write.
        #[derive(Debug)]
        pub enum AnyViewMut<'a> {
            $($dtype(DeviceViewMut<'a, $type>),)+
        }

        impl<'a> AnyView<'a> {
            pub(crate) fn dtype(&self) -> DType {
                match self {
                    $(AnyView::$dtype(_) => DType::$dtype,)+
                }
            }

            /// The device address of the first element.
            pub(crate) fn address(&self) -> u64 {
                match self {
                    $(AnyView::$dtype(view) => view.address(),)+
                }
            }

            /// The number of elements.
            pub(crate) fn len(&self) -> usize {
                match self {
                    $(AnyView::$dtype(view) => view.len(),)+
                }
            }

            pub(crate) fn context(&self) -> &'a Context {
                match self {
                    $(AnyView::$dtype(view) => view.context(),)+
                }
            }

            pub(crate) fn stream(&self) -> &'a Stream {
                match self {
                    $(AnyView::$dtype(view) => view.stream(),)+
                }
            }

            /// Memory for a result, from where this memory came. Every caller writes all of it.
            pub(crate) fn uninit_beside<T: Element>(
                &self,
                stream: &Stream,
                len: usize,
            ) -> Result<DeviceBuffer<T>> {
                match self {
                    $(AnyView::$dtype(view) => trusted::uninit_beside(*view, stream, len),)+
                }
            }

            /// Appends this view to a kernel's arguments, to be read.
            pub(crate) fn argument<'l>(&self, args: &mut Args<'l>)
            where
                'a: 'l,
            {
                match self {
                    $(AnyView::$dtype(view) => args.read(*view),)+
                };
            }
        }

        impl<'a> AnyViewMut<'a> {
            /// The device address of the first element.
            pub(crate) fn address(&self) -> u64 {
                match self {
                    $(AnyViewMut::$dtype(view) => view.address(),)+
                }
            }

            pub(crate) fn len(&self) -> usize {
                match self {
                    $(AnyViewMut::$dtype(view) => view.len(),)+
                }
            }

            /// Appends this view to a kernel's arguments, to be written (and read).
            pub(crate) fn argument(self, args: &mut Args<'a>) {
                match self {
                    $(AnyViewMut::$dtype(view) => args.write(view),)+
                };
            }
        }

        $(
            impl Erase for $type {
                fn any_view(view: DeviceView<'_, Self>) -> AnyView<'_> {
                    AnyView::$dtype(view)
                }

                fn any_view_mut(view: DeviceViewMut<'_, Self>) -> AnyViewMut<'_> {
                    AnyViewMut::$dtype(view)
                }
            }
        )+
    };
}

any_view! {
    I32 i32,
    U32 u32,
    I64 i64,
    U64 u64,
    F32 f32,
    F64 f64,
}
