/* nanopace for C and C++: paces the operations of load generators. Each operation starts on schedule, and its
 * grant reports how late it is.
 *
 * Rules for every function:
 *
 * - It returns a status, and NANOPACE_STATUS_OK is 0. Results go to out pointers. Unless the function's comment
 *   says otherwise, these are written only if the status is NANOPACE_STATUS_OK.
 * - A pointer is null or points to a value of its type. Null for a required pointer is an error.
 * - A handle works from any thread, unless its comment says otherwise. Using a freed handle returns
 *   NANOPACE_STATUS_FREED until 256 more handles of its kind have been freed.
 * - Strings are UTF-8. Times are nanoseconds.
 * - No function may be called in a signal handler.
 * - After a fork, each process has a copy: parent and child hand out the same slots independently. Fork while
 *   no other thread is in a call. A watch is not copied: see nanopace_watch.
 * - No call is a cancellation point.
 *
 * Generated from the source by `cargo xtask pages`.
 */

#ifndef NANOPACE_H
#define NANOPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// The result of a call. `nanopace_describe` returns it in words.
typedef enum {
  // The call succeeded.
  NANOPACE_STATUS_OK = 0,
  // The slot is not due yet. Poll again later.
  NANOPACE_STATUS_NOT_YET = 1,
  // The pacer is paused.
  NANOPACE_STATUS_PAUSED = 2,
  // The schedule has no slot left. After the end of a shape, `nanopace_set_load` continues it; an end by
  // `nanopace_options.slots` or `until_ns` is final.
  NANOPACE_STATUS_FINISHED = 3,
  // The pacer is closed.
  NANOPACE_STATUS_CLOSED = 4,
  // More than 2^44 slots that are not due yet have been taken.
  NANOPACE_STATUS_TOO_FAR_AHEAD = 5,
  // A required pointer is null.
  NANOPACE_STATUS_NULL = 6,
  // The handle has been freed.
  NANOPACE_STATUS_FREED = 7,
  // A string is not UTF-8.
  NANOPACE_STATUS_NOT_UTF8 = 8,
  // A string, a number or a struct's size is invalid for the function.
  NANOPACE_STATUS_WRONG = 9,
  // Another thread is using the handle: see the type of the handle.
  NANOPACE_STATUS_BUSY = 10,
  // A system call has failed.
  NANOPACE_STATUS_SYSTEM = 11,
  // An error in nanopace itself, which has been caught.
  NANOPACE_STATUS_PANICKED = 12,
} nanopace_status;

// The clock of a pacer, for `nanopace_options.clock`.
typedef enum {
  // `CLOCK_MONOTONIC`: moments are its nanoseconds, and can be compared with those of other programs.
  NANOPACE_CLOCK_MONOTONIC = 0,
  // The processor's counter. Reading it takes half the time, but its moments have their own origin.
  NANOPACE_CLOCK_COUNTER = 1,
  // Stays at 0 until `nanopace_advance` moves it, for tests.
  NANOPACE_CLOCK_MANUAL = 2,
  // Like a manual clock, but a caller that is held back moves it to the end of the pause.
  NANOPACE_CLOCK_JUMPING = 3,
} nanopace_clock;

// When slot 0 is intended to start, for `nanopace_options.start`.
typedef enum {
  // When the pacer is made.
  NANOPACE_START_NOW = 0,
  // At the first `nanopace_resume`.
  NANOPACE_START_RESUME = 1,
  // When a caller first asks for a slot.
  NANOPACE_START_FIRST_USE = 2,
} nanopace_start;

// One or more slots in a row that have been taken, to be started as one operation when they are due. One thread at a
// time may use a claim: a call in another thread returns `NANOPACE_STATUS_BUSY` meanwhile.
typedef struct nanopace_claim nanopace_claim;

// One worker's handle to a pacer. A lane belongs to the thread that first uses it, until that thread calls
// `nanopace_lane_give_back`. Until then, a call in another thread returns `NANOPACE_STATUS_BUSY`. If the thread has
// ended without that call, the lane can only be freed.
typedef struct nanopace_lane nanopace_lane;

