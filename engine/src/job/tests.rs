//! Detection on made-up environments, and the PMI-1 client against a server
//! of a few lines.

use super::detect::{announced_ranks, detect, Launcher, Pmi1Contact};
use super::{exit_status, NodeSegment, PmiLine};
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;

fn detect_in(variables: &[(&str, &str)]) -> crate::Result<Launcher> {
    detect(&|name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned()))
}

fn refusal(variables: &[(&str, &str)]) -> String {
    detect_in(variables).expect_err("this environment must be refused").message().to_owned()
}

#[test]
fn nothing_in_the_environment_is_a_job_of_one_rank() {
    assert!(matches!(detect_in(&[]), Ok(Launcher::None)));
}

#[test]
fn the_number_of_ranks_is_known_before_the_start_and_asking_changes_nothing() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    let descriptor = ours.as_raw_fd().to_string();
    let ranks_in = |variables: &[(&str, &str)]| {
        announced_ranks(&|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    };
    let job = [("PMI_RANK", "1"), ("PMI_SIZE", "3"), ("PMI_FD", descriptor.as_str())];
    assert_eq!((ranks_in(&job), ranks_in(&job), ranks_in(&[])), (Some(3), Some(3), Some(1)));
    assert_eq!(ranks_in(&[("PMI_PORT", "host:1"), ("PMI_ID", "0")]), None);
    assert_eq!(ranks_in(&[("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("PMI_FD", "987654")]), None);
}

#[test]
fn slurm_without_pmi_is_refused_and_the_fix_named() {
    for step in [&[("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "1")][..], &[("SLURM_PROCID", "0")], &[]] {
        let mut variables = vec![("SLURM_NTASKS", "4")];
        variables.extend_from_slice(step);
        assert!(refusal(&variables).contains("srun --mpi=pmi2"));
    }
}

#[test]
fn places_where_slurm_starts_a_single_process_are_no_split_world() {
    let batch =
        [("SLURM_NTASKS", "4"), ("SLURM_JOB_ID", "7"), ("SLURM_PROCID", "0"), ("ENVIRONMENT", "BATCH")];
    let allocation = [("SLURM_NTASKS", "4"), ("SLURM_JOB_ID", "7")];
    let interactive = [("SLURM_NTASKS", "4"), ("SLURM_STEP_ID", "4294967290"), ("SLURM_PROCID", "0")];
    let one_task = [("SLURM_NTASKS", "4"), ("SLURM_STEP_NUM_TASKS", "1"), ("SLURM_STEP_ID", "0")];
    for variables in [&batch[..], &allocation, &interactive, &one_task] {
        assert!(matches!(detect_in(variables), Ok(Launcher::None)), "{variables:?}");
    }
}

#[test]
fn a_dead_connection_is_refused_unless_the_job_has_one_rank() {
    let variables = [("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("PMI_FD", "987654")];
    assert!(refusal(&variables).contains("2 ranks"));
    assert!(matches!(
        detect_in(&[("PMI_RANK", "0"), ("PMI_SIZE", "1"), ("PMI_FD", "987654")]),
        Ok(Launcher::None)
    ));
}

#[test]
fn pmix_and_open_mpi_are_refused_by_name() {
    assert!(refusal(&[("PMIX_NAMESPACE", "x"), ("PMIX_RANK", "0")]).contains("PMIx"));
    assert!(refusal(&[("OMPI_COMM_WORLD_SIZE", "3")]).contains("serried run -n 3"));
}

#[test]
fn a_segment_counts_only_beside_the_socket_it_names() {
    let segment = NodeSegment::create(2).unwrap();
    for ours in [true, false] {
        let (socket, _other) = UnixStream::pair().unwrap();
        let socket = socket.into_raw_fd();
        let inode = std::fs::metadata(format!("/proc/self/fd/{socket}")).unwrap().ino();
        let segment = segment.descriptor().try_clone_to_owned().unwrap().into_raw_fd();
        let value = format!("{segment}:{}", if ours { inode } else { inode + 1 });
        let socket = socket.to_string();
        let variables = [
            ("PMI_RANK", "1"),
            ("PMI_SIZE", "2"),
            ("PMI_FD", socket.as_str()),
            ("SERRIED_NODE_SEGMENT", &value),
        ];
        match detect_in(&variables).unwrap() {
            Launcher::Own { segment: found, rank: 1, size: 2, .. } if ours => {
                assert_eq!(found.as_raw_fd(), segment);
            }
            Launcher::Pmi1(Pmi1Contact::Socket { rank: 1, size: 2, .. }) if !ours => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn pmi_lines_are_read_leniently() {
    let line = PmiLine::new("cmd=get_result rc=-1 msg=no such key value=a b\n");
    assert_eq!(
        (line.command(), line.number("rc"), line.rest("value")),
        ("get_result", Some(-1), Some("a b"))
    );
    assert!(line.refused() && !PmiLine::new("cmd=barrier_out tag=0").refused());
}

#[test]
fn abort_codes_become_exit_statuses_that_are_never_zero() {
    assert_eq!((exit_status(42), exit_status(0), exit_status(256), exit_status(-1)), (42, 1, 1, 255));
}

/// A PMI-1 server for `size` ranks: enough of Hydra to start on.
fn serve(connections: Vec<UnixStream>) {
    let size = connections.len();
    let mut published = String::new();
    let mut readers: Vec<_> = connections.into_iter().map(BufReader::new).collect();
    let mut round = |answer: &mut dyn FnMut(usize, &str) -> Option<String>| {
        for (rank, reader) in readers.iter_mut().enumerate() {
            loop {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                match answer(rank, &line) {
                    Some(text) => reader.get_mut().write_all(text.as_bytes()).unwrap(),
                    None => break,
                }
            }
        }
        for reader in &mut readers {
            reader.get_mut().write_all(b"cmd=barrier_out tag=0\n").unwrap();
        }
    };
    round(&mut |_, line| match PmiLine::new(line).command() {
        "init" => Some("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n".into()),
        "get_my_kvsname" => Some("cmd=my_kvsname kvsname=kvs_1\n".into()),
        "get" => Some(format!("cmd=get_result rc=0 msg=success value=(vector,(0,1,{size}))\n")),
        "put" => {
            published = PmiLine::new(line).value("value").unwrap().to_owned();
            Some("cmd=put_result rc=0 msg=success\n".into())
        }
        _ => None,
    });
    for reader in readers.iter_mut().skip(1) {
        reader.read_line(&mut String::new()).unwrap();
        let answer = format!("cmd=get_result rc=0 msg=success value={published}\n");
        reader.get_mut().write_all(answer.as_bytes()).unwrap();
    }
}

#[test]
fn ranks_under_pmi1_come_to_share_one_segment() {
    let size = 3;
    let (servers, clients): (Vec<_>, Vec<_>) = (0..size).map(|_| UnixStream::pair().unwrap()).unzip();
    let server = std::thread::spawn(move || serve(servers));
    let ranks: Vec<_> = (0..size)
        .zip(clients)
        .map(|(rank, socket)| {
            let contact = Pmi1Contact::Socket { socket: socket.into(), rank, size };
            std::thread::spawn(move || super::pmi1::start(contact).unwrap())
        })
        .collect();
    let started: Vec<_> = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
    server.join().unwrap();
    started[2].node.page(2).set_state(crate::observe::State::Running);
    assert_eq!(started[0].node.page(2).state(), crate::observe::State::Running);
    assert_eq!(started.iter().map(|one| one.local_rank).collect::<Vec<_>>(), [0, 1, 2]);
}

/// A rank may fail at once, while the one that came before it has not written them all.
#[test]
fn names_are_there_for_whoever_has_published_them() {
    for _ in 0..50 {
        let node = NodeSegment::create(1).unwrap();
        let names = vec!["MPI_Send"; super::node_segment::NAMES];
        let last = names.len() as u32 - 1;
        let together = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    together.wait();
                    node.publish_names(&names).unwrap();
                    assert_eq!(node.name(last).as_deref(), Some("MPI_Send"));
                });
            }
        });
    }
}
