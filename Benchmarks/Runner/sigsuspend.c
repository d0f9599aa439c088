// Stands in place of the C library's sigsuspend, in a program that valgrind runs.
//
// valgrind 3.19 writes into the mask that a program passes, and libdispatch, which calls it on the first thread of a
// program whose main function is asynchronous, has that mask in read-only memory.
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

int sigsuspend(const sigset_t *mask) {
    sigset_t copy = *mask;
    const size_t byte_count_of_kernel = 8;
    return (int)syscall(SYS_rt_sigsuspend, &copy, byte_count_of_kernel);
}
