use super::*;
use crate::world::twin::{run, Rank};
use crate::world::{context, Comparison, ErrorHandler, Info, Keyval, Line, Pending};
use std::sync::{Arc, Mutex};

/// Checks that a communicator works: everybody tells everybody its job rank.
fn check(me: &Rank, communicator: &Communicator) {
    let within = communicator.local().map_or(communicator, |local| local);
    let ranks = |group: &Group| group.iter().map(u64::from).collect::<Vec<_>>();
    assert_eq!(within.group.rank_of(me.rank().into()), Some(within.rank));
    assert_eq!(gather(me, within, u64::from(me.rank())), ranks(&within.group));
    if communicator.is_inter() {
        let line = communicator.collective_line(me).unwrap();
        for peer in 0..communicator.peers().size() {
            me.post(&line, peer, &words([u64::from(me.rank())])).unwrap();
        }
        for peer in 0..communicator.peers().size() {
            let said = take(me, &line, peer);
            assert_eq!(said, u64::from(communicator.peers().job_rank(peer)));
        }
    }
}

fn take(me: &Rank, line: &Line, peer: u32) -> u64 {
    let mut bytes = None;
    me.wait_until(&mut || {
        bytes = me.take(line, peer)?;
        Ok(bytes.is_some())
    })
    .unwrap();
    one_word(&bytes.unwrap()).unwrap()
}

fn gather(me: &Rank, communicator: &Communicator, mine: u64) -> Vec<u64> {
    let allgather = crate::world::bootstrap_channel::Allgather::new(
        communicator.collective_line(me).unwrap(),
        words([mine]),
    );
    complete(me, allgather).unwrap().iter().map(|bytes| one_word(bytes).unwrap()).collect()
}

/// The context of the communicator is one that no other rank's parts share.
fn contexts_differ_between_parts(me: &Rank, part: u64, context: u64) {
    let (parts, contexts) = (gather(me, &me.world, part), gather(me, &me.world, context));
    for (a, b) in (0..parts.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
        assert_eq!(parts[a] == parts[b], contexts[a] == contexts[b]);
    }
}

fn halves(me: &Rank) -> (u64, Communicator, Communicator) {
    let size = me.world.size();
    let high = me.rank() >= size / 2;
    let half = split(me, &me.world, Some(high.into()), 0).unwrap().unwrap();
    let remote_leader = if high { 0 } else { size as i32 / 2 };
    let bridge = Bridge { peer: &me.world, remote_leader };
    let bridge = (half.rank == 0).then_some(bridge);
    let inter = intercomm_create(me, &half, 0, bridge, 7).unwrap();
    (high.into(), half, inter)
}

#[test]
fn a_duplicate_is_congruent_and_takes_attributes_hints_and_handler_but_no_name() {
    run(3, |me| {
        let world = &me.world;
        let key = Arc::new(Keyval::new(0, Box::new(|call| Ok(Some(call.value + 1))), Box::new(|_| Ok(()))));
        world.attributes.set(0, &key, 41).unwrap();
        world.set_error_handler(Arc::new(ErrorHandler::Return));
        let attributes = world.attributes.copy_all(0).unwrap();
        let hints = Info::default();
        hints.set("mpi_assert_no_any_tag", "true").unwrap();
        let twin = dup(me, world, Copied { attributes, hints }).unwrap();
        assert_eq!(world.compare(&twin), Comparison::Congruent);
        assert_eq!(twin.attributes.get(&key), Some(42));
        assert_eq!(twin.hints().len(), 1);
        assert!(twin.name().is_empty() && matches!(*twin.error_handler(), ErrorHandler::Return));
        check(me, &twin);
    });
}

#[test]
fn duplicates_can_be_under_way_at_the_same_time() {
    run(4, |me| {
        let mut first = start_dup(me, &me.world, Copied::default()).unwrap();
        let second = start_dup(me, &me.world, Copied::default()).unwrap();
        let (made, later) = (first.made(), second.made());
        assert_eq!(made.compare(&later), Comparison::Congruent);
        complete(me, second).unwrap();
        me.wait_until(&mut || Ok(first.poll(me)?.is_some())).unwrap();
        let (first, second) = (made, later);
        assert_ne!(first.context(), second.context());
        check(me, &first);
        check(me, &second);
    });
}

#[test]
fn split_orders_by_key_then_rank_and_leaves_out_the_undefined() {
    run(7, |me| {
        let rank = me.rank() as i32;
        let color = (rank != 3).then_some(rank % 2);
        let made = split(me, &me.world, color, -(rank / 4)).unwrap();
        assert_eq!(made.is_none(), rank == 3);
        let Some(made) = made else { return };
        let expected: &[u32] = if rank % 2 == 0 { &[4, 6, 0, 2] } else { &[5, 1] };
        assert_eq!(made.group.iter().map(|rank| rank.0).collect::<Vec<_>>(), expected);
        check(me, &made);
    });
}

