-- Changes a configuration in one step.
--
-- KEYS[1]  a hash: limits as text in the fields 'k' with the key and 'p' with the prefix; field 'v' is
--          the version, which every change raises
-- ARGV     for each change the field, 'set' or 'unset', and the limits
-- Returns  how many of the fields had limits before.
local found = 0
for at = 1, #ARGV, 3 do
  found = found + redis.call('HEXISTS', KEYS[1], ARGV[at])
  if ARGV[at + 1] == 'set' then
    redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 2])
  else
    redis.call('HDEL', KEYS[1], ARGV[at])
  end
end
-- The version comes from the clock, so that an emptied store does not repeat an old one.
local time = redis.call('TIME')
local version = time[1] * 1000000 + time[2]
local before = tonumber(redis.call('HGET', KEYS[1], 'v') or '') or 0
redis.call('HSET', KEYS[1], 'v', string.format('%.0f', math.max(version, before + 1)))
return found
