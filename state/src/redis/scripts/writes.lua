-- Writes of COMMIT, FAIL and RESOLVE to the state. ARGV from `at`: number of instances, each (address, 1 or 0, record,
-- dependencies by line); number of outputs, each (name, 1 or 0, record); check results: 0, or 1 and their record.
local META, RUN, JOURNAL, REC, OUT, REV, DEPS, CLAIMS, DOUBTS = unpack(KEYS)

-- The writes and their subjects: the positions of instances, outputs and check results among the arguments.
local function read_writes(at)
  local subjects = {}
  local instances = tonumber(ARGV[at])
  for n = 1, instances do subjects[n] = 'i:' .. ARGV[at + 4 * n - 3] end
  local out = at + 4 * instances + 1
  local outputs = tonumber(ARGV[out])
  for n = 1, outputs do subjects[instances + n] = 'o:' .. ARGV[out + 3 * n - 2] end
  local checks = out + 3 * outputs + 1
  if ARGV[checks] == '1' then subjects[instances + outputs + 1] = 'c:' end
  return {subjects = subjects, at = at, instances = instances, out = out, outputs = outputs, checks = checks}
end

-- Names of fields, and of the fields that show whether the writes are claimed.
local function with_own(writes, names)
  for _, subject in ipairs(writes.subjects) do names[#names + 1] = 'own:' .. subject end
  return names
end

local function taken_by_other(subject)
  local value = redis.call('HGET', CLAIMS, subject)
  if not value then return false end
  for run in string.gmatch(string.sub(value, 3), '%S+') do
    if run ~= ARGV[3] then return true end
  end
  return false
end

-- Instances must be claimed. Outputs and check results may be written unless another run claims them. The claims of the
-- run come after this many fields.
local function not_claimed(run, writes, behind)
  local refused
  for at, subject in ipairs(writes.subjects) do
    if run.held[behind + at] ~= 'x' and (at <= writes.instances or taken_by_other(subject)) then
      refused = refused or {'NOTCLAIMED'}
      refused[#refused + 1] = subject
    end
  end
  return refused
end

local function lines_of(text)
  local set = {}
  for line in string.gmatch(text or '', '[^\n]+') do set[line] = true end
  return set
end

local function set_deps(address, text, sequence)
  local before = redis.call('HGET', DEPS, address) or ''
  if before == text then return end
  local old, new = lines_of(before), lines_of(text)
  for name in pairs(old) do
    if not new[name] then redis.call('HSET', REV, 'd:' .. name, sequence) end
  end
  for name in pairs(new) do
    if not old[name] then redis.call('HSET', REV, 'd:' .. name, sequence) end
  end
  if text == '' then redis.call('HDEL', DEPS, address) else redis.call('HSET', DEPS, address, text) end
end

-- Stores the records, and notes in the run what it wrote. Returns the sequence. The store counts its records and
-- outputs, so that a key that is gone is noticed. Stores of earlier versions have no counts.
local function put_records(run, writes)
  local sequence = string.format('%d', (run.seq or 0) + 1)
  local records, outputs = 0, 0
  for at = writes.at + 1, writes.at + 4 * writes.instances, 4 do
    if ARGV[at + 1] == '1' then
      records = records + redis.call('HSET', REC, ARGV[at], sequence .. '\n' .. ARGV[at + 2])
    else
      records = records - redis.call('HDEL', REC, ARGV[at])
    end
    set_deps(ARGV[at], ARGV[at + 3], sequence)
  end
  for at = writes.out + 1, writes.out + 3 * writes.outputs, 3 do
    if ARGV[at + 1] == '1' then
      outputs = outputs + redis.call('HSET', OUT, ARGV[at], sequence .. '\n' .. ARGV[at + 2])
    else
      outputs = outputs - redis.call('HDEL', OUT, ARGV[at])
    end
  end
  local meta = {'seq', sequence, 'serial', string.format('%d', (run.serial or 0) + 1)}
  if run.records then
    meta[5], meta[6] = 'records', string.format('%d', run.records + records)
    meta[7], meta[8] = 'outputs', string.format('%d', run.outputs + outputs)
  end
  if ARGV[writes.checks] == '1' then
    meta[#meta + 1], meta[#meta + 2] = 'checks', sequence .. '\n' .. ARGV[writes.checks + 1]
  end
  redis.call('HSET', META, unpack(meta))
  local put = run.put
  for _, subject in ipairs(writes.subjects) do
    redis.call('HSET', REV, subject, sequence)
    put[#put + 1], put[#put + 2] = 'wrote:' .. subject, sequence
  end
  return sequence
end

-- Writes everything, with the line of the journal. Answers with each subject and its revision.
local function write_all(run, writes, line, digest)
  local sequence
  if #writes.subjects > 0 then sequence = put_records(run, writes) end
  local answer = ok(append(run, JOURNAL, line, digest))
  for _, subject in ipairs(writes.subjects) do
    answer[#answer + 1], answer[#answer + 2] = subject, sequence
  end
  return answer
end

-- The answer to a resent step: the revisions that the first delivery returned.
local function repeated_writes(run, writes)
  local names = {}
  for at, subject in ipairs(writes.subjects) do names[at] = 'wrote:' .. subject end
  local answer = repeated(run, JOURNAL)
  if #names == 0 then return answer end
  local found = fields(run.key, names)
  for at, subject in ipairs(writes.subjects) do
    if found[at] then answer[#answer + 1], answer[#answer + 2] = subject, found[at] end
  end
  return answer
end
