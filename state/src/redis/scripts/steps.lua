-- Records intents and results, many in one call. Everything is read at once, and written at once. KEYS: see writes.lua.
-- ARGV: incarnation, token, run id, and the steps. Each step has its kind, op, attempt, worker, line and digest, and
-- then
--   an intent (kind I): target, planned, action, subject, base revision or '';
--   a result (kind D or F): 1 if an intent must match, payload, writes.
-- No two steps are about the same operation or the same subject, so no step depends on another step. The answer has a
-- list for each step. If the lease is not current, the answer is one refusal.
local steps, targets, subjects, addresses = {}, {}, {}, {}
local names = {'token', 'tip', 'running', 'done', 'failed', 'skipped', 'in_doubt'}
local at = 4
while at <= #ARGV do
  local step = {at = at, held = #names + 1, read = 0, writes = false}
  names[step.held] = 'op:' .. ARGV[at + 1]
  if ARGV[at] == 'I' then
    names[step.held + 1] = 'own:' .. ARGV[at + 9]
    step.read = #targets + 1
    targets[step.read], subjects[step.read] = ARGV[at + 6], ARGV[at + 9]
    at = at + 11
  else
    step.writes, step.read = read_writes(at + 8), #addresses
    with_own(step.writes, names)
    with_addresses(step.writes, addresses)
    at = step.writes.last + 1
  end
  steps[#steps + 1] = step
end
local run, refusal = enter(META, RUN, ARGV[1], ARGV[2], names)
if refusal then return refusal end
local doubts, bases, deps = {}, {}, {}
if #targets > 0 then doubts, bases = fields(DOUBTS, targets), fields(REV, subjects) end
if #addresses > 0 then deps = fields(DEPS, addresses) end

local changes, lines, wrote = new_changes(), {}, false

-- The answer to an accepted step. The line number in the answer counts only the new lines, until these lines are
-- stored.
local function accept(step)
  local link
  lines[#lines + 1], link = next_line(run, ARGV[step.at + 4], ARGV[step.at + 5])
  return {'OK', '0', #lines, link}
end

-- The answer to a resent step, which an earlier call accepted.
local function accepted()
  redis.call('HINCRBY', RUN, 'resent', 1)
  return {'OK', '1', #lines, run.tip}
end

local function intent(step)
  local at = step.at
  local status, attempt, worker, settled, words = op_words(run.held[step.held])
  local intended = ARGV[at + 7] .. ' ' .. ARGV[at + 6] .. ' ' .. ARGV[at + 8]
  if status == 'I' and attempt == ARGV[at + 2] and worker == ARGV[at + 3] and words == intended then return accepted() end
  if not may_begin(status, attempt, ARGV[at + 2]) then return illegal(status, attempt, worker) end
  if run.held[step.held + 1] ~= 'x' then return {'NOTCLAIMED', ARGV[at + 9]} end
  local doubt = doubts[step.read]
  if doubt then return {'DOUBTFUL', ARGV[at + 6], doubt} end
  if ARGV[at + 10] ~= '' then
    local found = bases[step.read] or '0'
    if found ~= ARGV[at + 10] then return {'STALE', ARGV[at + 9], ARGV[at + 10], found} end
  end
  op_write(run, ARGV[at + 1], status, 'I', ARGV[at + 2] .. ' ' .. ARGV[at + 3] .. ' - ' .. intended .. '\n')
  return accept(step)
end

local function result(step)
  local at, writes = step.at, step.writes
  local status, attempt, worker, settled, words = op_words(run.held[step.held])
  if status == ARGV[at] and attempt == ARGV[at + 2] and worker == ARGV[at + 3] and settled == ARGV[at + 5] then
    local answer = accepted()
    add_written(run, writes, answer)
    return answer
  end
  if ARGV[at + 6] == '1' then
    if not (status == 'I' and attempt == ARGV[at + 2] and worker == ARGV[at + 3]) then
      return illegal(status, attempt, worker)
    end
  elseif not may_begin(status, attempt, ARGV[at + 2]) then
    return illegal(status, attempt, worker)
  end
  local refused = not_claimed(run, writes, step.held)
  if refused then return refused end
  op_write(run, ARGV[at + 1], status, ARGV[at],
    ARGV[at + 2] .. ' ' .. ARGV[at + 3] .. ' ' .. ARGV[at + 5] .. ' ' .. words .. '\n' .. ARGV[at + 7])
  local sequence
  if #writes.subjects > 0 then
    sequence, wrote = note_writes(run, changes, writes, deps, step.read), true
  end
  local answer = accept(step)
  for _, subject in ipairs(writes.subjects) do answer[#answer + 1], answer[#answer + 2] = subject, sequence end
  return answer
end

local answers = {}
for n, step in ipairs(steps) do answers[n] = step.writes and result(step) or intent(step) end
if wrote then put_changes(run, changes) end
local known = redis.call('LLEN', JOURNAL)
if #lines > 0 then
  for from = 1, #lines, AT_ONCE do
    redis.call('RPUSH', JOURNAL, unpack(lines, from, math.min(from + AT_ONCE - 1, #lines)))
  end
  put_noted(run)
end
for _, answer in ipairs(answers) do
  if answer[1] == 'OK' then answer[3] = tostring(known + answer[3]) end
end
return answers
