-- The end of a term, after its claims were given back. KEYS: meta, run, journal. ARGV: incarnation, token, 1 to stop
-- and go on later, line, digest.
local refusal = fence(KEYS[1], KEYS[2], ARGV[1], ARGV[2])
if refusal then return refusal end
local held = redis.call('HMGET', KEYS[2], 'running', 'in_doubt', 'done', 'operations')
if tonumber(held[1] or '0') > 0 then return {'OPEN'} end
local status = 'failed'
if ARGV[3] == '1' then
  status = 'stopped'
elseif tonumber(held[2] or '0') > 0 then
  status = 'in-doubt'
elseif tonumber(held[3] or '0') == tonumber(held[4]) then
  status = 'done'
end
redis.call('HSET', KEYS[2], 'status', status, 'token', '')
if ARGV[3] ~= '1' then redis.call('HSET', KEYS[2], 'claimed', '0') end
local lines, link = append(KEYS[2], KEYS[3], ARGV[4], ARGV[5])
return {'RELEASED', tostring(lines), link}
