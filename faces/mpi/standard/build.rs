//! Makes the `extern "C"` functions and the constants of this ABI.

use std::path::Path;

fn main() {
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let abi = serried_mpi_generate::Abi::Standard;
    if let Err(problem) = serried_mpi_generate::build(Path::new("../api"), Path::new(&out), abi) {
        eprintln!("{problem}");
        std::process::exit(1);
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
    // But malloc and its relatives: where a program brings its own, our calls go there too.
    let allocation = [
        "malloc",
        "calloc",
        "realloc",
        "free",
        "memalign",
        "aligned_alloc",
        "posix_memalign",
        "malloc_usable_size",
    ];
    for name in allocation {
        println!("cargo:rustc-cdylib-link-arg=-Wl,--export-dynamic-symbol={name}");
    }
}
