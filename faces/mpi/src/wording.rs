//! Errors in the words of MPI: where the engine gives a structured cause, a sentence
//! that names what the program has called and what it may call instead.

use serried_engine::{Cause, Error, NarrowElement, Operands};

/// The sentence of an error.
pub fn sentence(error: &Error) -> String {
    match error.cause() {
        Some(cause) => in_words(cause),
        None => error.message().to_owned(),
    }
}

fn in_words(cause: &Cause) -> String {
    match cause {
        Cause::RequestIsOver => format!("{cause}; a completed request is MPI_REQUEST_NULL"),
        Cause::PartitionIsReady(partition) => {
            format!("partition {partition} has been made ready already since MPI_Start")
        }
        Cause::SendIsNotStarted => {
            "the partitioned send is not active; start it with MPI_Start first".to_owned()
        }
        Cause::NegativeColor(_) => format!("{cause}, or MPI_UNDEFINED to be in no part"),
        Cause::WeightsDiffer => "some processes give weights and others MPI_UNWEIGHTED".to_owned(),
        Cause::NothingIsAskedFor => {
            "precision and range are both MPI_UNDEFINED; give at least one".to_owned()
        }
        Cause::NoReduction(_) => cause.to_string(),
        Cause::OperatorTakesNoDerived(_) => {
            format!("{cause}, or make an operation of your own with MPI_Op_create")
        }
        Cause::OperatorTakesNot { operator, datatype, takes } => {
            format!("{operator} does not take {datatype}: it takes {}", operands(*takes))
        }
        Cause::DoesNotFit { value, element } => {
            let (name, bytes) = (narrow(*element), element.bytes());
            format!("the value {value} of an {name} does not fit the {bytes} bytes that external32 gives it")
        }
    }
}

fn operands(takes: Operands) -> String {
    match takes {
        Operands::Logical => "integers, MPI_C_BOOL and Fortran LOGICAL".to_owned(),
        Operands::Bits => "integers and MPI_BYTE".to_owned(),
        Operands::Pairs => format!("{takes}, such as MPI_DOUBLE_INT"),
        Operands::Ordered | Operands::Numbers => takes.to_string(),
    }
}

fn narrow(element: NarrowElement) -> &'static str {
    match element {
        NarrowElement::Long => "MPI_LONG",
        NarrowElement::UnsignedLong => "MPI_UNSIGNED_LONG",
        NarrowElement::WideCharacter => "MPI_WCHAR",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serried_engine::Class;

    #[test]
    fn a_cause_is_told_in_the_words_of_mpi_and_all_else_as_it_is() {
        let said = |cause| sentence(&Error::because(Class::Other, cause));
        assert_eq!(
            said(Cause::DoesNotFit { value: "70000".into(), element: NarrowElement::WideCharacter }),
            "the value 70000 of an MPI_WCHAR does not fit the 2 bytes that external32 gives it"
        );
        let takes = Operands::Bits;
        assert_eq!(
            said(Cause::OperatorTakesNot { operator: "MPI_BAND", datatype: "MPI_FLOAT".into(), takes }),
            "MPI_BAND does not take MPI_FLOAT: it takes integers and MPI_BYTE"
        );
        let color = Cause::NegativeColor(-5);
        assert_eq!(color.to_string(), "color -5: a color is not negative");
        assert_eq!(said(color), "color -5: a color is not negative, or MPI_UNDEFINED to be in no part");
        assert_eq!(sentence(&Error::new(Class::Tag, "as it is")), "as it is");
    }
}
