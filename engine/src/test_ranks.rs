//! Threads of tests that play ranks.

use std::cell::Cell;
use std::io::Write;
use std::sync::Once;

thread_local!(static PLAYS: Cell<bool> = const { Cell::new(false) });

/// Runs the part of a rank. If it panics the others wait for it for ever; so the whole process ends, and
/// says why.
pub fn play(part: impl FnOnce()) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            before(panic);
            if PLAYS.get() {
                // The test would keep for its end what a macro prints, as the hook before does.
                let _ = writeln!(std::io::stderr(), "a rank of a test has failed: {panic}");
                std::process::abort();
            }
        }));
    });
    PLAYS.set(true);
    part();
    PLAYS.set(false);
}
