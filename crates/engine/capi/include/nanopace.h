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
 * - pthread_cancel does not end a wait: close the pacer instead. Disable cancellation around nanopace_new and
 *   nanopace_watch_free, which contain cancellation points.
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
  // The schedule has no slot left, or fewer than the call requested. After the end of a shape, `nanopace_set_load`
  // continues the schedule; an end by `nanopace_options.slots` or `until_ns` is final.
  NANOPACE_STATUS_FINISHED = 3,
  // The pacer is closed.
  NANOPACE_STATUS_CLOSED = 4,
  // The caller requested two or more slots at once, and more than 2^44 slots that are not due yet have been claimed.
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
  // `CLOCK_MONOTONIC`. Its times can be compared with those of other programs.
  NANOPACE_CLOCK_MONOTONIC = 0,
  // The processor's counter. A reading takes half as long as one of `CLOCK_MONOTONIC`, but the times have their own
  // origin.
  NANOPACE_CLOCK_COUNTER = 1,
  // A clock for tests, which stays at 0 until `nanopace_advance` moves it.
  NANOPACE_CLOCK_MANUAL = 2,
  // A clock for tests. It differs from the manual clock in that a caller that waits moves the clock to the end of
  // the wait.
  NANOPACE_CLOCK_JUMPING = 3,
} nanopace_clock;

// The event at which the schedule starts, for `nanopace_options.start`.
typedef enum {
  // The creation of the pacer.
  NANOPACE_START_NOW = 0,
  // The first `nanopace_resume`.
  NANOPACE_START_RESUME = 1,
  // The first time that a caller tries to claim a slot, or the first `nanopace_resume`, whichever comes first.
  NANOPACE_START_FIRST_USE = 2,
} nanopace_start;

// One or more claimed slots in a row, to be started as one operation when they are due. One thread at a time may use
// a claim: a concurrent call in another thread returns `NANOPACE_STATUS_BUSY`.
typedef struct nanopace_claim nanopace_claim;

// One worker's handle to a pacer. A lane belongs to the thread that first uses it, until that thread calls
// `nanopace_lane_give_back`. Until then, a call in another thread, except `nanopace_lane_free`, returns
// `NANOPACE_STATUS_BUSY`. If the thread has ended without that call, only free the lane: a later thread can be
// mistaken for its owner.
typedef struct nanopace_lane nanopace_lane;

// A pacer. It can be used from any number of threads.
typedef struct nanopace_pacer nanopace_pacer;

// Starts one slot at a time, and keeps a slot that is not due. One thread at a time may use a poller: a concurrent
// call in another thread returns `NANOPACE_STATUS_BUSY`.
typedef struct nanopace_poller nanopace_poller;

// A file descriptor that reports changes of a pacer's schedule. Available on Linux.
//
// A fork does not copy a watch: both processes share one `eventfd`. Free the watch in the child without reading the
// descriptor, and create a new one.
typedef struct nanopace_watch nanopace_watch;

// A slot that may start now. Times are in nanoseconds on the pacer's clock, which is `CLOCK_MONOTONIC` by default.
typedef struct {
  // The time at which the operation should start according to the schedule. Response times count from this time.
  uint64_t intended_start_ns;
  // The time at which the operation was allowed to start.
  uint64_t actual_start_ns;
  // The lateness of the operation: actual minus intended start, never negative.
  uint64_t wait_ns;
  // The slot's number in the whole load, counted from 0.
  uint64_t slot;
} nanopace_grant;

