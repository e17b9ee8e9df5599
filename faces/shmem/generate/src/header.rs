//! `shmem.h` and `pshmem.h`: types and constants as they stand in `prelude.h`, prototypes and generic names made from
//! the tables.

use crate::generic::generics;
use crate::symbol::symbols;
use crate::Api;
use std::fmt::Write;

const PRELUDE: &str = include_str!("prelude.h");
const BEGIN_C: &str = "\n#if defined(__cplusplus)\nextern \"C\" {\n#endif\n";
const END_C: &str = "\n#if defined(__cplusplus)\n}\n#endif\n";

/// `shmem.h`.
pub fn header(api: &Api) -> String {
    format!("{PRELUDE}{BEGIN_C}{}{END_C}{}\n#endif\n", prototypes(api, false), generics(api))
}

/// `pshmem.h`: the names for profiling tools.
pub fn profiling_header(api: &Api) -> String {
    format!(
        "/* pshmem.h of Serried: the functions of OpenSHMEM under the names that profiling tools call. */\n\
         #ifndef PSHMEM_H\n#define PSHMEM_H\n\n#include <shmem.h>\n{BEGIN_C}{}{END_C}\n#endif\n",
        prototypes(api, true)
    )
}

fn prototypes(api: &Api, profiling: bool) -> String {
    let (mut text, mut chapter) = (String::new(), "");
    for declaration in &api.declarations {
        if chapter != declaration.chapter {
            chapter = &declaration.chapter;
            let _ = writeln!(text, "\n/* {} */", chapter.replace('_', " "));
        }
        for symbol in symbols(declaration) {
            let _ = writeln!(text, "{};", symbol.prototype(profiling));
        }
    }
    text
}