// A pacer. Every call works from any number of threads.
typedef struct nanopace_pacer nanopace_pacer;

// Starts one slot after the other and keeps a slot that is not due. One thread at a time may use a poller: a call in
// another thread returns `NANOPACE_STATUS_BUSY` meanwhile.
typedef struct nanopace_poller nanopace_poller;

// A file descriptor that reports changes of a pacer's schedule; on Linux.
//
// A watch is not copied by fork: both processes share one `eventfd`. Free it in the child without reading it, and make
// a new one.
typedef struct nanopace_watch nanopace_watch;

// A slot that may start now. Moments are nanoseconds on the pacer's clock, `CLOCK_MONOTONIC` by
// default.
typedef struct {
  // When the schedule says that the operation starts. Response times count from this moment.
  uint64_t intended_start_ns;
  // When the operation was allowed to start.
  uint64_t actual_start_ns;
  // How late the operation starts: actual minus intended start, never negative.
  uint64_t wait_ns;
  // The slot's number in the whole load, from 0.
  uint64_t slot;
} nanopace_grant;

// The settings of a pacer. Zero, or null, in a field means its default. Begin with `nanopace_options_default()`, and
// set the fields that you need.
typedef struct {
  // The size of this struct in the header that you compile with. Later versions may add fields at the end.
  size_t size;
  // How slots are spread around the rate: "even" (the default), "poisson", "exact-poisson:1000", "gamma:0.25" or
  // "jitter:0.3".
  const char *arrivals;
  // This process's part of the load: "1/3" is the first of three equal parts, "2/3:1" the second of two, of which
  // the first is three times as large. The whole load by default.
  const char *shard;
  // How callers are held back: "sleep" (the default), "hybrid", "yield" or "spin".
  const char *pause;
  // The seed of random arrivals. 0 is a valid seed.
  uint64_t seed;
  // The policy for missed time: 0 (the default) makes up for all of it, 1 for none, numbers above 1 are burst
  // ratios.
  double strictness;
  // The largest lateness that is made up for. No limit by default. To make up for nearly nothing, write 1.
  uint64_t max_backlog_ns;
  // Slots that are later than this are skipped, and counted. By default no slot is skipped.
  uint64_t skip_later_than_ns;
  // Callers do not pause for a shorter delay, so a slot may start early by less than this. 0 by default.
  uint64_t sleep_threshold_ns;
  // Lateness up to this time is made up for at once under every strictness except 1. 100000 by default.
  uint64_t tolerance_ns;
  // The share of a core that each thread may spend on sleeping, from 0 to 1. 0.1 by default.
  double sleep_share;
  // The share of a core that each thread may spend on spinning when the pause is "hybrid", from 0 to
  // 1. 0.25 by default.
  double spin_share;
  // The schedule ends after this many slots. No end by default. Such an end is final.
  uint64_t slots;
  // The schedule ends this many nanoseconds after slot 0. No end by default. Such an end is final.
  uint64_t until_ns;
  // A value of `nanopace_clock`.
  uint32_t clock;
  // A value of `nanopace_start`.
  uint32_t start;
} nanopace_options;

// Where the schedule's time went: `elapsed = allocated + idle + waiting + backlog`.
typedef struct {
  // Schedule time since the start, without pauses.
  uint64_t elapsed_ns;
  // Time that was used by slots.
  uint64_t allocated_ns;
  // Time that a policy has forfeited.
  uint64_t idle_ns;
  // Time that is owed under a burst ratio.
  uint64_t waiting_ns;
  // Time of slots that are due and not yet taken.
  uint64_t backlog_ns;
  // Slots that were taken, and not given back or skipped.
  uint64_t granted;
  // Slots that were skipped because they were too late.
  uint64_t skipped;
  // Slots that are due and not yet taken.
  uint64_t backlog_slots;
} nanopace_ledger;

// Counters besides the ledger.
typedef struct {
  // Operations that started before their intended start, by less than the sleep threshold.
  uint64_t early_starts;
  // How long callers have spun when the pause is "hybrid", added up over all callers.
  uint64_t spun_ns;
} nanopace_counters;

