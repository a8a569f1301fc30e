/* What slots that are due cost from C, in nanoseconds each: shared, then by a lane. */
#include <nanopace.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now_ns(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int count, char **words)
{
    long slots = count > 1 ? atol(words[1]) : 10000000;
    nanopace_pacer *pacer = NULL;
    nanopace_lane *lane = NULL;
    nanopace_grant grant;
    uint64_t waited = 0;
    if (nanopace_new("10G/s", NULL, &pacer) || nanopace_lane_new(pacer, &lane))
        return 1;

    double began = now_ns();
    for (long i = 0; i < slots; i++) {
        if (nanopace_acquire(pacer, &grant))
            return 1;
        waited += grant.wait_ns;
    }
    double shared = now_ns() - began;

    began = now_ns();
    for (long i = 0; i < slots; i++) {
        if (nanopace_lane_acquire(lane, &grant))
            return 1;
        waited += grant.wait_ns;
    }
    double by_lane = now_ns() - began;

    printf("%.3f %.3f\n", shared / (double)slots, by_lane / (double)slots);
    return nanopace_lane_free(lane) || nanopace_free(pacer) || waited == 0;
}