#[test]
fn parts_of_a_split_have_contexts_of_their_own() {
    run(6, |me| {
        let color = u64::from(me.rank() % 3);
        let made = split(me, &me.world, Some(color as i32), 0).unwrap().unwrap();
        contexts_differ_between_parts(me, color, made.context());
        let error = split(me, &made, Some(-4), 0).unwrap_err();
        assert!(error.class() == Class::Arg && error.message().contains("-4"));
    });
}

#[test]
fn disjoint_groups_create_at_once_and_the_others_get_nothing() {
    run(5, |me| {
        let members: &[i32] = if me.rank() < 2 { &[1, 0] } else { &[2, 4] };
        let group = Arc::new(me.world.group.incl(members).unwrap());
        let made = create(me, &me.world, &group).unwrap();
        assert_eq!(made.is_none(), me.rank() == 3);
        if let Some(made) = &made {
            assert_eq!(made.group, group);
            check(me, made);
            let part = create_group(me, &me.world, &group, 3).unwrap().unwrap();
            check(me, &part);
            assert_eq!(part.compare(made), Comparison::Congruent);
        }
        let strange = Arc::new(Group::new(vec![9]));
        assert_eq!(create(me, &me.world, &strange).unwrap_err().class(), Class::Group);
    });
}

#[test]
fn groups_that_share_members_do_not_mix_with_one_tag_whoever_comes_first() {
    let pairs: [&[i32]; 4] = [&[0, 3], &[1, 3], &[2, 3], &[0, 1, 2, 3]];
    for late in 0..4 {
        run(4, |me| {
            if me.rank() == late {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            for members in pairs {
                let group = Arc::new(me.world.group.incl(members).unwrap());
                if let Some(made) = create_group(me, &me.world, &group, 0).unwrap() {
                    check(me, &made);
                }
            }
        });
    }
}

#[test]
fn threads_make_communicators_with_different_tags_at_the_same_time() {
    run(3, |me| {
        std::thread::scope(|scope| {
            for tag in 0..6 {
                let members: &[i32] = match tag % 3 {
                    0 => &[2, 0, 1],
                    1 => &[0, 2],
                    _ => &[1, 2],
                };
                let group = Arc::new(me.world.group.incl(members).unwrap());
                scope.spawn(move || {
                    for _ in 0..20 {
                        if let Some(made) = create_group(me, &me.world, &group, tag).unwrap() {
                            check(me, &made);
                        }
                    }
                });
            }
        });
    });
}

#[test]
fn a_group_and_two_leaders_may_meet_on_one_communicator_with_one_tag() {
    run(2, |me| {
        let both = Arc::new(me.world.group.incl(&[0, 1]).unwrap());
        let alone = Communicator::new(context::of_self(me.rank()), Arc::new(Group::new(vec![me.rank()])), 0);
        let bridge = Bridge { peer: &me.world, remote_leader: 1 - me.rank() as i32 };
        let join = || intercomm_create(me, &alone, 0, Some(bridge), 5).unwrap();
        let group = || create_group(me, &me.world, &both, 5).unwrap().unwrap();
        // As two threads may come.
        let (joined, made) = match me.rank() {
            0 => {
                let made = group();
                (join(), made)
            }
            _ => (join(), group()),
        };
        check(me, &joined);
        check(me, &made);
    });
}

#[test]
fn members_that_name_different_groups_are_told() {
    run(3, |me| {
        let members: &[i32] = if me.rank() == 0 { &[0, 1, 2] } else { &[0, 2, 1] };
        let group = Arc::new(me.world.group.incl(members).unwrap());
        let made = create_group(me, &me.world, &group, 0);
        match me.rank() {
            0 => assert!(made.is_ok()),
            _ => assert_eq!(made.unwrap_err().class(), Class::Group),
        }
    });
}

#[test]
fn groups_without_a_parent_meet_by_their_string_tag() {
    run(4, |me| {
        let group = Arc::new(me.world.group.incl(&[3, 1, 0]).unwrap());
        let handler = Arc::new(ErrorHandler::Return);
        if me.rank() == 2 {
            let error = create_from_group(me, &group, "there", handler).unwrap_err();
            assert_eq!(error.class(), Class::Group);
            return;
        }
        let first = create_from_group(me, &group, "there", handler.clone()).unwrap();
        let second = create_from_group(me, &group, "there", handler).unwrap();
        assert_eq!(first.compare(&second), Comparison::Congruent);
        check(me, &first);
        check(me, &second);
    });
}

#[test]
fn shared_memory_holds_everyone_on_one_node_and_unknown_resources_nobody() {
    run(3, |me| {
        let guided = |value: &str| {
            let info = Info::default();
            info.set("mpi_hw_resource_type", value).unwrap();
            split_type(me, &me.world, Some(SplitType::HardwareGuided), 0, Some(&info)).unwrap()
        };
        let size = |made: Option<Communicator>| made.map(|made| made.size());
        let shared = split_type(me, &me.world, Some(SplitType::Shared), 0, None).unwrap();
        assert_eq!(size(shared), Some(3));
        assert_eq!(size(guided("mpi_shared_memory")), Some(3));
        assert_eq!(size(guided("mill")), None);
        let only_root = (me.rank() == 1).then_some(SplitType::Shared);
        let alone = split_type(me, &me.world, only_root, 0, None).unwrap();
        assert_eq!(size(alone), (me.rank() == 1).then_some(1));
        assert_eq!(size(guided("serried://socket")), Some(3));
        assert_eq!(size(guided("serried://l3cache")), Some(if me.rank() == 2 { 1 } else { 2 }));
        assert_eq!(size(guided("serried://numa")), None);
    });
}

#[test]
fn splitting_without_guidance_goes_down_the_machine_until_nothing_is_left_to_split() {
    run(5, |me| {
        let down = |parent: &Communicator| {
            let info = Info::default();
            let part = split_type(me, parent, Some(SplitType::HardwareUnguided), 0, Some(&info)).unwrap();
            (part, info.get("mpi_hw_resource_type"))
        };
        let (cache, kind) = down(&me.world);
        let cache = cache.unwrap();
        assert_eq!(
            (cache.size(), kind.as_deref()),
            (if me.rank() == 4 { 1 } else { 2 }, Some("serried://l3cache"))
        );
        let (core, kind) = down(&cache);
        if me.rank() == 4 {
            return assert!(core.is_none() && kind.is_none());
        }
        let core = core.unwrap();
        assert_eq!((core.size(), kind.as_deref()), (1, Some("serried://core")));
        assert!(down(&core).0.is_none());
    });
}

#[test]
fn two_halves_join_and_duplicate_and_merge() {
    for size in [2, 5] {
        run(size, |me| {
            let (high, half, inter) = halves(me);
            assert_eq!(inter.group, half.group);
            assert_eq!(inter.size() + inter.peers().size(), size);
            check(me, &inter);
            let twin = dup(me, &inter, Copied::default()).unwrap();
            assert_eq!(twin.compare(&inter), Comparison::Congruent);
            check(me, &twin);
            let merged = intercomm_merge(me, &twin, high == 1).unwrap();
            assert_eq!(merged.compare(&me.world), Comparison::Congruent);
            check(me, &merged);
            let turned = intercomm_merge(me, &inter, high == 0).unwrap();
            assert_eq!(turned.compare(&me.world), Comparison::Similar);
            check(me, &turned);
            let either = intercomm_merge(me, &inter, false).unwrap();
            check(me, &either);
        });
    }
}

#[test]
fn intercommunicators_split_and_create_pairwise() {
    run(5, |me| {
        let (high, half, inter) = halves(me);
        let pair = split(me, &inter, Some(half.rank as i32), 0).unwrap();
        assert_eq!(pair.is_none(), me.rank() == 4);
        if let Some(pair) = &pair {
            assert_eq!((pair.size(), pair.peers().size()), (1, 1));
            check(me, pair);
        }
        let leaders = Arc::new(half.group.incl(&[1, 0]).unwrap());
        let made = create(me, &inter, &leaders).unwrap();
        assert_eq!(made.is_none(), me.rank() == 4);
        if let Some(made) = &made {
            assert_eq!(made.group, leaders);
            check(me, made);
        }
        let group = if high == 1 { leaders } else { Arc::new(Group::empty()) };
        assert!(create(me, &inter, &group).unwrap().is_none());
    });
}

#[test]
fn groups_join_without_a_bridge() {
    run(5, |me| {
        let low = Arc::new(Group::new(vec![1, 0]));
        let high = Arc::new(Group::new(vec![2, 3, 4]));
        let (local, remote) = if me.rank() < 2 { ((&low, 1), (&high, 2)) } else { ((&high, 2), (&low, 1)) };
        let handler = Arc::new(ErrorHandler::Return);
        let made = intercomm_create_from_groups(me, local, remote, "tag", handler).unwrap();
        check(me, &made);
        assert_eq!((&made.group, made.peers()), (local.0, remote.0));
    });
}

#[test]
fn a_leader_with_a_bad_argument_lets_nobody_of_its_group_wait() {
    run(3, |me| {
        let bridge = Bridge { peer: &me.world, remote_leader: 9 };
        let error = intercomm_create(me, &me.world, 1, Some(bridge), 0).unwrap_err();
        let expected = if me.rank() == 1 { Class::Rank } else { Class::Comm };
        assert_eq!(error.class(), expected);
        assert_eq!(intercomm_create(me, &me.world, 3, None, 0).unwrap_err().class(), Class::Rank);
        assert_eq!(intercomm_merge(me, &me.world, true).unwrap_err().class(), Class::Comm);
    });
}

#[test]
fn thousands_of_duplicates_never_share_a_context() {
    let seen = Mutex::new(std::collections::HashSet::new());
    run(2, |me| {
        for _ in 0..500 {
            let twin = dup(me, &me.world, Copied::default()).unwrap();
            if me.rank() == 0 {
                assert!(seen.lock().unwrap().insert(twin.context()));
            }
        }
    });
}
