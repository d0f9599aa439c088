// The cores that threads run on, and the signals that a process receives.
#define _GNU_SOURCE
#include "CMachine.h"

#include <signal.h>

void cmachine_take_signals(void) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

#if defined(__linux__)

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

static void pin(pid_t thread, int core) {
    if (core < 0 || core >= CPU_SETSIZE) {
        fprintf(stderr, "the core %d does not exist: a thread stays where it is\n", core);
        return;
    }
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    // A thread that is on another program's core gives other figures.
    if (sched_setaffinity(thread, sizeof cores, &cores) != 0) perror("a thread stays where it is: sched_setaffinity");
}

void cmachine_pin_to_core(int core) { pin(0, core < 0 ? sched_getcpu() : core); }

void cmachine_pin_process_to_core(int core) {
    DIR *threads = opendir("/proc/self/task");
    if (!threads) return;
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        int thread = atoi(entry->d_name);
        if (thread > 0) pin(thread, core);
    }
    closedir(threads);
}

int cmachine_usable_core(int index) {
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) return -1;
    int count = CPU_COUNT(&cores);
    if (index < 0) index += count;
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &cores) && index-- == 0) return core;
    return -1;
}

#else

int cmachine_usable_core(int index) {
    (void)index;
    return -1;
}

void cmachine_pin_to_core(int core) { (void)core; }

void cmachine_pin_process_to_core(int core) { (void)core; }

#endif
