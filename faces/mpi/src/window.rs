//! Windows: what members of a communicator expose, and what programs read of it where it lies.

use crate::abi;
use serried_engine::onesided::{Exposure, Kind};
use serried_engine::world::Communicator;
use std::ffi::c_int;
use std::ops::Deref;
use std::sync::Arc;

/// A window. The values of its predefined attributes have addresses of their own, which
/// programs may keep as long as it lives (MPI-5.0 §12.2.6).
#[derive(Debug)]
pub struct Window {
    exposure: Arc<Exposure>,
    size: i64,
    unit: c_int,
    flavor: c_int,
    model: c_int,
}

impl Window {
    /// The window of an exposure. Loads and stores and what others do meet in one memory:
    /// the model is unified.
    pub fn new(exposure: Arc<Exposure>) -> Window {
        let own = exposure.own();
        let flavor = match exposure.kind() {
            Kind::Created => abi::MPI_WIN_FLAVOR_CREATE,
            Kind::Allocated => abi::MPI_WIN_FLAVOR_ALLOCATE,
            Kind::Shared => abi::MPI_WIN_FLAVOR_SHARED,
            Kind::Dynamic => abi::MPI_WIN_FLAVOR_DYNAMIC,
        };
        let unit = c_int::try_from(own.unit).unwrap_or(abi::MPI_UNDEFINED);
        Window { exposure, size: own.bytes as i64, unit, flavor, model: abi::MPI_WIN_UNIFIED }
    }

    /// Its members, and what the program gives a window as it gives it communicators: a
    /// name, hints, an error handler, attributes.
    pub fn members(&self) -> &Arc<Communicator> {
        self.exposure.communicator()
    }

    /// What a predefined attribute is: the base itself, else the address of the value.
    pub fn predefined_attribute(&self, keyval: c_int) -> Option<usize> {
        let address = match keyval {
            abi::MPI_WIN_BASE => return Some(self.exposure.own().address as usize),
            abi::MPI_WIN_SIZE => (&raw const self.size) as usize,
            abi::MPI_WIN_DISP_UNIT => (&raw const self.unit) as usize,
            abi::MPI_WIN_CREATE_FLAVOR => (&raw const self.flavor) as usize,
            abi::MPI_WIN_MODEL => (&raw const self.model) as usize,
            _ => return None,
        };
        Some(address)
    }
}

impl Deref for Window {
    type Target = Exposure;

    #[inline(always)]
    fn deref(&self) -> &Exposure {
        &self.exposure
    }
}
