use super::*;
use crate::JobRank;

fn group(members: &[u32]) -> Group {
    Group::new(members.to_vec())
}

fn members(group: &Group) -> Vec<u32> {
    group.iter().map(|rank| rank.0).collect()
}

#[test]
fn every_kind_of_group_finds_each_member_and_no_other() {
    let shuffled: Vec<u32> = (0..1000).map(|i| (i * 617) % 1009).collect();
    for list in [vec![], vec![7], vec![3, 4, 5], vec![9, 6, 3], vec![0, 2, 4, 6], vec![5, 1, 8], shuffled] {
        let group = Group::new(list.clone());
        assert_eq!(members(&group), list);
        for job_rank in 0..1100 {
            let expected = list.iter().position(|&member| member == job_rank).map(|rank| rank as u32);
            assert_eq!(group.rank_of(job_rank.into()), expected, "{list:?}");
        }
    }
}

#[test]
fn regular_groups_take_no_memory_per_member() {
    for group in [Group::identity(1 << 30), group(&[4, 8, 12]), group(&[3, 2, 1])] {
        assert!(matches!(group.members, Members::Strided { .. }));
    }
    assert_eq!(Group::identity(1 << 30).rank_of(JobRank(12_345)), Some(12_345));
}

#[test]
fn set_operations_keep_the_order_of_the_first_group() {
    let (a, b) = (group(&[4, 0, 2]), group(&[1, 2, 4]));
    assert_eq!(members(&a.union(&b)), [4, 0, 2, 1]);
    assert_eq!(members(&a.intersection(&b)), [4, 2]);
    assert_eq!(members(&a.difference(&b)), [0]);
    assert_eq!(a.difference(&a), Group::empty());
}

#[test]
fn incl_and_excl_choose_by_rank() {
    let all = group(&[10, 20, 30, 40]);
    assert_eq!(members(&all.incl(&[3, 0]).unwrap()), [40, 10]);
    assert_eq!(members(&all.excl(&[3, 0]).unwrap()), [20, 30]);
    assert_eq!(all.incl(&[]).unwrap(), Group::empty());
    assert_eq!(all.excl(&[]).unwrap(), all);
}

#[test]
fn ranges_follow_the_example_of_the_standard() {
    let all = Group::identity(10);
    let ranges = [[6, 7, 1], [1, 6, 2], [0, 9, 4]];
    assert_eq!(members(&all.range_incl(&ranges).unwrap()), [6, 7, 1, 3, 5, 0, 4, 8]);
    assert_eq!(members(&all.range_incl(&[[9, 0, -3]]).unwrap()), [9, 6, 3, 0]);
    assert_eq!(members(&all.range_excl(&ranges).unwrap()), [2, 9]);
    assert_eq!(members(&all.range_incl(&[[4, 4, 7]]).unwrap()), [4]);
    assert_eq!(
        members(&all.range_incl(&[[5, 10, 2], [2, -1, -2], [1, i32::MAX, i32::MAX]]).unwrap()),
        [5, 7, 9, 2, 0, 1]
    );
    assert_eq!(members(&all.range_excl(&[[1, 10, 2]]).unwrap()), [0, 2, 4, 6, 8]);
}

#[test]
fn bad_ranks_are_named() {
    let all = Group::identity(4);
    let error = |result: Result<Group>| result.unwrap_err();
    assert_eq!(error(all.incl(&[0, 4])).class(), Class::Rank);
    assert!(error(all.incl(&[-1])).message().contains("rank -1"));
    assert!(error(all.excl(&[2, 2])).message().contains("twice"));
    assert_eq!(error(all.range_incl(&[[0, 3, 0]])).class(), Class::Arg);
    assert_eq!(error(all.range_incl(&[[3, 0, 1]])).class(), Class::Arg);
    assert_eq!(error(all.range_excl(&[[0, 4, 1]])).class(), Class::Rank);
    assert_eq!(error(all.range_incl(&[[1, i32::MAX, 1]])).class(), Class::Rank);
    assert_eq!(error(all.range_incl(&[[2, -2, -2]])).class(), Class::Rank);
    assert_eq!(error(all.range_incl(&[[0, 3, 1], [2, 2, 1]])).class(), Class::Rank);
    assert_eq!(error(Group::empty().incl(&[0])).class(), Class::Rank);
}

#[test]
fn comparison_tells_order_from_membership() {
    let a = group(&[1, 2, 3]);
    assert_eq!(a.compare(&group(&[1, 2, 3])), Comparison::Identical);
    assert_eq!(a.compare(&group(&[3, 1, 2])), Comparison::Similar);
    assert_eq!(a.compare(&group(&[1, 2])), Comparison::Unequal);
    assert_eq!(a.compare(&group(&[1, 2, 4])), Comparison::Unequal);
    assert_eq!(Group::empty().compare(&Group::empty()), Comparison::Identical);
}

#[test]
fn translation_goes_by_process() {
    let (a, b) = (group(&[5, 6, 7]), group(&[7, 5]));
    assert_eq!(a.translate(0, &b).unwrap(), Some(1));
    assert_eq!(a.translate(1, &b).unwrap(), None);
    assert_eq!(a.translate(3, &b).unwrap_err().class(), Class::Rank);
}
