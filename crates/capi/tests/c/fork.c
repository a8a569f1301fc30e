/* A process that forks has a copy: parent and child hand out the same slots, each by itself. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static void takes_slots(nanopace_pacer *pacer, nanopace_lane *lane, nanopace_poller *poller)
{
    nanopace_grant grant;
    for (uint64_t slot = 5; slot < 20; slot++) {
        CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK && grant.slot == slot);
        slot++;
        CHECK(nanopace_lane_acquire(lane, &grant) == NANOPACE_STATUS_OK && grant.slot == slot);
    }
    CHECK(nanopace_poller_wait(poller, UINT64_MAX, &grant, NULL) == NANOPACE_STATUS_OK);
    CHECK(grant.slot == 4);
}

static void frees(nanopace_pacer *pacer, nanopace_lane *lane, nanopace_poller *poller)
{
    CHECK(nanopace_poller_free(poller) == NANOPACE_STATUS_OK);
    CHECK(nanopace_lane_free(lane) == NANOPACE_STATUS_OK);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
}

int main(void)
{
    nanopace_pacer *pacer = NULL;
    nanopace_lane *lane = NULL;
    nanopace_poller *poller = NULL;
    nanopace_grant grant;
    int status;
    CHECK(nanopace_new("1k/s", NULL, &pacer) == NANOPACE_STATUS_OK);
    CHECK(nanopace_lane_new(pacer, &lane) == NANOPACE_STATUS_OK);
    CHECK(nanopace_poller_new(pacer, &poller) == NANOPACE_STATUS_OK);
    for (int i = 0; i < 4; i++)
        CHECK(nanopace_lane_acquire(lane, &grant) == NANOPACE_STATUS_OK);
    CHECK(nanopace_lane_give_back(lane) == NANOPACE_STATUS_OK);
    if (nanopace_poller_poll(poller, &grant, NULL) != NANOPACE_STATUS_NOT_YET) {
        frees(pacer, lane, poller);
        return 77; /* too late to have it kept: try again */
    }
    pid_t child = fork();
    CHECK(child >= 0);
    takes_slots(pacer, lane, poller);
    frees(pacer, lane, poller);
    if (child > 0)
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    return 0;
}
