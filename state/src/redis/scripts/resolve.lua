-- RESOLVE. KEYS: see writes.lua. ARGV: incarnation, token, run id, op, attempt, worker, digest that settles it, D, F
-- or P, digest of the line, payload, line, writes.
local refusal = fence(K.meta, K.run, ARGV[1], ARGV[2])
if refusal then return refusal end
local op = op_read(K.ops, ARGV[4])
local writes = read_writes(12)
if op.status == ARGV[8] and op.attempt == ARGV[5] and op.settled == ARGV[7] then
  return repeated_writes(writes, repeated(K.run, K.journal))
end
if op.status ~= 'Q' or op.attempt ~= ARGV[5] then return illegal(op) end
local refused = not_claimed(writes)
if refused then return refused end
local doubt = redis.call('HGET', K.doubts, op.target)
if doubt then
  local run, index = string.match(doubt, '^(%S+) (%S+) ')
  if run == ARGV[3] and index == ARGV[4] then redis.call('HDEL', K.doubts, op.target) end
end
local worker = op.worker
if ARGV[8] ~= 'P' then worker = ARGV[6] end
op_write(K.run, K.ops, ARGV[4], op.status, {status = ARGV[8], attempt = ARGV[5], worker = worker, settled = ARGV[7],
  planned = op.planned, target = op.target, action = op.action, rest = ARGV[10]})
local answer = ok(append(K.run, K.journal, ARGV[11], ARGV[9]))
write_all(writes, answer)
return answer
