/* ranks: 1 2
 * Attributes (MPI-5.0 §7.7): keys that are freed while values are cached under them, delete functions that use the
 * object whose value they delete, and those that run in MPI_Finalize (§11.2.4). */
#include "check.h"

#define W MPI_COMM_WORLD

/* What a delete function is to do, and what it has seen. */
struct key {
    int key, deletes, copies;
    long last;
    void (*act)(struct key *, MPI_Comm);
};

static int delete_value(MPI_Comm comm, int key, void *value, void *extra)
{
    struct key *self = extra;
    self->deletes++;
    self->last = (long)value;
    CHECK_EQUAL(key, self->key);
    if (self->act)
        self->act(self, comm);
    return MPI_SUCCESS;
}

static int copy_value(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    struct key *self = extra;
    (void)comm;
    self->copies++;
    CHECK_EQUAL(key, self->key);
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static struct key made(void)
{
    return (struct key){.key = MPI_KEYVAL_INVALID};
}

/* The number of a key goes to self->key; what MPI_Comm_free_keyval gets is a copy. */
static void create(struct key *self)
{
    CHECK_CLASS(MPI_Comm_create_keyval(copy_value, delete_value, &self->key, self), MPI_SUCCESS);
}

static void give_up(int key)
{
    CHECK_CLASS(MPI_Comm_free_keyval(&key), MPI_SUCCESS);
    CHECK_EQUAL(key, MPI_KEYVAL_INVALID);
}

static long value_of(MPI_Comm comm, int key)
{
    void *value = NULL;
    int flag = 0;
    CHECK_CLASS(MPI_Comm_get_attr(comm, key, &value, &flag), MPI_SUCCESS);
    return flag ? (long)value : -1;
}

/* A freed key is there as long as a value is cached under it, on this communicator or another. */
static void a_freed_key_lives_with_its_values(void)
{
    struct key self = made();
    int spare, again;
    MPI_Comm twin, third;
    create(&self);
    MPI_Comm_set_attr(W, self.key, (void *)41);
    give_up(self.key);
    CHECK_EQUAL(value_of(W, self.key), 41);
    CHECK_CLASS(MPI_Comm_set_attr(W, self.key, (void *)50), MPI_SUCCESS);
    CHECK_EQUAL(self.deletes, 1);
    CHECK_EQUAL(self.last, 41);
    MPI_Comm_dup(W, &twin);
    CHECK_EQUAL(value_of(twin, self.key), 51);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &spare, NULL);
    CHECK(spare != self.key);
    CHECK_EQUAL(value_of(W, spare), -1);
    CHECK_CLASS(MPI_Comm_delete_attr(W, self.key), MPI_SUCCESS);
    CHECK_EQUAL(self.deletes, 2);
    CHECK_EQUAL(value_of(W, self.key), -1);
    MPI_Comm_dup(twin, &third);
    CHECK_EQUAL(self.copies, 2);
    MPI_Comm_free(&twin);
    CHECK_EQUAL(self.deletes, 3);
    CHECK_EQUAL(value_of(third, self.key), 52);
    give_up(self.key); /* once more: each who knows the number may do so */
    MPI_Comm_free(&third);
    CHECK_EQUAL(self.deletes, 4);
    CHECK_EQUAL(self.last, 52);
    CHECK_CLASS(MPI_Comm_delete_attr(W, self.key), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_set_attr(W, self.key, NULL), MPI_ERR_KEYVAL);
    again = self.key;
    CHECK_CLASS(MPI_Comm_free_keyval(&again), MPI_ERR_KEYVAL);
    MPI_Comm_free_keyval(&spare);
}

static void free_own_key(struct key *self, MPI_Comm comm)
{
    give_up(self->key);
    CHECK_EQUAL(value_of(comm, self->key), self->last);
}

