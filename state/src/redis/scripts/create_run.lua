-- Creates a run. KEYS: meta, run, plan, runs, journal. ARGV: incarnation, run id, plan digest, operations, started,
-- plan, the maximum number of runs.
--
-- Returns whether a journal has a line about an operation. Reads only the first 100 lines: the terms of a run without
-- operations have fewer lines.
local function touched(journal)
  local lines = redis.call('LRANGE', journal, 0, 99)
  for _, line in ipairs(lines) do
    if not string.find(line, '^%S+ %S+ %S+ %- ') then return true end
  end
  return #lines == 100
end

local now = redis.call('HGET', KEYS[1], 'incarnation')
if now ~= ARGV[1] then return {'FENCED', 'incarnation', now or ''} end
local held = redis.call('HMGET', KEYS[2], 'plan', 'operations', 'started', 'status', 'claimed')
if held[1] then
  local same = held[1] == ARGV[3] and held[2] == ARGV[4] and held[3] == ARGV[5]
  local untouched = held[4] == 'stopped' and held[5] ~= '1' and not touched(KEYS[5])
  if same and untouched then return {'CREATED'} end
  return {'EXISTS', held[4]}
end
if redis.call('HLEN', KEYS[4]) >= tonumber(ARGV[7]) then return {'MANY'} end
redis.call('SET', KEYS[3], ARGV[6])
redis.call('HSET', KEYS[2], 'plan', ARGV[3], 'operations', ARGV[4], 'started', ARGV[5], 'status', 'stopped',
  'token', '', 'beat', '0', 'claimed', '0')
redis.call('HSET', KEYS[4], ARGV[2], ARGV[5])
return {'CREATED'}
