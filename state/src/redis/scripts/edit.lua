-- EDIT: writes that belong to no run. KEYS: see writes.lua, those of a run being spare ones. ARGV: incarnation, a
-- name for this edit by which a resent one is known, the run id of nobody, the serial that it was made from, the
-- lineage and serial to take over or '', writes.
local now = redis.call('HGET', K.meta, 'incarnation')
if now ~= ARGV[1] then return {'OTHER'} end
if redis.call('HGET', K.meta, 'edit') == ARGV[2] then return {'EDITED'} end
local serial = redis.call('HGET', K.meta, 'serial') or '0'
if serial ~= ARGV[4] then return {'CHANGED', serial} end
local writes = read_writes(7)
local held = {}
local function look(subject)
  local value = redis.call('HGET', K.claims, subject)
  if not value then return end
  for run in string.gmatch(string.sub(value, 3), '%S+') do
    table.insert(held, subject)
    table.insert(held, string.sub(value, 1, 1))
    table.insert(held, run)
  end
end
for _, write in ipairs(writes.instances) do look('i:' .. write.name) end
for _, write in ipairs(writes.outputs) do look('o:' .. write.name) end
if writes.checks then look('c:') end
if #held > 0 then return {'HELD', held} end
write_all(writes, {})
redis.call('DEL', K.written)
if ARGV[6] ~= '' then
  redis.call('HSET', K.meta, 'lineage', ARGV[5], 'serial', string.format('%.0f', tonumber(ARGV[6]) + 1))
end
redis.call('HSET', K.meta, 'edit', ARGV[2])
return {'EDITED'}
