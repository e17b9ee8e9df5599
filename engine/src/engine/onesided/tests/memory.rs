//! What is exposed, and moving data to it and from it.

use super::*;
use crate::onesided::Kind;

#[test]
fn data_of_every_length_go_to_each_member_and_back() {
    each_way(3, |engine, world| {
        let (me, size) = (engine.rank(), engine.size());
        let byte = Datatype::basic(Basic::Byte);
        for length in [1usize, 8, 100, 4096, 70_000, 600_001] {
            let mut mine = vec![0u8; 3 * length];
            let exposure = engine.expose(world, given(&mut mine), 1).unwrap();
            assert_eq!((exposure.kind(), exposure.own().bytes), (Kind::Created, 3 * length as u64));
            lock_all(engine, &exposure);
            for rank in 0..size {
                let mut sent: Vec<u8> =
                    (0..length).map(|at| (at + (me * size + rank) as usize) as u8).collect();
                let place = target(rank, (me as usize * length) as i64, length, &byte);
                engine.put(&exposure, &data(&mut sent, Basic::Byte), &place).unwrap();
                let mut back = vec![0u8; length];
                engine.get(&exposure, &data(&mut back, Basic::Byte), &place).unwrap();
                assert!(back == sent, "{length} bytes");
            }
            meet(engine, &exposure);
            let expected = |at: usize| (at % length + (at / length) * size as usize + me as usize) as u8;
            assert!(mine.iter().enumerate().all(|(at, &byte)| byte == expected(at)));
            engine.unlock_all(&exposure).unwrap();
            engine.unexpose(&exposure).unwrap();
        }
    });
}

#[test]
fn a_column_goes_to_a_row() {
    each_way(2, |engine, world| {
        let double = Datatype::basic(Basic::Float64);
        let column = Datatype::vector(10, 1, 7, &double).unwrap();
        let mut mine = vec![0.0f64; 70];
        let exposure = engine.expose(world, given(&mut mine), 8).unwrap();
        let peer = 1 - engine.rank();
        engine.fence(&exposure, Assertions::NONE).unwrap();
        let mut row: Vec<f64> = (0..10).map(|at| f64::from(at + 100 * engine.rank())).collect();
        engine.put(&exposure, &data(&mut row, Basic::Float64), &target(peer, 3, 1, &column)).unwrap();
        engine.fence(&exposure, Assertions::NONE).unwrap();
        for (at, &value) in mine.iter().enumerate() {
            let inside = at % 7 == 3;
            assert_eq!(value, if inside { (at / 7) as f64 + f64::from(100 * peer) } else { 0.0 });
        }
        let mut back = vec![-1.0f64; 70];
        let origin = Data::new(back.as_mut_ptr().cast(), 0, 1, &column).unwrap();
        engine.get(&exposure, &origin, &target(peer, 3, 1, &column)).unwrap();
        engine.fence(&exposure, Assertions::NOSUCCEED).unwrap();
        assert!((0..10).all(|at| back[7 * at] == row[at]) && back[1] == -1.0);
        engine.unexpose(&exposure).unwrap();
    });
}

#[test]
fn allocated_memory_is_zero_and_units_may_differ() {
    each_way(2, |engine, world| {
        let me = engine.rank();
        let long = Datatype::basic(Basic::Int64);
        let exposure = engine.expose(world, Memory::Allocated(800), if me == 0 { 8 } else { 1 }).unwrap();
        assert_eq!(exposure.kind(), Kind::Allocated);
        let own = exposure.own();
        assert!(own.address.is_multiple_of(64) && own.bytes == 800);
        // SAFETY: the memory of this exposure, which nobody writes now.
        let mine = unsafe { std::slice::from_raw_parts(own.address as *const i64, 100) };
        assert!(mine.iter().all(|&item| item == 0));
        engine.fence(&exposure, Assertions::NONE).unwrap();
        let place = target(1 - me, if me == 0 { 8 * 99 } else { 99 }, 1, &long);
        engine.put(&exposure, &data(&mut [7i64 + i64::from(me)], Basic::Int64), &place).unwrap();
        engine.fence(&exposure, Assertions::NOSUCCEED).unwrap();
        // SAFETY: as above.
        assert_eq!(unsafe { (own.address as *const i64).add(99).read() }, 8 - i64::from(me));
        engine.unexpose(&exposure).unwrap();
    });
}

