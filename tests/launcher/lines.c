/* Writes numbered lines of changing length through a stdio buffer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank = atoi(getenv("PMI_RANK"));
    int count = argc > 1 ? atoi(argv[1]) : 1000;
    char filling[400];
    memset(filling, "abcdefghij"[rank], sizeof filling);
    for (int i = 0; i < count; i++) {
        printf("%d %d %.*s\n", rank, i, 10 + i * 37 % 300, filling);
        if (i % 1000 == 999)
            fflush(stdout);
    }
    return 0;
}
