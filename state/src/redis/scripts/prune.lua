-- Removes a finished run. KEYS: meta, runs, run, then the other keys of the run. ARGV: incarnation, run id.
if redis.call('HGET', KEYS[1], 'incarnation') ~= ARGV[1] then return {'KEPT'} end
local status = redis.call('HGET', KEYS[3], 'status')
if status ~= 'done' and status ~= 'failed' then return {'KEPT'} end
redis.call('HDEL', KEYS[2], ARGV[2])
for at = 3, #KEYS do redis.call('UNLINK', KEYS[at]) end
return {'FORGOTTEN'}
