-- One run of a fleet.
-- KEYS: the run, its nodes, its versions, its results, then chunks of owners.
-- ARGV: how long keys are kept in milliseconds, what is asked, and its arguments.
-- Numbers above 14 digits have to be printed by %.0f. Every answer begins with a word and the time.

local RUN, NODES, VERSIONS, RESULTS = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local KEEP, WHAT = ARGV[1], ARGV[2]
local LEAD, CHUNK = 3, 64

local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local function text(number)
  return string.format('%.0f', number)
end

local function read()
  local flat, run = redis.call('HGETALL', RUN), {}
  for i = 1, #flat, 2 do
    run[flat[i]] = flat[i + 1]
  end
  for _, field in ipairs({'state', 'frame_us', 'tracks', 'origin_us', 'floor', 'version', 'from', 'tended'}) do
    run[field] = tonumber(run[field])
  end
  return run.id and run
end

local function keep()
  for i = 1, 4 do
    redis.call('PEXPIRE', KEYS[i], KEEP)
  end
end

local function info(word, extra)
  return {word, now, extra or '', redis.call('HGETALL', RUN), redis.call('LRANGE', VERSIONS, 0, -1)}
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

-- A node that is not heard of for 25 frames, and half a second at least, is not in the roster.
local function absent_us(run)
  local absent = math.max(500000, 25 * run.frame_us)
  if run.state == 0 then
    absent = 4 * absent
  end
  return absent
end

