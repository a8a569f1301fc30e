/* Random calls by 8 threads, checked against the counts: each slot starts once, and none before its time.
 *
 *     hammer CALLS SEED
 */
#include "check.h"
#include <pthread.h>
#include <time.h>

#define THREADS 8

static nanopace_pacer *pacer;
static unsigned long calls;
static unsigned char *seen; /* for each slot, how often it has started */
static uint64_t room;

struct worker {
    pthread_t thread;
    uint64_t state;
    uint64_t slots;
};

static uint64_t drawn(struct worker *self, uint64_t below)
{
    self->state ^= self->state << 13;
    self->state ^= self->state >> 7;
    self->state ^= self->state << 17;
    return self->state % below;
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void judge(struct worker *self, nanopace_status status, const nanopace_grant *grant, uint64_t slots)
{
    CHECK(status == NANOPACE_STATUS_OK || status == NANOPACE_STATUS_NOT_YET ||
          status == NANOPACE_STATUS_PAUSED);
    if (status != NANOPACE_STATUS_OK || slots == 0)
        return;
    CHECK(grant->intended_start_ns <= grant->actual_start_ns);
    CHECK(grant->actual_start_ns - grant->intended_start_ns == grant->wait_ns);
    CHECK(grant->actual_start_ns <= monotonic_ns());
    self->slots += slots;
    for (uint64_t slot = grant->slot; slot < grant->slot + slots && slot < room; slot++)
        CHECK(__atomic_fetch_add(&seen[slot], 1, __ATOMIC_RELAXED) == 0);
}

static void call(struct worker *self, nanopace_lane **lane, nanopace_poller *poller)
{
    nanopace_grant grants[16];
    nanopace_claim *claim = NULL;
    size_t taken = 0;
    uint32_t n = (uint32_t)drawn(self, 4);
    switch (drawn(self, 1000)) {
    case 0:
        CHECK(nanopace_set_load(pacer, drawn(self, 2) ? "20M/s" : "5M/s") == NANOPACE_STATUS_OK);
        break;
    case 1:
        CHECK(nanopace_set_strictness(pacer, drawn(self, 10) ? 0.0 : 1.1) == NANOPACE_STATUS_OK);
        break;
    case 2:
        CHECK(nanopace_pause(pacer) == NANOPACE_STATUS_OK);
        CHECK(nanopace_resume(pacer) == NANOPACE_STATUS_OK);
        break;
    case 3:
        CHECK(nanopace_lane_free(*lane) == NANOPACE_STATUS_OK);
        CHECK(nanopace_lane_new(pacer, lane) == NANOPACE_STATUS_OK);
        break;
    case 4:
        CHECK(nanopace_set_load(pacer, "no load") == NANOPACE_STATUS_WRONG);
        break;
    default:
        switch (drawn(self, 10)) {
        case 0:
            judge(self, nanopace_acquire(pacer, grants), grants, 1);
            break;
        case 1:
            judge(self, nanopace_try_acquire(pacer, grants, NULL), grants, 1);
            break;
        case 2:
            judge(self, nanopace_acquire_timeout(pacer, drawn(self, 10000), grants, NULL), grants, 1);
            break;
        case 3:
            judge(self, nanopace_acquire_many(pacer, n, grants), grants, n);
            break;
        case 4:
            CHECK(nanopace_acquire_due(pacer, grants, 16, &taken) == NANOPACE_STATUS_OK);
            for (size_t i = 0; i < taken; i++)
                judge(self, NANOPACE_STATUS_OK, &grants[i], 1);
            break;
        case 5:
            judge(self, nanopace_poller_poll(poller, grants, NULL), grants, 1);
            break;
        case 6:
            judge(self, nanopace_poller_wait(poller, drawn(self, 10000), grants, NULL), grants, 1);
            break;
        case 7:
            if (drawn(self, 8) == 0)
                CHECK(nanopace_poller_give_back(poller) == NANOPACE_STATUS_OK);
            judge(self, nanopace_lane_try_acquire(*lane, grants, NULL), grants, 1);
            break;
        case 8:
            CHECK(nanopace_claim_new(pacer, n, &claim) == NANOPACE_STATUS_OK);
            if (drawn(self, 2))
                judge(self, nanopace_claim_start(claim, grants, NULL), grants, n);
            else
                judge(self, nanopace_claim_wait(claim, drawn(self, 10000), grants, NULL), grants, n);
            CHECK(nanopace_claim_free(claim) == NANOPACE_STATUS_OK);
            break;
        default:
            judge(self, nanopace_lane_acquire(*lane, grants), grants, 1);
        }
    }
}

static void *work(void *argument)
{
    struct worker *self = (struct worker *)argument;
    nanopace_lane *lane = NULL;
    nanopace_poller *poller = NULL;
    CHECK(nanopace_lane_new(pacer, &lane) == NANOPACE_STATUS_OK);
    CHECK(nanopace_poller_new(pacer, &poller) == NANOPACE_STATUS_OK);
    for (unsigned long i = 0; i < calls / THREADS; i++)
        call(self, &lane, poller);
    CHECK(nanopace_lane_free(lane) == NANOPACE_STATUS_OK);
    CHECK(nanopace_poller_free(poller) == NANOPACE_STATUS_OK);
    return NULL;
}

int main(int count, char **words)
{
    struct worker workers[THREADS];
    nanopace_ledger ledger;
    nanopace_grant grant;
    uint64_t slots = 0;
    CHECK(count == 3);
    calls = strtoul(words[1], NULL, 10);
    room = calls * 16;
    seen = (unsigned char *)calloc(room, 1);
    CHECK(seen != NULL && nanopace_new("10M/s", NULL, &pacer) == NANOPACE_STATUS_OK);
    for (int t = 0; t < THREADS; t++) {
        memset(&workers[t], 0, sizeof workers[t]);
        workers[t].state = (strtoul(words[2], NULL, 10) + (uint64_t)t + 1) * UINT64_C(0x9e3779b97f4a7c15);
        CHECK(pthread_create(&workers[t].thread, NULL, work, &workers[t]) == 0);
    }
    for (int t = 0; t < THREADS; t++) {
        CHECK(pthread_join(workers[t].thread, NULL) == 0);
        slots += workers[t].slots;
    }
    /* No slot is lost: slots that came back are handed out again, up to the last one that has started. */
    CHECK(nanopace_set_load(pacer, "10G/s") == NANOPACE_STATUS_OK);
    CHECK(nanopace_set_strictness(pacer, 0.0) == NANOPACE_STATUS_OK);
    uint64_t last = 0, first_missing = 0;
    for (uint64_t slot = 0; slot < room; slot++)
        last = seen[slot] ? slot : last;
    for (;;) {
        while (first_missing <= last && seen[first_missing])
            first_missing++;
        if (first_missing > last)
            break;
        CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK && grant.slot <= last);
        CHECK(seen[grant.slot]++ == 0);
        slots++;
    }
    CHECK(nanopace_get_ledger(pacer, &ledger) == NANOPACE_STATUS_OK);
    CHECK(ledger.granted == slots && ledger.skipped == 0 && slots == last + 1);
    printf("%lu calls, %llu slots\n", calls, (unsigned long long)slots);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
    free(seen);
    return 0;
}
