//! tmp
use crate::Api;
/// tmp
pub fn header(_: &Api) -> String {
    String::new()
}
