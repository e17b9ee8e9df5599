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

    /// What its members expose.
    pub fn exposure(&self) -> &Arc<Exposure> {
        &self.exposure
    }

    /// Its members, and what the program gives a window as it gives it communicators: a
    /// name, hints, an error handler, attributes.
    pub fn members(&self) -> &Arc<Communicator> {
        self.exposure.communicator()
    }

    /// A predefined attribute as C gets it, which is the base itself or the address of the
    /// value, and as Fortran gets it.
    pub fn predefined_attribute(&self, keyval: c_int) -> Option<(usize, i64)> {
        let of = |value: &c_int| Some((&raw const *value as usize, i64::from(*value)));
        match keyval {
            abi::MPI_WIN_BASE => {
                let base = self.exposure.own().address as usize;
                Some((base, base as i64))
            }
            abi::MPI_WIN_SIZE => Some((&raw const self.size as usize, self.size)),
            abi::MPI_WIN_DISP_UNIT => of(&self.unit),
            abi::MPI_WIN_CREATE_FLAVOR => of(&self.flavor),
            abi::MPI_WIN_MODEL => of(&self.model),
            _ => None,
        }
    }
}

impl Deref for Window {
    type Target = Exposure;

    #[inline(always)]
    fn deref(&self) -> &Exposure {
        &self.exposure
    }
}
