-- EDIT: writes outside of any run. KEYS: see writes.lua; the keys of a run are unused. ARGV: incarnation, the name of
-- this edit (which identifies a resent edit), a run id that no run has, the serial that the edit is based on, the
-- lineage and serial to adopt or '', writes.
local now = redis.call('HGET', META, 'incarnation')
if now ~= ARGV[1] then return {'OTHER'} end
if redis.call('HGET', META, 'edit') == ARGV[2] then return {'EDITED'} end
local store = redis.call('HMGET', META, 'seq', 'serial', 'records', 'outputs')
local serial = store[2] or '0'
if serial ~= ARGV[4] then return {'CHANGED', serial} end
local writes = read_writes(7)
local held = {}
local function look(subject)
  local value = redis.call('HGET', CLAIMS, subject)
  if not value then return end
  for run in string.gmatch(string.sub(value, 3), '%S+') do
    table.insert(held, subject)
    table.insert(held, string.sub(value, 1, 1))
    table.insert(held, run)
  end
end
for _, subject in ipairs(writes.subjects) do look(subject) end
if #held > 0 then return {'HELD', held} end
if #writes.subjects > 0 then
  put_records({seq = store[1], serial = serial, records = store[3], outputs = store[4], put = {}}, writes)
end
if ARGV[6] ~= '' then
  redis.call('HSET', META, 'lineage', ARGV[5], 'serial', string.format('%.0f', tonumber(ARGV[6]) + 1))
end
redis.call('HSET', META, 'edit', ARGV[2])
return {'EDITED'}