/* The delete function of each value frees the key: first, second, third and last time. */
static void a_key_freed_in_its_delete_function(void)
{
    struct key self = made();
    MPI_Comm twin;
    int flag;
    void *value;
    create(&self);
    self.act = free_own_key;
    MPI_Comm_dup(MPI_COMM_SELF, &twin);
    MPI_Comm_set_attr(MPI_COMM_SELF, self.key, (void *)1);
    MPI_Comm_set_attr(twin, self.key, (void *)2);
    MPI_Comm_free(&twin);
    CHECK_EQUAL(self.last, 2);
    give_up(self.key);
    CHECK_EQUAL(value_of(MPI_COMM_SELF, self.key), 1);
    CHECK_CLASS(MPI_Comm_delete_attr(MPI_COMM_SELF, self.key), MPI_SUCCESS);
    CHECK_EQUAL(self.deletes, 2);
    CHECK_CLASS(MPI_Comm_get_attr(W, self.key, &value, &flag), MPI_ERR_KEYVAL);
}

static struct key other;

static void meddle(struct key *self, MPI_Comm comm)
{
    MPI_Comm twin;
    CHECK_EQUAL(value_of(comm, self->key), self->last);
    CHECK_CLASS(MPI_Comm_delete_attr(comm, self->key), MPI_SUCCESS); /* is under way */
    MPI_Comm_dup(MPI_COMM_SELF, &twin);
    MPI_Comm_free(&twin);
    MPI_Comm_set_attr(comm, other.key, (void *)7);
}

/* A delete function may use the object: what it sets is deleted too. */
static void delete_functions_use_the_object(void)
{
    struct key self = made();
    MPI_Comm twin;
    other = made();
    create(&self);
    create(&other);
    self.act = meddle;
    MPI_Comm_dup(MPI_COMM_SELF, &twin);
    MPI_Comm_set_attr(twin, self.key, (void *)3);
    CHECK_CLASS(MPI_Comm_free(&twin), MPI_SUCCESS);
    CHECK_EQUAL(self.deletes, 1);
    CHECK_EQUAL(other.deletes, 1);
    CHECK_EQUAL(other.last, 7);
    give_up(self.key);
    give_up(other.key);
}

static void set_again(struct key *self, MPI_Comm comm)
{
    if (self->deletes < 100000)
        MPI_Comm_set_attr(comm, self->key, (void *)5);
}

/* One that sets its value again for ever is an error. */
static void a_value_that_never_goes(void)
{
    struct key self = made();
    MPI_Comm twin;
    MPI_Comm_dup(MPI_COMM_SELF, &twin);
    MPI_Comm_set_errhandler(twin, MPI_ERRORS_RETURN);
    create(&self);
    self.act = set_again;
    MPI_Comm_set_attr(twin, self.key, (void *)5);
    CHECK_CLASS(MPI_Comm_free(&twin), MPI_ERR_KEYVAL);
    CHECK(twin != MPI_COMM_NULL && self.deletes < 100000);
    self.act = NULL;
    CHECK_CLASS(MPI_Comm_free(&twin), MPI_SUCCESS);
    give_up(self.key);
}

static int types_deleted;

static int delete_type_value(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)extra;
    types_deleted += (int)(long)value;
    MPI_Type_free_keyval(&key);
    return MPI_SUCCESS;
}

