-- ACQUIRE. KEYS: meta, run, journal. ARGV: incarnation, term, holder, token and heartbeat of the lease to take over or
-- '', line, digest.
local now = redis.call('HGET', KEYS[1], 'incarnation')
if now ~= ARGV[1] then return {'FENCED', 'incarnation', now or ''} end
local held = redis.call('HMGET', KEYS[2], 'token', 'beat', 'holder', 'beat_at', 'tip', 'frozen')
if not held[1] then return {'NORUN'} end
if held[6] then return {'FROZEN', held[6]} end
local last = redis.call('LINDEX', KEYS[3], -1)
if (held[5] or '') ~= (last and string.match(last, '^%S+') or '') then return {'BROKEN'} end
local clock = redis.call('TIME')
local ms = string.format('%.0f', tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000))
if held[1] ~= '' then
  if string.match(held[1], ':(.*)$') == ARGV[2] then return {'GRANTED', held[1]} end
  if held[1] ~= ARGV[4] or held[2] ~= ARGV[5] then
    local age = string.format('%.0f', math.max(0, tonumber(ms) - tonumber(held[4] or ms)))
    return {'HELD', held[1], held[2], held[3] or '', age}
  end
end
local token = string.format('%.0f', redis.call('HINCRBY', KEYS[1], 'epoch', 1)) .. ':' .. ARGV[2]
redis.call('HSET', KEYS[2], 'token', token, 'beat', '0', 'holder', ARGV[3], 'beat_at', ms, 'status', 'running', 'abandoned', '0',
  'ended', '')
local lines, link = append(
  {key = KEYS[2], tip = held[5] or '', put = {}, counted = {}}, KEYS[3], ARGV[6], ARGV[7])
return {'GRANTED', token, tostring(lines), link}
