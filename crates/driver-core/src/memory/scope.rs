//! Asynchronous copies of borrowed host memory, inside a scope that waits for them.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

use super::copy::{check_lengths, settle};
use super::{DeviceCopy, DeviceView, DeviceViewMut};
use crate::Result;
use crate::context::Context;
use crate::stream::Stream;

/// The handle inside [`Context::scope`], which queues copies of host memory that outlives the scope.
pub struct Scope<'scope, 'env: 'scope> {
    context: Context,
    /// The streams to wait for at the end.
    streams: RefCell<Vec<Stream>>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl Context {
    /// Runs `f`, in which copies of borrowed slices may be queued without waiting, and waits for them before it
    /// returns, also when `f` panics.
    ///
    /// The slices are borrowed for `'scope`: until the copies have finished. That is held by this function, not by a
    /// guard, so forgetting values cannot break it.
    ///
    /// ```
    /// use cuprum_driver_core::{Device, DeviceBuffer};
    ///
    /// let context = Device::by_name("soft:0")?.context()?;
    /// let stream = context.new_stream()?;
    /// let input = vec![3.0f32; 100];
    /// let mut output = vec![0.0f32; 100];
    /// let mut buffer = DeviceBuffer::zeros(&stream, 100)?;
    /// context.scope(|scope| {
    ///     scope.copy_to_device(&stream, &input, buffer.view_mut())?; // queued
    ///     scope.copy_to_host(&stream, buffer.view(), &mut output) // queued
    /// })?;
    /// assert_eq!(output, input);
    /// # Ok::<(), cuprum_driver_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// What `f` returns, else the failure of the work that was waited for.
    pub fn scope<'env, R>(
        &self,
        f: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R>,
    ) -> Result<R> {
        /// Waits when it is dropped; it never leaves the function below, so nobody can forget it.
        struct WaitForAll<'a>(&'a RefCell<Vec<Stream>>);

        impl WaitForAll<'_> {
            fn wait(&self) -> Result<()> {
                let mut outcome = Ok(());
                for stream in self.0.take() {
                    // Every stream is waited for, also after one has failed.
                    outcome = outcome.and(settle(&stream));
                }
                outcome
            }
        }

        impl Drop for WaitForAll<'_> {
            fn drop(&mut self) {
                // Only on unwind is anything left here; the panic is the news then.
                let _ = self.wait();
            }
        }

        let scope = Scope {
            context: self.clone(),
            streams: RefCell::default(),
            scope: PhantomData,
            env: PhantomData,
        };
        let waiter = WaitForAll(&scope.streams);
        let result = f(&scope);
        let waited = waiter.wait();
        let value = result?;
        waited?;
        Ok(value)
    }
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// The context.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Queues a copy of `source` to the device on `stream`.
    ///
    /// Ordinary host memory is first copied aside by the driver, so this may take time; what it does not do is
    /// wait for earlier work.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) unless the lengths are equal;
    /// [`ErrorKind::WrongContext`](crate::ErrorKind::WrongContext); what the driver returns.
    pub fn copy_to_device<T: DeviceCopy>(
        &'scope self,
        stream: &Stream,
        source: &'scope [T],
        mut target: DeviceViewMut<'_, T>,
    ) -> Result<()> {
        check_lengths(source.len(), target.len())?;
        self.enlist(stream)?;
        // SAFETY: `source` holds the elements and is borrowed for `'scope`, which ends after the scope's wait for
        // this stream.
        unsafe { target.write_from(stream, source.as_ptr()) }
    }

    /// Queues a copy from the device to `target` on `stream`.
    ///
    /// # Errors
    /// As [`Scope::copy_to_device`].
    pub fn copy_to_host<T: DeviceCopy>(
        &'scope self,
        stream: &Stream,
        source: DeviceView<'_, T>,
        target: &'scope mut [T],
    ) -> Result<()> {
        check_lengths(source.len(), target.len())?;
        self.enlist(stream)?;
        // SAFETY: `target` has room for the elements and is borrowed exclusively for `'scope`, which ends after the
        // scope's wait for this stream.
        unsafe { source.read_to(stream, target.as_mut_ptr()) }
    }

    /// Puts `stream` on the list of those to wait for, before anything is queued on it.
    fn enlist(&self, stream: &Stream) -> Result<()> {
        self.context
            .check_same(stream.context(), "the stream of the scope")?;
        let mut streams = self.streams.borrow_mut();
        if !streams.contains(stream) {
            streams.push(stream.clone());
        }
        Ok(())
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scope({} streams)", self.streams.borrow().len())
    }
}
