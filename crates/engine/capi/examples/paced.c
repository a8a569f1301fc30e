/* Starts 100 operations at 1000/s, and prints the largest lateness, or why it failed. */
#include <inttypes.h>
#include <nanopace.h>
#include <stdio.h>

static int fail(nanopace_status status)
{
    char why[256];
    nanopace_describe(status, why, sizeof why);
    fprintf(stderr, "paced: %s\n", why);
    return 1;
}

int main(void)
{
    nanopace_pacer *pacer;
    nanopace_grant grant;
    uint64_t latest_ns = 0;
    nanopace_status status = nanopace_new("1k/s", NULL, &pacer);
    if (status)
        return fail(status);
    for (int i = 0; i < 100 && !(status = nanopace_acquire(pacer, &grant)); i++) {
        /* ... the operation ... */
        latest_ns = grant.wait_ns > latest_ns ? grant.wait_ns : latest_ns;
    }
    if (status)
        return fail(status);
    printf("the latest of 100 starts was %" PRIu64 " ns late\n", latest_ns);
    return (int)nanopace_free(pacer);
}
