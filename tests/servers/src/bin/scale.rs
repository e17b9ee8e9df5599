//! Measures servers of jobs of all sizes, one line of JSON for each; `page.py` writes docs/scale.md of them.
//!
//! `scale` measures all; `scale serve …` is a server as a process of its own, for its peers.

use serried_servers::counting::Counting;
use serried_servers::server::{law, Settings};
use serried_servers::setting::{Setting, BUFFER, RANKS, SLOT};
use serried_servers::subject;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// More than that is not measured: the law alone is told.
const MOST: u64 = 1 << 30;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.split_first() {
        Some((word, rest)) if word == "serve" => {
            let setting = Setting::of(rest).expect("nodes, scheme, parameter, bytes of a buffer");
            subject::serve(setting.here(), setting.ways(), Settings::default());
        }
        _ => settings().iter().for_each(tell),
    }
}

fn settings() -> Vec<Setting> {
    let mut all = Vec::new();
    for nodes in [100, 800, 1000, 10_000, 100_000, 1_000_000] {
        let root = f64::from(nodes).sqrt().floor() as u32;
        all.push(Setting::new(nodes, "before", 1, BUFFER));
        all.push(Setting::new(nodes, "study", root, BUFFER));
        all.extend((1..=4).map(|dimensions| Setting::new(nodes, "grid", dimensions, BUFFER)));
        all.push(Setting::new(nodes, "hypercube", 0, BUFFER));
        all.extend([2, 3].map(|dimensions| Setting::new(nodes, "grid", dimensions, SLOT)));
    }
    all
}

fn tell(setting: &Setting) {
    let law = setting.law();
    let chosen = law::grid_within(setting.nodes, law::BUDGET, &Settings::default(), BUFFER).extents().len();
    let measured = if law > MOST { String::new() } else { measured(setting) };
    let growth = if setting.nodes == 800 { growth(setting) } else { String::new() };
    println!(
        "{{\"nodes\": {}, \"ranks\": {RANKS}, \"scheme\": \"{}\", \"parameter\": {}, \"buffer\": {}, \"law\": {law}, \
         \"chosen\": {chosen}{measured}{growth}}}",
        setting.nodes, setting.scheme, setting.parameter, setting.buffer
    );
}

fn measured(setting: &Setting) -> String {
    let it = setting.measure(20_000);
    let (messages, passed) = (it.seen.messages as f64, it.seen.passed as f64);
    let each = it.seen.requests as f64;
    format!(
        ", \"senders\": {}, \"most\": {}, \"at_rest\": {}, \"messages\": {:.2}, \"passed\": {:.2}",
        it.senders,
        it.most,
        it.at_rest,
        messages / each,
        passed / each
    )
}

fn growth(setting: &Setting) -> String {
    let program = std::env::current_exe().expect("this program has a name");
    let growth = setting.growth(&program).expect("a server starts");
    format!(", \"growth\": {growth}")
}
