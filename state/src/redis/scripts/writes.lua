-- Functions for steps that write to the state. The writes of a step are in ARGV from `at`: number of instances, each
-- (address, 1 or 0, record, dependencies by line); number of outputs, each (name, 1 or 0, record); check results: 0, or
-- 1 and their record.
local META, RUN, JOURNAL, REC, OUT, REV, DEPS, CLAIMS, DOUBTS = unpack(KEYS)

-- Returns the subjects of the writes in ARGV, and the positions of the instances, outputs and check results in ARGV.
local function read_writes(at)
  local subjects = {}
  local instances = tonumber(ARGV[at])
  for n = 1, instances do subjects[n] = 'i:' .. ARGV[at + 4 * n - 3] end
  local out = at + 4 * instances + 1
  local outputs = tonumber(ARGV[out])
  for n = 1, outputs do subjects[instances + n] = 'o:' .. ARGV[out + 3 * n - 2] end
  local checks = out + 3 * outputs + 1
  if ARGV[checks] == '1' then subjects[instances + outputs + 1] = 'c:' end
  local last = ARGV[checks] == '1' and checks + 1 or checks
  return {subjects = subjects, at = at, instances = instances, out = out, outputs = outputs, checks = checks, last = last}
end

-- Appends the names of the fields that show whether the run has claimed the subjects of the writes. Returns `names`.
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

-- Returns a refusal if the run may not make these writes. Instances must be claimed. Outputs and check results may be
-- written unless another run claims them. In `run.held`, the claims follow the first `behind` fields.
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

-- The changes of the state by one call. No two steps of a call write the same subject, so the changes can be stored in
-- any order.
local function new_changes()
  return {records = {}, gone = {}, outputs = {}, gone_outputs = {}, deps = {}, free = {}, revisions = {}}
end

-- Appends the addresses of the instances whose dependencies a step may change. Returns `names`.
local function with_addresses(writes, names)
  for at = writes.at + 1, writes.at + 4 * writes.instances, 4 do names[#names + 1] = ARGV[at] end
  return names
end

-- Adds the new dependencies of an instance to the changes. `before` and `text` list the old and the new names, one on
-- each line. A name that was added or removed gets a new revision.
local function note_deps(changes, address, before, text, sequence)
  if before == text then return end
  local revisions = changes.revisions
  local old, new = lines_of(before), lines_of(text)
  for name in pairs(old) do
    if not new[name] then revisions[#revisions + 1], revisions[#revisions + 2] = 'd:' .. name, sequence end
  end
  for name in pairs(new) do
    if not old[name] then revisions[#revisions + 1], revisions[#revisions + 2] = 'd:' .. name, sequence end
  end
  if text == '' then
    changes.free[#changes.free + 1] = address
  else
    changes.deps[#changes.deps + 1], changes.deps[#changes.deps + 2] = address, text
  end
end

-- Adds the writes of a step to the changes and to the data of the run. In `deps`, the old dependencies of the written
-- instances follow the first `behind` entries. Returns the sequence.
local function note_writes(run, changes, writes, deps, behind)
  local sequence = string.format('%d', (run.seq or 0) + 1)
  run.seq, run.serial = sequence, string.format('%d', (run.serial or 0) + 1)
  local records, outputs = changes.records, changes.outputs
  for n = 1, writes.instances do
    local at = writes.at + 4 * n - 3
    if ARGV[at + 1] == '1' then
      records[#records + 1], records[#records + 2] = ARGV[at], sequence .. '\n' .. ARGV[at + 2]
    else
      changes.gone[#changes.gone + 1] = ARGV[at]
    end
    note_deps(changes, ARGV[at], deps[behind + n] or '', ARGV[at + 3], sequence)
  end
  for at = writes.out + 1, writes.out + 3 * writes.outputs, 3 do
    if ARGV[at + 1] == '1' then
      outputs[#outputs + 1], outputs[#outputs + 2] = ARGV[at], sequence .. '\n' .. ARGV[at + 2]
    else
      changes.gone_outputs[#changes.gone_outputs + 1] = ARGV[at]
    end
  end
  if ARGV[writes.checks] == '1' then changes.checks = sequence .. '\n' .. ARGV[writes.checks + 1] end
  local put, revisions = run.put, changes.revisions
  for _, subject in ipairs(writes.subjects) do
    revisions[#revisions + 1], revisions[#revisions + 2] = subject, sequence
    put[#put + 1], put[#put + 2] = 'wrote:' .. subject, sequence
  end
  return sequence
end

-- Stores the changes. The store counts its records and outputs, so that the loss of a key is detected. Stores of
-- earlier versions have no counts.
local function put_changes(run, changes)
  local records = set(REC, changes.records) - unset(REC, changes.gone)
  local outputs = set(OUT, changes.outputs) - unset(OUT, changes.gone_outputs)
  set(DEPS, changes.deps)
  unset(DEPS, changes.free)
  set(REV, changes.revisions)
  local meta = {'seq', run.seq, 'serial', run.serial}
  if run.records then
    meta[5], meta[6] = 'records', string.format('%d', run.records + records)
    meta[7], meta[8] = 'outputs', string.format('%d', run.outputs + outputs)
  end
  if changes.checks then meta[#meta + 1], meta[#meta + 2] = 'checks', changes.checks end
  redis.call('HSET', META, unpack(meta))
end

-- Stores the writes of one step. Returns the sequence.
local function put_records(run, writes)
  local addresses, changes = with_addresses(writes, {}), new_changes()
  local deps = #addresses > 0 and fields(DEPS, addresses) or {}
  local sequence = note_writes(run, changes, writes, deps, 0)
  put_changes(run, changes)
  return sequence
end

-- Stores the writes of a step and its journal line. The answer has each subject with its revision.
local function write_all(run, writes, line, digest)
  local sequence
  if #writes.subjects > 0 then sequence = put_records(run, writes) end
  local answer = ok(append(run, JOURNAL, line, digest))
  for _, subject in ipairs(writes.subjects) do
    answer[#answer + 1], answer[#answer + 2] = subject, sequence
  end
  return answer
end

-- Adds to the answer the revisions that the first delivery of a step returned.
local function add_written(run, writes, answer)
  local names = {}
  for at, subject in ipairs(writes.subjects) do names[at] = 'wrote:' .. subject end
  if #names == 0 then return end
  local found = fields(run.key, names)
  for at, subject in ipairs(writes.subjects) do
    if found[at] then answer[#answer + 1], answer[#answer + 2] = subject, found[at] end
  end
end

-- The answer to a resent step.
local function repeated_writes(run, writes)
  local answer = repeated(run, JOURNAL)
  add_written(run, writes, answer)
  return answer
end