#[test]
fn what_goes_beyond_a_segment_or_is_wrong_in_itself_is_refused() {
    each_way(2, |engine, world| {
        let int = Datatype::basic(Basic::Int32);
        let mut mine = [5i32; 10];
        let exposure = engine.expose(world, given(&mut mine), 4).unwrap();
        let class = |rank, displacement, count: i64| {
            let place = Target { rank, displacement, count, datatype: &int };
            let mut origin = [0i32; 4];
            let refused = engine.put(&exposure, &data(&mut origin, Basic::Int32), &place);
            refused.map_err(|error| error.class())
        };
        assert_eq!(class(0, 0, 4), Err(Class::RmaSync));
        lock_all(engine, &exposure);
        assert_eq!(class(0, 7, 4), Err(Class::RmaRange));
        assert_eq!(class(1, i64::MAX, 4), Err(Class::RmaRange));
        assert_eq!(class(1, -1, 4), Err(Class::Disp));
        assert_eq!(class(2, 0, 4), Err(Class::Rank));
        assert_eq!(class(0, 0, -4), Err(Class::Count));
        assert_eq!(class(0, 0, 3), Err(Class::Truncate));
        engine.unlock_all(&exposure).unwrap();
        engine.unexpose(&exposure).unwrap();
        assert_eq!(mine, [5; 10]);
        let refused = |memory, unit| engine.expose(world, memory, unit).unwrap_err().class();
        let one = |wrong, right| if engine.rank() == 0 { wrong } else { right };
        assert_eq!(refused(one(Memory::Allocated(-1), Memory::Allocated(8)), 1), one2(engine, Class::Size));
        assert_eq!(
            refused(Memory::Allocated(8), if engine.rank() == 0 { 0 } else { 1 }),
            one2(engine, Class::Disp)
        );
        assert_eq!(
            refused(one(Memory::Shared(-5, true), Memory::Shared(5, true)), 1),
            one2(engine, Class::Size)
        );
    });
}

/// What rank 0 says, whose arguments are wrong; the others say that they are.
fn one2(engine: &Engine, class: Class) -> Class {
    if engine.rank() == 0 {
        class
    } else {
        Class::Arg
    }
}

#[test]
fn shared_segments_follow_each_other_unless_they_need_not() {
    let share = |engine: &Engine| {
        let world = Arc::new(Communicator::world(engine.rank(), engine.size()));
        for contiguous in [true, false] {
            let bytes = [24, 0, 40][engine.rank() as usize];
            let exposure = engine.expose(&world, Memory::Shared(bytes, contiguous), 8).unwrap();
            let shared = |rank| engine.shared(&exposure, rank).unwrap();
            let [first, second, third] = [0, 1, 2].map(|rank| shared(Some(rank)));
            assert_eq!((first.bytes, second.bytes, third.bytes), (24, 0, 40));
            assert_eq!(shared(None), first);
            if contiguous {
                assert_eq!((second.address, third.address), (first.address + 24, first.address + 24));
            }
            assert_eq!(exposure.own().address, shared(Some(engine.rank())).address);
            engine.fence(&exposure, Assertions::NONE).unwrap();
            if engine.rank() == 1 {
                // SAFETY: the segment of rank 2, which nobody else writes now.
                unsafe { (third.address as *mut i64).add(4).write(77) };
            }
            engine.fence(&exposure, Assertions::NOSUCCEED).unwrap();
            // SAFETY: the same, which nobody writes now.
            assert_eq!(unsafe { (third.address as *const i64).add(4).read() }, 77);
            assert_eq!(engine.shared(&exposure, Some(3)).unwrap_err().class(), Class::Rank);
            engine.unexpose(&exposure).unwrap();
        }
    };
    run(3, Means::Direct, share);
    // Without windows they lie in the node segment, which all have mapped.
    run(3, Means::CrossMemory, share);
    run(3, Means::Cells, share);
    let refused = |engine: &Engine| {
        let world = Arc::new(Communicator::world(engine.rank(), engine.size()));
        let refused = engine.expose(&world, Memory::Shared(8, true), 1).unwrap_err();
        assert_eq!(refused.class(), Class::RmaShared);
    };
    run_over(Nodes::Blocks(2), 2, Means::Direct, |_| None, refused);
}

