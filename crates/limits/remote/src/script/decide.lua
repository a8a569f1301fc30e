-- Decides on a request by all limits of a subject, with the laws of crates/limits/limits in doubles of
-- microseconds.
--
-- KEYS[1]  the subject's state. The first line is the limits as text. A line for each of them follows
--          with the three numbers of its state, then a line for each replaced limit that still counts:
--          law, state, text.
-- ARGV     1 the limits as text
--          2 'take', or 'look' to change nothing
--          3 the time in microseconds for tests; if empty, the server's clock is read
--          4 the largest of the costs
--          5 the largest number of tokens to take ahead
--          6 a divisor d: at most 1/d of the remaining tokens are taken ahead
--          then for each limit its law and the cost of the request
-- Returns  whether the request was admitted (2: the state belongs to other limits, nothing was done), the
--          time in microseconds, the number of tokens taken ahead, and the state before. If the key holds
--          something that is not a state, the script fails and leaves it unchanged.
local floor, max, min, match = math.floor, math.max, math.min, string.match

local now = tonumber(ARGV[3])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local before = redis.call('GET', KEYS[1])
if before == '' then error('no state') end
before = before or ''
local head = ARGV[1] .. '\n'
if before ~= '' and string.sub(before, 1, #head) ~= head then return { 2, now, 0, before } end
if ARGV[2] == 'look' then return { 0, now, 0, before } end

-- A rate. Its law: `a` is the interval, `b` the most that may be owed. Its state: `x` is the debt at
-- the moment `y`. `z` counts, modulo 2^32, the requests that were refunded or did not fit into `b`
-- since all debt was last paid off.
local rate = {}

local function owed(limit)
  return max(0, limit.x - (now - limit.y))
end

function rate.fits(limit, n)
  return owed(limit) + n * limit.a <= limit.b
end

function rate.debit(limit, n)
  limit.x, limit.y = owed(limit) + n * limit.a, now
end

-- Counts requests that other limits have admitted, which exhausts the rate at most. `z` grows by all
-- of them rather than by the part that did not fit, so less can be refunded.
function rate.debit_for_others(limit, n)
  local most = max(owed(limit), limit.b)
  rate.debit(limit, n)
  if limit.x > most then
    limit.x, limit.z = most, max(1, (limit.z + min(n, 2147483647)) % 4294967296)
  end
end

-- Returns the time for which the state still counts.
function rate.left(limit)
  return limit.x - (now - limit.y) + (limit.z > 0 and limit.b or 0)
end

-- Windows of the clock. Their law: `a` is the length, `b` the most that is admitted. Their state: `x`
-- is the number of the latest window that admitted anything, `z` the count of that window. Only a
-- sliding counter has `y`, the count of the window before it.
local windows = {}

-- Returns the state in the current window. If the clock was set back, a later window stays the current
-- one.
local function current(limit)
  local number = floor(now / limit.a)
  if number <= limit.x then return limit.x, limit.y, limit.z end
  return number, limit.kind == 's' and number == limit.x + 1 and limit.z or 0, 0
end

function windows.fits(limit, n)
  local number, y, z = current(limit)
  local rest = limit.a - max(0, now - number * limit.a)
  return z + n <= limit.b and y * rest <= (limit.b - z - n) * limit.a
end

function windows.debit(limit, n)
  limit.x, limit.y, limit.z = current(limit)
  limit.z = limit.z + n
end

windows.debit_for_others = windows.debit

function windows.left(limit)
  local more = limit.y > 0 and 1 or 0
  if limit.z > 0 then more = limit.kind == 's' and 2 or 1 end
  return (limit.x + more) * limit.a - now
end

local function read(law, line)
  local kind, a, b = match(law, '^([rfs]) ([%d.]+) ([%d.]+)$')
  local x, y, z, text = match(line, '^([%d.]+) ([%d.]+) ([%d.]+)(.*)$')
  return { law = law, kind = kind, rule = kind == 'r' and rate or windows, a = tonumber(a),
    b = tonumber(b), x = tonumber(x), y = tonumber(y), z = tonumber(z), text = text }
end

local function number(double)
  return match(string.format('%.12f', double), '^(.-)%.?0*$')
end

local in_force = (#ARGV - 6) / 2

local function show(limits)
  local lines = { ARGV[1] }
  for place, limit in ipairs(limits) do
    local state = number(limit.x) .. ' ' .. number(limit.y) .. ' ' .. number(limit.z)
    if place > in_force then state = limit.law .. ' ' .. state .. limit.text end
    lines[place + 1] = state
  end
  return table.concat(lines, '\n')
end

local limits, costs = {}, {}
local next_line = string.gmatch(before, '\n([^\n]*)')
for place = 1, in_force do
  limits[place] = read(ARGV[5 + 2 * place], before == '' and '0 0 0' or next_line())
  costs[place] = tonumber(ARGV[6 + 2 * place])
end
for line in next_line do
  limits[#limits + 1] = read(match(line, '^(%a %S+ %S+) (.*)$'))
end
-- Another program may have written this value, or a part of it.
if before ~= '' and show(limits) ~= before then error('no state') end

local function fits(more)
  for place, cost in ipairs(costs) do
    local limit = limits[place]
    if cost + more > 0 and not limit.rule.fits(limit, cost + more) then return false end
  end
  return true
end

local more, share = tonumber(ARGV[5]), tonumber(ARGV[6])
while more > 0 and not fits(more * share) do more = floor(more / 2) end
local is_let_in = more > 0 or fits(0)

local kept, left = {}, 0
for place, limit in ipairs(limits) do
  local is_idle = limit.rule.left(limit) <= 0
  if place <= in_force or not is_idle then
    if is_idle and limit.rule == rate then limit.z = 0 end
    local n = (costs[place] or ARGV[4]) + more
    if is_let_in and n > 0 then
      local debit = place > in_force and limit.rule.debit_for_others or limit.rule.debit
      debit(limit, n)
    end
    kept[#kept + 1], left = limit, max(left, limit.rule.left(limit))
  end
end
if not is_let_in and #kept == #limits then return { 0, now, 0, before } end
if ARGV[3] ~= '' then left = left + 600000000 end -- a test's clock may stand still
-- Rounded down to milliseconds, plus 2 ms, so that no state expires while it counts. The write of a rejection may fail.
local write = is_let_in and redis.call or redis.pcall
write('SET', KEYS[1], show(kept), 'PX', string.format('%.0f', floor(left / 1000) + 2))
return { is_let_in and 1 or 0, now, more, before }
