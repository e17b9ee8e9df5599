//! The sources of the engine learn that they are checked: rings are tiny then.

fn main() {
    println!("cargo:rustc-cfg=loom");
}
