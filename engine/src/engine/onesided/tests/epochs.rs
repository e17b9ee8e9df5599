//! Epochs: who may do what when, and that locks exclude.

use super::*;
use crate::onesided::Lock;
use crate::world::Group;

#[test]
fn a_lock_held_alone_excludes_all_others() {
    each_way(4, |engine, world| {
        let mut mine = [0i64; 2];
        let exposure = engine.expose(world, given(&mut mine), 8).unwrap();
        let long = Datatype::basic(Basic::Int64);
        for round in 0..300 {
            let rank = (round + engine.rank()) % 2;
            engine.lock(&exposure, Lock::Exclusive, rank, Assertions::NONE).unwrap();
            let mut pair = [0i64; 2];
            engine.get(&exposure, &data(&mut pair, Basic::Int64), &target(rank, 0, 2, &long)).unwrap();
            assert_eq!(pair[0], pair[1]);
            pair = pair.map(|item| item + 1);
            for at in 0..2 {
                let place = target(rank, at, 1, &long);
                engine.put(&exposure, &data(&mut pair[at as usize..][..1], Basic::Int64), &place).unwrap();
            }
            engine.unlock(&exposure, rank).unwrap();
            if round % 3 == 0 {
                engine.lock(&exposure, Lock::Shared, rank, Assertions::NONE).unwrap();
                engine.get(&exposure, &data(&mut pair, Basic::Int64), &target(rank, 0, 2, &long)).unwrap();
                assert_eq!(pair[0], pair[1]);
                engine.unlock(&exposure, rank).unwrap();
            }
            if round % 50 == 0 {
                lock_all(engine, &exposure);
                engine.unlock_all(&exposure).unwrap();
            }
        }
        engine.unexpose(&exposure).unwrap();
        if engine.rank() < 2 {
            assert_eq!(mine, [600; 2]);
        }
    });
}

#[test]
fn a_wait_for_a_lock_lets_messages_go_on() {
    each_way(2, |engine, world| {
        let exposure = engine.expose(world, Memory::Allocated(8), 1).unwrap();
        let barrier = || engine.run_collective(world, &crate::collective::Operation::Barrier).unwrap();
        if engine.rank() == 0 {
            engine.lock(&exposure, Lock::Exclusive, 0, Assertions::NONE).unwrap();
            barrier();
            std::thread::sleep(std::time::Duration::from_millis(30));
            engine.unlock(&exposure, 0).unwrap();
        } else {
            barrier();
            engine.lock(&exposure, Lock::Shared, 0, Assertions::NONE).unwrap();
            engine.unlock(&exposure, 0).unwrap();
        }
        engine.unexpose(&exposure).unwrap();
    });
}

#[test]
fn post_start_complete_and_wait_order_accesses() {
    each_way(3, |engine, world| {
        let me = engine.rank();
        let int = Datatype::basic(Basic::Int32);
        let mut mine = [-1i32; 3];
        let exposure = engine.expose(world, given(&mut mine), 4).unwrap();
        let others = Arc::new(Group::new((0..3).filter(|&rank| rank != me).collect()));
        for round in 0..50 {
            engine.post_exposure(&exposure, &others, Assertions::NONE).unwrap();
            engine.start_access(&exposure, &others, Assertions::NONE).unwrap();
            let refused = engine.put(&exposure, &data(&mut [1i32], Basic::Int32), &target(me, 0, 1, &int));
            assert_eq!(refused.unwrap_err().class(), Class::RmaSync);
            for rank in (0..3).filter(|&rank| rank != me) {
                let mut value = [round * 10 + me as i32];
                let place = target(rank, i64::from(me), 1, &int);
                engine.put(&exposure, &data(&mut value, Basic::Int32), &place).unwrap();
            }
            engine.complete_access(&exposure).unwrap();
            match round % 2 {
                0 => engine.wait_for_accesses(&exposure).unwrap(),
                _ => while !engine.test_for_accesses(&exposure).unwrap() {},
            }
            let expected = [0, 1, 2].map(|rank| if rank == me { -1 } else { round * 10 + rank as i32 });
            assert_eq!(mine, expected);
        }
        assert_eq!(engine.wait_for_accesses(&exposure).unwrap_err().class(), Class::RmaSync);
        assert_eq!(engine.complete_access(&exposure).unwrap_err().class(), Class::RmaSync);
        let nobody = Arc::new(Group::new(Vec::<u32>::new()));
        engine.start_access(&exposure, &nobody, Assertions::NONE).unwrap();
        engine.complete_access(&exposure).unwrap();
        engine.post_exposure(&exposure, &nobody, Assertions::NONE).unwrap();
        engine.wait_for_accesses(&exposure).unwrap();
        let stranger = Arc::new(Group::new(vec![7]));
        let refused = engine.start_access(&exposure, &stranger, Assertions::NONE);
        assert_eq!(refused.unwrap_err().class(), Class::Group);
        engine.unexpose(&exposure).unwrap();
    });
}

#[test]
fn calls_in_a_wrong_epoch_are_refused() {
    each_way(2, |engine, world| {
        let exposure = engine.expose(world, Memory::Allocated(64), 1).unwrap();
        let e = &*exposure;
        let none = Assertions::NONE;
        let is_sync = |result: crate::Result<()>| assert_eq!(result.unwrap_err().class(), Class::RmaSync);
        let byte = Datatype::basic(Basic::Byte);
        let mut origin = [0u8; 1];
        let place = target(engine.rank(), 0, 1, &byte);
        is_sync(engine.check_access(e, None));
        is_sync(engine.unlock(e, 0));
        is_sync(engine.unlock_all(e));
        is_sync(engine.flush_target(e, Some(1)));
        is_sync(engine.flush_origin(e, None));
        engine.fence(e, none).unwrap();
        is_sync(engine.start_put(e, &data(&mut origin, Basic::Byte), &place).map(|_| ()));
        // No use was made of the fence's epoch: then a lock may follow.
        engine.lock(e, Lock::Shared, 1, none).unwrap();
        is_sync(engine.lock(e, Lock::Exclusive, 1, none));
        is_sync(engine.lock_all(e, none));
        is_sync(engine.fence(e, none));
        is_sync(engine.unexpose(e));
        is_sync(engine.check_access(e, Some(0)));
        engine.flush_target(e, Some(1)).unwrap();
        let request = engine.start_put(e, &data(&mut origin, Basic::Byte), &target(1, 0, 1, &byte)).unwrap();
        engine.wait(request).unwrap();
        engine.unlock(e, 1).unwrap();
        engine.fence(e, none).unwrap();
        engine.put(e, &data(&mut origin, Basic::Byte), &place).unwrap();
        is_sync(engine.lock(e, Lock::Shared, 0, none));
        is_sync(engine.lock_all(e, none));
        engine.fence(e, Assertions::NOSUCCEED).unwrap();
        is_sync(engine.check_access(e, Some(0)));
        engine.lock(e, Lock::Exclusive, engine.rank(), Assertions::NOCHECK).unwrap();
        engine.unlock(e, engine.rank()).unwrap();
        engine.unexpose(e).unwrap();
    });
}
