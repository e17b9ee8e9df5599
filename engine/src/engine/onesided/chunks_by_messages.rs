//! Chunks of regions that others are asked for: short pieces go together, whatever their lengths; long ones go alone.

use super::places::{step, step_both, Places};
use super::runs::Chunk;
use crate::engine::Engine;
use crate::onesided::{Batch, Elements, FarPiece, Region};
use crate::Result;

/// Pieces that go together, or one that goes alone.
enum Part<'a> {
    Together(&'a Batch),
    Alone(FarPiece),
}

/// In the order of the pieces, which lie one behind the other at `local`.
fn each_part(chunk: Chunk, local: *mut u8, mut visit: impl FnMut(Part) -> Result<()>) -> Result<()> {
    let mut batch = Batch::default();
    for (at, (there, bytes)) in chunk.each() {
        let here = local.wrapping_add(at);
        let piece = FarPiece { here, there: there as u64, bytes: bytes as u64 };
        if piece.bytes <= FarPiece::MOST {
            batch.add(piece, &mut |together| visit(Part::Together(together)))?;
            continue;
        }
        batch.end(&mut |together| visit(Part::Together(together)))?;
        visit(Part::Alone(piece))?;
    }
    batch.end(&mut |together| visit(Part::Together(together)))
}

impl Engine {
    /// Changes the elements of a chunk by those that lie one behind the other, and stores what they were in the same way.
    ///
    /// # Safety
    /// As [`Engine::change`]; the result may be written until the origin settles, if answers may come late.
    pub(super) unsafe fn change_chunk_by_messages(
        &self,
        region: &Region,
        chunk: Chunk,
        elements: &Elements,
        places: Places,
    ) -> Result<()> {
        let local = places.0.cast_mut();
        each_part(chunk, local, |part| match part {
            Part::Together(batch) => {
                let to = step(places.1, batch.pieces()[0].here as usize - local as usize);
                // SAFETY: by the caller.
                unsafe { self.ask_to_change_many(region, batch, (elements, to)) }
            }
            Part::Alone(piece) => {
                let count = piece.bytes as usize / elements.element().size();
                let places = step_both(places, piece.here as usize - local as usize);
                // SAFETY: by the caller.
                unsafe { self.change(region, elements, (piece.there - region.address, count), places) }
            }
        })?;
        self.have_answers_now(region)
    }
}
