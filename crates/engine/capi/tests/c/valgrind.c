/* Calls each function that makes system calls, to be run under valgrind. */
#include "check.h"
#include <unistd.h>

int main(void)
{
    nanopace_pacer *pacer = NULL;
    nanopace_lane *lane = NULL;
    nanopace_watch *watch = NULL;
    nanopace_grant grant;
    uint64_t changes;
    int fd = -1;
    CHECK(nanopace_new("1k/s", NULL, &pacer) == NANOPACE_STATUS_OK);
    CHECK(nanopace_lane_new(pacer, &lane) == NANOPACE_STATUS_OK);
    CHECK(nanopace_watch_new(pacer, &watch, &fd) == NANOPACE_STATUS_OK);
    for (int i = 0; i < 3; i++) {
        CHECK(nanopace_acquire(pacer, &grant) == NANOPACE_STATUS_OK);
        CHECK(nanopace_lane_acquire(lane, &grant) == NANOPACE_STATUS_OK);
    }
    CHECK(nanopace_set_load(pacer, "2k/s") == NANOPACE_STATUS_OK);
    CHECK(read(fd, &changes, sizeof changes) == sizeof changes);
    CHECK(nanopace_watch_free(watch) == NANOPACE_STATUS_OK);
    CHECK(nanopace_lane_free(lane) == NANOPACE_STATUS_OK);
    CHECK(nanopace_free(pacer) == NANOPACE_STATUS_OK);
    return 0;
}