/* The same of datatypes. */
static void keys_of_types(void)
{
    int key, saved, flag;
    void *value;
    MPI_Datatype type, twin;
    MPI_Type_create_keyval(MPI_TYPE_DUP_FN, delete_type_value, &key, NULL);
    saved = key;
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_set_attr(type, key, (void *)1);
    MPI_Type_set_attr(MPI_INT, key, (void *)100);
    MPI_Type_free_keyval(&key);
    CHECK_EQUAL(key, MPI_KEYVAL_INVALID);
    MPI_Type_dup(type, &twin);
    CHECK_CLASS(MPI_Type_set_attr(type, saved, (void *)10), MPI_SUCCESS);
    CHECK_EQUAL(types_deleted, 1);
    MPI_Type_get_attr(twin, saved, &value, &flag);
    CHECK(flag && value == (void *)1);
    MPI_Type_free(&type);
    CHECK_EQUAL(types_deleted, 11);
    MPI_Type_free(&twin);
    CHECK_EQUAL(types_deleted, 12);
    CHECK_CLASS(MPI_Type_delete_attr(MPI_INT, saved), MPI_SUCCESS);
    CHECK_EQUAL(types_deleted, 112);
    CHECK_CLASS(MPI_Type_get_attr(MPI_INT, saved, &value, &flag), MPI_ERR_KEYVAL);
}

/* Numbers of keys come again, and none is lost. */
static void many_keys(void)
{
    int first = 0;
    for (int round = 0; round < 20000; round++) {
        struct key self = made();
        MPI_Comm twin;
        create(&self);
        first = round ? first : self.key;
        CHECK_EQUAL(self.key, first);
        MPI_Comm_set_attr(MPI_COMM_SELF, self.key, (void *)1);
        give_up(self.key);
        if (round % 100 == 0) {
            MPI_Comm_dup(MPI_COMM_SELF, &twin);
            MPI_Comm_free(&twin);
        }
        MPI_Comm_delete_attr(MPI_COMM_SELF, self.key);
        CHECK_EQUAL(self.deletes, 1 + (round % 100 == 0));
    }
}

static int order;

/* MPI runs and is not finalized; values come in the order opposite to that in which they were set. */
static void at_the_end(struct key *self, MPI_Comm comm)
{
    int initialized, finalized, ranks = 0, sum = 0, one = 1;
    CHECK(comm == MPI_COMM_SELF);
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    CHECK(initialized && !finalized);
    CHECK_CLASS(MPI_Comm_size(W, &ranks), MPI_SUCCESS);
    CHECK_CLASS(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, W), MPI_SUCCESS);
    CHECK_EQUAL(sum, ranks);
    CHECK_EQUAL(self->last, 3 - order++);
    CHECK_CLASS(MPI_Finalize(), MPI_ERR_OTHER);
}

static int refuse(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value;
    return (*(int *)extra)++ == 0 ? MPI_ERR_INTERN : MPI_SUCCESS;
}

/* Where a delete function refuses, MPI goes on running, and may be finalized again. */
static void finalize(void)
{
    static struct key last[3];
    static int refused;
    int key, flag;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &key, &refused);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &refused);
    MPI_Comm_free_keyval(&key);
    for (int i = 0; i < 3; i++) {
        create(&last[i]);
        last[i].act = at_the_end;
    }
    for (int i = 2; i >= 0; i--)
        MPI_Comm_set_attr(MPI_COMM_SELF, last[i].key, (void *)9);
    for (int i = 0; i < 3; i++) {
        last[i].act = NULL;
        MPI_Comm_set_attr(MPI_COMM_SELF, last[i].key, (void *)(long)(i + 1)); /* counts as set last */
        last[i].act = at_the_end;
        give_up(last[i].key);
    }
    CHECK_CLASS(MPI_Finalize(), MPI_ERR_INTERN);
    CHECK_EQUAL(order, 3);
    MPI_Finalized(&flag);
    CHECK_EQUAL(flag, 0);
    CHECK_CLASS(MPI_Barrier(W), MPI_SUCCESS);
    CHECK_CLASS(MPI_Finalize(), MPI_SUCCESS);
    CHECK_EQUAL(refused, 2);
    MPI_Finalized(&flag);
    CHECK_EQUAL(flag, 1);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    a_freed_key_lives_with_its_values();
    a_key_freed_in_its_delete_function();
    delete_functions_use_the_object();
    a_value_that_never_goes();
    keys_of_types();
    many_keys();
    finalize();
    return check_failures != 0;
}
