-- Freezes a run, because acknowledged records of the run are lost: fences the holder of the lease. ACQUIRE refuses a
-- frozen run.
-- KEYS: meta, run. ARGV: incarnation, the reason.
if redis.call('HGET', KEYS[1], 'incarnation') ~= ARGV[1] then return {'OTHER'} end
if redis.call('EXISTS', KEYS[2]) == 0 then return {'NORUN'} end
-- Does not replace an earlier reason, which names what was lost.
redis.call('HSETNX', KEYS[2], 'frozen', ARGV[2])
redis.call('HSET', KEYS[2], 'token', '', 'status', 'stopped')
return {'FROZEN'}
