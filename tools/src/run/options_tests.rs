//! Command lines in the words of several launchers.

use super::binding::{Bind, Map};
use super::options::{parse, Label, Options};
use std::ffi::OsString;
use std::time::Duration;

fn read(line: &str) -> Result<Options, String> {
    parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
}

fn complaint(line: &str) -> String {
    read(line).expect_err(line)
}

#[test]
fn every_spelling_of_the_count_is_understood() {
    for line in ["-n 4 a", "-np 4 a", "-c 4 a", "--np 4 a", "--n=4 a", "-np=4 a"] {
        assert_eq!(read(line).unwrap().programs[0].ranks, Some(4), "{line}");
    }
    assert_eq!(read("./a").unwrap().programs[0].ranks, None);
}

#[test]
fn kinds_of_memory_are_told_to_all_ranks() {
    for line in ["--memory-alloc-kinds system,cuda:device a", "-memory-alloc-kinds=system,cuda:device a"] {
        let told = [("SERRIED_MEMORY_KINDS".into(), "system,cuda:device".into())];
        assert_eq!(read(line).unwrap().environment, told, "{line}");
    }
}

#[test]
fn the_first_error_handler_is_one_of_mpi() {
    let told = [("SERRIED_INITIAL_ERRHANDLER".into(), "mpi_errors_return".into())];
    assert_eq!(read("-initial-errhandler mpi_errors_return a").unwrap().environment, told);
    assert!(read("--initial-errhandler mine a").unwrap_err().contains("mpi_errors_abort"));
}

#[test]
fn the_bound_of_sleeping_is_a_number_of_percent() {
    let told = [("SERRIED_MAX_SLOWDOWN".into(), "2.5".into())];
    assert_eq!(read("--max-slowdown 2.5% a").unwrap().environment, told);
    for wrong in ["-1", "101", "much"] {
        let said = read(&format!("--max-slowdown {wrong} a")).unwrap_err();
        assert!(said.contains(wrong) && said.contains("percent"), "{said}");
    }
}

#[test]
fn a_colon_begins_another_program() {
    let options = read("-n 1 -env A 1 a x : -n 2 -wdir /tmp b -n 3").unwrap();
    assert_eq!(options.programs.len(), 2);
    assert_eq!(options.programs[0].environment, [("A".into(), "1".into())]);
    assert_eq!(options.programs[1].command, ["b", "-n", "3"]);
    assert_eq!(options.programs[1].directory.as_deref(), Some(std::path::Path::new("/tmp")));
}

#[test]
fn variables_come_in_the_words_of_hydra_and_open_mpi() {
    let options = read("-genv A 1 -x B=2 --set-env C=3 --unset-env D -x SURELY_NOT_SET a").unwrap();
    let pairs: Vec<_> =
        options.environment.iter().map(|(n, v)| format!("{}={}", n.display(), v.display())).collect();
    assert_eq!((pairs.join(" ").as_str(), options.unset.len()), ("A=1 B=2 C=3", 1));
}

#[test]
fn labels_files_places_and_times_are_understood() {
    let options =
        read("-l -outfile-pattern o.%r --timeout 2.5 --bind-to core:overload-allowed --map-by socket a");
    let options = options.unwrap();
    assert_eq!((options.label, options.output_file.as_deref()), (Label::Rank, Some("o.%r")));
    assert_eq!((options.bind, options.map), (Bind::Core, Map::Socket));
    assert_eq!(options.timeout, Some(Duration::from_millis(2500)));
    assert_eq!(read("--output tag a").unwrap().label, Label::Tag);
    assert_eq!(read("--output-filename f a").unwrap().error_file.as_deref(), Some("f/rank.%r/stderr"));
}

#[test]
fn options_of_other_launchers_are_accepted_and_named() {
    let options = read("--oversubscribe --allow-run-as-root --mca btl self -rankmap 0,0 -n 2 a").unwrap();
    assert_eq!(options.ignored.join(" "), "--oversubscribe --allow-run-as-root --mca btl self -rankmap 0,0");
    assert_eq!(options.programs[0].command, ["a"]);
}

#[test]
fn complaints_name_the_option_and_the_way_out() {
    assert!(complaint("-n 0 a").contains("-n 0"));
    assert!(complaint("-n").contains("wants a value"));
    assert!(complaint("--timout 3 a").contains("--timeout"));
    assert!(complaint("--bind-to moon a").contains("none, core, numa and socket"));
    assert!(complaint("-H a:x -n 2 a").contains("`x` ranks on a host"));
    assert!(complaint("--hosts , a").contains("there is no host in it"));
    assert!(complaint("-n 4").contains("which program"));
    assert!(complaint("a : -n 2").contains("behind `:`"));
    assert!(read("-H localhost:4 -n 2 a").is_ok());
    assert!(complaint("-hostfile /no/such/file -n 2 a").contains("no such file"));
}

#[test]
fn a_configuration_file_stands_for_programs_and_the_command_line_counts_for_the_job() {
    let file = std::env::temp_dir().join(format!("unit-test-configuration-{}", std::process::id()));
    let with = |text: &str, line: &str| {
        std::fs::write(&file, text).unwrap();
        read(&line.replace("FILE", file.to_str().unwrap()))
    };
    let options =
        with("--timeout 9 -genv A file -n 2 b\n-n 3 c", "--timeout 1 -genv A line -n 1 a : -configfile FILE");
    let options = options.unwrap();
    let programs: Vec<_> =
        options.programs.iter().map(|p| (p.ranks.unwrap(), p.command[0].to_str().unwrap())).collect();
    assert_eq!(programs, [(1, "a"), (2, "b"), (3, "c")]);
    assert_eq!(options.timeout, Some(Duration::from_secs(1)));
    assert_eq!(options.environment.last(), Some(&("A".into(), "line".into())));
    assert_eq!(with("b", "-l -configfile FILE").unwrap().label, Label::Rank);
    for (text, line, word) in [
        ("b", "-configfile FILE -n 2 a", "in the place of a program"),
        ("b", "-configfile FILE : -configfile FILE", "one such file only"),
        ("-configfile x", "-configfile FILE", "another -configfile"),
        ("-n 0 b", "-configfile FILE", "-n 0"),
        ("-l\n-n 2 b", "-configfile FILE", "which program"),
    ] {
        let complaint = with(text, line).unwrap_err();
        assert!(complaint.contains(word) && complaint.contains("-configfile"), "{complaint}");
    }
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn a_double_dash_ends_the_options() {
    assert_eq!(read("-n 2 -- -odd-name").unwrap().programs[0].command, ["-odd-name"]);
}
