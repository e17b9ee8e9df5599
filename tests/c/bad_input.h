/* Wrong calls: each is a row of a table with the error class that it must give
 * and the words that its message must have, one after the other between bars.
 * A message also names the call, and is no internal error. */
#ifndef BAD_INPUT_H
#define BAD_INPUT_H

#include "check.h"

static int bad_calls;

static inline void bad(const char *file, int line, const char *call, int code, int expected, const char *words)
{
    char text[MPI_MAX_ERROR_STRING] = "", name[64], word[64];
    int length = 0, found = class_of(code);
    bad_calls++;
    if (code != MPI_SUCCESS)
        MPI_Error_string(code, text, &length);
    if (getenv("SHOW_MESSAGES")) /* for tests/golden */
        printf("%s\n    %s\n", call, text);
    if (found != expected) {
        check_failed(file, line, "%s gives class %d, not %d: %s", call, found, expected, text);
        return;
    }
    snprintf(name, sizeof name, "%.*s:", (int)strcspn(call, "("), call);
    if (!strstr(text, name) || strstr(text, "internal error") || length != (int)strlen(text))
        check_failed(file, line, "the message of %s does not say so: %s", call, text);
    while (*words) {
        int end = (int)strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", end, words);
        if (!strstr(text, word))
            check_failed(file, line, "\"%s\" is missing in the message of %s: %s", word, call, text);
        words += end + (words[end] == '|');
    }
}

/* BAD(class, "words|of the message", the call) */
#define BAD(class, words, ...) bad(__FILE__, __LINE__, #__VA_ARGS__, __VA_ARGS__, class, words)

static inline void bad_begin(int *argc, char ***argv)
{
    check_begin(argc, argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* answers where there is no communicator */
}

/* Afterwards everything works as if nothing had been; `least` is how many rows
 * the table has. */
static inline int bad_end(int least)
{
    int sum = 0;
    CHECK_CLASS(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_SUCCESS);
    CHECK_EQUAL(sum, size * (size - 1) / 2);
    CHECK(bad_calls >= least);
    return check_end();
}

#endif
