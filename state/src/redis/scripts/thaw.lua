-- The lost records of a run are declared lost. KEYS: meta, run, journal. ARGV: incarnation.
-- Answers with the reason for which the run was frozen. The tip follows the journal that is left, and the records of the
-- run are not compared with it any more.
if redis.call('HGET', KEYS[1], 'incarnation') ~= ARGV[1] then return {'OTHER'} end
local frozen = redis.call('HGET', KEYS[2], 'frozen')
if not frozen then return {'RUNNING'} end
redis.call('HDEL', KEYS[2], 'frozen')
local last = redis.call('LINDEX', KEYS[3], -1)
redis.call('HSET', KEYS[2], 'thawed', '1', 'tip', last and string.match(last, '^%S+') or '')
return {'THAWED', frozen}
