//! Detection on made-up environments, and the PMI-1 client against a server
//! of a few lines.

use super::detect::{announced_ranks, detect, Launcher, Pmi1Contact};
use super::{exit_status, JobNetwork, NodeDirectory, NodeSegment, PmiLine, Started};
use crate::{JobRank, LocalRank};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

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
fn pmix_is_found_by_its_server_and_open_mpi_without_one_is_refused() {
    let server =
        [("PMIX_NAMESPACE", "x"), ("PMIX_RANK", "0"), ("PMIX_SERVER_URI41", "x.0;tcp4://127.0.0.1:1")];
    assert!(matches!(detect_in(&server), Ok(Launcher::Pmix)));
    assert!(refusal(&server[..2]).contains("serried run -n"));
    let alone = [&server[..], &[("SLURM_STEP_NUM_TASKS", "1")]].concat();
    assert!(matches!(detect_in(&alone), Ok(Launcher::None)));
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
        let (line, _) = UnixStream::pair().unwrap();
        let line = line.into_raw_fd();
        let value = format!("{segment},{line}:{}", if ours { inode } else { inode + 1 });
        let socket = socket.to_string();
        let variables = [
            ("PMI_RANK", "1"),
            ("PMI_SIZE", "2"),
            ("PMI_FD", socket.as_str()),
            ("SERRIED_NODE_SEGMENT", &value),
        ];
        match detect_in(&variables).unwrap() {
            Launcher::Own { segment: found, line: found_line, rank: 1, size: 2, .. } if ours => {
                assert_eq!((found.as_raw_fd(), found_line.map(|it| it.as_raw_fd())), (segment, Some(line)));
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

/// A PMI-1 server for some ranks, on nodes by `map`: enough of Hydra to start on. Returns how often each key was
/// asked for.
fn serve(connections: Vec<UnixStream>, map: &str) -> HashMap<String, u32> {
    let size = connections.len();
    let (lines, heard) = std::sync::mpsc::channel();
    let mut writers = Vec::new();
    for (rank, connection) in connections.into_iter().enumerate() {
        writers.push(connection.try_clone().unwrap());
        let lines = lines.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(connection).lines().map_while(Result::ok) {
                let _ = lines.send((rank, line));
            }
        });
    }
    drop(lines);
    let mut published = HashMap::from([("PMI_process_mapping".to_owned(), map.to_owned())]);
    let (mut asked, mut waiting) = (HashMap::new(), 0);
    for (rank, line) in heard {
        let line = PmiLine::new(&line);
        let text = match line.command() {
            "init" => "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0".to_owned(),
            "get_my_kvsname" => "cmd=my_kvsname kvsname=kvs_1".to_owned(),
            "get" => {
                let key = line.value("key").unwrap();
                *asked.entry(key.to_owned()).or_default() += 1;
                format!("cmd=get_result rc=0 msg=success value={}", published[key])
            }
            "put" => {
                let value = line.value("value").unwrap().to_owned();
                published.insert(line.value("key").unwrap().to_owned(), value);
                "cmd=put_result rc=0 msg=success".to_owned()
            }
            _ => {
                waiting += 1;
                if waiting == size {
                    writers.iter_mut().for_each(|one| one.write_all(b"cmd=barrier_out tag=0\n").unwrap());
                }
                continue;
            }
        };
        writers[rank].write_all(format!("{text}\n").as_bytes()).unwrap();
    }
    asked
}

/// Has all ranks of a job start, does something with them, and returns what their server was asked.
fn with_ranks(size: u32, map: &'static str, does: impl FnOnce(Vec<Started>)) -> HashMap<String, u32> {
    let (servers, clients): (Vec<_>, Vec<_>) = (0..size).map(|_| UnixStream::pair().unwrap()).unzip();
    let server = std::thread::spawn(move || serve(servers, map));
    let ranks: Vec<_> = (0..size)
        .zip(clients)
        .map(|(rank, socket)| {
            let contact = Pmi1Contact::Socket { socket: socket.into(), rank, size };
            std::thread::spawn(move || super::pmi1::start(contact).unwrap())
        })
        .collect();
    does(ranks.into_iter().map(|rank| rank.join().unwrap()).collect());
    server.join().unwrap()
}

#[test]
fn ranks_under_pmi1_come_to_share_one_segment() {
    with_ranks(3, "(vector,(0,1,3))", |started| {
        started[2].node.page(2).set_state(crate::observe::State::Running);
        assert_eq!(started[0].node.page(2).state(), crate::observe::State::Running);
        assert_eq!(started.iter().map(|one| one.local_rank).collect::<Vec<_>>(), [0, 1, 2]);
        assert!(started.iter().all(|one| one.others.is_none()));
    });
}

#[test]
fn ranks_on_several_nodes_have_segments_of_their_own_and_ask_for_a_card_once() {
    if super::listen(None).is_err() {
        return; // this machine has no network: what ranks say then is tested in `listen`
    }
    let asked = with_ranks(5, "(vector,(0,2,1))", |started| {
        let place = |one: &Started| (one.local_rank, one.local_ranks.clone(), one.node.local_ranks());
        assert_eq!(place(&started[3]), (1, vec![1, 3], 2));
        assert_eq!(place(&started[4]), (2, vec![0, 2, 4], 3));
        started[1].node.page(1).counters.sleeps.store(7, Relaxed);
        assert_eq!(started[3].node.page(1).counters.sleeps.load(Relaxed), 7);
        assert_eq!(started[2].node.page(1).counters.sleeps.load(Relaxed), 0);
        let networks: Vec<JobNetwork> = started
            .into_iter()
            .map(|one| {
                let (table, listeners) = one.others.unwrap();
                JobNetwork::new(table, listeners, Arc::new(Mutex::new(one.bootstrap)))
            })
            .collect();
        assert!(networks.iter().all(|network| network.key() == networks[0].key() && network.nodes() == 2));
        assert_eq!(networks[2].place_of(JobRank(3)), (1, LocalRank(1)));
        let card = networks[3].card(0).unwrap();
        assert_eq!((card.node, card.ranks), (0, 3));
        assert_eq!(networks[1].card(0).unwrap(), card);
        assert_eq!(networks[0].card(0).unwrap(), card);
        assert_eq!(networks[4].listeners().len(), card.addresses.len());
        for address in &card.addresses {
            assert!(TcpStream::connect((address.ip, card.port)).is_ok(), "{address:?}");
        }
    });
    // The leader of node 1 has its own card; one rank of that node has asked for that of node 0.
    assert_eq!((asked.get("serried-card-0"), asked.get("serried-card-1")), (Some(&1), None));
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
