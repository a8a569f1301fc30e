-- Replaces a subject's state unless it has changed since it was read.
--
-- KEYS[1]  the state
-- ARGV     1 the state that was read; 2 the new state; 3 for how many milliseconds to keep it
-- Returns  1 if the state was replaced, 0 if not.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
