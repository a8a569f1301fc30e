-- Handles all requests except claims.

local WHAT, RESULTS = ARGV[2], KEYS[4]

local function info(word, extra)
  return {word, now, extra or '', redis.call('HGETALL', RUN), redis.call('LRANGE', VERSIONS, 0, -1)}
end

local function list(csv)
  local tracks = {}
  for track in csv:gmatch('%d+') do
    tracks[#tracks + 1] = tonumber(track)
  end
  return tracks
end

local ops = {}

-- Returns whether no node has given a sign of life for half a minute. A shorter time would not be enough, because the
-- store itself may have been stalled.
local function is_deserted(run)
  local heard = 0
  for node = 1, run.joined do
    heard = math.max(heard, tonumber(redis.call('HGET', NODES, 's' .. node) or 0))
  end
  return run.joined > 0 and now - heard > 30000000
end

-- Returns whether no more results will come, because each node has reported its results or is silent.
local function is_complete(run)
  local is_awaited = run.roster ~= ''
  for node = 1, run.joined do
    local has_results = redis.call('HEXISTS', RESULTS, node) == 1
    local seen = tonumber(redis.call('HGET', NODES, 's' .. node) or 0)
    is_awaited = is_awaited or (not has_results and now - seen <= absent_us(run))
  end
  return not is_awaited
end

local function over(run)
  run.state, run.ended_us = 2, now
  redis.call('HSET', RUN, 'state', 2, 'ended_us', text(now))
end

local function is_past(run)
  return run.state == 1 and run.ends and now >= begins(run, run.ends)
end

-- Ends a run whose load has ended, if no more results will come.
local function close(run)
  if is_past(run) and is_complete(run) then
    over(run)
  end
end

-- Arguments: name, id, awaited, frame_us, tracks, has_load, shape, arrivals, seed, ends, lead
function ops.join(run)
  local name, id, awaited, frame_us, tracks = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6]), ARGV[7]
  local version, arrivals, seed, ends, lead = ARGV[9], ARGV[10], ARGV[11], ARGV[12], tonumber(ARGV[13])
  if run and run.made_by == OWN then
    tend(run)
    close(run)
  end
  -- The nodes of the ended run may still read its account.
  if run and run.state == 2 and run.joined > 1 and now - run.ended_us < 2000000 then
    return {'ending', now}
  end
  local waits_for_nobody = run and run.state == 0 and run.roster == ''
  local is_over = run and (run.state == 2 or waits_for_nobody or is_deserted(run))
  if not run or is_over then
    if ARGV[8] == '0' then
      return {'gone', now}
    end
    redis.call('DEL', RUN, NODES, VERSIONS, RESULTS)
    redis.call('HSET', RUN, 'id', id, 'state', 0, 'awaited', awaited, 'frame_us', frame_us, 'tracks', tracks,
      'origin_us', 0, 'floor', 0, 'epoch', 0, 'version', 1, 'from', 0, 'change', 0, 'arrivals', arrivals, 'seed', seed,
      'roster', '', 'roster_version', 0, 'joined', 0, 'tended', text(now), 'lead', lead, 'ends', ends,
      'counted', 0, 'counts', '', 'made_by', OWN)
    redis.call('RPUSH', VERSIONS, version)
    run = read()
  elseif run.made_by ~= OWN then
    return {'foreign', now, run.made_by}
  elseif is_past(run) then
    return {'ending', now}
  elseif ARGV[8] == '1' then
    local first = redis.call('LINDEX', VERSIONS, 0)
    if first ~= version or run.arrivals ~= arrivals or run.seed ~= seed then
      return info('differs')
    end
  end
  if run.state == 0 and frame_us > run.frame_us then
    run.frame_us = frame_us
    redis.call('HSET', RUN, 'frame_us', frame_us, 'ends', ends)
  end
  raise(run, lead)
  local node = redis.call('HINCRBY', RUN, 'joined', 1)
  hear(run, text(node), 'n' .. node, name)
  if run.state == 0 and #members(run) >= run.awaited then
    redis.call('HSET', RUN, 'state', 1, 'origin_us', text(now))
  end
  keep()
  return info('joined', node)
