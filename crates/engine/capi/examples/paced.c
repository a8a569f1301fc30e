/* Starts 100 operations at 1000/s, and prints the largest lateness. */
#include <inttypes.h>
#include <nanopace.h>
#include <stdio.h>

int main(void)
{
    nanopace_pacer *pacer;
    nanopace_grant grant;
    uint64_t latest_ns = 0;
    if (nanopace_new("1k/s", NULL, &pacer))
        return 1;
    for (int i = 0; i < 100 && !nanopace_acquire(pacer, &grant); i++) {
        /* ... the operation ... */
        latest_ns = grant.wait_ns > latest_ns ? grant.wait_ns : latest_ns;
    }
    printf("the latest of 100 starts was %" PRIu64 " ns late\n", latest_ns);
    return (int)nanopace_free(pacer);
}
