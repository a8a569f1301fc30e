/* The main functions, on a clock that is moved by hand. Compiles as C11 and as C++17. */
#include "check.h"
#include <time.h>

static void starts_and_says_how_late(void)
{
    nanopace_pacer *pacer = paced("10/s", NANOPACE_CLOCK_JUMPING);
    nanopace_grant grant;
    nanopace_ledger ledger;
    nanopace_state state;
    nanopace_counters counters;
    uint64_t due = 0, asked = 0;
    CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK && grant.slot == 0);
    CHECK(nanopace_try_acquire(pacer, &grant, &due) == NANOPACE_STATUS_NOT_YET);
    CHECK(due == 100 * MILLI);
    CHECK(nanopace_acquire_timeout(pacer, 99 * MILLI, &grant, &due) == NANOPACE_STATUS_NOT_YET);
    CHECK(nanopace_acquire_timeout(pacer, 100 * MILLI, &grant, NULL) == NANOPACE_STATUS_OK);
    CHECK(nanopace_advance(pacer, 130 * MILLI) == NANOPACE_STATUS_OK);
    CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK);
    CHECK(grant.slot == 2 && grant.intended_start_ns == 200 * MILLI);
    CHECK(grant.wait_ns == 30 * MILLI && grant.actual_start_ns == nanopace_now(pacer));
    CHECK(nanopace_acquire_many(pacer, 5, &grant) == NANOPACE_STATUS_OK && grant.slot == 3);
    CHECK(nanopace_try_acquire_many(pacer, 5, &grant, &due) == NANOPACE_STATUS_NOT_YET);
    CHECK(due == 800 * MILLI);
    CHECK(nanopace_get_ledger(pacer, &ledger) == NANOPACE_STATUS_OK && ledger.granted == 8);
    CHECK(ledger.elapsed_ns == ledger.allocated_ns + ledger.idle_ns + ledger.waiting_ns + ledger.backlog_ns);
    CHECK(nanopace_get_state(pacer, &state) == NANOPACE_STATUS_OK);
    CHECK(state.now_ns == 300 * MILLI && state.rate_hz > 9.99 && state.rate_hz < 10.01);
    CHECK(!state.is_paused && !state.is_closed && !state.is_finished);
    CHECK(nanopace_get_counters(pacer, &counters) == NANOPACE_STATUS_OK && counters.early_starts == 0);
    CHECK(nanopace_asked_before(pacer, 250 * MILLI, &asked) == NANOPACE_STATUS_OK && asked == 3);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
}

static void takes_what_is_due_in_one_call(void)
{
    nanopace_pacer *pacer = paced("hold 1k/s 10ms", NANOPACE_CLOCK_JUMPING);
    nanopace_grant grants[4];
    size_t taken = 9;
    CHECK(nanopace_acquire_due(pacer, grants, 4, &taken) == NANOPACE_STATUS_OK && taken == 1);
    CHECK(nanopace_advance(pacer, 6 * MILLI) == NANOPACE_STATUS_OK);
    CHECK(nanopace_acquire_due(pacer, grants, 4, &taken) == NANOPACE_STATUS_OK && taken == 4);
    CHECK(grants[0].slot == 1 && grants[3].slot == 4 && grants[3].wait_ns == 2 * MILLI);
    CHECK(nanopace_acquire_due(pacer, grants, 4, &taken) == NANOPACE_STATUS_OK && taken == 2);
    CHECK(nanopace_advance(pacer, 10 * MILLI) == NANOPACE_STATUS_OK);
    CHECK(nanopace_acquire_due(pacer, grants, 4, &taken) == NANOPACE_STATUS_OK && taken == 3);
    CHECK(nanopace_acquire_due(pacer, grants, 4, &taken) == NANOPACE_STATUS_FINISHED && taken == 0);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
}

