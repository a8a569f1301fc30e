-- Replaces a subject's state if nobody else has meanwhile.
--
-- KEYS[1]  the state
-- ARGV     1 the state that was read; 2 the new one; 3 after how many
--          milliseconds nothing of it counts any more
-- Returns  whether it was replaced.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