local function tend(run)
  local absent = absent_us(run)
  if now - run.tended < absent / 8 then
    return
  end
  redis.call('HSET', RUN, 'tended', text(now))
  keep()
  local list, kept = members(run), {}
  for _, node in ipairs(list) do
    local seen = tonumber(redis.call('HGET', NODES, 's' .. node) or 0)
    if now - seen <= absent then
      kept[#kept + 1] = node
    end
  end
  if #kept < #list then
    set_roster(run, kept)
  end
end

-- A sign of life.
local function hear(run, node)
  redis.call('HSET', NODES, 's' .. node, text(now))
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

-- Until shortly before it begins, a frame is there for all. Then it is for nodes that have missed it.
local function is_open(run, frame, versions, take)
  local knows = versions == run.version or (versions == run.version - 1 and frame < run.from)
  local is_closed = now >= begins(run, frame) - run.frame_us / 4
  return knows and run.state == 1 and frame >= run.floor
    and now >= begins(run, frame - LEAD) and is_closed == (take == 'missed')
end

-- Two bytes for each track of a frame, high byte first; 0 is free.
local function owners(run, key, frame)
  local width = 2 * run.tracks
  local first = frame % CHUNK * width
  local known = redis.call('GETRANGE', key, first, first + width - 1)
  return known .. string.rep('\0', width - #known), first
end

local function owner(known, track)
  return 256 * known:byte(2 * track + 1) + known:byte(2 * track + 2)
end

local function own(key, first, track, node)
  local mark = string.char(math.floor(node / 256), node % 256)
  if redis.call('SETRANGE', key, first + 2 * track, mark) <= first + 2 * track + 2 then
    redis.call('PEXPIRE', key, KEEP)
  end
end

local function list(csv)
  local tracks = {}
  for track in csv:gmatch('%d+') do
    tracks[#tracks + 1] = tonumber(track)
  end
  return tracks
end

-- Takes what is asked for in a frame, and returns its owners.
local function ask(run, node, key, frame, take, a, b, most)
  local known, first = owners(run, key, frame)
  local wanted, free = {}, 0
  if take == 'own' then
    local start = (a - frame % b * (run.tracks % b)) % b
    for track = start, run.tracks - 1, b do
      wanted[#wanted + 1] = track
    end
  elseif take == 'share' or take == 'missed' then
    for track = 0, run.tracks - 1 do
      if owner(known, track) == 0 then
        wanted[#wanted + 1] = track
      end
    end
    most = math.ceil(#wanted / a)
  end
  for _, track in ipairs(wanted) do
    if most > 0 and owner(known, track) == 0 then
      own(key, first, track, node)
      most = most - 1
    end
  end
  return (owners(run, key, frame))
end

-- A new epoch: nodes tell what they have, and nothing is claimed in frames that may have been open.
local function repaired(run, epoch)
  run.floor = math.floor((now - run.origin_us) / run.frame_us) + LEAD + 1
  run.epoch = math.max(tonumber(run.epoch), epoch) + 1
  redis.call('HSET', RUN, 'floor', text(run.floor), 'epoch', text(run.epoch))
end

local ops = {}

-- name, id, awaited, frame_us, tracks, head_us, has_load, shape, arrivals, seed
function ops.join(run)
  local name, id, awaited, frame_us, tracks = ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6]), ARGV[7]
  local version, arrivals, seed = ARGV[9], ARGV[10], ARGV[11]
  if run then
    tend(run)
  end
  local is_over = run and (run.state == 2 or (run.state == 1 and run.roster == ''))
  if not run or is_over then
    if ARGV[8] == '0' then
      return {'gone', now}
    end
    redis.call('DEL', RUN, NODES, VERSIONS, RESULTS)
    redis.call('HSET', RUN, 'id', id, 'state', 0, 'awaited', awaited, 'frame_us', frame_us, 'tracks', tracks,
      'origin_us', 0, 'floor', 0, 'epoch', 0, 'version', 1, 'from', 0, 'arrivals', arrivals, 'seed', seed,
      'roster', '', 'roster_version', 0, 'joined', 0, 'tended', text(now))
    redis.call('RPUSH', VERSIONS, version)
    run = read()
  elseif ARGV[8] == '1' then
    local first = redis.call('LINDEX', VERSIONS, 0)
    if first ~= version or run.arrivals ~= arrivals or run.seed ~= seed then
      return info('differs')
    end
  end
  if run.state == 0 and frame_us > run.frame_us then
    run.frame_us = frame_us
    redis.call('HSET', RUN, 'frame_us', frame_us)
  end
  local node = redis.call('HINCRBY', RUN, 'joined', 1)
  redis.call('HSET', NODES, 'n' .. node, name)
  hear(run, text(node))
  if run.state == 0 and #members(run) >= tonumber(run.awaited) then
    redis.call('HSET', RUN, 'state', 1, 'origin_us', text(now))
  end
  keep()
  return info('joined', node)
end

function ops.look(run)
  if ARGV[3] ~= '0' then
    hear(run, ARGV[3])
  else
    tend(run)
  end
  return info('run')
end

-- All that is known of the nodes.
function ops.nodes()
  return {'nodes', now, redis.call('HGETALL', NODES), redis.call('HGETALL', RESULTS)}
end

-- The keys with owners.
function ops.owners()
  local answer = {'owners', now}
  for i = 5, #KEYS do
    answer[#answer + 1] = redis.call('GET', KEYS[i]) or ''
  end
  return answer
end

-- node, sequence, versions, roster, progress, answered, epoch, then for each ask: key, frame, take, a, b, most
function ops.claim(run)
  local node, sequence, versions = ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6])
  local known = tonumber(redis.call('HGET', NODES, 'q' .. node) or 0)
  local is_fresh = sequence > known
  if known < tonumber(ARGV[9]) and tonumber(run.epoch) <= tonumber(ARGV[10]) then
    -- The store has gone back.
    repaired(run, tonumber(ARGV[10]))
  end
  if is_fresh then
    redis.call('HSET', NODES, 'q' .. node, ARGV[5], 'p' .. node, ARGV[8])
    hear(run, node)
  end
  local news = {}
  if versions < run.version then
    news = redis.call('LRANGE', VERSIONS, versions, -1)
  end
  local roster = {}
  if tostring(run.roster_version) ~= ARGV[7] then
    roster = {tonumber(run.roster_version), run.roster}
  end
  local answer = {'claimed', now, run.state, run.origin_us, run.floor, tonumber(run.epoch), run.version, news, roster}
  for i = 11, #ARGV, 6 do
    local key, frame, take = KEYS[4 + tonumber(ARGV[i])], tonumber(ARGV[i + 1]), ARGV[i + 2]
    if not is_fresh or not is_open(run, frame, versions, take) then
      take = 'nothing'
    end
    answer[#answer + 1] = ask(run, tonumber(node), key, frame, take,
      tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4]), tonumber(ARGV[i + 5]))
  end
  return answer
end

-- node, sequence, then for each piece: key, frame, tracks
function ops.mark(run)
  local node, pieces = tonumber(ARGV[4]), {'pieces', now}
  if tonumber(ARGV[5]) > tonumber(redis.call('HGET', NODES, 'q' .. node) or 0) then
    redis.call('HSET', NODES, 'q' .. node, ARGV[5])
  end
  for i = 6, #ARGV, 3 do
    local key, frame = KEYS[4 + tonumber(ARGV[i])], tonumber(ARGV[i + 1])
    local known, first = owners(run, key, frame)
    for _, track in ipairs(list(ARGV[i + 2])) do
      local whose = owner(known, track)
      if whose == 0 then
        own(key, first, track, node)
      elseif whose ~= node then
        pieces[#pieces + 1] = frame
        pieces[#pieces + 1] = track
      end
    end
  end
  return pieces
end

-- node, epoch, then fields and values of the run, and its versions behind an empty one
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
  local is_repaired = run and tonumber(run.epoch) > epoch
  if is_repaired and run.version >= #versions then
    return {'done', now}
  end
  if not is_repaired then
    given.joined = math.max(tonumber(given.joined), run and tonumber(run.joined) or 0)
    for field, value in pairs(given) do
      redis.call('HSET', RUN, field, value)
    end
    redis.call('HSET', RUN, 'tended', text(now))
  end
  if not run or run.version < #versions then
    redis.call('DEL', VERSIONS)
    redis.call('RPUSH', VERSIONS, unpack(versions))
    redis.call('HSET', RUN, 'version', #versions, 'from', given.from)
  end
  repaired(read(), epoch)
  keep()
  return {'done', now}
end

-- from_us, to_us
function ops.rebase(run)
  if text(run.origin_us) == ARGV[4] then
    redis.call('HSET', RUN, 'origin_us', ARGV[5])
    redis.call('HINCRBY', RUN, 'epoch', 1)
  end
  return {'done', now}
end

-- known, from, version
function ops.change(run)
  local from = tonumber(ARGV[5])
  if run.state ~= 1 or run.version ~= tonumber(ARGV[4]) or from <= run.from or now >= begins(run, from - LEAD) then
    return {'late', now}
  end
  redis.call('RPUSH', VERSIONS, ARGV[6])
  redis.call('HSET', RUN, 'version', run.version + 1, 'from', ARGV[5])
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

-- node, then for each piece: key, frame, tracks
function ops.leave(run)
  local node, pieces = tonumber(ARGV[4]), {'pieces', now}
  for i = 5, #ARGV, 3 do
    local key, frame = KEYS[4 + tonumber(ARGV[i])], tonumber(ARGV[i + 1])
    local known, first = owners(run, key, frame)
    for _, track in ipairs(list(ARGV[i + 2])) do
      if owner(known, track) == node and now < begins(run, frame) - run.frame_us / 4 then
        own(key, first, track, 0)
        pieces[#pieces + 1] = frame
        pieces[#pieces + 1] = track
      end
    end
  end
  part(run, ARGV[4])
  return pieces
end

-- node, progress, results
function ops.finish(run)
  redis.call('HSET', NODES, 'p' .. ARGV[4], ARGV[5])
  redis.call('HSET', RESULTS, ARGV[4], ARGV[6])
  part(run, ARGV[4])
  if run.roster == '' then
    redis.call('HSET', RUN, 'state', 2)
  end
  keep()
  return {'done', now}
end

local run = read()
if WHAT == 'join' or WHAT == 'restore' then
  return ops[WHAT](run)
elseif not run then
  return {'gone', now}
elseif WHAT ~= 'look' and WHAT ~= 'nodes' and run.id ~= ARGV[3] then
  return {'other', now}
end
return ops[WHAT](run)
