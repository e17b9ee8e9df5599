//! Long broadcasts of two members.

use super::*;

#[test]
fn two_members_both_copy_a_long_broadcast() {
    at_seats(2, |seat, by| {
        let packed = Datatype::basic(Basic::Packed);
        for (number, bytes) in
            [5000, 300_000, 4097, 600_001, 262_144, 70_000].repeat(4).into_iter().enumerate()
        {
            // The ends that cannot be reached, and whether anything can, depend on the address.
            let root = number as u32 % 2;
            let at = number / 6 * 8 + seat.rank as usize * 16;
            let sent: Vec<u8> = (0..bytes).map(|byte| (byte * 7 + byte / 251 + number) as u8).collect();
            let mut memory = vec![0xee_u8; bytes + 128];
            if seat.rank == root {
                memory[at..at + bytes].copy_from_slice(&sent);
            }
            let data = Data::new(memory[at..].as_mut_ptr(), 0, bytes as i64, &packed).unwrap();
            let operation = Operation::Broadcast { root: Root::Rank(root), data };
            assert!(can(seat, &operation, by).unwrap());
            run_large(seat, &operation, by).unwrap();
            assert!(memory[at..at + bytes] == sent, "broadcast {number} of {bytes}");
            assert!(memory[..at].iter().chain(&memory[at + bytes..]).all(|&byte| byte == 0xee));
        }
    });
}

#[test]
fn two_members_that_disagree_about_a_long_broadcast_both_hear_of_it_and_go_on() {
    at_seats(2, |seat, by| {
        let mut bytes = vec![7u8; 20_000];
        let packed = Datatype::basic(Basic::Packed);
        for round in 0..6 {
            let count = if round % 2 == 0 { 9000 + i64::from(seat.rank) } else { 20_000 };
            let data = Data::new(bytes.as_mut_ptr(), 0, count, &packed).unwrap();
            let operation = Operation::Broadcast { root: Root::Rank(round / 3), data };
            assert!(can(seat, &operation, by).unwrap());
            let done = run_large(seat, &operation, by).map_err(|error| error.class());
            // A root that lends a copy has gone on, as one whose data are in its slot.
            let has_gone_on = seat.rank == round / 3 && done.is_ok();
            assert!(has_gone_on || done == [Err(Class::Truncate), Ok(())][round as usize % 2]);
        }
    });
}
