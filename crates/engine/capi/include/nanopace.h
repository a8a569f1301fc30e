/* nanopace for C and C++: paces the operations of load generators. Each starts on schedule, and one that
 * can't is told how late it is.
 *
 * What holds for every function:
 *
 * - It returns a status, and NANOPACE_STATUS_OK is 0. What it hands out goes to out pointers, which are
 *   written only then, if nothing else is said.
 * - A pointer is null or points to what its type says. Null where something is needed is an error.
 * - A handle works from any thread, if nothing else is said. One that is freed is told as such, until 256
 *   more of its kind have been freed.
 * - Texts are UTF-8. Times are nanoseconds.
 * - None may be called in a handler of a signal.
 * - A process that forks has a copy: parent and child hand out the same slots, each by itself. Fork while
 *   no other thread is in a call. A watch is not copied: see nanopace_watch.
 * - No call is a cancellation point.
 *
 * Made from the source by `cargo xtask pages`.
 */

#ifndef NANOPACE_H
#define NANOPACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How a call ended. `nanopace_describe` says it in words.
typedef enum {
  // It has done what was asked for.
  NANOPACE_STATUS_OK = 0,
  // The slot is not due yet. Polled again it may be.
  NANOPACE_STATUS_NOT_YET = 1,
  // The pacer is paused.
  NANOPACE_STATUS_PAUSED = 2,
  // The schedule has no slot left. Behind a shape it goes on with `nanopace_set_load`; an end by
  // `nanopace_options.slots` or `until_ns` is final.
  NANOPACE_STATUS_FINISHED = 3,
  // The pacer is closed.
  NANOPACE_STATUS_CLOSED = 4,
  // More than 2^44 slots that are not due yet have been taken.
  NANOPACE_STATUS_TOO_FAR_AHEAD = 5,
  // A pointer is null that must not be.
  NANOPACE_STATUS_NULL = 6,
  // The handle has been freed.
  NANOPACE_STATUS_FREED = 7,
  // A text is not UTF-8.
  NANOPACE_STATUS_NOT_UTF8 = 8,
  // A text, a number or a struct's size is not what the function takes.
  NANOPACE_STATUS_WRONG = 9,
  // Another thread has the handle: see the functions of its kind.
  NANOPACE_STATUS_BUSY = 10,
  // The operating system has refused something.
  NANOPACE_STATUS_SYSTEM = 11,
  // An error in nanopace itself, which has been caught.
  NANOPACE_STATUS_PANICKED = 12,
} nanopace_status;

// The clock of a pacer, for `nanopace_options.clock`.
typedef enum {
  // `CLOCK_MONOTONIC`: moments are its nanoseconds, to be compared with those of others.
  NANOPACE_CLOCK_MONOTONIC = 0,
  // The processor's counter. It is read in half the time, and its moments are its own.
  NANOPACE_CLOCK_COUNTER = 1,
  // Stands still at 0 until `nanopace_advance` moves it, for tests.
  NANOPACE_CLOCK_MANUAL = 2,
  // Like a manual one, but a caller who is held back moves it to the end of that.
  NANOPACE_CLOCK_JUMPING = 3,
} nanopace_clock;

// When slot 0 is intended to start, for `nanopace_options.start`.
typedef enum {
  // When the pacer is made.
  NANOPACE_START_NOW = 0,
  // At the first `nanopace_resume`.
  NANOPACE_START_RESUME = 1,
  // When a caller first wants a slot.
  NANOPACE_START_FIRST_USE = 2,
} nanopace_start;

// One or more slots in a row that have been taken, to be started as one operation when they are due. Any
// thread may use it, one at a time: another one gets `NANOPACE_STATUS_BUSY` meanwhile.
typedef struct nanopace_claim nanopace_claim;

// One worker's handle to a pacer. It belongs to the thread that first uses it, until that thread calls
// `nanopace_lane_give_back`: another one gets `NANOPACE_STATUS_BUSY`. When the thread has ended without that,
// the lane can only be freed.
typedef struct nanopace_lane nanopace_lane;

