/* Shared by the test programs. */
#ifndef CHECK_H
#define CHECK_H

#include <nanopace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);   \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

#define MILLI UINT64_C(1000000)

/* A pacer with a clock for tests. */
static inline nanopace_pacer *paced(const char *load, nanopace_clock clock)
{
    nanopace_options options = nanopace_options_default();
    nanopace_pacer *pacer = NULL;
    options.clock = (uint32_t)clock;
    CHECK(nanopace_new(load, &options, &pacer) == NANOPACE_STATUS_OK);
    return pacer;
}

#endif
