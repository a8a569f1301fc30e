-- Registers or removes a process, and counts the registered processes.
--
-- KEYS[1]  a sorted set of processes; the score is the millisecond until which each counts
-- ARGV     1 the process; 2 for how many milliseconds it counts from now on, 0 to remove it
-- Returns  how many processes count.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local span = tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
if span > 0 then
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + span), ARGV[1])
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
else
  redis.call('ZREM', KEYS[1], ARGV[1])
end
return redis.call('ZCARD', KEYS[1])
