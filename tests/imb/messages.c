/* Point to point. The receives of a window may share one buffer: then the last of them is checked. */
#define _GNU_SOURCE
#include "checker.h"

#include <errno.h>

/* IMB-P2P collects its results with this tag, which it does not use for its payload; the others do. */
#define TAG_OF_RESULTS 1

static int is_payload(MPI_Datatype type, int tag)
{
    return type == MPI_BYTE && (tag != TAG_OF_RESULTS || strcmp(program_invocation_short_name, "IMB-P2P"));
}

static void before_send(const void *buffer, int count, MPI_Datatype type, int tag, MPI_Comm comm)
{
    if (is_payload(type, tag))
        fill((void *)buffer, count, rank_in(comm), 0);
}

static void before_receive(void *buffer, int count, MPI_Datatype type, int tag)
{
    if (is_payload(type, tag) && !under_way_into(buffer))
        poison(buffer, count);
}

static void after_receive(const struct call *call, const MPI_Status *status)
{
    int received;
    if (!is_payload(call->type, status->MPI_TAG) || status->MPI_SOURCE < 0 || under_way_into(call->in))
        return;
    PMPI_Get_count(status, MPI_BYTE, &received);
    check(call->name, call->in, received, status->MPI_SOURCE, 0);
}

/* IMB-MT's own check must see spoilt numbers too. It looks at the last message only, so all are spoilt. */
static void plant(void *buffer, const MPI_Status *status, MPI_Datatype type)
{
    int received = 0;
    if (type != MPI_INT || !getenv("IMB_CHECK_PLANT"))
        return;
    PMPI_Get_count(status, MPI_INT, &received);
    if (received > 1)
        ((int *)buffer)[1] ^= 1;
}

static struct call receive_of(const char *name, void *buffer, MPI_Datatype type)
{
    return (struct call){.name = name, .type = type, .in = buffer, .check = after_receive};
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm)
{
    before_send(buffer, count, type, tag, comm);
    return PMPI_Send(buffer, count, type, target, tag, comm);
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    struct call call = receive_of("MPI_Recv", buffer, type);
    before_receive(buffer, count, type, tag);
    int code = PMPI_Recv(buffer, count, type, source, tag, comm, used);
    after_receive(&call, used);
    plant(buffer, used, type);
    return code;
}

int MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int target, int out_tag, void *in,
                 int in_count, MPI_Datatype in_type, int source, int in_tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    struct call call = receive_of("MPI_Sendrecv", in, in_type);
    before_send(out, out_count, out_type, out_tag, comm);
    before_receive(in, in_count, in_type, in_tag);
    int code = PMPI_Sendrecv(out, out_count, out_type, target, out_tag, in, in_count, in_type, source, in_tag, comm,
                             used);
    after_receive(&call, used);
    return code;
}

int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int target, int out_tag, int source, int in_tag,
                         MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    struct call call = receive_of("MPI_Sendrecv_replace", buffer, type);
    before_send(buffer, count, type, out_tag, comm);
    int code = PMPI_Sendrecv_replace(buffer, count, type, target, out_tag, source, in_tag, comm, used);
    after_receive(&call, used);
    return code;
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int target, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    before_send(buffer, count, type, tag, comm);
    return PMPI_Isend(buffer, count, type, target, tag, comm, request);
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    struct call call = receive_of("MPI_Irecv", buffer, type);
    before_receive(buffer, count, type, tag);
    int code = PMPI_Irecv(buffer, count, type, source, tag, comm, request);
    if (type == MPI_BYTE)
        check_later(*request, &call);
    return code;
}
