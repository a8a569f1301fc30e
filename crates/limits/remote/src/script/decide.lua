-- Decides on a request by all limits of a subject, as crates/limits/limits does, to the last bit.
--
-- KEYS[1]  the subject's state: the limits as text, and below it the state of each, separated by
--          commas; then a line for each replaced limit that still counts: specification, state, text
-- ARGV     1 the limits as text
--          2 'take', or 'look' to change nothing
--          3 the moment in microseconds for tests; otherwise empty, and the server's clock is read
--          4 the most that the request costs any limit
--          5 how much more may be taken for later, 6 how many times that must be left
--          7 how many limits there are; then, for each, its specification and what the request
--          costs it; then, where all are rates whose interval is in whole nanoseconds, for each four
--          numbers: the burst's time that has to be left, and the time that the request takes to be
--          paid off, both in 2^36 ns and the rest in ns
-- Returns  whether it was let in (2: the state is one of other limits, nothing was done), the
--          moment in microseconds, how much more was taken, and the state before. An error if there is
--          something under the key that is no state; it stays as it is.
--
-- A double holds integers below 2^53. So a number of 64 bits is three *limbs* of 24 bits, the highest
-- first, and 18 hexadecimal digits as text.

local micros = tonumber(ARGV[3])
if not micros then
  local time = redis.call('TIME')
  micros = time[1] * 1000000 + time[2]
end
local before = redis.call('GET', KEYS[1])
if before == '' then error('no state') end
before = before or ''
local stated = ARGV[1] .. '\n'
local number = tonumber(ARGV[7])

-- The state of a rate whose debt never went back.
local NEVER_BACK = '^00%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x00000000'

-- The usual case, for speed: rates alone, in whole nanoseconds, whose debts never went back. They
-- need sums only, so two limbs of 36 bits will do. Anything else goes on below, where all of this is
-- there once more.
local function decide_plainly()
  local B, floor, sub, find, format =
    68719476736, math.floor, string.sub, string.find, string.format
  local low = micros % B * 1000
  local high = floor(micros / B) * 1000 + floor(low / B)
  low = low % B
  local states, most, at = {}, 0, #stated + 1
  for limit = 1, number do
    local first = 4 + 2 * number + 4 * limit
    local owed_high, owed_low = 0, 0
    if before ~= '' then
      if not find(before, NEVER_BACK, at) then return nil end
      if limit < number and sub(before, at + 26, at + 26) ~= ',' then return nil end
      owed_high = tonumber(sub(before, at, at + 8), 16)
      owed_low = tonumber(sub(before, at + 9, at + 17), 16)
      at = at + 27
    end
    local free_low = low + ARGV[first + 1]
    local free_high = high + ARGV[first] + floor(free_low / B)
    if owed_high > free_high or (owed_high == free_high and owed_low > free_low % B) then
      return { 0, micros, 0, before }
    end
    if owed_high < high or (owed_high == high and owed_low < low) then
      owed_high, owed_low = high, low
    end
    owed_low = owed_low + ARGV[first + 3]
    owed_high, owed_low = owed_high + ARGV[first + 2] + floor(owed_low / B), owed_low % B
    states[limit] = format('%09x%09x00000000', owed_high, owed_low)
    most = math.max(most, (owed_high - high) * B + owed_low - low)
  end
  local idle_ms = floor(most / 1e6) + 2
  if ARGV[3] ~= '' then idle_ms = idle_ms + 600000 end
  redis.call('SET', KEYS[1], stated .. table.concat(states, ','), 'PX', format('%.0f', idle_ms))
  return { 1, micros, 0, before }
end

