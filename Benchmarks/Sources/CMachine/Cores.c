// The core that a thread runs on, and the signals that it takes.
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
#include <stdbool.h>
#include <stdlib.h>

int cmachine_pin_to_core(int core) {
    if (core < 0) core = sched_getcpu();
    if (core < 0 || core >= CPU_SETSIZE) return -1;
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    return sched_setaffinity(0, sizeof cores, &cores) == 0 ? core : -1;
}

int cmachine_pin_process_to_core(int core) {
    if (core < 0 || core >= CPU_SETSIZE) return -1;
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    DIR *threads = opendir("/proc/self/task");
    if (!threads) return -1;
    bool is_done = true;
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        int thread = atoi(entry->d_name);
        if (thread > 0 && sched_setaffinity(thread, sizeof cores, &cores) != 0) is_done = false;
    }
    closedir(threads);
    return is_done ? core : -1;
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

int cmachine_pin_to_core(int core) {
    (void)core;
    return -1;
}

int cmachine_pin_process_to_core(int core) {
    (void)core;
    return -1;
}

#endif
