-- Shared by all steps.
-- Operation values: "STATUS ATTEMPT WORKER SETTLED PLANNED TARGET ACTION\nPAYLOAD". All words but the first two are
-- free of white space, and "-" when empty. Status: P pending, I intended, D done, F failed, Q in doubt, S skipped.
-- A run is one hash: its header; `tip`, `running`, `done`, `failed`, `skipped`, `in_doubt`; `op:N` for each operation
-- that was begun, `own:SUBJECT` for each claim, `wrote:SUBJECT` for the revision at which the run wrote it. Scripts
-- spend their time on calls of the server and on tables, so a step reads everything that it needs of a run at once, and
-- writes everything that it changes at once.
local COUNTED = {I = 3, D = 4, F = 5, S = 6, Q = 7}
local COUNTS = {[3] = 'running', [4] = 'done', [5] = 'failed', [6] = 'skipped', [7] = 'in_doubt'}
-- Fields read or written by one call, because all of them are on the stack of the script.
local AT_ONCE = 1000

local function fields(key, names)
  if #names <= AT_ONCE then return redis.call('HMGET', key, unpack(names)) end
  local found = {}
  for from = 1, #names, AT_ONCE do
    local part = redis.call('HMGET', key, unpack(names, from, math.min(from + AT_ONCE - 1, #names)))
    for at = 1, #part do found[from + at - 1] = part[at] end
  end
  return found
end

-- What a step reads of store and run, or nil and the refusal if the lease is not current. `names` begin with 'token',
-- 'tip' and, if the step changes an operation, the counts in the order of COUNTS and the operation. `put` collects what
-- the step writes to the run, as names and values.
local function enter(meta, key, incarnation, token, names)
  local store = redis.call('HMGET', meta, 'incarnation', 'seq', 'serial', 'records', 'outputs')
  if store[1] ~= incarnation then return nil, {'FENCED', 'incarnation', store[1] or ''} end
  local held = fields(key, names)
  if not held[1] then return nil, {'FENCED', 'norun'} end
  if held[1] ~= token then return nil, {'FENCED', 'token', held[1]} end
  return {meta = meta, key = key, seq = store[2], serial = store[3], records = store[4], outputs = store[5],
    tip = held[2] or '', held = held, put = {}, counted = {}}
end

-- The words of an operation: status, attempt, worker, settled, and the rest of its first line.
local function op_words(value)
  if not value then return 'P', '0', '-', '-', '- - -' end
  return string.match(value, '^(%S+) (%S+) (%S+) (%S+) ([^\n]*)')
end

-- The part of an operation after its status.
local function op_rest(value)
  if not value then return '0 - - - - -\n' end
  return string.sub(value, 3)
end

-- Notes an operation whose status changes, and the counts.
local function op_write(run, op, before, now, rest)
  local held, put, counted = run.held, run.put, run.counted
  put[#put + 1], put[#put + 2] = 'op:' .. op, now .. ' ' .. rest
  local from, to = COUNTED[before], COUNTED[now]
  if from == to then return end
  if from then held[from], counted[from] = (held[from] or 0) - 1, true end
  if to then held[to], counted[to] = (held[to] or 0) + 1, true end
end

local function illegal(status, attempt, worker)
  return {'ILLEGAL', status, attempt, worker}
end

local function may_begin(status, before, attempt)
  return (status == 'P' or status == 'F' or status == 'S') and tonumber(attempt) > tonumber(before)
end

-- Writes names and values to a hash. Returns the number of new names.
local function set(key, pairs_of)
  local fresh = 0
  for from = 1, #pairs_of, AT_ONCE do
    fresh = fresh + redis.call('HSET', key, unpack(pairs_of, from, math.min(from + AT_ONCE - 1, #pairs_of)))
  end
  return fresh
end

-- Removes names from a hash. Returns the number of those that were there.
local function unset(key, names)
  local gone = 0
  for from = 1, #names, AT_ONCE do
    gone = gone + redis.call('HDEL', key, unpack(names, from, math.min(from + AT_ONCE - 1, #names)))
  end
  return gone
end

-- The next line of the journal: its text, and the link that it ends in.
local function next_line(run, line, digest)
  run.tip = redis.sha1hex(run.tip .. digest)
  return run.tip .. ' ' .. digest .. ' ' .. line, run.tip
end

-- Writes the noted fields, the counts and the link.
local function put_noted(run)
  local put = run.put
  for at in pairs(run.counted) do put[#put + 1], put[#put + 2] = COUNTS[at], string.format('%d', run.held[at]) end
  put[#put + 1], put[#put + 2] = 'tip', run.tip
  set(run.key, put)
end

-- Writes the noted fields and a line of the journal.
local function append(run, journal, line, digest)
  local lines = redis.call('RPUSH', journal, (next_line(run, line, digest)))
  put_noted(run)
  return lines, run.tip
end

local function ok(lines, link)
  return {'OK', '0', tostring(lines), link}
end

local function repeated(run, journal)
  redis.call('HINCRBY', run.key, 'resent', 1)
  return {'OK', '1', tostring(redis.call('LLEN', journal)), run.tip}
end
