//! Datatypes: what lies where in a user's buffer.
pub mod basic;
pub use basic::Basic;

/// (skeleton, the datatype room replaces it)
#[derive(Debug)]
pub struct Datatype {
    basic: Option<Basic>,
}

impl Datatype {
    /// (skeleton)
    pub fn basic(&self) -> Option<Basic> {
        self.basic
    }
    /// (skeleton)
    pub fn from_basic(basic: Basic) -> std::sync::Arc<Self> {
        std::sync::Arc::new(Datatype { basic: Some(basic) })
    }
}