if #ARGV > 7 + 2 * number
  and (before == ''
    or (#before == #stated + 27 * number - 1 and string.sub(before, 1, #stated) == stated)) then
  local decided = decide_plainly()
  if decided then return decided end
end

local B, floor, format, sub = 16777216, math.floor, string.format, string.sub

local function parse(text, at)
  local low = tonumber(sub(text, at + 6, at + 17), 16)
  local middle = floor(low / B)
  return tonumber(sub(text, at, at + 5), 16), middle, low - middle * B
end

-- The same of a state, where anybody may have written something else.
local function parse_own(text, at)
  if not string.find(text, '^00%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x%x', at) then error('no state') end
  return parse(text, at)
end

local function limbs(number)
  return floor(number / B / B), floor(number / B) % B, number % B
end

local function double(a, b, c)
  return (a * B + b) * B + c
end

local function add(a, b, c, x, y, z)
  local low = c + z
  local middle = b + y + floor(low / B)
  return a + x + floor(middle / B), middle % B, low % B
end

local function subtract(a, b, c, x, y, z)
  local low = c - z
  local middle = b - y + floor(low / B)
  return a - x + floor(middle / B), middle % B, low % B
end

local function at_most(a, b, c, x, y, z)
  if a ~= x then return a < x end
  if b ~= y then return b < y end
  return c <= z
end

local function min(a, b, c, x, y, z)
  if at_most(a, b, c, x, y, z) then return a, b, c end
  return x, y, z
end

local function max(a, b, c, x, y, z)
  if at_most(a, b, c, x, y, z) then return x, y, z end
  return a, b, c
end

-- Six limbs. Sums of three products of limbs stay below 2^50.
local function multiply(a, b, c, x, y, z)
  if a + b == 0 and c == 1 then return 0, 0, 0, x, y, z end
  local p0 = c * z
  local p1 = b * z + c * y + floor(p0 / B)
  local p2 = a * z + b * y + c * x + floor(p1 / B)
  local p3 = a * y + b * x + floor(p2 / B)
  local p4 = a * x + floor(p3 / B)
  return floor(p4 / B), p4 % B, p3 % B, p2 % B, p1 % B, p0 % B
end

-- The lower three limbs of a product that is known to fit.
local function times(a, b, c, x, y, z)
  local _, _, _, p, q, r = multiply(a, b, c, x, y, z)
  return p, q, r
end

local n2, n1, n0 = limbs(micros)
n2, n1, n0 = times(n2, n1, n0, 0, 0, 1000) -- now, in nanoseconds

-- A kind of limit: `read` a state, `show` it, `fits` says whether (x, y, z) more may go, `debit`
-- counts them, `debit_for_others` counts what other limits have let in, `idle_ms` is in how many
-- milliseconds nothing counts any more, `is_idle` whether that is so now.

-- A rate. The specification: the shortfall in 2^-72, the interval, the capacity, in units.
local Rate = { width = 26 }

function Rate.read(spec, state, at)
  local own = { kind = Rate, spec = spec }
  own.i2, own.i1, own.i0 = parse(spec, 20)
  own.c2, own.c1, own.c0 = parse(spec, 38)
  own.o2, own.o1, own.o0, own.back = 0, 0, 0, 0
  if state then
    own.o2, own.o1, own.o0 = parse_own(state, at)
    own.back = tonumber(string.match(state, '^%x%x%x%x%x%x%x%x', at + 18), 16)
  end
  -- The moment in units, rounded up, and rounded down; and how long a unit lasts.
  own.u2, own.u1, own.u0, own.d2, own.d1, own.d0 = n2, n1, n0, n2, n1, n0
  own.unit_ns = 1
  if sub(spec, 2, 19) ~= '000000000000000000' then
    local q2, q1, q0 = parse(spec, 2)
    local a, b, c, d, e, f = multiply(n2, n1, n0, q2, q1, q0)
    own.u2, own.u1, own.u0 = subtract(n2, n1, n0, a, b, c)
    local part = 0
    if d + e + f > 0 then part = 1 end
    own.d2, own.d1, own.d0 = subtract(own.u2, own.u1, own.u0, 0, 0, part)
    own.unit_ns = 1 / (1 - double(q2, q1, q0) / 2 ^ 72)
  end
  return own
end

function Rate.show(own)
  return format('%06x%06x%06x%08x', own.o2, own.o1, own.o0, own.back)
end

function Rate.fits(own, x, y, z)
  local p, q, r, x, y, z = multiply(x, y, z, own.i2, own.i1, own.i0)
  if p + q + r > 0 or not at_most(x, y, z, own.c2, own.c1, own.c0) then return false end
  x, y, z = add(x, y, z, own.o2, own.o1, own.o0)
  return at_most(x, y, z, add(own.u2, own.u1, own.u0, own.c2, own.c1, own.c0))
end

-- What is owed at least, from which the next debt starts.
local function base(own)
  return max(own.o2, own.o1, own.o0, own.u2, own.u1, own.u0)
end

function Rate.debit(own, x, y, z)
  if x + y + z > 0 then
    x, y, z = times(x, y, z, own.i2, own.i1, own.i0)
    own.o2, own.o1, own.o0 = add(x, y, z, base(own))
  end
end

-- At worst the rate is exhausted. How far the debt has gone back then is told too high rather than
-- too low: so less of it can be given back.
function Rate.debit_for_others(own, x, y, z)
  local requests = double(x, y, z)
  local p, q, r, x, y, z = multiply(x, y, z, own.i2, own.i1, own.i0)
  local o2, o1, o0 = add(x, y, z, base(own))
  local m2, m1, m0 = add(own.u2, own.u1, own.u0, own.c2, own.c1, own.c0)
  m2, m1, m0 = max(own.o2, own.o1, own.o0, m2, m1, m0)
  if p + q + r == 0 and at_most(o2, o1, o0, m2, m1, m0) then
    own.o2, own.o1, own.o0 = o2, o1, o0
  else
    own.o2, own.o1, own.o0 = m2, m1, m0
    own.back = (own.back + math.min(requests, 2147483647)) % 4294967296
    own.back = math.max(own.back, 1)
  end
end

-- Until when the state counts, in units.
local function counts_until(own)
  if own.back == 0 then return own.o2, own.o1, own.o0 end
  return add(own.o2, own.o1, own.o0, own.c2, own.c1, own.c0)
end

function Rate.is_idle(own)
  local a, b, c = counts_until(own)
  return at_most(a, b, c, own.d2, own.d1, own.d0)
end

function Rate.forget_back(own)
  if own.back > 0 and Rate.is_idle(own) then own.back = 0 end
end

function Rate.idle_ms(own)
  local a, b, c = counts_until(own)
  return (double(a, b, c) - double(own.d2, own.d1, own.d0)) * own.unit_ns / 1e6
end

-- Counts in windows of the clock. The specification: the length in nanoseconds, the most that get
-- in, the most that can be counted. A fixed window has no count of the window before.
-- Made when one comes: functions cost time.
local function make_windows()
  local Windows = { width = 54 }

  function Windows.read(spec, state, at)
    local own = { kind = Windows, spec = spec, slides = sub(spec, 1, 1) == 's' }
    own.l2, own.l1, own.l0 = parse(spec, 2)
    own.m2, own.m1, own.m0 = parse(spec, 20)
    own.x2, own.x1, own.x0 = parse(spec, 38)
    own.number, own.b2, own.b1, own.b0, own.c2, own.c1, own.c0 = 0, 0, 0, 0, 0, 0, 0
    if state then
      own.number = double(parse_own(state, at))
      own.b2, own.b1, own.b0 = parse_own(state, at + 18)
      own.c2, own.c1, own.c0 = parse_own(state, at + 36)
    end
    -- A division of doubles is off by one at most, because a window lasts a microsecond at least.
    local function start(number)
      local a, b, c = limbs(number)
      return times(a, b, c, own.l2, own.l1, own.l0)
    end
    local number = floor(micros * 1000 / double(own.l2, own.l1, own.l0))
    local a, b, c = start(number)
    if not at_most(a, b, c, n2, n1, n0) then number = number - 1 end
    a, b, c = start(number + 1)
    if at_most(a, b, c, n2, n1, n0) then number = number + 1 end
    own.current = number
    own.e2, own.e1, own.e0 = subtract(n2, n1, n0, start(number))
    return own
  end

  -- Goes on to the current window, unless a later one was seen.
  local function go_on(own)
    if own.current <= own.number then return end
    if own.slides and own.current == own.number + 1 then
      own.b2, own.b1, own.b0 = own.c2, own.c1, own.c0
    else
      own.b2, own.b1, own.b0 = 0, 0, 0
    end
    own.c2, own.c1, own.c0 = 0, 0, 0
    own.number = own.current
  end

  function Windows.show(own)
    local a, b, c = limbs(own.number)
    return format('%06x%06x%06x%06x%06x%06x%06x%06x%06x', a, b, c, own.b2, own.b1, own.b0, own.c2,
      own.c1, own.c0)
  end

  -- As of the current window; the state itself is not changed.
  local function latest(own)
    local now = { number = own.number, current = own.current, slides = own.slides, b2 = own.b2,
      b1 = own.b1, b0 = own.b0, c2 = own.c2, c1 = own.c1, c0 = own.c0 }
    go_on(now)
    return now
  end

  function Windows.fits(own, x, y, z)
    local now = latest(own)
    x, y, z = add(x, y, z, now.c2, now.c1, now.c0)
    if not at_most(x, y, z, own.m2, own.m1, own.m0) then return false end
    if now.b2 + now.b1 + now.b0 == 0 then return true end
    -- What the window before has let in x what is left of the current one <= room x length
    local r2, r1, r0 = own.l2, own.l1, own.l0
    if now.number == own.current then
      r2, r1, r0 = subtract(r2, r1, r0, own.e2, own.e1, own.e0)
    end
    local a, b, c, d, e, f = multiply(now.b2, now.b1, now.b0, r2, r1, r0)
    x, y, z = subtract(own.m2, own.m1, own.m0, x, y, z)
    local p, q, r, s, t, u = multiply(x, y, z, own.l2, own.l1, own.l0)
    if a ~= p or b ~= q or c ~= r then return at_most(a, b, c, p, q, r) end
    return at_most(d, e, f, s, t, u)
  end

  function Windows.debit(own, x, y, z)
    if x + y + z > 0 then
      go_on(own)
      x, y, z = add(x, y, z, own.c2, own.c1, own.c0)
      own.c2, own.c1, own.c0 = min(x, y, z, own.x2, own.x1, own.x0)
    end
  end

  Windows.debit_for_others = Windows.debit

  -- For how many windows from its own on the state counts.
  local function windows_in_sight(own)
    if own.slides and own.c2 + own.c1 + own.c0 > 0 then return 2 end
    if own.b2 + own.b1 + own.b0 + own.c2 + own.c1 + own.c0 > 0 then return 1 end
    return 0
  end

  function Windows.is_idle(own)
    return own.number + windows_in_sight(own) <= own.current
  end

  function Windows.forget_back() end

  function Windows.idle_ms(own)
    local windows = own.number + windows_in_sight(own) - own.current
    local length, gone = double(own.l2, own.l1, own.l0), double(own.e2, own.e1, own.e0)
    return (windows * length - gone) / 1e6
  end
  return Windows
end

local Windows
local function kind_of(spec)
  if sub(spec, 1, 1) == 'r' then return Rate end
  Windows = Windows or make_windows()
  return Windows
end

local at
if before ~= '' then
  if sub(before, 1, #stated) ~= stated then return { 2, micros, 0, before } end
  at = #stated + 1
end

local in_force, replaced = {}, {}
for place = 8, 6 + 2 * number, 2 do
  local kind = kind_of(ARGV[place])
  local own = kind.read(ARGV[place], at and before, at)
  own.n2, own.n1, own.n0 = parse(ARGV[place + 1], 1)
  in_force[#in_force + 1] = own
  if at then
    at = at + kind.width
    local separator = place < 6 + 2 * number and ',' or '\n'
    if at <= #before and sub(before, at, at) ~= separator then error('no state') end
    at = at + 1
  end
end
while at and at <= #before + 1 do
  local spec = sub(before, at, at + 54)
  local kind = kind_of(spec)
  local own = kind.read(spec, before, at + 55)
  local stop = string.find(before, '\n', at, true) or #before + 1
  own.text = sub(before, at + 55 + kind.width, stop - 1)
  replaced[#replaced + 1] = own
  at = stop + 1
end

-- Whether all of it fits, with so much more.
local function fits(more)
  local x, y, z = limbs(more)
  for _, own in ipairs(in_force) do
    if own.n2 + own.n1 + own.n0 + more > 0
      and not own.kind.fits(own, add(own.n2, own.n1, own.n0, x, y, z)) then
      return false
    end
  end
  return true
end

if ARGV[2] == 'look' then return { 0, micros, 0, before } end

local more, share = tonumber(ARGV[5]), tonumber(ARGV[6])
while more > 0 and not fits(more * share) do more = floor(more / 2) end
local is_let_in = more > 0 or fits(0)

local still = {}
for _, own in ipairs(replaced) do
  if not own.kind.is_idle(own) then still[#still + 1] = own end
end
if not is_let_in and #still == #replaced then return { 0, micros, 0, before } end

local x, y, z = limbs(more)
local m2, m1, m0 = parse(ARGV[4], 1)
m2, m1, m0 = add(m2, m1, m0, x, y, z)
local idle_ms, states, lines = 0, {}, {}
for place, own in ipairs(in_force) do
  own.kind.forget_back(own)
  if is_let_in then own.kind.debit(own, add(own.n2, own.n1, own.n0, x, y, z)) end
  idle_ms = math.max(idle_ms, own.kind.idle_ms(own))
  states[place] = own.kind.show(own)
end
for place, own in ipairs(still) do
  own.kind.forget_back(own)
  if is_let_in then own.kind.debit_for_others(own, m2, m1, m0) end
  idle_ms = math.max(idle_ms, own.kind.idle_ms(own))
  lines[place] = '\n' .. own.spec .. own.kind.show(own) .. own.text
end
if ARGV[3] ~= '' then idle_ms = idle_ms + 600000 end -- a test's clock may stand still
-- Two more than the part that rounding takes, so that no state that counts is gone too early.
redis.call('SET', KEYS[1], stated .. table.concat(states, ',') .. table.concat(lines), 'PX',
  format('%.0f', floor(idle_ms) + 2))
return { is_let_in and 1 or 0, micros, more, before }