// The state of a pacer.
typedef struct {
  // The pacer's clock.
  uint64_t now_ns;
  // The rate in force, in slots per second of the whole load. 0 while a shape's rate is zero or at most one per day,
  // and after the end of a shape. A pause does not change it.
  double rate_hz;
  // Whether the schedule's time is stopped.
  bool is_paused;
  // Whether the pacer is closed.
  bool is_closed;
  // Whether the schedule has no slot left.
  bool is_finished;
} nanopace_state;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Sets the load from now on: a rate or a shape, as for `nanopace_new`. The change is one atomic step without a burst,
// and also applies to callers that are held back. Arrivals, shard and policies stay. If the pacer is closed, nothing
// changes, and the status is `NANOPACE_STATUS_OK`.
nanopace_status nanopace_set_load(const nanopace_pacer *pacer,
                                  const char *load);

// Gives this process the slots of a shard, from the slot with the number `from` in the whole load on. The shard is
// written as in `nanopace_options.shard`. Returns `NANOPACE_STATUS_WRONG` if such a slot may have started.
nanopace_status nanopace_set_shard(const nanopace_pacer *pacer,
                                   const char *shard,
                                   uint64_t from);

// Sets the policy for missed time from now on, as `nanopace_options.strictness`.
nanopace_status nanopace_set_strictness(const nanopace_pacer *pacer, double strictness);

// Limits the lateness that is made up for from now on; 0 removes the limit.
nanopace_status nanopace_set_max_backlog(const nanopace_pacer *pacer, uint64_t limit_ns);

// Skips slots that are later than this from now on; 0 removes the limit.
nanopace_status nanopace_set_skip_later_than(const nanopace_pacer *pacer, uint64_t limit_ns);

// Stops the schedule's time: nothing starts until `nanopace_resume`. If the pacer is closed, nothing changes, and the
// status is `NANOPACE_STATUS_OK`.
nanopace_status nanopace_pause(const nanopace_pacer *pacer);

// Continues the schedule's time after a pause.
nanopace_status nanopace_resume(const nanopace_pacer *pacer);

// Ends the schedule for good. Callers that are held back wake, and they and all later callers get
// `NANOPACE_STATUS_CLOSED`. The handle still has to be freed.
nanopace_status nanopace_close(const nanopace_pacer *pacer);

// Moves a clock of `NANOPACE_CLOCK_MANUAL` or `NANOPACE_CLOCK_JUMPING` forward, at most to 2^63 - 1 ns. Do not start
// operations at that last moment: on a jumping clock, a caller whose slot is due later waits until the load is changed
// or the pacer is closed. Returns `NANOPACE_STATUS_WRONG` if the pacer has another clock.
nanopace_status nanopace_advance(const nanopace_pacer *pacer,
                                 uint64_t by_ns);

// Takes the next `n` slots, as `nanopace_acquire_many` does, and returns without waiting until they are due. To take
// single slots one after the other, use a `nanopace_poller`, which allocates nothing per slot.
//
// Besides errors it returns `NANOPACE_STATUS_FINISHED`, `NANOPACE_STATUS_CLOSED` or `NANOPACE_STATUS_TOO_FAR_AHEAD`,
// and then there is no claim. Zero slots count as started: see `nanopace_acquire_many`.
nanopace_status nanopace_claim_new(const nanopace_pacer *pacer,
                                   uint32_t n,
                                   nanopace_claim **claim);

// Gives back the slots, unless they have started, and frees the claim. While another thread is in a call with the
// claim, it returns `NANOPACE_STATUS_BUSY` and frees nothing.
nanopace_status nanopace_claim_free(nanopace_claim *claim);

// Starts the slots if the first of them is due. Otherwise the claim keeps them. The function then returns
// `NANOPACE_STATUS_NOT_YET` or `NANOPACE_STATUS_PAUSED`, and writes their due time by the current schedule to
// `due_ns`, which may be null. Never blocks. After the start, every further call returns the same grant.
nanopace_status nanopace_claim_start(nanopace_claim *claim,
                                     nanopace_grant *grant,
                                     uint64_t *due_ns);

