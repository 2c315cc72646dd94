/* Meetings of threads that share a pass, and how they wait. */

#pragma once

#include <sched.h>
#include <stdatomic.h>

static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Looks a few times, then lets others have the core between looks: one that is waited for may need it, and
 * a virtual machine stops those that only pause. */
static void wait_until_changed(atomic_int *value, int old) {
    for (int looks = 0; atomic_load_explicit(value, memory_order_acquire) == old; looks++) {
        if (looks < 50)
            relax();
        else
            sched_yield();
    }
}

typedef struct {
    int threads;
    atomic_int arrived, number;
} Meeting;

/* Returns when all threads are here. */
static void meet(Meeting *meeting) {
    int number = atomic_load_explicit(&meeting->number, memory_order_acquire);
    if (atomic_fetch_add_explicit(&meeting->arrived, 1, memory_order_acq_rel) == meeting->threads - 1) {
        atomic_store_explicit(&meeting->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&meeting->number, number + 1, memory_order_release);
    } else {
        wait_until_changed(&meeting->number, number);
    }
}
