/* Pieces of all ranks in turn, over MPI-IO. */
#ifndef INTERLEAVED_H
#define INTERLEAVED_H
int measure_interleaved(void);
#endif
