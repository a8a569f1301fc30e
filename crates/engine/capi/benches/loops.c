/* Prints measurements from C, in nanoseconds: the cost of a due slot with the shared pacer, its cost with a lane, and
 * the 50th and the 90th percentile of the lateness of starts at 10 k/s. */
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

static int by_size(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

enum { STARTS = 1000 };

/* Measures the lateness of STARTS starts. Before these, the thread measures its sleeps during three times as many
 * starts, which are not counted. */
static int lateness(uint64_t *half, uint64_t *most)
{
    static uint64_t late[STARTS];
    nanopace_pacer *pacer = NULL;
    nanopace_grant grant;
    nanopace_options options = {.size = sizeof options, .pause = "hybrid"};
    if (nanopace_new("10k/s", &options, &pacer))
        return 1;
    for (int i = 0; i < 4 * STARTS; i++) {
        if (nanopace_acquire(pacer, &grant))
            return 1;
        late[i % STARTS] = grant.wait_ns;
    }
    qsort(late, STARTS, sizeof late[0], by_size);
    *half = late[STARTS / 2];
    *most = late[STARTS / 10 * 9];
    return (int)nanopace_free(pacer);
}

/* Returns the shorter time. Only the fastest of many short loops is reported, because other programs can only slow a
 * loop down. */
static double least(double one, double other)
{
    return one < other ? one : other;
}

int main(int count, char **words)
{
    long loops = count > 1 ? atol(words[1]) : 100, slots = count > 2 ? atol(words[2]) : 100000;
    nanopace_pacer *pacer = NULL;
    nanopace_lane *lane = NULL;
    nanopace_grant grant;
    uint64_t waited = 0, half, most;
    double shared = 1e9, by_lane = 1e9;
    if (nanopace_new("10G/s", NULL, &pacer) || nanopace_lane_new(pacer, &lane))
        return 1;
    for (long loop = 0; loop < loops; loop++) {
        double began = now_ns();
        for (long i = 0; i < slots; i++) {
            if (nanopace_acquire(pacer, &grant))
                return 1;
            waited += grant.wait_ns;
        }
        double between = now_ns();
        for (long i = 0; i < slots; i++) {
            if (nanopace_lane_acquire(lane, &grant))
                return 1;
            waited += grant.wait_ns;
        }
        shared = least(shared, (between - began) / (double)slots);
        by_lane = least(by_lane, (now_ns() - between) / (double)slots);
        if (nanopace_lane_give_back(lane))
            return 1;
    }
    if (lateness(&half, &most))
        return 1;
    printf("%.3f %.3f %llu %llu\n", shared, by_lane, (unsigned long long)half, (unsigned long long)most);
    return nanopace_lane_free(lane) || nanopace_free(pacer) || waited == 0;
}
