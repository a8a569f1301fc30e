/* nanopace for C++17: handles that free themselves, and errors as exceptions. See the C header for
 * each call.
 *
 *     nanopace::pacer pacer("5k/s");
 *     nanopace::lane lane(pacer);       // one for each worker
 *     nanopace::grant grant;
 *     while (lane.acquire(grant)) {     // false: finished or closed, no more slots start
 *         // ... the operation ...
 *         auto response_ns = pacer.now() - grant.intended_start_ns;
 *     }
 *
 * Calls that may have to wait return the status, which distinguishes "not yet" from the end. Compare it:
 * NANOPACE_STATUS_OK is 0.
 *
 *     std::uint64_t due_ns;
 *     nanopace::status status = pacer.try_acquire(grant, &due_ns);
 *     if (status == NANOPACE_STATUS_OK) {
 *         // ... the operation ...
 *     } else if (status == NANOPACE_STATUS_FINISHED || status == NANOPACE_STATUS_CLOSED) {
 *         // ... the load is over ...
 *     }                                 // otherwise not before due_ns
 *
 * For functions without a method here, use get(): nanopace_set_strictness(pacer.get(), 1.0).
 */

#ifndef NANOPACE_HPP
#define NANOPACE_HPP

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include "nanopace.h"

namespace nanopace {

using grant = ::nanopace_grant;
using status = ::nanopace_status;
using options = ::nanopace_options;

/// Describes a status in words.
inline std::string describe(status of) {
  std::string text(nanopace_describe(of, nullptr, 0), '\0');
  nanopace_describe(of, text.data(), text.size() + 1);
  return text;
}

/// The error of an invalid call, or of a failed system call.
class error : public std::runtime_error {
 public:
  explicit error(status of) : std::runtime_error(describe(of)), status_(of) {}
  status code() const noexcept { return status_; }

 private:
  status status_;
};

/// Returns the status if it describes the state of the pacer; errors are thrown.
inline status told(status of) {
  if (of > NANOPACE_STATUS_TOO_FAR_AHEAD) throw error(of);
  return of;
}

/// Returns whether a blocking call has started a slot. Returns false if no more slots start; errors are thrown.
inline bool started(status of) {
  if (of == NANOPACE_STATUS_TOO_FAR_AHEAD) throw error(of);
  return told(of) == NANOPACE_STATUS_OK;
}

inline void done(status of) {
  if (of != NANOPACE_STATUS_OK) throw error(of);
}

/// Returns the default options.
inline options default_options() { return nanopace_options_default(); }

namespace detail {

template <typename T, status (*free)(T *)>
class handle {
 public:
  T *get() const noexcept { return owned_.get(); }

 protected:
  explicit handle(T *owned) noexcept : owned_(owned) {}

 private:
  struct release {
    void operator()(T *owned) const noexcept { free(owned); }
  };
  std::unique_ptr<T, release> owned_;
};

/// Creates a handle for slots of a pacer.
template <typename T>
T *made(status (*make)(const ::nanopace_pacer *, T **), const ::nanopace_pacer *of) {
  T *place = nullptr;
  done(make(of, &place));
  return place;
}

}  // namespace detail

class pacer : public detail::handle<::nanopace_pacer, nanopace_free> {
 public:
  explicit pacer(const std::string &load, const options &with = default_options())
      : handle(make(load, with)) {}

  bool acquire(grant &out) { return started(nanopace_acquire(get(), &out)); }
  [[nodiscard]] status try_acquire(grant &out, std::uint64_t *due_ns = nullptr) {
    return told(nanopace_try_acquire(get(), &out, due_ns));
  }
  [[nodiscard]] status acquire_for(std::uint64_t timeout_ns, grant &out) {
    return told(nanopace_acquire_timeout(get(), timeout_ns, &out, nullptr));
  }
  bool acquire_many(std::uint32_t n, grant &out) {
    return started(nanopace_acquire_many(get(), n, &out));
  }

  void set_load(const std::string &load) { done(nanopace_set_load(get(), load.c_str())); }
  void pause() { done(nanopace_pause(get())); }
  void resume() { done(nanopace_resume(get())); }
  void close() { done(nanopace_close(get())); }
  void advance(std::uint64_t by_ns) { done(nanopace_advance(get(), by_ns)); }

  std::uint64_t now() const { return nanopace_now(get()); }
  ::nanopace_ledger ledger() const {
    ::nanopace_ledger told;
    done(nanopace_get_ledger(get(), &told));
    return told;
  }

 private:
  static ::nanopace_pacer *make(const std::string &load, const options &with) {
    ::nanopace_pacer *place = nullptr;
    done(nanopace_new(load.c_str(), &with, &place));
    return place;
  }
};

class lane : public detail::handle<::nanopace_lane, nanopace_lane_free> {
 public:
  explicit lane(const pacer &of) : handle(detail::made(nanopace_lane_new, of.get())) {}

  bool acquire(grant &out) { return started(nanopace_lane_acquire(get(), &out)); }
  [[nodiscard]] status try_acquire(grant &out, std::uint64_t *due_ns = nullptr) {
    return told(nanopace_lane_try_acquire(get(), &out, due_ns));
  }
  void give_back() { done(nanopace_lane_give_back(get())); }
};

class poller : public detail::handle<::nanopace_poller, nanopace_poller_free> {
 public:
  explicit poller(const pacer &of) : handle(detail::made(nanopace_poller_new, of.get())) {}

  [[nodiscard]] status poll(grant &out, std::uint64_t *due_ns = nullptr) {
    return told(nanopace_poller_poll(get(), &out, due_ns));
  }
  [[nodiscard]] status wait_for(std::uint64_t timeout_ns, grant &out) {
    return told(nanopace_poller_wait(get(), timeout_ns, &out, nullptr));
  }
  void give_back() { done(nanopace_poller_give_back(get())); }
};

/// Slots that are claimed before their start. The constructor throws if the slots cannot be claimed.
class claim : public detail::handle<::nanopace_claim, nanopace_claim_free> {
 public:
  claim(const pacer &of, std::uint32_t n) : handle(make(of, n)) {}

  [[nodiscard]] status start(grant &out, std::uint64_t *due_ns = nullptr) {
    return told(nanopace_claim_start(get(), &out, due_ns));
  }
  [[nodiscard]] status wait_for(std::uint64_t timeout_ns, grant &out) {
    return told(nanopace_claim_wait(get(), timeout_ns, &out, nullptr));
  }

 private:
  static ::nanopace_claim *make(const pacer &of, std::uint32_t n) {
    ::nanopace_claim *place = nullptr;
    done(nanopace_claim_new(of.get(), n, &place));
    return place;
  }
};

}  // namespace nanopace

#endif  // NANOPACE_HPP
