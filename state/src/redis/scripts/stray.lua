-- Stores an object of a superseded attempt. KEYS: meta, run, strays, journal. ARGV: incarnation, token, digest, stray,
-- line.
local run, refusal = enter(KEYS[1], KEYS[2], ARGV[1], ARGV[2], {'token', 'tip'})
if refusal then return refusal end
if redis.call('HSETNX', KEYS[3], ARGV[3], ARGV[4]) == 0 then return repeated(run, KEYS[4]) end
return ok(append(run, KEYS[4], ARGV[5], ARGV[3]))
