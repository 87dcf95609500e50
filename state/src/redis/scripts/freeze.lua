-- Acknowledged records of a run are lost, so it must not go on: its holder is fenced, and the lease is
-- not given to others.
-- KEYS: meta, run. ARGV: incarnation, why.
if redis.call('HGET', KEYS[1], 'incarnation') ~= ARGV[1] then return {'OTHER'} end
if redis.call('EXISTS', KEYS[2]) == 0 then return {'NORUN'} end
-- The first reason stays: it names what was lost.
redis.call('HSETNX', KEYS[2], 'frozen', ARGV[2])
redis.call('HSET', KEYS[2], 'token', '', 'status', 'stopped')
return {'FROZEN'}
