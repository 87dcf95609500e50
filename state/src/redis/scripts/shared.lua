-- Definitions that all scripts share.
-- Operation values: "STATUS ATTEMPT WORKER SETTLED PLANNED TARGET ACTION\nPAYLOAD". No word contains white space. An
-- empty word is "-". Status: P pending, I intended, D done, F failed, Q in doubt, S skipped.
-- A run is one hash: its header; `tip`, `running`, `done`, `failed`, `skipped`, `in_doubt`; `op:N` for each operation
-- that was begun; `own:SUBJECT` for each claim; `wrote:SUBJECT` for the revision at which the run wrote the subject.
-- Scripts spend their time on calls of the server and on tables. So a step reads all data that it needs of a run at
-- once, and writes all its changes at once.
local COUNTED = {I = 3, D = 4, F = 5, S = 6, Q = 7}
local COUNTS = {[3] = 'running', [4] = 'done', [5] = 'failed', [6] = 'skipped', [7] = 'in_doubt'}
-- The maximum number of fields that one call reads or writes. All these fields are on the stack of the script.
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

-- Reads the data of the store and the run that a step needs. Returns nil and the refusal if the lease is not current.
-- `names` begins with 'token' and 'tip'. If the step changes an operation, the counts in the order of COUNTS and the
-- operation follow. In the result, `put` collects the names and values that the step writes to the run.
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

-- Adds the new value of an operation and the changed counts to the data that the step writes to the run.
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

-- Removes names from a hash. Returns the number of names that existed.
local function unset(key, names)
  local gone = 0
  for from = 1, #names, AT_ONCE do
    gone = gone + redis.call('HDEL', key, unpack(names, from, math.min(from + AT_ONCE - 1, #names)))
  end
  return gone
end

-- Returns the text of the next line of the journal, and the new link. The text begins with the link.
local function next_line(run, line, digest)
  run.tip = redis.sha1hex(run.tip .. digest)
  return run.tip .. ' ' .. digest .. ' ' .. line, run.tip
end

-- Writes the collected fields, the changed counts and the link to the run.
local function put_noted(run)
  local put = run.put
  for at in pairs(run.counted) do put[#put + 1], put[#put + 2] = COUNTS[at], string.format('%d', run.held[at]) end
  put[#put + 1], put[#put + 2] = 'tip', run.tip
  set(run.key, put)
end

-- Writes the collected fields of the run and a line of the journal.
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
