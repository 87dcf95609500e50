-- Shared by all steps. Operation values: "STATUS ATTEMPT WORKER SETTLED PLANNED TARGET ACTION\nPAYLOAD"; the words
-- but the first two in hexadecimal, "-" when empty. Status: P pending, I intended, D done, F failed, Q in doubt,
-- S skipped.
local COUNTED = {I = 'running', D = 'done', F = 'failed', Q = 'in_doubt', S = 'skipped'}

local function fence(meta, run, incarnation, token)
  local now = redis.call('HGET', meta, 'incarnation')
  if now ~= incarnation then return {'FENCED', 'incarnation', now or ''} end
  local held = redis.call('HGET', run, 'token')
  if not held then return {'FENCED', 'norun'} end
  if held ~= token then return {'FENCED', 'token', held} end
  return nil
end

local function op_read(ops, op)
  local value = redis.call('HGET', ops, op)
  if not value then
    return {status = 'P', attempt = '0', worker = '-', settled = '-', planned = '-', target = '-', action = '-',
      rest = ''}
  end
  local s, a, w, d, p, t, c, r = string.match(value, '^(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)\n(.*)$')
  return {status = s, attempt = a, worker = w, settled = d, planned = p, target = t, action = c, rest = r}
end

local function op_write(run, ops, op, before, now)
  if COUNTED[before] then redis.call('HINCRBY', run, COUNTED[before], -1) end
  if COUNTED[now.status] then redis.call('HINCRBY', run, COUNTED[now.status], 1) end
  redis.call('HSET', ops, op, table.concat(
    {now.status, now.attempt, now.worker, now.settled, now.planned, now.target, now.action}, ' ') .. '\n' .. now.rest)
end

local function illegal(op)
  return {'ILLEGAL', op.status, op.attempt, op.worker}
end

local function may_begin(op, attempt)
  local resting = op.status == 'P' or op.status == 'F' or op.status == 'S'
  return resting and tonumber(attempt) > tonumber(op.attempt)
end

local function append(run, journal, line, digest)
  local link = redis.sha1hex((redis.call('HGET', run, 'tip') or '') .. digest)
  local lines = redis.call('RPUSH', journal, link .. ' ' .. digest .. ' ' .. line)
  redis.call('HSET', run, 'tip', link)
  return lines, link
end

local function ok(lines, link)
  return {'OK', '0', tostring(lines), link}
end

local function repeated(run, journal)
  redis.call('HINCRBY', run, 'resent', 1)
  return {'OK', '1', tostring(redis.call('LLEN', journal)), redis.call('HGET', run, 'tip') or ''}
end
