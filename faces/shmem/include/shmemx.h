/* shmemx.h of Serried: there are no extensions of OpenSHMEM. */
#ifndef SHMEMX_H
#define SHMEMX_H

#include <shmem.h>

#endif
