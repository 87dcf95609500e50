-- Accepts the loss of records of a frozen run. KEYS: meta, run, journal. ARGV: incarnation.
-- Returns the reason for which the run was frozen. Sets the tip to the last remaining line of the journal. From now on,
-- the records of the run are not compared with the journal.
if redis.call('HGET', KEYS[1], 'incarnation') ~= ARGV[1] then return {'OTHER'} end
local frozen = redis.call('HGET', KEYS[2], 'frozen')
if not frozen then return {'RUNNING'} end
redis.call('HDEL', KEYS[2], 'frozen')
local last = redis.call('LINDEX', KEYS[3], -1)
redis.call('HSET', KEYS[2], 'thawed', '1', 'tip', last and string.match(last, '^%S+') or '')
return {'THAWED', frozen}
