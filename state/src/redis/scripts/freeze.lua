-- Acknowledged records of a run are lost, so it must not go on: its holder is fenced, and nobody gets the lease.
-- KEYS: meta, run. ARGV: incarnation, why.
if redis.call('HGET', KEYS[1], 'incarnation') ~= ARGV[1] then return {'OTHER'} end
if redis.call('EXISTS', KEYS[2]) == 0 then return {'NORUN'} end
redis.call('HSET', KEYS[2], 'frozen', ARGV[2], 'token', '', 'status', 'stopped')
return {'FROZEN'}