// The settings of a pacer. Zero, or null, in a field except `size` means its default. Begin with
// `nanopace_options_default()`, and set the fields that you need.
typedef struct {
  // The size of this struct in the header that you compile with. Later versions may add fields at the end.
  size_t size;
  // The distribution of slots over time: "even" (the default), "poisson", "exact-poisson:1000", "gamma:0.25"
  // or "jitter:0.3".
  const char *arrivals;
  // This process's part of the load: "1/3" is the first of three equal parts, and "2/3:1" the second of two, of
  // which the first is three times as large. The default is the whole load.
  const char *shard;
  // The way in which callers wait for their slots: "sleep" (the default), "hybrid", "yield" or "spin".
  const char *pause;
  // The seed of random arrivals. 0 is a valid seed.
  uint64_t seed;
  // The strictness, which sets how much lateness is made up for: 0 (the default) makes up for all of it, and 1 for
  // none of it. A number above 1 is a burst ratio.
  double strictness;
  // The maximum lateness that is made up for. No limit by default. To make up for nearly no lateness, write 1.
  uint64_t max_backlog_ns;
  // The lateness beyond which slots are skipped and counted. By default no slot is skipped.
  uint64_t skip_later_than_ns;
  // The delay below which callers do not pause, so a slot may start early by less than this time. 0 by default.
  uint64_t sleep_threshold_ns;
  // The lateness up to which time is made up for at once under every strictness except 1. 100000 by default.
  uint64_t tolerance_ns;
  // The share of a core that each thread may spend on going to sleep and waking up, from 0 to 1. 0.1 by default.
  double sleep_share;
  // The share of a core that each thread may spend on spinning when the pause is "hybrid", from 0 to
  // 1. 0.25 by default.
  double spin_share;
  // The number of slots after which the schedule ends permanently. No end by default.
  uint64_t slots;
  // The schedule time, without pauses, after which the schedule ends permanently. No end by default.
  uint64_t until_ns;
  // A value of `nanopace_clock`.
  uint32_t clock;
  // A value of `nanopace_start`.
  uint32_t start;
} nanopace_options;

// The account of the schedule's time: `elapsed = allocated + idle + waiting + backlog`.
typedef struct {
  // The schedule time since the start, without pauses.
  uint64_t elapsed_ns;
  // The part of the elapsed time that belongs to slots that were claimed or skipped.
  uint64_t allocated_ns;
  // The time that a late policy has forfeited.
  uint64_t idle_ns;
  // The time that is owed under a burst ratio.
  uint64_t waiting_ns;
  // The time of slots that were due and not claimed.
  uint64_t backlog_ns;
  // The number of slots that were claimed, without those that were given back or skipped.
  uint64_t granted;
  // The number of slots that were skipped because they were too late.
  uint64_t skipped;
  // The number of slots that were due and not claimed.
  uint64_t backlog_slots;
} nanopace_ledger;

// The counts of early starts and of spinning, which the ledger does not include.
typedef struct {
  // The number of operations that started before their intended start, by less than the sleep threshold.
  uint64_t early_starts;
  // The total time that all callers have spun when the pause is "hybrid".
  uint64_t spun_ns;
} nanopace_counters;

