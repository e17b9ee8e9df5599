//! The law of a server's memory against the bytes that it holds, with as many synthetic peers as large jobs have.

use serried_servers::counting::Counting;
use serried_servers::server::{law, Settings};
use serried_servers::setting::{Setting, BUFFER, SLOT};
use std::path::Path;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn assert_near(measured: u64, law: u64, what: &Setting) {
    let ratio = measured as f64 / law as f64;
    assert!((0.9..1.1).contains(&ratio), "{what:?}: {measured} bytes, and {law} by the law");
}

#[test]
fn a_server_holds_what_the_law_says() {
    let sizes =
        [(100, 2), (800, 1), (800, 2), (800, 3), (10_000, 2), (100_000, 3), (1_000_000, 3), (1_000_000, 4)];
    for (nodes, dimensions) in sizes {
        let setting = Setting::new(nodes, "grid", dimensions, BUFFER);
        let measured = setting.measure(1000);
        assert_near(measured.most, measured.law, &setting);
        assert!(measured.at_rest < measured.law / 50, "{setting:?}: {measured:?}");
    }
}

#[test]
fn the_study_and_what_was_before_it_hold_what_their_laws_say() {
    for (scheme, of) in [("before", 1), ("study", 28)] {
        let setting = Setting::new(800, scheme, of, BUFFER);
        let measured = setting.measure(1000);
        assert_near(measured.most, measured.law, &setting);
    }
}

#[test]
fn a_server_of_9600_processes_grows_by_two_megabytes_at_most() {
    let setting = Setting::new(800, "grid", 2, BUFFER);
    assert!(setting.measure(1000).most <= 2_000_000);
    let growth = setting.growth(Path::new(env!("CARGO_BIN_EXE_scale"))).expect("a server starts");
    assert!(growth <= 2_000_000, "as a process of its own it grew by {growth} bytes");
    assert_near(growth, setting.law(), &setting);
}

#[test]
fn a_server_of_a_million_nodes_keeps_to_the_budget() {
    let grid = law::grid_within(1_000_000, law::BUDGET, &Settings::default(), BUFFER);
    let setting = Setting::new(1_000_000, "grid", grid.extents().len() as u32, BUFFER);
    assert!(setting.measure(1000).most <= law::BUDGET);
}

#[test]
fn slots_for_headers_are_small() {
    let setting = Setting::new(1_000_000, "grid", 3, SLOT);
    let measured = setting.measure(1000);
    // What stands around a slot weighs as much as the slot.
    assert!(measured.most <= 3 * measured.law && measured.most < 1_000_000, "{measured:?}");
}