static void changes_at_once(void)
{
    nanopace_pacer *pacer = paced("10/s", NANOPACE_CLOCK_MANUAL);
    nanopace_grant grant;
    uint64_t due = 0;
    CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK);
    CHECK(nanopace_set_load(pacer, "100/s") == NANOPACE_STATUS_OK);
    CHECK(nanopace_try_acquire(pacer, &grant, &due) == NANOPACE_STATUS_NOT_YET && due == 10 * MILLI);
    CHECK(nanopace_set_load(pacer, "ramp 50/s..100/s 10s") == NANOPACE_STATUS_OK);
    CHECK(nanopace_try_acquire(pacer, &grant, &due) == NANOPACE_STATUS_NOT_YET && due > 15 * MILLI);
    CHECK(nanopace_pause(pacer) == NANOPACE_STATUS_OK);
    CHECK(nanopace_try_acquire(pacer, &grant, &due) == NANOPACE_STATUS_PAUSED && due == UINT64_MAX);
    CHECK(nanopace_resume(pacer) == NANOPACE_STATUS_OK);
    CHECK(nanopace_set_load(pacer, "10/s") == NANOPACE_STATUS_OK);
    CHECK(nanopace_set_skip_later_than(pacer, 250 * MILLI) == NANOPACE_STATUS_OK);
    CHECK(nanopace_advance(pacer, 1000 * MILLI) == NANOPACE_STATUS_OK);
    CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK && grant.wait_ns <= 250 * MILLI);
    CHECK(nanopace_set_skip_later_than(pacer, 0) == NANOPACE_STATUS_OK);
    CHECK(nanopace_set_max_backlog(pacer, 1) == NANOPACE_STATUS_OK);
    CHECK(nanopace_set_strictness(pacer, 1.0) == NANOPACE_STATUS_OK);
    CHECK(nanopace_set_shard(pacer, "1/2", 1000) == NANOPACE_STATUS_OK);
    CHECK(nanopace_close(pacer) == NANOPACE_STATUS_OK);
    CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_CLOSED);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
}

static void lanes_and_pollers_share_the_schedule(void)
{
    nanopace_pacer *pacer = paced("10/s", NANOPACE_CLOCK_JUMPING);
    nanopace_lane *lane = NULL;
    nanopace_poller *poller = NULL;
    nanopace_grant grant;
    uint64_t due = 0;
    CHECK(nanopace_lane_new(pacer, &lane) == NANOPACE_STATUS_OK);
    CHECK(nanopace_poller_new(pacer, &poller) == NANOPACE_STATUS_OK);
    CHECK(nanopace_lane_acquire(lane, &grant) == NANOPACE_STATUS_OK && grant.slot == 0);
    CHECK(nanopace_lane_try_acquire(lane, &grant, &due) == NANOPACE_STATUS_NOT_YET);
    CHECK(nanopace_poller_poll(poller, &grant, &due) == NANOPACE_STATUS_NOT_YET);
    CHECK(due == 100 * MILLI);
    CHECK(nanopace_poller_wait(poller, 30 * MILLI, &grant, &due) == NANOPACE_STATUS_NOT_YET);
    CHECK(nanopace_now(pacer) == 30 * MILLI && due == 100 * MILLI);
    CHECK(nanopace_lane_acquire(lane, &grant) == NANOPACE_STATUS_OK && grant.slot == 2);
    CHECK(nanopace_poller_poll(poller, &grant, NULL) == NANOPACE_STATUS_OK);
    CHECK(grant.slot == 1 && grant.wait_ns == 100 * MILLI);
    CHECK(nanopace_poller_poll(poller, &grant, NULL) == NANOPACE_STATUS_NOT_YET);
    CHECK(nanopace_poller_give_back(poller) == NANOPACE_STATUS_OK);
    CHECK(nanopace_lane_acquire(lane, &grant) == NANOPACE_STATUS_OK && grant.slot == 3);
    CHECK(nanopace_lane_give_back(lane) == NANOPACE_STATUS_OK);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
    /* The lane and the poller outlive the pacer's handle. */
    CHECK(nanopace_lane_acquire(lane, &grant) == NANOPACE_STATUS_CLOSED);
    CHECK(nanopace_poller_wait(poller, UINT64_MAX, &grant, NULL) == NANOPACE_STATUS_CLOSED);
    CHECK(nanopace_poller_free(poller) == NANOPACE_STATUS_OK);
    CHECK(nanopace_lane_free(lane) == NANOPACE_STATUS_OK);
}

