-- Handles a claim in several frames. This is a separate script, because it runs much more often than the other one.

-- Returns whether a frame accepts this kind of claim. Until a quarter of a frame before it begins, all nodes can claim
-- tracks of the frame. After that, only nodes that have missed the frame can.
local function is_claimable(run, frame, versions, take)
  local knows = versions == run.version or (versions == run.version - 1 and frame < run.from)
  local is_sealed = now >= begins(run, frame) - run.frame_us / 4
  return knows and run.state == 1 and frame >= run.floor and frame >= run.counted
    and now >= begins(run, frame - run.lead) and is_sealed == (take == 'missed')
end

-- Returns the number of versions that a node knows, or 0 if another change replaced the last of them.
local function agreed(run, versions, change)
  local own = run.change
  if versions < run.version then
    own = redis.call('LINDEX', VERSIONS, versions - 1):match('^%d+')
  end
  return (versions > run.version or own == change) and versions or 0
end

-- Returns the tracks without an owner. Searches for zero bytes, because most often all tracks have an owner, and a
-- check of each track would take long.
local function unowned(known)
  local tracks = {}
  local at = known:find('\0\0', 1, true)
  while at do
    -- At an even position, the two zero bytes belong to two different tracks.
    if at % 2 == 1 then
      tracks[#tracks + 1] = (at - 1) / 2
    end
    at = known:find('\0\0', at + 1, true)
  end
  return tracks
end

-- Makes the node the owner of the tracks that it can get, and returns the owners of the frame's tracks.
local function ask(run, node, key, frame, take, a, b, most)
  local known, first = owners(run, key, frame)
  local free = {}
  if take == 'own' then
    for track = (a - frame % b * (run.tracks % b)) % b, run.tracks - 1, b do
      if #free < most and owner(known, track) == 0 then
        free[#free + 1] = track
      end
    end
  elseif take == 'share' or take == 'missed' then
    free = unowned(known)
    for i = #free, math.min(most, math.ceil(#free / a)) + 1, -1 do
      free[i] = nil
    end
  end
  return own(key, known, first, free, node)
end

-- Arguments: node, sequence, versions, change, roster, progress, answered, epoch, lead, until_us, counted, then for
-- each ask: key, frame, take, a, b, most
local function claim(run)
  local node, sequence, versions = ARGV[4], tonumber(ARGV[5]), agreed(run, tonumber(ARGV[6]), ARGV[7])
  local last = redis.call('HMGET', NODES, 'q' .. node, 'f' .. node)
  local known = tonumber(last[1] or 0)
  local is_fresh = sequence > known
  compare(run, known, tonumber(ARGV[10]), tonumber(ARGV[11]))
  raise(run, tonumber(ARGV[12]))
  local is_stale = now - run.origin_us > tonumber(ARGV[13])
  -- A node that has left still reports the slots that it starts, until it reports its results.
  if is_fresh and not (last[2] and redis.call('HEXISTS', KEYS[4], node) == 1) then
    hear(run, node, 'q' .. node, ARGV[5], 'p' .. node, ARGV[9])
  end
  local news = {}
  if versions < run.version then
    news = redis.call('LRANGE', VERSIONS, versions, -1)
  end
  local roster = {}
  if run.roster_version ~= tonumber(ARGV[8]) then
    roster = {run.roster_version, run.roster}
    redis.call('HSET', NODES, 'k' .. node, #members(run))
  end
  local counted, knows = {}, tonumber(ARGV[14])
  if run.counted >= knows + CHUNK or run.counted < knows then
    counted = {run.counted, redis.call('HGET', RUN, 'counts')}
  end
  local answer = {'claimed', now, run.state, run.floor, run.epoch, run.lead, run.version, news, roster,
    counted}
  for i = 15, #ARGV, 6 do
    local key, frame, take = KEYS[4 + tonumber(ARGV[i])], tonumber(ARGV[i + 1]), ARGV[i + 2]
    if not is_fresh or is_stale or last[2] or not is_claimable(run, frame, versions, take) then
      take = 'nothing'
    end
    answer[#answer + 1] = ask(run, tonumber(node), key, frame, take,
      tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4]), tonumber(ARGV[i + 5]))
  end
  return answer
end

local run = read()
if not run then
  return {'gone', now}
elseif run.id ~= ARGV[3] then
  return {'other', now}
end
return claim(run)
