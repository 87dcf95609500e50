-- Ends a term after its claims were released. KEYS: meta, run, journal. ARGV: incarnation, token, 1 to stop and
-- continue later, line, digest, 1 if the user abandoned the run.
local run, refusal = enter(KEYS[1], KEYS[2], ARGV[1], ARGV[2],
  {'token', 'tip', 'running', 'done', 'failed', 'skipped', 'in_doubt', 'operations'})
if refusal then return refusal end
if tonumber(run.held[3] or '0') > 0 then return {'OPEN'} end
local status = 'failed'
if ARGV[3] == '1' then
  status = 'stopped'
elseif tonumber(run.held[7] or '0') > 0 then
  status = 'in-doubt'
elseif tonumber(run.held[4] or '0') == tonumber(run.held[8]) then
  status = 'done'
end
redis.call('HSET', KEYS[2], 'status', status, 'token', '')
if ARGV[3] ~= '1' then
  local clock = redis.call('TIME')
  local ended = string.format('%.0f', tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000))
  redis.call('HSET', KEYS[2], 'claimed', '0', 'ended', ended)
end
redis.call('HSET', KEYS[2], 'abandoned', ARGV[6])
local lines, link = append(run, KEYS[3], ARGV[4], ARGV[5])
return {'RELEASED', tostring(lines), link}
