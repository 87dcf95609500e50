-- RENEW. KEYS: meta, run. ARGV: incarnation, token.
local _, refusal = enter(KEYS[1], KEYS[2], ARGV[1], ARGV[2], {'token', 'tip'})
if refusal then return refusal end
local clock = redis.call('TIME')
local ms = string.format('%.0f', tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000))
redis.call('HSET', KEYS[2], 'beat_at', ms)
return {'RENEWED', tostring(redis.call('HINCRBY', KEYS[2], 'beat', 1))}
