-- Writes of COMMIT, FAIL and RESOLVE to the state. ARGV from `at`: number of instances, each (address, 1 or 0, record,
-- dependencies by line); number of outputs, each (name, 1 or 0, record); check results: 0, or 1 and their record.
local K = {meta = KEYS[1], run = KEYS[2], ops = KEYS[3], journal = KEYS[4], own = KEYS[5], rec = KEYS[6],
  out = KEYS[7], rev = KEYS[8], deps = KEYS[9], claims = KEYS[10], written = KEYS[11], doubts = KEYS[12]}

local function read_writes(at)
  local writes = {instances = {}, outputs = {}}
  local count = tonumber(ARGV[at])
  at = at + 1
  for _ = 1, count do
    local there = ARGV[at + 1] == '1'
    table.insert(writes.instances, {name = ARGV[at], there = there, value = ARGV[at + 2], deps = ARGV[at + 3]})
    at = at + 4
  end
  count = tonumber(ARGV[at])
  at = at + 1
  for _ = 1, count do
    table.insert(writes.outputs, {name = ARGV[at], there = ARGV[at + 1] == '1', value = ARGV[at + 2]})
    at = at + 3
  end
  if ARGV[at] == '1' then writes.checks = ARGV[at + 1] end
  return writes
end

local function taken_by_other(subject)
  local value = redis.call('HGET', K.claims, subject)
  if not value then return false end
  for run in string.gmatch(string.sub(value, 3), '%S+') do
    if run ~= ARGV[3] then return true end
  end
  return false
end

local function not_claimed(writes)
  local refused = {'NOTCLAIMED'}
  for _, write in ipairs(writes.instances) do
    local subject = 'i:' .. write.name
    if redis.call('HGET', K.own, subject) ~= 'x' then table.insert(refused, subject) end
  end
  local loose = {}
  for _, write in ipairs(writes.outputs) do table.insert(loose, 'o:' .. write.name) end
  if writes.checks then table.insert(loose, 'c:') end
  for _, subject in ipairs(loose) do
    if redis.call('HGET', K.own, subject) ~= 'x' and taken_by_other(subject) then table.insert(refused, subject) end
  end
  if #refused > 1 then return refused end
  return nil
end

local function lines_of(text)
  local set = {}
  for line in string.gmatch(text or '', '[^\n]+') do set[line] = true end
  return set
end

local function set_deps(address, text, sequence)
  local before = redis.call('HGET', K.deps, address) or ''
  if before == text then return end
  local old, new = lines_of(before), lines_of(text)
  for name in pairs(old) do
    if not new[name] then redis.call('HSET', K.rev, 'd:' .. name, sequence) end
  end
  for name in pairs(new) do
    if not old[name] then redis.call('HSET', K.rev, 'd:' .. name, sequence) end
  end
  if text == '' then redis.call('HDEL', K.deps, address) else redis.call('HSET', K.deps, address, text) end
end

local function write_all(writes, answer)
  if #writes.instances + #writes.outputs == 0 and not writes.checks then return end
  local sequence = string.format('%.0f', redis.call('HINCRBY', K.meta, 'seq', 1))
  redis.call('HINCRBY', K.meta, 'serial', 1)
  local function note(subject)
    redis.call('HSET', K.rev, subject, sequence)
    redis.call('HSET', K.written, subject, sequence)
    table.insert(answer, subject)
    table.insert(answer, sequence)
  end
  for _, write in ipairs(writes.instances) do
    if write.there then
      redis.call('HSET', K.rec, write.name, sequence .. '\n' .. write.value)
    else
      redis.call('HDEL', K.rec, write.name)
    end
    set_deps(write.name, write.deps, sequence)
    note('i:' .. write.name)
  end
  for _, write in ipairs(writes.outputs) do
    if write.there then
      redis.call('HSET', K.out, write.name, sequence .. '\n' .. write.value)
    else
      redis.call('HDEL', K.out, write.name)
    end
    note('o:' .. write.name)
  end
  if writes.checks then
    redis.call('HSET', K.meta, 'checks', sequence .. '\n' .. writes.checks)
    note('c:')
  end
end

local function repeated_writes(writes, answer)
  local function note(subject)
    local sequence = redis.call('HGET', K.written, subject)
    if sequence then
      table.insert(answer, subject)
      table.insert(answer, sequence)
    end
  end
  for _, write in ipairs(writes.instances) do note('i:' .. write.name) end
  for _, write in ipairs(writes.outputs) do note('o:' .. write.name) end
  if writes.checks then note('c:') end
  return answer
end
