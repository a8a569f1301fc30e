-- The common beginning of both scripts.
-- KEYS: the run, the run's nodes, its versions, its results, then chunks of owners.
-- ARGV: the time for which keys are kept, in milliseconds; the kind of request; for most requests, the run's id; the
-- arguments of the request.
-- Numbers of more than 14 digits must be formatted with %.0f. Every response begins with a word and the time.

local RUN, NODES, VERSIONS = KEYS[1], KEYS[2], KEYS[3]
local KEEP = ARGV[1]
local CHUNK = 64

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local function text(number)
  return string.format('%.0f', number)
end

local function read()
  local all = redis.call('HMGET', RUN, 'id', 'state', 'frame_us', 'tracks', 'origin_us', 'floor', 'version', 'from',
    'tended', 'epoch', 'roster', 'roster_version', 'awaited', 'arrivals', 'seed', 'joined', 'left', 'lead', 'ends',
    'ended_us', 'counted', 'change', 'made_by', 'last')
  return all[1] and {
    id = all[1], state = tonumber(all[2]), frame_us = tonumber(all[3]), tracks = tonumber(all[4]),
    origin_us = tonumber(all[5]), floor = tonumber(all[6]), version = tonumber(all[7]), from = tonumber(all[8]),
    tended = tonumber(all[9]), epoch = tonumber(all[10]), roster = all[11], roster_version = tonumber(all[12]),
    awaited = tonumber(all[13]), arrivals = all[14], seed = all[15],
    joined = tonumber(all[16]), left = tonumber(all[17] or 0), lead = tonumber(all[18]),
    ends = tonumber(all[19] or ''), ended_us = tonumber(all[20] or 0),
    counted = tonumber(all[21]), change = all[22], made_by = all[23], last = all[24] or nil
  }
end

local function keep()
  for i = 1, 4 do
    redis.call('PEXPIRE', KEYS[i], KEEP)
  end
end

local function members(run)
  local list = {}
  for node in run.roster:gmatch('%d+') do
    list[#list + 1] = node
  end
  return list
end

local function set_roster(run, list)
  run.roster = table.concat(list, ',')
  run.roster_version = redis.call('HINCRBY', RUN, 'roster_version', 1)
  redis.call('HSET', RUN, 'roster', run.roster)
end

local function is_member(run, node)
  return (',' .. run.roster .. ','):find(',' .. node .. ',', 1, true) ~= nil
end

-- Returns the time without requests after which a node is removed from the roster: 25 frames, but at least half a
-- second, and four times as long before the run starts.
local function absent_us(run)
  local absent = math.max(500000, 25 * run.frame_us)
  if run.state == 0 then
    absent = 4 * absent
  end
  return absent
end

-- Records that no node that has left or died has started a slot from this frame on.
local function left_by(run, frame)
  if run.state == 1 and frame > run.left then
    run.left = frame
    redis.call('HSET', RUN, 'left', text(frame))
  end
end

local function tend(run)
  local absent = absent_us(run)
  -- The clock may have been set back.
  if math.abs(now - run.tended) < absent / 8 then
    return
  end
  redis.call('HSET', RUN, 'tended', text(now))
  keep()
  local list, kept = members(run), {}
  for _, node in ipairs(list) do
    local seen = tonumber(redis.call('HGET', NODES, 's' .. node) or 0)
    if math.abs(now - seen) <= absent then
      kept[#kept + 1] = node
    end
  end
  if #kept < #list then
    left_by(run, math.floor((now - run.origin_us) / run.frame_us) + run.lead + 1)
    set_roster(run, kept)
  end
end

-- Records a sign of life of a node. A node that was removed from the roster is added at its end.
local function hear(run, node, ...)
  redis.call('HSET', NODES, 's' .. node, text(now), ...)
  if not is_member(run, node) and run.state < 2 and not redis.call('HGET', NODES, 'f' .. node) then
    local list = members(run)
    list[#list + 1] = node
    set_roster(run, list)
  end
  tend(run)
end

local function begins(run, frame)
  return run.origin_us + frame * run.frame_us
end

-- Returns the owners of a frame: two bytes for each track, high byte first; 0 means that the track is free.
local function owners(run, key, frame)
  local width = 2 * run.tracks
  local first = frame % CHUNK * width
  local known = redis.call('GETRANGE', key, first, first + width - 1)
  return known .. string.rep('\0', width - #known), first
end

local function owner(known, track)
  return 256 * known:byte(2 * track + 1) + known:byte(2 * track + 2)
end

-- Returns the owners with `node` as the owner of `tracks`, which are in ascending order.
local function with(known, tracks, node)
  local mark, parts, from = string.char(math.floor(node / 256), node % 256), {}, 1
  for _, track in ipairs(tracks) do
    parts[#parts + 1] = known:sub(from, 2 * track) .. mark
    from = 2 * track + 3
  end
  parts[#parts + 1] = known:sub(from)
  return table.concat(parts)
end

-- `tracks` are in ascending order.
local function own(key, known, first, tracks, node)
  if #tracks == 0 then
    return known
  end
  local owned = with(known, tracks, node)
  if redis.call('SETRANGE', key, first, owned) == first + #owned then
    redis.call('PEXPIRE', key, KEEP)
  end
  return owned
end

-- Opens frames for claims `lead` frames before they begin. The lead never shrinks.
local function raise(run, lead)
  if lead > run.lead then
    run.lead = lead
    redis.call('HSET', RUN, 'lead', text(lead))
  end
end

-- Begins a new epoch: nodes report their tracks again, and frames that may have been claimable cannot be claimed.
local function repaired(run, epoch)
  run.floor = math.max(0, math.floor((now - run.origin_us) / run.frame_us) + run.lead + 1)
  run.epoch = math.max(run.epoch, epoch) + 1
  redis.call('HSET', RUN, 'floor', text(run.floor), 'epoch', text(run.epoch))
end

-- Detects a loss of data: a node has received responses to later requests than those that the store knows.
local function compare(run, known, answered, epoch)
  if known < answered and run.epoch <= epoch then
    repaired(run, epoch)
  end
end