static void a_claim_keeps_its_slots_and_starts_them_as_one(void)
{
    nanopace_pacer *pacer = paced("10/s", NANOPACE_CLOCK_JUMPING);
    nanopace_claim *claim = NULL, *other = NULL;
    nanopace_grant grant, again;
    nanopace_ledger ledger;
    uint64_t due = 0;
    CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK);
    CHECK(nanopace_claim_new(pacer, 3, &claim) == NANOPACE_STATUS_OK); /* slots 1 to 3 */
    CHECK(nanopace_claim_new(pacer, 2, &other) == NANOPACE_STATUS_OK); /* slots 4 and 5 */
    CHECK(nanopace_claim_start(claim, &grant, &due) == NANOPACE_STATUS_NOT_YET && due == 100 * MILLI);
    CHECK(nanopace_claim_start(other, &grant, &due) == NANOPACE_STATUS_NOT_YET && due == 400 * MILLI);
    CHECK(nanopace_claim_wait(claim, 60 * MILLI, &grant, &due) == NANOPACE_STATUS_NOT_YET);
    CHECK(nanopace_now(pacer) == 60 * MILLI && due == 100 * MILLI);
    CHECK(nanopace_claim_wait(claim, 60 * MILLI, &grant, NULL) == NANOPACE_STATUS_OK);
    CHECK(grant.slot == 1 && grant.actual_start_ns == 100 * MILLI);
    CHECK(nanopace_claim_start(claim, &again, NULL) == NANOPACE_STATUS_OK);
    CHECK(again.slot == 1 && again.actual_start_ns == grant.actual_start_ns);
    CHECK(nanopace_claim_free(claim) == NANOPACE_STATUS_OK);
    CHECK(nanopace_claim_free(other) == NANOPACE_STATUS_OK); /* its slots go back */
    CHECK(nanopace_get_ledger(pacer, &ledger) == NANOPACE_STATUS_OK && ledger.granted == 4);
    CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK && grant.slot == 4);
    CHECK(nanopace_claim_new(pacer, 0, &claim) == NANOPACE_STATUS_OK);
    CHECK(nanopace_claim_start(claim, &grant, NULL) == NANOPACE_STATUS_OK && grant.slot == UINT64_MAX);
    CHECK(nanopace_claim_free(claim) == NANOPACE_STATUS_OK);
    CHECK(nanopace_claim_new(pacer, 2, &claim) == NANOPACE_STATUS_OK);
    CHECK(nanopace_pause(pacer) == NANOPACE_STATUS_OK);
    CHECK(nanopace_claim_start(claim, &grant, &due) == NANOPACE_STATUS_PAUSED && due == UINT64_MAX);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
    /* The claim outlives the pacer's handle. */
    CHECK(nanopace_claim_wait(claim, UINT64_MAX, &grant, &due) == NANOPACE_STATUS_CLOSED);
    CHECK(nanopace_claim_free(claim) == NANOPACE_STATUS_OK);
    pacer = paced("hold 10/s 200ms", NANOPACE_CLOCK_JUMPING);
    CHECK(nanopace_claim_new(pacer, 3, &claim) == NANOPACE_STATUS_FINISHED);
    CHECK(nanopace_close(pacer) == NANOPACE_STATUS_OK);
    CHECK(nanopace_claim_new(pacer, 1, &claim) == NANOPACE_STATUS_CLOSED);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
}

