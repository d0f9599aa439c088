// usage: machine-pace --core N
//
// Looks how fast a core is until its input ends. A line of input is two moments of the monotonic clock in seconds, and
// gets a line of output: which share of its speed the core had between them, 1 at most, or null.
#include "CMachine.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
    char *end_of_number = NULL;
    long core = count == 3 ? strtol(arguments[2], &end_of_number, 10) : -1;
    if (count != 3 || strcmp(arguments[1], "--core") != 0 || end_of_number == arguments[2] || *end_of_number ||
        core < 0 || core > INT_MAX) {
        fputs("usage: machine-pace --core N\n", stderr);
        return 2;
    }
    if (!cmachine_pace_start((int)core)) {
        fprintf(stderr, "machine-pace: core %ld is not there, or this system keeps no thread on a core\n", core);
        return 1;
    }
    double start, end;
    while (scanf("%lf %lf", &start, &end) == 2) {
        double share = cmachine_pace(start, end);
        if (isfinite(share))
            printf("%.4f\n", share);
        else
            puts("null");
        fflush(stdout);
    }
    return 0;
}
