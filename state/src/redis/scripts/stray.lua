-- KEYS: meta, run, strays, journal. ARGV: incarnation, token, digest, stray, line.
local refusal = fence(KEYS[1], KEYS[2], ARGV[1], ARGV[2])
if refusal then return refusal end
if redis.call('HSETNX', KEYS[3], ARGV[3], ARGV[4]) == 0 then return repeated(KEYS[2], KEYS[4]) end
return ok(append(KEYS[2], KEYS[4], ARGV[5], ARGV[3]))