// A pacer. Every call works from any number of threads.
typedef struct nanopace_pacer nanopace_pacer;

// What starts one slot after the other and keeps a slot that is not due. Any thread may use it, one at a
// time: another one gets `NANOPACE_STATUS_BUSY` meanwhile.
typedef struct nanopace_poller nanopace_poller;

// A file descriptor that tells of changes of a pacer's schedule; on Linux.
//
// A watch is not copied by fork: both processes have one `eventfd`. Free it in the child without reading
// it, and make a new one.
typedef struct nanopace_watch nanopace_watch;

// A slot that may start now. Moments are nanoseconds on the pacer's clock, `CLOCK_MONOTONIC` by
// default.
typedef struct {
  // When the schedule says that the operation starts. Response times count from here.
  uint64_t intended_start_ns;
  // When the operation was allowed to start.
  uint64_t actual_start_ns;
  // How late the operation starts: actual minus intended start, never negative.
  uint64_t wait_ns;
  // The slot's number in the whole load, from 0.
  uint64_t slot;
} nanopace_grant;

// The settings of a pacer. Zero, or null, in a field means its default, so set `size` and what you want,
// and nothing else: `nanopace_options options = {.size = sizeof options, .strictness = 1.0};`
typedef struct {
  // The size of this struct where you compile it. It grows with versions of nanopace, at the end.
  size_t size;
  // How slots lie around the rate: "even" (the default), "poisson", "exact-poisson:1000",
  // "gamma:0.25" or "jitter:0.3".
  const char *arrivals;
  // The part of the load that is this process's: "1/3" is the first of three equal parts, "2/3:1" the
  // second of two, of which the first is three times as large. All of it by default.
  const char *shard;
  // How callers are held back: "sleep" (the default), "hybrid", "yield" or "spin".
  const char *pause;
  // The seed of random arrivals. 0 is a seed as any other.
  uint64_t seed;
  // What happens to missed time: 0 (the default) makes up for all of it, 1 for none, numbers above
  // 1 are burst ratios.
  double strictness;
  // The most lateness that is made up for. No limit by default; for nearly none write 1.
  uint64_t max_backlog_ns;
  // Slots that are later than this are skipped, and counted. None by default.
  uint64_t skip_later_than_ns;
  // A pause that is shorter is left out, so a slot may start early by less than this.
  uint64_t sleep_threshold_ns;
  // Lateness up to this is made up for under every strictness but 1. 100000 by default.
  uint64_t tolerance_ns;
  // The share of a core that each thread may spend on sleeping, from 0 to 1. 0.1 by default.
  double sleep_share;
  // The share of a core that each thread may spend on spinning when the pause is "hybrid", from 0 to
  // 1. 0.25 by default.
  double spin_share;
  // The schedule ends after so many slots. No end by default. Such an end is final.
  uint64_t slots;
  // The schedule ends so many nanoseconds after slot 0. No end by default. Such an end is final.
  uint64_t until_ns;
  // A number of `nanopace_clock`.
  uint32_t clock;
  // A number of `nanopace_start`.
  uint32_t start;
} nanopace_options;