// Blocks until the slots start, but no longer than about `timeout_ns` nanoseconds. After a timeout it returns the same
// as `nanopace_claim_start`, and the claim keeps the slots.
nanopace_status nanopace_claim_wait(nanopace_claim *claim,
                                    uint64_t timeout_ns,
                                    nanopace_grant *grant,
                                    uint64_t *due_ns);

// Makes a lane. A worker that starts many operations is fastest with its own lane: slots that are due are taken in
// runs.
nanopace_status nanopace_lane_new(const nanopace_pacer *pacer,
                                  nanopace_lane **lane);

// Gives back the slots that the lane has not started, and frees the lane. No other thread may be in a call with the
// lane.
nanopace_status nanopace_lane_free(nanopace_lane *lane);

// Like `nanopace_acquire`, for the lane's thread.
nanopace_status nanopace_lane_acquire(nanopace_lane *lane, nanopace_grant *grant);

// Like `nanopace_try_acquire`, for the lane's thread.
nanopace_status nanopace_lane_try_acquire(nanopace_lane *lane,
                                          nanopace_grant *grant,
                                          uint64_t *due_ns);

// Gives back the slots that the lane has taken and not started. Call it before a long time without acquiring. After
// that, any thread may become the next owner.
nanopace_status nanopace_lane_give_back(nanopace_lane *lane);

// Makes a pacer for a load: a rate such as "5k/s", or a shape such as "ramp 100/s..5k/s 30s, hold 60s". See the README
// for the grammar. Its slot 0 starts now, unless the options set another start.
//
// `options` may be null. The default is an open loop of even slots on `CLOCK_MONOTONIC`, whose callers sleep until
// their slots are due.
nanopace_status nanopace_new(const char *load,
                             const nanopace_options *options,
                             nanopace_pacer **pacer);

// Closes the pacer and frees the handle. Threads that are held back by the pacer wake, and get
// `NANOPACE_STATUS_CLOSED`. From then on, its lanes, pollers and claims return that status, too. Free each of them by
// its own function.
nanopace_status nanopace_free(nanopace_pacer *pacer);

// Takes the next slot, blocks until its intended start, and returns how late it is. Signals do not interrupt it: use
// `nanopace_poller_wait` for that.
nanopace_status nanopace_acquire(const nanopace_pacer *pacer,
                                 nanopace_grant *grant);

// Takes the next slot if it is due. Otherwise takes nothing, returns `NANOPACE_STATUS_NOT_YET`, and writes the time
// when the slot is due to `due_ns`, which may be null. Never blocks.
//
// Every function with a `due_ns` writes it for all statuses from `NANOPACE_STATUS_NOT_YET` to
// `NANOPACE_STATUS_TOO_FAR_AHEAD`, and for no other status. `UINT64_MAX` means that there is no such time by the
// current schedule: the pacer is paused, the rate stays zero for ever, or the schedule has ended.
nanopace_status nanopace_try_acquire(const nanopace_pacer *pacer,
                                     nanopace_grant *grant,
                                     uint64_t *due_ns);

// Like `nanopace_acquire`, but gives up if the slot can't start within `timeout_ns` nanoseconds from now: it takes
// nothing, and returns `NANOPACE_STATUS_NOT_YET` as soon as that is known.
nanopace_status nanopace_acquire_timeout(const nanopace_pacer *pacer,
                                         uint64_t timeout_ns,
                                         nanopace_grant *grant,
                                         uint64_t *due_ns);

// Takes the next `n` slots as one operation, for operations that are weighed in bytes or rows. Blocks until the
// intended start of the first of them. Zero slots takes nothing and starts now; its slot is `UINT64_MAX`.
nanopace_status nanopace_acquire_many(const nanopace_pacer *pacer,
                                      uint32_t n,
                                      nanopace_grant *grant);

// Takes the next `n` slots as one operation if the first of them is due; otherwise like `nanopace_try_acquire`.
nanopace_status nanopace_try_acquire_many(const nanopace_pacer *pacer,
                                          uint32_t n,
                                          nanopace_grant *grant,
                                          uint64_t *due_ns);

