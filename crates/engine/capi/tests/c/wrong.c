/* Invalid input returns an error and has no other effect. */
#include "check.h"
#include <math.h>
#include <pthread.h>
#include <unistd.h>

static void null_is_told(void)
{
    nanopace_pacer *pacer = paced("10/s", NANOPACE_CLOCK_JUMPING);
    nanopace_lane *lane = NULL;
    nanopace_poller *poller = NULL;
    nanopace_claim *claim = NULL;
    nanopace_watch *watch = NULL;
    nanopace_grant grant;
    nanopace_ledger ledger;
    size_t taken;
    int fd;
    nanopace_pacer *other = NULL;
    CHECK(nanopace_new(NULL, NULL, &other) == NANOPACE_STATUS_NULL && other == NULL);
    CHECK(nanopace_new("10/s", NULL, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_acquire(NULL, &grant) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_acquire(pacer, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_try_acquire(pacer, NULL, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_acquire_timeout(pacer, 1, NULL, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_acquire_many(pacer, 1, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_try_acquire_many(NULL, 1, &grant, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_acquire_due(pacer, NULL, 1, &taken) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_acquire_due(pacer, &grant, 1, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_set_load(pacer, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_set_shard(pacer, NULL, 0) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_set_strictness(NULL, 0) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_close(NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_advance(NULL, 1) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_now(NULL) == 0);
    CHECK(nanopace_get_ledger(pacer, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_get_state(NULL, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_get_counters(pacer, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_asked_before(pacer, 0, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_lane_new(pacer, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_lane_new(NULL, &lane) == NANOPACE_STATUS_NULL && lane == NULL);
    CHECK(nanopace_lane_acquire(NULL, &grant) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_lane_try_acquire(NULL, &grant, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_lane_give_back(NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_lane_free(NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_poller_new(NULL, &poller) == NANOPACE_STATUS_NULL && poller == NULL);
    CHECK(nanopace_poller_poll(NULL, &grant, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_poller_wait(NULL, 1, &grant, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_poller_free(NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_claim_new(NULL, 1, &claim) == NANOPACE_STATUS_NULL && claim == NULL);
    CHECK(nanopace_claim_new(pacer, 1, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_claim_start(NULL, &grant, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_claim_wait(NULL, 1, &grant, NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_claim_free(NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_watch_new(pacer, &watch, NULL) == NANOPACE_STATUS_NULL && watch == NULL);
    CHECK(nanopace_watch_new(NULL, &watch, &fd) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_watch_free(NULL) == NANOPACE_STATUS_NULL);
    CHECK(nanopace_free(NULL) == NANOPACE_STATUS_NULL);
    /* No slot was claimed. */
    CHECK(nanopace_get_ledger(pacer, &ledger) == NANOPACE_STATUS_OK && ledger.granted == 0);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
}

static void texts_and_numbers_are_told(void)
{
    const char *wrong[] = {"", "5k/fortnight", "11G/s", "jump 5/s 3s", "0/s", "\n", "-1/s", "hold", "(((((((("};
    nanopace_pacer *pacer = NULL;
    nanopace_options options;
    nanopace_grant grant;
    size_t taken;
    char text[64];
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(nanopace_new(wrong[i], NULL, &pacer) == NANOPACE_STATUS_WRONG && pacer == NULL);
    CHECK(nanopace_new("5k/fortnight", NULL, &pacer) == NANOPACE_STATUS_WRONG);
    CHECK(nanopace_describe(NANOPACE_STATUS_WRONG, text, sizeof text) > sizeof text);
    CHECK(strncmp(text, "column 1: `fortnight` is not a unit", 35) == 0 && strlen(text) == 63);
    CHECK(nanopace_describe(NANOPACE_STATUS_OK, text, 2) == 2 && strcmp(text, "o") == 0);
    CHECK(nanopace_describe(12345, NULL, 0) > 0 && nanopace_describe(1, NULL, 77) > 0);
    CHECK(nanopace_new("5\xff/s", NULL, &pacer) == NANOPACE_STATUS_NOT_UTF8);

    memset(&options, 0, sizeof options);
    CHECK(nanopace_new("5/s", &options, &pacer) == NANOPACE_STATUS_WRONG);
    options.size = sizeof options + 8;
    CHECK(nanopace_new("5/s", &options, &pacer) == NANOPACE_STATUS_WRONG);
    options.size = sizeof options;
    options.clock = 4;
    CHECK(nanopace_new("5/s", &options, &pacer) == NANOPACE_STATUS_WRONG);
    options.clock = NANOPACE_CLOCK_JUMPING;
    options.start = 99;
    CHECK(nanopace_new("5/s", &options, &pacer) == NANOPACE_STATUS_WRONG);
    options.start = 0;
    options.strictness = -1.0;
    CHECK(nanopace_new("5/s", &options, &pacer) == NANOPACE_STATUS_WRONG);
    options.strictness = 0;
    options.arrivals = "sometimes";
    CHECK(nanopace_new("5/s", &options, &pacer) == NANOPACE_STATUS_WRONG);
    options.arrivals = "\xc3";
    CHECK(nanopace_new("5/s", &options, &pacer) == NANOPACE_STATUS_NOT_UTF8);
    options.arrivals = NULL;
    options.shard = "4/3";
    CHECK(nanopace_new("5/s", &options, &pacer) == NANOPACE_STATUS_WRONG);
    options.shard = NULL;
    options.pause = "nap";
    CHECK(nanopace_new("5/s", &options, &pacer) == NANOPACE_STATUS_WRONG);
    options.pause = NULL;
    /* Huge numbers are limited to the range. */
    options.max_backlog_ns = options.skip_later_than_ns = options.tolerance_ns = UINT64_MAX;
    options.until_ns = options.slots = options.seed = UINT64_MAX;
    CHECK(nanopace_new("5/s", &options, &pacer) == NANOPACE_STATUS_OK);
    CHECK(nanopace_acquire_timeout(pacer, UINT64_MAX, &grant, NULL) == NANOPACE_STATUS_OK);
    CHECK(nanopace_acquire_many(pacer, UINT32_MAX, &grant) == NANOPACE_STATUS_OK);
    CHECK(nanopace_acquire_due(pacer, &grant, 0, &taken) == NANOPACE_STATUS_WRONG && taken == 0);
    CHECK(nanopace_set_strictness(pacer, 1e9) == NANOPACE_STATUS_WRONG);
    CHECK(nanopace_set_shard(pacer, "1/2", 0) == NANOPACE_STATUS_WRONG);
    CHECK(nanopace_set_load(pacer, "\xfe\xff") == NANOPACE_STATUS_NOT_UTF8);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
    CHECK(nanopace_new("5/s", NULL, &pacer) == NANOPACE_STATUS_OK);
    CHECK(nanopace_advance(pacer, 1) == NANOPACE_STATUS_WRONG);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
}

/* The message names the invalid option, and says what to write. */
static void told_of_share(const nanopace_options *options, const char *words)
{
    nanopace_pacer *pacer = NULL;
    char text[128];
    CHECK(nanopace_new("5/s", options, &pacer) == NANOPACE_STATUS_WRONG && pacer == NULL);
    nanopace_describe(NANOPACE_STATUS_WRONG, text, sizeof text);
    CHECK(strncmp(text, words, strlen(words)) == 0 && strstr(text, "0 to 1") != NULL);
}

static void shares_are_from_0_to_1(void)
{
    const double wrong[] = {1.000001, -0.1, 25, 1e300, -1e300, INFINITY, -INFINITY, NAN};
    const double right[] = {0.0, -0.0, 1e-300, 0.25, 1.0};
    nanopace_options options = nanopace_options_default();
    nanopace_pacer *pacer = NULL;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        options.sleep_share = wrong[i];
        told_of_share(&options, "options.sleep_share is ");
        options.sleep_share = 0;
        options.spin_share = wrong[i];
        told_of_share(&options, "options.spin_share is ");
        options.spin_share = 0;
    }
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        options.sleep_share = options.spin_share = right[i];
        CHECK(nanopace_new("5/s", &options, &pacer) == NANOPACE_STATUS_OK);
        CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
    }
}

static void a_clock_of_tests_has_an_end(void)
{
    nanopace_pacer *pacer = paced("1/d", NANOPACE_CLOCK_JUMPING);
    nanopace_grant grant;
    uint64_t due = 0;
    CHECK(nanopace_set_max_backlog(pacer, 1) == NANOPACE_STATUS_OK);
    CHECK(nanopace_advance(pacer, INT64_MAX - MILLI) == NANOPACE_STATUS_OK);
    while (nanopace_try_acquire(pacer, &grant, &due) == NANOPACE_STATUS_OK)
        CHECK(grant.intended_start_ns <= nanopace_now(pacer));
    CHECK(due == UINT64_MAX);
    for (int i = 0; i < 2; i++) {
        CHECK(nanopace_advance(pacer, UINT64_MAX) == NANOPACE_STATUS_OK);
        CHECK(nanopace_now(pacer) == INT64_MAX);
    }
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
}

static void what_is_freed_is_told(void)
{
    nanopace_pacer *pacer = paced("10/s", NANOPACE_CLOCK_JUMPING);
    nanopace_lane *lane = NULL;
    nanopace_poller *poller = NULL;
    nanopace_claim *claim = NULL;
    nanopace_watch *watch = NULL;
    nanopace_grant grant;
    int fd = -1;
    CHECK(nanopace_lane_new(pacer, &lane) == NANOPACE_STATUS_OK);
    CHECK(nanopace_poller_new(pacer, &poller) == NANOPACE_STATUS_OK);
    CHECK(nanopace_claim_new(pacer, 2, &claim) == NANOPACE_STATUS_OK);
    CHECK(nanopace_watch_new(pacer, &watch, &fd) == NANOPACE_STATUS_OK && fd >= 0);
    CHECK(nanopace_lane_free(lane) == NANOPACE_STATUS_OK);
    CHECK(nanopace_lane_free(lane) == NANOPACE_STATUS_FREED);
    CHECK(nanopace_lane_acquire(lane, &grant) == NANOPACE_STATUS_FREED);
    CHECK(nanopace_lane_give_back(lane) == NANOPACE_STATUS_FREED);
    CHECK(nanopace_poller_free(poller) == NANOPACE_STATUS_OK);
    CHECK(nanopace_poller_free(poller) == NANOPACE_STATUS_FREED);
    CHECK(nanopace_poller_poll(poller, &grant, NULL) == NANOPACE_STATUS_FREED);
    CHECK(nanopace_claim_free(claim) == NANOPACE_STATUS_OK);
    CHECK(nanopace_claim_free(claim) == NANOPACE_STATUS_FREED);
    CHECK(nanopace_claim_start(claim, &grant, NULL) == NANOPACE_STATUS_FREED);
    CHECK(nanopace_watch_free(watch) == NANOPACE_STATUS_OK);
    CHECK(nanopace_watch_free(watch) == NANOPACE_STATUS_FREED);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_FREED);
    CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_FREED);
    CHECK(nanopace_set_load(pacer, "5/s") == NANOPACE_STATUS_FREED);
    CHECK(nanopace_lane_new(pacer, &lane) == NANOPACE_STATUS_FREED);
    CHECK(nanopace_now(pacer) == 0);
}

/* The memory of freed handles is released in the end, and so are their descriptors. */
static void handles_come_and_go(void)
{
    for (int i = 0; i < 2000; i++) {
        nanopace_pacer *pacer = paced("10/s", NANOPACE_CLOCK_JUMPING);
        nanopace_lane *lane = NULL;
        nanopace_poller *poller = NULL;
        nanopace_claim *claim = NULL;
        nanopace_watch *watch = NULL;
        nanopace_grant grant;
        int fd = -1;
        CHECK(nanopace_lane_new(pacer, &lane) == NANOPACE_STATUS_OK);
        CHECK(nanopace_poller_new(pacer, &poller) == NANOPACE_STATUS_OK);
        CHECK(nanopace_watch_new(pacer, &watch, &fd) == NANOPACE_STATUS_OK && fd >= 0);
        CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK);
        CHECK(nanopace_poller_poll(poller, &grant, NULL) == NANOPACE_STATUS_NOT_YET);
        CHECK(nanopace_claim_new(pacer, 2, &claim) == NANOPACE_STATUS_OK);
        CHECK(nanopace_set_load(pacer, "20/s") == NANOPACE_STATUS_OK);
        CHECK(nanopace_watch_free(watch) == NANOPACE_STATUS_OK);
        CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
        CHECK(nanopace_poller_free(poller) == NANOPACE_STATUS_OK);
        CHECK(nanopace_claim_free(claim) == NANOPACE_STATUS_OK);
        CHECK(nanopace_lane_free(lane) == NANOPACE_STATUS_OK);
    }
}

static void *acquires(void *lane)
{
    nanopace_grant grant;
    nanopace_status *status = (nanopace_status *)malloc(sizeof *status);
    CHECK(status != NULL);
    *status = nanopace_lane_acquire((nanopace_lane *)lane, &grant);
    return status;
}

static nanopace_status elsewhere(nanopace_lane *lane)
{
    pthread_t thread;
    void *told;
    CHECK(pthread_create(&thread, NULL, acquires, lane) == 0 && pthread_join(thread, &told) == 0);
    nanopace_status status = *(nanopace_status *)told;
    free(told);
    return status;
}

static void a_lane_belongs_to_one_thread(void)
{
    nanopace_pacer *pacer = paced("10/s", NANOPACE_CLOCK_JUMPING);
    nanopace_lane *lane = NULL;
    nanopace_grant grant;
    CHECK(nanopace_lane_new(pacer, &lane) == NANOPACE_STATUS_OK);
    CHECK(nanopace_lane_acquire(lane, &grant) == NANOPACE_STATUS_OK);
    CHECK(elsewhere(lane) == NANOPACE_STATUS_BUSY);
    CHECK(nanopace_lane_acquire(lane, &grant) == NANOPACE_STATUS_OK);
    CHECK(nanopace_lane_give_back(lane) == NANOPACE_STATUS_OK);
    CHECK(elsewhere(lane) == NANOPACE_STATUS_OK);
    CHECK(nanopace_lane_free(lane) == NANOPACE_STATUS_OK);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
}

static void *waits(void *poller)
{
    nanopace_grant grant;
    nanopace_status status;
    do /* until it is this thread's turn */
        status = nanopace_poller_wait((nanopace_poller *)poller, UINT64_MAX, &grant, NULL);
    while (status == NANOPACE_STATUS_BUSY);
    CHECK(status == NANOPACE_STATUS_CLOSED);
    return NULL;
}

static void a_poller_serves_one_thread_at_a_time(void)
{
    nanopace_pacer *pacer = paced("1/d", NANOPACE_CLOCK_MANUAL);
    nanopace_poller *poller = NULL;
    nanopace_grant grant;
    nanopace_status status;
    pthread_t thread;
    CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK);
    CHECK(nanopace_poller_new(pacer, &poller) == NANOPACE_STATUS_OK);
    CHECK(pthread_create(&thread, NULL, waits, poller) == 0);
    do { /* until the other thread waits for its slot */
        status = nanopace_poller_poll(poller, &grant, NULL);
        CHECK(status == NANOPACE_STATUS_NOT_YET || status == NANOPACE_STATUS_BUSY);
    } while (status != NANOPACE_STATUS_BUSY);
    CHECK(nanopace_poller_free(poller) == NANOPACE_STATUS_BUSY);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK); /* wakes the thread */
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(nanopace_poller_free(poller) == NANOPACE_STATUS_OK);
}

static void *sleeps(void *pacer)
{
    nanopace_grant grant;
    nanopace_status status = nanopace_acquire((nanopace_pacer *)pacer, &grant);
    CHECK(status == NANOPACE_STATUS_CLOSED || status == NANOPACE_STATUS_FREED);
    return NULL;
}

static void a_pacer_is_freed_under_sleepers(void)
{
    for (int i = 0; i < 50; i++) {
        nanopace_pacer *pacer = NULL;
        nanopace_grant grant;
        nanopace_ledger ledger;
        pthread_t threads[8];
        CHECK(nanopace_new("1/d", NULL, &pacer) == NANOPACE_STATUS_OK);
        CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK);
        for (int t = 0; t < 8; t++)
            CHECK(pthread_create(&threads[t], NULL, sleeps, pacer) == 0);
        do /* until as many threads have taken a slot as this round requires */
            CHECK(nanopace_get_ledger(pacer, &ledger) == NANOPACE_STATUS_OK);
        while (ledger.granted < 1 + (uint64_t)i % 9);
        CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
        for (int t = 0; t < 8; t++)
            CHECK(pthread_join(threads[t], NULL) == 0);
    }
}

static void a_watch_tells_of_changes(void)
{
    nanopace_pacer *pacer = paced("1/h", NANOPACE_CLOCK_MANUAL);
    nanopace_watch *watch = NULL;
    uint64_t changes;
    int fd = -1;
    CHECK(nanopace_watch_new(pacer, &watch, &fd) == NANOPACE_STATUS_OK);
    CHECK(read(fd, &changes, sizeof changes) < 0);
    for (int i = 0; i < 3; i++) {
        CHECK(nanopace_set_load(pacer, i % 2 ? "2/h" : "1/s") == NANOPACE_STATUS_OK);
        CHECK(read(fd, &changes, sizeof changes) == sizeof changes && changes >= 1);
        CHECK(read(fd, &changes, sizeof changes) < 0);
    }
    CHECK(nanopace_close(pacer) == NANOPACE_STATUS_OK);
    CHECK(read(fd, &changes, sizeof changes) == sizeof changes);
    CHECK(nanopace_watch_free(watch) == NANOPACE_STATUS_OK);
    CHECK(read(fd, &changes, sizeof changes) < 0);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
}

int main(void)
{
    null_is_told();
    texts_and_numbers_are_told();
    shares_are_from_0_to_1();
    a_clock_of_tests_has_an_end();
    what_is_freed_is_told();
    handles_come_and_go();
    a_lane_belongs_to_one_thread();
    a_poller_serves_one_thread_at_a_time();
    a_pacer_is_freed_under_sleepers();
    a_watch_tells_of_changes();
    return 0;
}
