// usage: machine-pace --core N
//
// Looks how fast a core is until its input ends. A line of input is two moments of the monotonic clock in seconds, and
// gets a line of output: which share of its speed the core had between them, 1 at most, or null.
#include "CMachine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int count, char **arguments) {
    if (count != 3 || strcmp(arguments[1], "--core") != 0) {
        fputs("usage: machine-pace --core N\n", stderr);
        return 2;
    }
    if (!cmachine_pace_start(atoi(arguments[2]))) {
        fputs("machine-pace: nobody can look at that core\n", stderr);
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