end

-- Argument: node, if a node of the run sends the request
function ops.look(run)
  if ARGV[4] then
    hear(run, ARGV[4])
  else
    tend(run)
  end
  close(run)
  return info('run')
end

function ops.nodes()
  return {'nodes', now, redis.call('HGETALL', NODES), redis.call('HKEYS', RESULTS)}
end

-- The field names of interim results begin with a letter.
function ops.results()
  return {'results', now, redis.call('HGETALL', RESULTS)}
end

-- Arguments: node, results
function ops.tell()
  if redis.call('HEXISTS', RESULTS, ARGV[4]) == 0 then
    redis.call('HSET', RESULTS, 't' .. ARGV[4], ARGV[5])
  end
  return {'done', now}
end

function ops.owners(run)
  local answer = {'owners', now, run.counted}
  for i = 5, #KEYS do
    answer[#answer + 1] = redis.call('GET', KEYS[i]) or ''
  end
  return answer
end

-- Arguments: node, sequence, answered, epoch, then for each portion: key, frame, tracks
function ops.mark(run)
  local node, cells = tonumber(ARGV[4]), {'cells', now, run.counted}
  local known = tonumber(redis.call('HGET', NODES, 'q' .. ARGV[4]) or 0)
  compare(run, known, tonumber(ARGV[6]), tonumber(ARGV[7]))
  if tonumber(ARGV[5]) > known then
    redis.call('HSET', NODES, 'q' .. ARGV[4], ARGV[5])
  end
  for i = 8, #ARGV, 3 do
    local key, frame = KEYS[4 + tonumber(ARGV[i])], tonumber(ARGV[i + 1])
    local known, first = owners(run, key, frame)
    local free = {}
    for _, track in ipairs(frame >= run.counted and list(ARGV[i + 2]) or {}) do
      local whose = owner(known, track)
      if whose == 0 then
        free[#free + 1] = track
      elseif whose ~= node then
        cells[#cells + 1] = frame
        cells[#cells + 1] = track
      end
    end
    own(key, known, first, free, node)
  end
  return cells
end

-- Arguments: from, then the first slot of each frame, and of the frame after them
function ops.count(run)
  local from, behind, key, slots = tonumber(ARGV[4]), ARGV[4] + #ARGV - 5, KEYS[5], {}
  local known = redis.call('HGET', RUN, 'counts')
  if from ~= run.counted then
    return {'counted', now, run.counted, known}
  end
  for node, count in known:gmatch('(%d+):(%d+)') do
    slots[tonumber(node)] = tonumber(count)
  end
  for i = 5, #ARGV - 1 do
    local known, first, last = owners(run, key, from + i - 5), tonumber(ARGV[i]), tonumber(ARGV[i + 1])
    for track = 0, run.tracks - 1 do
      local node = owner(known, track)
      local count = math.ceil((last - track) / run.tracks) - math.ceil((first - track) / run.tracks)
      slots[node] = (slots[node] or 0) + count
    end
  end
  local counts = {}
  for node, count in pairs(slots) do
    counts[#counts + 1] = node .. ':' .. text(count)
  end
  counts = table.concat(counts, ' ')
  redis.call('HSET', RUN, 'counted', text(behind), 'counts', counts)
  if behind % CHUNK == 0 then
    redis.call('DEL', key)
  end
  return {'counted', now, behind, counts}
end

-- Arguments: node, epoch, then fields and values of the run, an empty argument, and the versions of the run
function ops.restore(run)
  local epoch, i = tonumber(ARGV[5]), 6
  local given, versions = {}, {}
  while ARGV[i] ~= '' do
    given[ARGV[i]] = ARGV[i + 1]
    i = i + 2
  end
  for version = i + 1, #ARGV do
    versions[#versions + 1] = ARGV[version]
  end
  if run and run.id ~= ARGV[3] then
    return {'other', now}
  end
  redis.call('HSET', NODES, 's' .. ARGV[4], text(now))
  local is_repaired = run and run.epoch > epoch
  local has_counted = run and run.counted >= tonumber(given.counted)
  if is_repaired and run.version >= #versions and has_counted then
    return {'done', now}
  end
  if has_counted then
    given.counted, given.counts = nil, nil
  else
    redis.call('HSET', RUN, 'counted', given.counted, 'counts', given.counts)
  end
  local is_newer = not run or run.version < #versions
  if not is_newer then
    given.version, given.from, given.ends, given.change = nil, nil, nil, nil
  end
  if not is_repaired then
    given.joined = math.max(tonumber(given.joined), run and run.joined or 0)
    for field, value in pairs(given) do
      redis.call('HSET', RUN, field, value)
    end
    redis.call('HSET', RUN, 'tended', text(now), 'made_by', OWN)
  end
  if is_newer then
    redis.call('DEL', VERSIONS)
    for _, version in ipairs(versions) do
      redis.call('RPUSH', VERSIONS, version)
    end
    redis.call('HSET', RUN, 'version', #versions, 'from', given.from, 'ends', given.ends,
      'change', given.change)
  end
  repaired(read(), epoch)
  keep()
  return {'done', now}
end

-- Arguments: known, from, version, ends, change, behind
function ops.change(run)
  local from = tonumber(ARGV[5])
  local is_known = run.version == tonumber(ARGV[4]) and run.change == ARGV[9]
  if run.state ~= 1 or not is_known or from <= run.from or now >= begins(run, from - run.lead) then
    return {'late', now}
  end
  redis.call('RPUSH', VERSIONS, ARGV[6])
  redis.call('HSET', RUN, 'version', run.version + 1, 'from', ARGV[5], 'ends', ARGV[7], 'change', ARGV[8])
  keep()
  return {'done', now}
end

local function part(run, node)
  local kept = {}
  for _, other in ipairs(members(run)) do
    if other ~= node then
      kept[#kept + 1] = other
    end
  end
  redis.call('HSET', NODES, 'f' .. node, 1)
  set_roster(run, kept)
end

-- Arguments: node, the first frame that it takes no part in, then for each portion: key, frame, tracks
function ops.leave(run)
  local node, cells = tonumber(ARGV[4]), {'cells', now, run.counted}
  for i = 6, #ARGV, 3 do
    local key, frame = KEYS[4 + tonumber(ARGV[i])], tonumber(ARGV[i + 1])
    local known, first = owners(run, key, frame)
    local back = {}
    for _, track in ipairs(list(ARGV[i + 2])) do
      if owner(known, track) == node and now < begins(run, frame) - run.frame_us / 4 then
        back[#back + 1] = track
        cells[#cells + 1] = frame
        cells[#cells + 1] = track
      end
    end
    own(key, known, first, back, 0)
  end
  left_by(run, tonumber(ARGV[5]))
  part(run, ARGV[4])
  return cells
end

-- Arguments: node, progress, results
function ops.finish(run)
  redis.call('HSET', NODES, 'p' .. ARGV[4], ARGV[5])
  local told = 't' .. ARGV[4]
  local results = ARGV[6] == '' and redis.call('HGET', RESULTS, told) or ARGV[6]
  redis.call('HSET', RESULTS, ARGV[4], results)
  redis.call('HDEL', RESULTS, told)
  if not redis.call('HGET', NODES, 'f' .. ARGV[4]) then
    left_by(run, math.floor((now - run.origin_us) / run.frame_us) + 1)
  end
  part(run, ARGV[4])
  tend(run)
  local others = 'going on'
  if is_complete(run) then
    if run.state < 2 then
      over(run)
    end
    run.last = run.last or ARGV[4]
    redis.call('HSET', RUN, 'last', run.last)
    others = run.last == ARGV[4] and 'done' or others
  elseif run.state == 1 and run.ends and now >= begins(run, run.ends - 2) then
    -- A pacer receives the end of the load when the last frame is sealed.
    others = 'awaited'
  end
  keep()
  return {'finished', now, others}
end

local run = read()
if WHAT == 'join' or WHAT == 'restore' then
  return ops[WHAT](run)
elseif not run then
  return {'gone', now}
elseif ARGV[3] and run.id ~= ARGV[3] then
  return {'other', now}
elseif run.made_by ~= OWN then
  return {'foreign', now, run.made_by}
end
return ops[WHAT](run)
