/* After a fork, each process has its own copy of the pacer: parent and child start the same slots independently. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

/* On a clock for tests: starts slots 5 to 18, and then slot 4, which the poller holds. */
static void takes_the_same_slots(nanopace_pacer *pacer, nanopace_lane *lane, nanopace_poller *poller)
{
    nanopace_grant grant;
    for (uint64_t slot = 5; slot < 19; slot += 2) {
        CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK && grant.slot == slot);
        CHECK(nanopace_lane_acquire(lane, &grant) == NANOPACE_STATUS_OK && grant.slot == slot + 1);
    }
    CHECK(nanopace_poller_wait(poller, UINT64_MAX, &grant, NULL) == NANOPACE_STATUS_OK);
    CHECK(grant.slot == 4 && grant.wait_ns == 14 * MILLI);
    CHECK(nanopace_poller_free(poller) == NANOPACE_STATUS_OK);
    CHECK(nanopace_lane_free(lane) == NANOPACE_STATUS_OK);
}

/* On the system's clock: the process waits for its slots, and wakes. */
static void is_held_back(nanopace_pacer *pacer)
{
    nanopace_grant grant;
    for (int i = 0; i < 20; i++) {
        CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK);
        CHECK(grant.actual_start_ns >= grant.intended_start_ns);
    }
}

/* Both processes share one eventfd: the child frees its watch without reading, and creates a new one. */
static void a_watch_is_not_copied(void)
{
    nanopace_pacer *pacer = paced("1/h", NANOPACE_CLOCK_MANUAL);
    nanopace_watch *watch = NULL;
    uint64_t changes;
    int fd = -1, status;
    CHECK(nanopace_watch_new(pacer, &watch, &fd) == NANOPACE_STATUS_OK);
    CHECK(nanopace_set_load(pacer, "2/h") == NANOPACE_STATUS_OK);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(nanopace_watch_free(watch) == NANOPACE_STATUS_OK);
        CHECK(nanopace_watch_new(pacer, &watch, &fd) == NANOPACE_STATUS_OK);
        CHECK(read(fd, &changes, sizeof changes) < 0);
        CHECK(nanopace_set_load(pacer, "3/h") == NANOPACE_STATUS_OK);
    } else {
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    CHECK(read(fd, &changes, sizeof changes) == sizeof changes && changes == 1);
    CHECK(nanopace_watch_free(watch) == NANOPACE_STATUS_OK);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
    if (child == 0)
        exit(0);
}

int main(void)
{
    nanopace_pacer *pacer = paced("1k/s", NANOPACE_CLOCK_JUMPING);
    nanopace_pacer *real = NULL;
    nanopace_lane *lane = NULL;
    nanopace_poller *poller = NULL;
    nanopace_grant grant;
    int status;
    a_watch_is_not_copied();
    CHECK(nanopace_new("1k/s", NULL, &real) == NANOPACE_STATUS_OK);
    is_held_back(real);
    CHECK(nanopace_lane_new(pacer, &lane) == NANOPACE_STATUS_OK);
    CHECK(nanopace_poller_new(pacer, &poller) == NANOPACE_STATUS_OK);
    for (int i = 0; i < 4; i++)
        CHECK(nanopace_lane_acquire(lane, &grant) == NANOPACE_STATUS_OK);
    CHECK(nanopace_poller_poll(poller, &grant, NULL) == NANOPACE_STATUS_NOT_YET);
    pid_t child = fork();
    CHECK(child >= 0);
    takes_the_same_slots(pacer, lane, poller);
    is_held_back(real);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
    CHECK(nanopace_free(real) == NANOPACE_STATUS_OK);
    if (child > 0)
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}