static void has_options(void)
{
    nanopace_options options = nanopace_options_default();
    nanopace_pacer *pacer = NULL;
    nanopace_grant grant;
    options.clock = NANOPACE_CLOCK_MANUAL;
    options.start = NANOPACE_START_RESUME;
    options.shard = "2/3";
    options.arrivals = "jitter:0.5";
    options.seed = 7;
    options.pause = "hybrid";
    options.strictness = 1.0;
    options.slots = 1;
    CHECK(nanopace_new("10/s", &options, &pacer) == NANOPACE_STATUS_OK);
    CHECK(nanopace_try_acquire(pacer, &grant, NULL) == NANOPACE_STATUS_PAUSED);
    CHECK(nanopace_resume(pacer) == NANOPACE_STATUS_OK);
    CHECK(nanopace_advance(pacer, 10000 * MILLI) == NANOPACE_STATUS_OK);
    CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK && grant.slot == 1);
    CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_FINISHED);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
}

/* Checks the status and the due time that the pacer, a new lane and a new poller return if no slot can start now. */
static void put_off(nanopace_pacer *pacer, nanopace_status status, uint64_t due)
{
    nanopace_lane *lane = NULL;
    nanopace_poller *poller = NULL;
    nanopace_grant grant;
    uint64_t told[6] = {1, 1, 1, 1, 1, 1};
    CHECK(nanopace_lane_new(pacer, &lane) == NANOPACE_STATUS_OK);
    CHECK(nanopace_poller_new(pacer, &poller) == NANOPACE_STATUS_OK);
    CHECK(nanopace_try_acquire(pacer, &grant, &told[0]) == status);
    CHECK(nanopace_try_acquire_many(pacer, 2, &grant, &told[1]) == status);
    CHECK(nanopace_acquire_timeout(pacer, 0, &grant, &told[2]) == status);
    CHECK(nanopace_lane_try_acquire(lane, &grant, &told[3]) == status);
    CHECK(nanopace_poller_poll(poller, &grant, &told[4]) == status);
    CHECK(nanopace_poller_wait(poller, 0, &grant, &told[5]) == status);
    for (int i = 0; i < 6; i++)
        CHECK(told[i] == due);
    CHECK(nanopace_poller_free(poller) == NANOPACE_STATUS_OK);
    CHECK(nanopace_lane_free(lane) == NANOPACE_STATUS_OK);
}

static void says_when_a_slot_is_due_if_it_ever_is(void)
{
    nanopace_pacer *pacer = paced("10/s", NANOPACE_CLOCK_MANUAL);
    nanopace_grant grant;
    uint64_t due = 1;
    CHECK(nanopace_try_acquire(pacer, &grant, &due) == NANOPACE_STATUS_OK && due == 1);
    put_off(pacer, NANOPACE_STATUS_NOT_YET, 100 * MILLI);
    CHECK(nanopace_pause(pacer) == NANOPACE_STATUS_OK);
    put_off(pacer, NANOPACE_STATUS_PAUSED, UINT64_MAX);
    CHECK(nanopace_resume(pacer) == NANOPACE_STATUS_OK);
    CHECK(nanopace_set_load(pacer, "hold 0/s 1s forever") == NANOPACE_STATUS_OK);
    put_off(pacer, NANOPACE_STATUS_NOT_YET, UINT64_MAX);
    CHECK(nanopace_set_load(pacer, "hold 10/s 50ms") == NANOPACE_STATUS_OK);
    CHECK(nanopace_advance(pacer, 200 * MILLI) == NANOPACE_STATUS_OK);
    put_off(pacer, NANOPACE_STATUS_FINISHED, UINT64_MAX);
    CHECK(nanopace_set_load(pacer, "5/s") == NANOPACE_STATUS_OK); /* the schedule continues */
    CHECK(nanopace_try_acquire(pacer, &grant, &due) == NANOPACE_STATUS_NOT_YET && due < UINT64_MAX);
    CHECK(nanopace_close(pacer) == NANOPACE_STATUS_OK);
    put_off(pacer, NANOPACE_STATUS_CLOSED, UINT64_MAX);
    CHECK(nanopace_set_load(pacer, "5/s") == NANOPACE_STATUS_OK); /* has no effect */
    CHECK(nanopace_pause(pacer) == NANOPACE_STATUS_OK);
    put_off(pacer, NANOPACE_STATUS_CLOSED, UINT64_MAX);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
}

