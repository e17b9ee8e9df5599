use super::*;
use crate::world::twin::run;
use crate::world::Info;

fn grid(dims: &[i32], periods: &[bool]) -> Cart {
    Cart::new(dims, periods).unwrap()
}

#[test]
fn ranks_and_coordinates_go_row_by_row() {
    let cart = grid(&[2, 3], &[false, true]);
    assert_eq!(cart.coords(4), [1, 1]);
    for rank in 0..6 {
        assert_eq!(cart.rank(&cart.coords(rank)).unwrap(), rank);
    }
    assert_eq!(cart.rank(&[1, -1]).unwrap(), 5);
    assert_eq!(cart.rank(&[0, 7]).unwrap(), 1);
    assert_eq!(cart.rank(&[2, 0]).unwrap_err().class(), Class::Arg);
    assert_eq!(grid(&[], &[]).rank(&[]).unwrap(), 0);
}

#[test]
fn shifts_end_at_edges_and_go_round_rings() {
    let cart = grid(&[2, 3], &[false, true]);
    assert_eq!(cart.shift(4, 0, 1).unwrap(), (Some(1), None));
    assert_eq!(cart.shift(4, 1, 2).unwrap(), (Some(5), Some(3)));
    assert_eq!(cart.shift(4, 1, -1).unwrap(), (Some(5), Some(3)));
    assert_eq!(cart.shift(4, 0, 0).unwrap(), (Some(4), Some(4)));
    assert_eq!(cart.shift(4, 0, i32::MIN).unwrap(), (None, None));
    for direction in [-1, 2] {
        assert_eq!(cart.shift(0, direction, 1).unwrap_err().class(), Class::Dims);
    }
}

#[test]
fn neighbours_come_dimension_by_dimension_before_then_behind() {
    let cart = Topology::Cart(grid(&[2, 3], &[false, true]));
    let expected = [Some(1), None, Some(3), Some(5)];
    assert_eq!(cart.neighbours(4).sources, expected);
    assert_eq!(cart.neighbours(4).destinations, expected);
    let graph = Topology::Graph(Graph::new(&[2, 3, 3], &[1, 2, 0]).unwrap());
    assert_eq!(graph.neighbours(0).sources, [Some(1), Some(2)]);
    assert!(graph.neighbours(2).sources.is_empty());
}

#[test]
fn bad_grids_and_graphs_are_named() {
    assert!(Cart::new(&[2, 0], &[true, true]).unwrap_err().message().contains("dimension 1"));
    assert_eq!(Cart::new(&[1 << 16, 1 << 16], &[true, true]).unwrap_err().class(), Class::Dims);
    assert!(Graph::new(&[2, 1], &[0, 1]).is_err());
    assert!(Graph::new(&[1, 2], &[0]).is_err());
    assert!(Graph::new(&[1], &[1]).unwrap_err().message().contains("edges[0]"));
}

#[test]
fn a_grid_takes_the_first_processes_and_has_rows_and_columns() {
    run(7, |me| {
        let made = cart_create(me, &me.world, grid(&[2, 3], &[false, true])).unwrap();
        assert_eq!(made.is_none(), me.rank() == 6);
        let Some(made) = made else { return };
        let rows = cart_sub(me, &made, &[false, true]).unwrap().unwrap();
        assert_eq!((rows.size(), rows.rank), (3, made.rank % 3));
        assert_eq!(rows.cart().unwrap(), &grid(&[3], &[true]));
        let column = cart_sub(me, &made, &[true, false]).unwrap().unwrap();
        assert_eq!((column.size(), column.rank), (2, made.rank / 3));
        let alone = cart_sub(me, &made, &[false, false]).unwrap().unwrap();
        assert_eq!((alone.size(), alone.cart().unwrap().dims().len()), (1, 0));
        assert_eq!(cart_sub(me, &made, &[true]).unwrap_err().class(), Class::Arg);
        let error = cart_create(me, &made, grid(&[7], &[true])).unwrap_err();
        assert_eq!(error.class(), Class::Dims);
        assert_eq!(made.graph().unwrap_err().class(), Class::Topology);
    });
}

#[test]
fn a_graph_is_known_to_all_its_processes() {
    run(3, |me| {
        let graph = Graph::new(&[1, 2], &[1, 0]).unwrap();
        let made = graph_create(me, &me.world, graph.clone()).unwrap();
        assert_eq!(made.is_none(), me.rank() == 2);
        if let Some(made) = made {
            assert_eq!(made.graph().unwrap(), &graph);
            assert_eq!(made.neighbours().unwrap().sources, [Some(1 - made.rank)]);
        }
        let nobody = graph_create(me, &me.world, Graph::new(&[], &[]).unwrap()).unwrap();
        assert!(nobody.is_none());
    });
}

#[test]
fn edges_given_anywhere_reach_both_of_their_ends() {
    run(4, |me| {
        // Rank 3 gives a ring, rank 0 a chord; everything has weights.
        let (sources, degrees, destinations, weights): (&[i32], &[i32], &[i32], &[i32]) = match me.rank() {
            3 => (&[0, 1, 2, 3], &[1, 1, 1, 1], &[1, 2, 3, 0], &[5, 6, 7, 8]),
            0 => (&[0], &[2], &[2, 2], &[1, 2]),
            _ => (&[], &[], &[], &[]),
        };
        let made = dist_graph_create(
            me,
            &me.world,
            (sources, degrees),
            (destinations, Some(weights)),
            Info::default(),
        );
        let made = made.unwrap();
        let graph = made.dist_graph().unwrap();
        assert!(graph.weighted());
        let edges =
            |ranks: &[u32], weights: &[i32]| Edges { ranks: ranks.to_vec(), weights: Some(weights.to_vec()) };
        match me.rank() {
            0 => assert_eq!(graph.outgoing, edges(&[2, 2, 1], &[1, 2, 5])),
            2 => assert_eq!(graph.incoming, edges(&[0, 0, 1], &[1, 2, 6])),
            3 => assert_eq!((&graph.incoming, &graph.outgoing), (&edges(&[2], &[7]), &edges(&[0], &[8]))),
            _ => {}
        }
    });
}

#[test]
fn bad_edges_are_errors() {
    run(1, |me| {
        let make = |sources: &[i32], degrees: &[i32], destinations: &[i32], weights: Option<&[i32]>| {
            let given = ((sources, degrees), (destinations, weights));
            dist_graph_create(me, &me.world, given.0, given.1, Info::default()).map(drop).unwrap_err().class()
        };
        assert_eq!(make(&[1], &[0], &[], None), Class::Rank);
        assert_eq!(make(&[0], &[1], &[-1], None), Class::Rank);
        assert_eq!(make(&[0], &[2], &[0], None), Class::Arg);
        assert_eq!(make(&[0], &[-1], &[0], None), Class::Arg);
        assert_eq!(make(&[0], &[1], &[0], Some(&[-2])), Class::Arg);
        assert!(Edges::new(&[0], Some(&[]), 1).is_err() && Edges::new(&[3], None, 1).is_err());
    });
}
