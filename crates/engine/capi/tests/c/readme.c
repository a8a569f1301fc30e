
/* Completes the README's event loop and its Ctrl-C example: after 20 operations, interrupts the program. */
#include <stdlib.h>

static int begun;

static void begin(const nanopace_grant *grant)
{
    if (grant->actual_start_ns < grant->intended_start_ns)
        exit(1);
    if (++begun == 20)
        kill(getpid(), SIGINT);
}

int main(void)
{
    nanopace_pacer *pacer;
    nanopace_poller *poller;
    nanopace_watch *watch;
    int changes, timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (nanopace_new("1k/s", NULL, &pacer) || close_on_interrupt(pacer))
        return 2;
    if (nanopace_poller_new(pacer, &poller) || nanopace_watch_new(pacer, &watch, &changes))
        return 3;
    return run(poller, timer, changes, begin) == NANOPACE_STATUS_CLOSED && begun >= 20 ? 0 : 4;
}