// Where the schedule's time went: `elapsed = allocated + idle + waiting + backlog`.
typedef struct {
  // Schedule time since the start, without pauses.
  uint64_t elapsed_ns;
  // Time that went to slots.
  uint64_t allocated_ns;
  // Time that a policy gave up.
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

// What is counted beside the ledger.
typedef struct {
  // Operations that started before their intended start, by less than the sleep threshold.
  uint64_t early_starts;
  // How long callers have spun when the pause is "hybrid", all of them together.
  uint64_t spun_ns;
} nanopace_counters;

// How things stand.
typedef struct {
  // The pacer's clock.
  uint64_t now_ns;
  // The rate in force, in slots per second of the whole load. 0 while a shape's is zero, or no more
  // than one a day, and when a shape is over. A pause changes nothing.
  double rate_hz;
  // Whether the schedule's time stands still.
  bool is_paused;
  // Whether the pacer is closed.
  bool is_closed;
  // Whether the schedule has no slot left.
  bool is_finished;
} nanopace_state;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// From now on the load is what the text says: a rate or a shape, as for `nanopace_new`. It is one atomic
// step without a burst, and reaches callers who are held back. Arrivals, shard and policies stay. It does
// nothing once the pacer is closed, and is `NANOPACE_STATUS_OK`.
nanopace_status nanopace_set_load(const nanopace_pacer *pacer,
                                  const char *load);

// From the slot with the number `from` in the whole load on, this process has the slots of a shard, as
// in `nanopace_options.shard`. `NANOPACE_STATUS_WRONG` if such a slot may have started.
nanopace_status nanopace_set_shard(const nanopace_pacer *pacer,
                                   const char *shard,
                                   uint64_t from);

// From now on missed time is treated as `nanopace_options.strictness` says.
nanopace_status nanopace_set_strictness(const nanopace_pacer *pacer, double strictness);

// From now on no more lateness than this is made up for; 0 removes the limit.
nanopace_status nanopace_set_max_backlog(const nanopace_pacer *pacer, uint64_t limit_ns);

// From now on slots that are later than this are skipped; 0 removes the limit.
nanopace_status nanopace_set_skip_later_than(const nanopace_pacer *pacer, uint64_t limit_ns);

// Stops the schedule's time: nothing starts until `nanopace_resume`. It does nothing once the pacer is
// closed, and is `NANOPACE_STATUS_OK`.
nanopace_status nanopace_pause(const nanopace_pacer *pacer);

// Lets the schedule's time go on.
nanopace_status nanopace_resume(const nanopace_pacer *pacer);

// Ends the schedule for good. Callers who are held back wake, and they and all later ones get
// `NANOPACE_STATUS_CLOSED`. The handle is still to be freed.
nanopace_status nanopace_close(const nanopace_pacer *pacer);

// Moves a clock of `NANOPACE_CLOCK_MANUAL` or `NANOPACE_CLOCK_JUMPING` forward, at most to 2^63 - 1
// ns: there is no time behind that, so start nothing there. On a jumping clock a caller whose slot is due
// later waits for a change of the load, or for the close. `NANOPACE_STATUS_WRONG` if the pacer has another
// clock.
nanopace_status nanopace_advance(const nanopace_pacer *pacer,
                                 uint64_t by_ns);

// Takes the next `n` slots, as `nanopace_acquire_many` does, and does not wait for them. What makes one claim
// after the other for single slots is a `nanopace_poller`, which needs no memory for each.
//
// Besides errors it returns `NANOPACE_STATUS_FINISHED`, `NANOPACE_STATUS_CLOSED` or
// `NANOPACE_STATUS_TOO_FAR_AHEAD`, and then there is no claim. Zero slots have started already: see
// `nanopace_acquire_many`.
nanopace_status nanopace_claim_new(const nanopace_pacer *pacer,
                                   uint32_t n,
                                   nanopace_claim **claim);

// Gives back the slots, unless they have started, and frees the claim. `NANOPACE_STATUS_BUSY` while another
// thread is in a call of it: then it is not freed.
nanopace_status nanopace_claim_free(nanopace_claim *claim);

// Starts the slots if the first of them is due. Otherwise the claim keeps them: it returns
// `NANOPACE_STATUS_NOT_YET` or `NANOPACE_STATUS_PAUSED`, and says in `due_ns`, which may be null, when they are
// due as things stand, as `nanopace_try_acquire` does. Never blocks. Started again it gives the same grant.
nanopace_status nanopace_claim_start(nanopace_claim *claim,
                                     nanopace_grant *grant,
                                     uint64_t *due_ns);

// Blocks until the slots start, but no longer than about so many nanoseconds. Then it returns as
// `nanopace_claim_start` does, and the claim keeps them.
nanopace_status nanopace_claim_wait(nanopace_claim *claim,
                                    uint64_t timeout_ns,
                                    nanopace_grant *grant,
                                    uint64_t *due_ns);

// Makes a lane. A worker that starts many operations is fastest with one of its own: slots that are due
// are taken in runs.
nanopace_status nanopace_lane_new(const nanopace_pacer *pacer,
                                  nanopace_lane **lane);

// Gives back what the lane has not started, and frees it. No other thread may be in a call of it.
nanopace_status nanopace_lane_free(nanopace_lane *lane);

// As `nanopace_acquire`, for the lane's thread.
nanopace_status nanopace_lane_acquire(nanopace_lane *lane, nanopace_grant *grant);

// As `nanopace_try_acquire`, for the lane's thread.
nanopace_status nanopace_lane_try_acquire(nanopace_lane *lane,
                                          nanopace_grant *grant,
                                          uint64_t *due_ns);

// Gives back what the lane has taken and not started, before a long time without acquiring. From then on
// any thread may be the next to have it.
nanopace_status nanopace_lane_give_back(nanopace_lane *lane);

// Makes a pacer of the load that the text says: a rate such as "5k/s", or a shape such as
// "ramp 100/s..5k/s 30s, hold 60s". The README has the grammar. Its slot 0 starts now, unless the options
// say otherwise.
//
// `options` may be null: then it is an open loop of even slots on `CLOCK_MONOTONIC`, whose callers
// sleep until their slots are due.
nanopace_status nanopace_new(const char *load,
                             const nanopace_options *options,
                             nanopace_pacer **pacer);

// Closes the pacer and frees the handle. Threads that are held back in it wake, and get
// `NANOPACE_STATUS_CLOSED`; so do its lanes, pollers and claims, which are freed each by its own function.
nanopace_status nanopace_free(nanopace_pacer *pacer);

// Takes the next slot, and blocks until its intended start. Says how late it is. No signal ends it:
// `nanopace_poller_wait` is for that.
nanopace_status nanopace_acquire(const nanopace_pacer *pacer, nanopace_grant *grant);

// Takes the next slot if it is due. Otherwise takes nothing, returns `NANOPACE_STATUS_NOT_YET`, and says
// in `due_ns`, which may be null, from when on it can be had. Never blocks.
//
// Every function that has `due_ns` writes it with all statuses from `NANOPACE_STATUS_NOT_YET` to
// `NANOPACE_STATUS_TOO_FAR_AHEAD`, and with no other. `UINT64_MAX` means: not as things stand (paused, a rate
// of zero for ever, over).
nanopace_status nanopace_try_acquire(const nanopace_pacer *pacer,
                                     nanopace_grant *grant,
                                     uint64_t *due_ns);

// As `nanopace_acquire`, but if the slot can't start within so many nanoseconds from now it takes
// nothing, and returns `NANOPACE_STATUS_NOT_YET` as soon as that is known.
nanopace_status nanopace_acquire_timeout(const nanopace_pacer *pacer,
                                         uint64_t timeout_ns,
                                         nanopace_grant *grant,
                                         uint64_t *due_ns);

// Takes the next `n` slots as one operation, as for operations that are weighed in bytes or rows: blocks
// until the first one's intended start. Zero takes nothing and starts now; its slot is
// `UINT64_MAX`.
nanopace_status nanopace_acquire_many(const nanopace_pacer *pacer,
                                      uint32_t n,
                                      nanopace_grant *grant);

// Takes the next `n` slots as one operation if the first of them is due; otherwise as
// `nanopace_try_acquire`.
nanopace_status nanopace_try_acquire_many(const nanopace_pacer *pacer,
                                          uint32_t n,
                                          nanopace_grant *grant,
                                          uint64_t *due_ns);

// Takes the next slot, blocks until its intended start, and takes with it what else is due, up to `most`
// slots in all: for callers to whom a call costs more than a slot. `grants` has room for `most`, and
// `taken` says how many there are.
//
// When no slot is left but some have been taken, it returns `NANOPACE_STATUS_OK`, and the next call
// says why there are no more. Zero for `most` is `NANOPACE_STATUS_WRONG`.
nanopace_status nanopace_acquire_due(const nanopace_pacer *pacer,
                                     nanopace_grant *grants,
                                     size_t most,
                                     size_t *taken);

// Makes a poller. It has no slot until it is first polled.
nanopace_status nanopace_poller_new(const nanopace_pacer *pacer, nanopace_poller **poller);

// Gives back the slot that it has, and frees it. `NANOPACE_STATUS_BUSY` while another thread is in a call
// of it: then it is not freed.
nanopace_status nanopace_poller_free(nanopace_poller *poller);

// Starts the slot that the poller has, or the next one, if it is due. Otherwise it keeps the slot,
// returns `NANOPACE_STATUS_NOT_YET` or `NANOPACE_STATUS_PAUSED`, and says in `due_ns`, which may be null,
// when the slot is due as things stand, as `nanopace_try_acquire` does. After a change of the schedule
// poll again. Never blocks.
nanopace_status nanopace_poller_poll(nanopace_poller *poller,
                                     nanopace_grant *grant,
                                     uint64_t *due_ns);

// Blocks until the slot that the poller has, or the next one, starts, but no longer than about so many
// nanoseconds. Then it returns as `nanopace_poller_poll` does, and keeps the slot: for callers who have to
// look around now and then, for a signal for example.
nanopace_status nanopace_poller_wait(nanopace_poller *poller,
                                     uint64_t timeout_ns,
                                     nanopace_grant *grant,
                                     uint64_t *due_ns);

// Gives back the slot that the poller has, if any: another caller gets it.
nanopace_status nanopace_poller_give_back(nanopace_poller *poller);

// The pacer's clock, in nanoseconds: the end of an operation, less its intended start, is its response
// time. 0 for a handle that is null or freed.
uint64_t nanopace_now(const nanopace_pacer *pacer);

// Where the schedule's time went.
nanopace_status nanopace_get_ledger(const nanopace_pacer *pacer, nanopace_ledger *ledger);

// What is counted beside the ledger. Takes no lock.
nanopace_status nanopace_get_counters(const nanopace_pacer *pacer, nanopace_counters *counters);

// How things stand.
nanopace_status nanopace_get_state(const nanopace_pacer *pacer, nanopace_state *state);

// How many slots the load has asked for before a moment on the pacer's clock.
nanopace_status nanopace_asked_before(const nanopace_pacer *pacer,
                                      uint64_t moment_ns,
                                      uint64_t *slots);

// Says in words what a status means, of what the calling thread's last failure with that status was:
// where a text has its error, for example.
//
// Copies as much as fits into the `length` bytes of `buffer`, with a zero byte at the end, and returns
// the length of the whole text without that, as `snprintf` does. `buffer` may be null if `length` is 0.
size_t nanopace_describe(uint32_t status,
                         char *buffer,
                         size_t length);

// Makes a watch. `fd` is an `eventfd` that is readable when the schedule has changed: the load or the
// policy was changed, a slot has come back, the last one was taken, or the pacer was resumed or closed.
// Read its 8 bytes, and then poll again. A pause does not tell, because it only makes slots later.
//
// The descriptor doesn't block, and is not passed on to other programs. It is closed by
// `nanopace_watch_free`, and not by you.
nanopace_status nanopace_watch_new(const nanopace_pacer *pacer,
                                   nanopace_watch **watch,
                                   int32_t *fd);

// Frees a watch, and closes its descriptor.
nanopace_status nanopace_watch_free(nanopace_watch *watch);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* NANOPACE_H */