// The state of a pacer.
typedef struct {
  // The time of the call on the pacer's clock.
  uint64_t now_ns;
  // The rate at the time of the call, in slots per second of the whole load. The rate is 0 while a shape's rate is
  // zero or at most one per day, and after the end of a shape. A pause does not change the rate.
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

// Sets the load from this call on: a rate or a shape, as for `nanopace_new`. The change is one atomic step without a
// burst, and also applies to callers that are waiting. Arrivals, shard and policies stay the same. If the pacer is
// closed, the status is `NANOPACE_STATUS_OK`, and no slot starts.
nanopace_status nanopace_set_load(const nanopace_pacer *pacer,
                                  const char *load);

// Gives this process the slots of a shard, beginning with the slot with the number `from` in the whole load. The shard
// is written as in `nanopace_options.shard`. Returns `NANOPACE_STATUS_WRONG` if this process has claimed slot `from`
// or a later slot, or if such a slot may start already.
nanopace_status nanopace_set_shard(const nanopace_pacer *pacer,
                                   const char *shard,
                                   uint64_t from);

// Sets the strictness that applies to late starts after this call, as `nanopace_options.strictness` does.
nanopace_status nanopace_set_strictness(const nanopace_pacer *pacer,
                                        double strictness);

// Sets the maximum lateness, in nanoseconds, that is made up for after this call. 0 removes the limit.
nanopace_status nanopace_set_max_backlog(const nanopace_pacer *pacer,
                                         uint64_t limit_ns);

// Sets the lateness in nanoseconds beyond which slots are skipped after this call. 0 removes the limit.
nanopace_status nanopace_set_skip_later_than(const nanopace_pacer *pacer,
                                             uint64_t limit_ns);

// Stops the schedule's time: no slot starts until `nanopace_resume`. If the pacer is closed, the status is
// `NANOPACE_STATUS_OK`.
nanopace_status nanopace_pause(const nanopace_pacer *pacer);

// Continues the schedule's time after a pause. Also starts the schedule of a pacer that has not started yet because of
// `nanopace_options.start`.
nanopace_status nanopace_resume(const nanopace_pacer *pacer);

// Ends the schedule permanently. Callers that are waiting wake, and they and all later callers get
// `NANOPACE_STATUS_CLOSED`. The handle still has to be freed.
nanopace_status nanopace_close(const nanopace_pacer *pacer);

// Moves a clock of `NANOPACE_CLOCK_MANUAL` or `NANOPACE_CLOCK_JUMPING` forward, at most to 2^63 - 1 ns. Do not start
// operations at this maximum: on a jumping clock, a caller whose slot is due later waits until the load is changed or
// the pacer is closed. Returns `NANOPACE_STATUS_WRONG` if the pacer has another clock.
nanopace_status nanopace_advance(const nanopace_pacer *pacer,
                                 uint64_t by_ns);

// Claims the next `n` slots, as `nanopace_acquire_many` does, and returns without waiting until they are due. To claim
// one slot at a time, use a `nanopace_poller`, which allocates no memory per slot.
//
// In addition to errors, the function returns `NANOPACE_STATUS_FINISHED`, `NANOPACE_STATUS_CLOSED` or
// `NANOPACE_STATUS_TOO_FAR_AHEAD`. In these cases no claim is created. If `n` is 0, the function claims no slot, and
// the claim counts as started: see `nanopace_acquire_many`.
nanopace_status nanopace_claim_new(const nanopace_pacer *pacer,
                                   uint32_t n,
                                   nanopace_claim **claim);

// Gives back the slots, unless they have started, and frees the claim. While another thread is in a call with the
// claim, the function returns `NANOPACE_STATUS_BUSY` and does not free the claim.
nanopace_status nanopace_claim_free(nanopace_claim *claim);

// Starts the slots if the first of them is due. If the slots cannot start yet, the claim keeps the slots, and the
// function returns `NANOPACE_STATUS_NOT_YET` or `NANOPACE_STATUS_PAUSED`. It writes the time at which the slots are
// due by the current schedule to `due_ns`, which may be null. Never blocks. After the start, every later call returns
// the same grant.
nanopace_status nanopace_claim_start(nanopace_claim *claim,
                                     nanopace_grant *grant,
                                     uint64_t *due_ns);

// Blocks until the slots start, but no longer than about `timeout_ns` nanoseconds. After a timeout, the function
// returns the same as `nanopace_claim_start`, and the claim keeps the slots.
nanopace_status nanopace_claim_wait(nanopace_claim *claim,
                                    uint64_t timeout_ns,
                                    nanopace_grant *grant,
                                    uint64_t *due_ns);

// Creates a lane. A worker that starts many operations is fastest with its own lane, which claims several due slots at
// once.
nanopace_status nanopace_lane_new(const nanopace_pacer *pacer,
                                  nanopace_lane **lane);

// Gives back the slots that the lane has not started, and frees the lane. No other thread may be in a call with the
// lane.
nanopace_status nanopace_lane_free(nanopace_lane *lane);

// Acquires the next slot, like `nanopace_acquire`, for the lane's thread.
nanopace_status nanopace_lane_acquire(nanopace_lane *lane, nanopace_grant *grant);

// Starts the next slot if it is due, like `nanopace_try_acquire`, for the lane's thread.
nanopace_status nanopace_lane_try_acquire(nanopace_lane *lane,
                                          nanopace_grant *grant,
                                          uint64_t *due_ns);

// Gives back the slots that the lane has claimed and not started. Call this function before the worker stops acquiring
// for a long time. After this call, any thread may become the next owner.
nanopace_status nanopace_lane_give_back(nanopace_lane *lane);

// Creates a pacer for a load: a rate such as "5k/s", or a shape such as "ramp 100/s..5k/s 30s, hold 60s". See the
// README for the grammar. The schedule starts now, unless the options set another start.
//
// `options` may be null. By default, slots are evenly spaced on `CLOCK_MONOTONIC`, all missed slots are made up for at
// once, and a caller sleeps until its slot is due.
nanopace_status nanopace_new(const char *load,
                             const nanopace_options *options,
                             nanopace_pacer **pacer);

// Closes the pacer and frees the handle. Threads that wait for a slot of the pacer wake, and get
// `NANOPACE_STATUS_CLOSED`. After this call, the pacer's lanes, pollers and claims that have not started return that
// status, too. Each of these handles has a function that frees it.
nanopace_status nanopace_free(nanopace_pacer *pacer);

// Claims the next slot, blocks until its intended start, and writes a grant that contains how late the start is.
// Signals do not interrupt this call. To check for a signal periodically, call `nanopace_poller_wait` instead.
nanopace_status nanopace_acquire(const nanopace_pacer *pacer,
                                 nanopace_grant *grant);

// Starts the next slot if it is due. Otherwise claims no slot, returns a status such as `NANOPACE_STATUS_NOT_YET`, and
// writes the time at which the slot is due to `due_ns`, which may be null. Never blocks.
//
// Every function with a `due_ns` writes to `due_ns` for all statuses from `NANOPACE_STATUS_NOT_YET` to
// `NANOPACE_STATUS_TOO_FAR_AHEAD`, and for no other status. `UINT64_MAX` means that no due time is known: the pacer is
// paused or closed, the rate stays zero, the schedule has ended, or too many slots have been claimed.
nanopace_status nanopace_try_acquire(const nanopace_pacer *pacer,
                                     nanopace_grant *grant,
                                     uint64_t *due_ns);

// Acquires a slot like `nanopace_acquire`, but gives up if the slot can't start within `timeout_ns` nanoseconds from
// now. In that case the function claims no slot. It returns `NANOPACE_STATUS_NOT_YET` once it is clear that the
// slot can't start in time, or `NANOPACE_STATUS_PAUSED` if the pacer is still paused after that time.
nanopace_status nanopace_acquire_timeout(const nanopace_pacer *pacer,
                                         uint64_t timeout_ns,
                                         nanopace_grant *grant,
                                         uint64_t *due_ns);

// Claims the next `n` slots as one operation, for operations whose size is counted in bytes or rows. Blocks until the
// intended start of the first of them. If `n` is 0, the function claims no slot and the operation starts now; the slot
// number of the grant is then `UINT64_MAX`.
nanopace_status nanopace_acquire_many(const nanopace_pacer *pacer,
                                      uint32_t n,
                                      nanopace_grant *grant);

// Starts the next `n` slots as one operation if the first of them is due. Otherwise claims no slot, like
// `nanopace_try_acquire`.
nanopace_status nanopace_try_acquire_many(const nanopace_pacer *pacer,
                                          uint32_t n,
                                          nanopace_grant *grant,
                                          uint64_t *due_ns);

// Claims the next slot, blocks until its intended start, and also starts the other slots that are due, at most `most`
// slots in total. Use this function in a language from which calls of C are slow. `grants` must have room for `most`
// grants. `taken` receives the number of started slots, even if the status is not `NANOPACE_STATUS_OK`.
//
// If no slot is left but some have been started, the function returns `NANOPACE_STATUS_OK`, and the next call returns
// the reason why no slot is left. If `most` is zero, the function returns `NANOPACE_STATUS_WRONG`.
nanopace_status nanopace_acquire_due(const nanopace_pacer *pacer,
                                     nanopace_grant *grants,
                                     size_t most,
                                     size_t *taken);

// Creates a poller. The poller holds no slot before the first call of `nanopace_poller_poll` or
// `nanopace_poller_wait`.
nanopace_status nanopace_poller_new(const nanopace_pacer *pacer, nanopace_poller **poller);

// Gives back the poller's slot, if it holds one, and frees the poller. While another thread is in a call with the
// poller, the function returns `NANOPACE_STATUS_BUSY` and does not free the poller.
nanopace_status nanopace_poller_free(nanopace_poller *poller);

// Starts the poller's slot if it is due. A poller without a slot first claims the next slot. If the slot cannot start
// yet, the poller keeps the slot, and the function returns `NANOPACE_STATUS_NOT_YET` or `NANOPACE_STATUS_PAUSED`. It
// writes the time at which the slot is due by the current schedule to `due_ns`, which may be null. After a change of
// the schedule, poll again. Never blocks.
nanopace_status nanopace_poller_poll(nanopace_poller *poller,
                                     nanopace_grant *grant,
                                     uint64_t *due_ns);

// Blocks until the poller's slot starts, but no longer than about `timeout_ns` nanoseconds. A poller without a slot
// first claims the next slot. After a timeout, the function returns the same as `nanopace_poller_poll`, and the poller
// keeps the slot. Use this function if the caller has to check periodically for an event, for example a signal.
nanopace_status nanopace_poller_wait(nanopace_poller *poller,
                                     uint64_t timeout_ns,
                                     nanopace_grant *grant,
                                     uint64_t *due_ns);

// Gives back the poller's slot, if it holds one. Another caller gets the slot.
nanopace_status nanopace_poller_give_back(nanopace_poller *poller);

// Returns the time on the pacer's clock, in nanoseconds. The response time of an operation is its end minus its
// intended start. Returns 0 for a handle that is null or freed.
uint64_t nanopace_now(const nanopace_pacer *pacer);

// Writes the account of the schedule's time to `ledger`.
nanopace_status nanopace_get_ledger(const nanopace_pacer *pacer, nanopace_ledger *ledger);

// Writes the counts of early starts and of spinning to `counters`. Takes no lock.
nanopace_status nanopace_get_counters(const nanopace_pacer *pacer, nanopace_counters *counters);

// Writes the state of a pacer to `state`.
nanopace_status nanopace_get_state(const nanopace_pacer *pacer, nanopace_state *state);

// Writes to `slots` how many slots this process's part of the load contains before `moment_ns` on the pacer's clock.
// For a moment before the last change of the load or the shard, the number may be that at the change. For a moment
// before the end of a pause, the number is too small.
nanopace_status nanopace_asked_before(const nanopace_pacer *pacer,
                                      uint64_t moment_ns,
                                      uint64_t *slots);

// Describes a status in words. If `status` is that of the calling thread's last failure, the text contains the
// details, for example the position of an error in a string.
//
// Copies as much as fits into the `length` bytes of `buffer`, with a zero byte at the end, and returns the length of
// the whole text without that byte, as `snprintf` does. `buffer` may be null if `length` is 0.
size_t nanopace_describe(uint32_t status,
                         char *buffer,
                         size_t length);

// Creates a watch. `fd` receives an `eventfd` that is readable when the schedule has started or changed: the load, the
// shard or the policy was changed, a slot was given back, the last slot was claimed, or the pacer was resumed or
// closed. Read 8 bytes from the descriptor, and then poll again. A pause is not reported. Changes of the load or the
// policy during a pause may go unreported.
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