#[test]
fn memory_is_attached_and_detached() {
    each_way(2, |engine, world| {
        let (me, peer) = (engine.rank(), 1 - engine.rank());
        let exposure = engine.expose(world, Memory::Dynamic, 1).unwrap();
        let int = Datatype::basic(Basic::Int32);
        let mut pieces: Vec<Vec<i32>> = (0..40).map(|at| vec![at; 100]).collect();
        for piece in &mut pieces {
            engine.attach(&exposure, piece.as_mut_ptr().cast(), 400).unwrap();
        }
        let again = engine.attach(&exposure, pieces[7][20..].as_mut_ptr().cast(), 8);
        assert_eq!(again.unwrap_err().class(), Class::RmaAttach);
        // The addresses come by the other's first piece, whose own address comes by a window.
        let mut addresses: Vec<i64> = pieces.iter().map(|piece| piece.as_ptr() as i64).collect();
        let table = engine.expose(world, given(&mut addresses), 8).unwrap();
        lock_all(engine, &table);
        lock_all(engine, &exposure);
        let mut theirs = vec![0i64; 40];
        let long = Datatype::basic(Basic::Int64);
        engine.get(&table, &data(&mut theirs, Basic::Int64), &target(peer, 0, 40, &long)).unwrap();
        for (at, &address) in theirs.iter().enumerate() {
            let mut got = [0i32; 10];
            let place = target(peer, address + 4 * 90, 10, &int);
            engine.get(&exposure, &data(&mut got, Basic::Int32), &place).unwrap();
            assert_eq!(got, [at as i32; 10]);
            let beyond = target(peer, address + 4 * 91, 10, &int);
            let refused = engine.get(&exposure, &data(&mut got, Basic::Int32), &beyond);
            assert_eq!(refused.unwrap_err().class(), Class::RmaRange);
        }
        meet(engine, &exposure);
        engine.detach(&exposure, pieces[3].as_ptr().cast()).unwrap();
        let twice = engine.detach(&exposure, pieces[3].as_ptr().cast());
        assert_eq!(twice.unwrap_err().class(), Class::RmaAttach);
        meet(engine, &exposure);
        let gone = target(peer, theirs[3], 1, &int);
        let refused = engine.put(&exposure, &data(&mut [1i32], Basic::Int32), &gone);
        assert_eq!(refused.unwrap_err().class(), Class::RmaRange);
        let add = operator(Builtin::Sum);
        let place = target(peer, theirs[5], 100, &int);
        engine.accumulate(&exposure, &data(&mut [10i32; 100], Basic::Int32), &place, &add).unwrap();
        meet(engine, &exposure);
        assert_eq!(pieces[5], vec![15; 100]);
        engine.unlock_all(&exposure).unwrap();
        engine.unlock_all(&table).unwrap();
        let is_dynamic = engine.shared(&exposure, Some(me)).unwrap_err();
        assert_eq!(is_dynamic.class(), Class::RmaFlavor);
        assert_eq!(engine.attach(&table, std::ptr::null_mut(), 0).unwrap_err().class(), Class::RmaFlavor);
        engine.unexpose(&exposure).unwrap();
        engine.unexpose(&table).unwrap();
    });
}