// Takes the next slot, blocks until its intended start, and also takes the other slots that are due. It takes at most
// `most` slots. For callers for which a call costs more than a slot. `grants` has room for `most`, and `taken` gets
// the number of slots.
//
// If no slot is left but some have been taken, it returns `NANOPACE_STATUS_OK`, and the next call returns the reason
// why there are no more. Zero for `most` is `NANOPACE_STATUS_WRONG`.
nanopace_status nanopace_acquire_due(const nanopace_pacer *pacer,
                                     nanopace_grant *grants,
                                     size_t most,
                                     size_t *taken);

// Makes a poller. It has no slot until it is first polled.
nanopace_status nanopace_poller_new(const nanopace_pacer *pacer, nanopace_poller **poller);

// Gives back the poller's slot, and frees the poller. While another thread is in a call with the poller, it returns
// `NANOPACE_STATUS_BUSY` and frees nothing.
nanopace_status nanopace_poller_free(nanopace_poller *poller);

// Starts the poller's slot if it is due. A poller without a slot takes the next one first. If the slot is not due, the
// poller keeps it. The function then returns `NANOPACE_STATUS_NOT_YET` or `NANOPACE_STATUS_PAUSED`, and writes the
// slot's due time by the current schedule to `due_ns`, which may be null. After a change of the schedule, poll again.
// Never blocks.
nanopace_status nanopace_poller_poll(nanopace_poller *poller,
                                     nanopace_grant *grant,
                                     uint64_t *due_ns);

// Blocks until the poller's slot starts, but no longer than about `timeout_ns` nanoseconds. A poller without a slot
// takes the next one first. After a timeout it returns the same as `nanopace_poller_poll`, and the poller keeps the
// slot. For callers that have to check for something now and then, for example a signal.
nanopace_status nanopace_poller_wait(nanopace_poller *poller,
                                     uint64_t timeout_ns,
                                     nanopace_grant *grant,
                                     uint64_t *due_ns);

// Gives back the poller's slot, if it has one: another caller gets the slot.
nanopace_status nanopace_poller_give_back(nanopace_poller *poller);

// The time on the pacer's clock, in nanoseconds: the end of an operation, less its intended start, is its response
// time. 0 for a handle that is null or freed.
uint64_t nanopace_now(const nanopace_pacer *pacer);

// Where the schedule's time went.
nanopace_status nanopace_get_ledger(const nanopace_pacer *pacer, nanopace_ledger *ledger);

// Counters besides the ledger. Takes no lock.
nanopace_status nanopace_get_counters(const nanopace_pacer *pacer, nanopace_counters *counters);

// The state of a pacer.
nanopace_status nanopace_get_state(const nanopace_pacer *pacer, nanopace_state *state);

// How many slots the load has asked for before a moment on the pacer's clock.
nanopace_status nanopace_asked_before(const nanopace_pacer *pacer,
                                      uint64_t moment_ns,
                                      uint64_t *slots);

// Describes a status in words. If it is the status of the calling thread's last failure, the text has the details, for
// example the position of an error in a string.
//
// Copies as much as fits into the `length` bytes of `buffer`, with a zero byte at the end, and returns the length of
// the whole text without that byte, as `snprintf` does. `buffer` may be null if `length` is 0.
size_t nanopace_describe(uint32_t status,
                         char *buffer,
                         size_t length);

// Makes a watch. `fd` is an `eventfd` that is readable when the schedule has changed: the load or the policy was
// changed, a slot was given back, the last slot was taken, or the pacer was resumed or closed. Read its 8 bytes, and
// then poll again. A pause is not reported, because it only makes slots later.
//
// The descriptor is non-blocking and close-on-exec. `nanopace_watch_free` closes it; do not close it yourself.
nanopace_status nanopace_watch_new(const nanopace_pacer *pacer,
                                   nanopace_watch **watch,
                                   int32_t *fd);

// Frees a watch, and closes its descriptor.
nanopace_status nanopace_watch_free(nanopace_watch *watch);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

// Options that are all at their defaults.
static inline nanopace_options nanopace_options_default(void) {
  nanopace_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  return options;
}

#endif  /* NANOPACE_H */
