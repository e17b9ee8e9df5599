//! Mutexes.

use super::*;

#[test]
fn who_holds_a_mutex_keeps_all_others_out() {
    each_way(4, |engine, world| {
        let me = engine.rank();
        let set = engine.make_mutexes(world, i64::from(me)).unwrap();
        let mut mine = [0i64; 2];
        let exposure = engine.expose(world, given(&mut mine), 1).unwrap();
        let long = Datatype::basic(Basic::Int64);
        lock_all(engine, &exposure);
        for round in 0..20 {
            let (member, mutex) = (1 + round % 3, round % (1 + round % 3));
            engine.lock_mutex(&set, member, mutex).unwrap();
            let mut two = [0i64; 2];
            let place = target(member, 0, 2, &long);
            if mutex == 0 {
                engine.get(&exposure, &data(&mut two, Basic::Int64), &place).unwrap();
                assert_eq!(two[0], two[1]);
                two.iter_mut().for_each(|number| *number += 1);
                engine.put(&exposure, &data(&mut two, Basic::Int64), &place).unwrap();
            }
            engine.unlock_mutex(&set, member, mutex).unwrap();
        }
        meet(engine, &exposure);
        assert_eq!(mine[0], mine[1]);
        let rounds =
            |member| (0..20).filter(|round| 1 + round % 3 == member && round % (1 + round % 3) == 0).count();
        assert_eq!(mine[0], if me == 0 { 0 } else { 4 * rounds(me) as i64 });
        engine.unlock_all(&exposure).unwrap();
        engine.unexpose(&exposure).unwrap();
        engine.unexpose(&set).unwrap();
    });
}

#[test]
fn a_mutex_is_tried_and_wrong_uses_are_refused() {
    each_way(2, |engine, world| {
        let set = engine.make_mutexes(world, 1).unwrap();
        let me = engine.rank();
        assert!(engine.try_mutex(&set, me, 0).unwrap());
        assert!(!engine.try_mutex(&set, me, 0).unwrap());
        let classes = [
            engine.lock_mutex(&set, me, 0).unwrap_err().class(),
            engine.lock_mutex(&set, me, 1).unwrap_err().class(),
            engine.try_mutex(&set, 1 - me, 7).unwrap_err().class(),
            engine.lock_mutex(&set, 2, 0).unwrap_err().class(),
        ];
        assert_eq!(classes, [Class::Arg, Class::Arg, Class::Arg, Class::Rank]);
        engine.unlock_mutex(&set, me, 0).unwrap();
        assert_eq!(engine.unlock_mutex(&set, me, 0).unwrap_err().class(), Class::Arg);
        engine.unexpose(&set).unwrap();
        assert_eq!(
            engine.make_mutexes(world, i64::from(me) - 1).map(drop).unwrap_err().class(),
            if me == 0 { Class::Count } else { Class::Arg }
        );
        let many = engine.make_mutexes(world, if me == 1 { i64::MAX } else { 1 });
        assert_eq!(many.map(drop).unwrap_err().class(), Class::NoMem);
    });
}