static double rate(const nanopace_pacer *pacer)
{
    nanopace_state state;
    CHECK(nanopace_get_state(pacer, &state) == NANOPACE_STATUS_OK);
    return state.rate_hz;
}

static void a_rate_of_zero_is_told_as_zero(void)
{
    nanopace_pacer *pacer = paced("hold 10/s 1s, hold 0/s 1s, hold 5/s 1s", NANOPACE_CLOCK_MANUAL);
    const double rates[] = {10, 0, 5, 0};
    for (int i = 0; i < 4; i++) {
        CHECK(rate(pacer) > rates[i] - 1e-9 && rate(pacer) < rates[i] + 1e-9);
        CHECK(nanopace_advance(pacer, 1000 * MILLI) == NANOPACE_STATUS_OK);
    }
    CHECK(nanopace_set_load(pacer, "1/d") == NANOPACE_STATUS_OK && rate(pacer) > 1e-5);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
}

static void an_end_by_options_is_final(void)
{
    nanopace_pacer *pacer = NULL;
    nanopace_grant grant;
    for (int is_until = 0; is_until < 2; is_until++) {
        nanopace_options options = nanopace_options_default();
        options.clock = NANOPACE_CLOCK_MANUAL;
        options.until_ns = is_until ? 50 * MILLI : 0;
        options.slots = is_until ? 0 : 1;
        CHECK(nanopace_new("10/s", &options, &pacer) == NANOPACE_STATUS_OK);
        CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK);
        CHECK(nanopace_advance(pacer, 1000 * MILLI) == NANOPACE_STATUS_OK);
        CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_FINISHED);
        CHECK(nanopace_set_load(pacer, "20/s") == NANOPACE_STATUS_OK);
        CHECK(nanopace_advance(pacer, 1000 * MILLI) == NANOPACE_STATUS_OK);
        CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_FINISHED);
        CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
    }
}

static void none_of_many_starts_now(void)
{
    nanopace_pacer *pacer = paced("10/s", NANOPACE_CLOCK_MANUAL);
    nanopace_grant grant;
    CHECK(nanopace_acquire_many(pacer, 0, &grant) == NANOPACE_STATUS_OK && grant.slot == UINT64_MAX);
    CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK && grant.slot == 0);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
}

static uint64_t monotonic_ns(void)
{
    struct timespec now;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static void moments_are_those_of_the_system(void)
{
    nanopace_pacer *pacer = NULL;
    nanopace_grant grant;
    uint64_t before = monotonic_ns();
    CHECK(nanopace_new("1M/s", NULL, &pacer) == NANOPACE_STATUS_OK);
    for (int i = 0; i < 1000; i++) {
        CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK);
        CHECK(grant.actual_start_ns >= grant.intended_start_ns && grant.intended_start_ns >= before);
        uint64_t now = nanopace_now(pacer);
        CHECK(now >= grant.actual_start_ns && now <= monotonic_ns());
    }
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
}

int main(void)
{
    starts_and_says_how_late();
    takes_what_is_due_in_one_call();
    changes_at_once();
    lanes_and_pollers_share_the_schedule();
    a_claim_keeps_its_slots_and_starts_them_as_one();
    has_options();
    says_when_a_slot_is_due_if_it_ever_is();
    a_rate_of_zero_is_told_as_zero();
    an_end_by_options_is_final();
    none_of_many_starts_now();
    moments_are_those_of_the_system();
    return 0;
}
