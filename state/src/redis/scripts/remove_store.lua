-- Removes a workspace whose runs have ended. KEYS: meta, runs, then all other keys of the workspace. ARGV: incarnation,
-- the expected serial, the expected number of runs.
if redis.call('HGET', KEYS[1], 'incarnation') ~= ARGV[1] then return {'OTHER'} end
if redis.call('HGET', KEYS[1], 'serial') ~= ARGV[2] then return {'CHANGED'} end
if string.format('%d', redis.call('HLEN', KEYS[2])) ~= ARGV[3] then return {'CHANGED'} end
for at = 1, #KEYS do redis.call('UNLINK', KEYS[at]) end
return {'REMOVED'}
