//! Files over the memory driver against a model.
