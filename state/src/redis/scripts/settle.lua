-- COMMIT and FAIL. KEYS: see writes.lua. ARGV: incarnation, token, run id, op, attempt, worker, digest of the step,
-- D or F, 1 if an intent must match, payload, line, writes.
local refusal = fence(K.meta, K.run, ARGV[1], ARGV[2])
if refusal then return refusal end
local op = op_read(K.ops, ARGV[4])
local writes = read_writes(12)
if op.status == ARGV[8] and op.attempt == ARGV[5] and op.worker == ARGV[6] and op.settled == ARGV[7] then
  return repeated_writes(writes, repeated(K.run, K.journal))
end
if ARGV[9] == '1' then
  if not (op.status == 'I' and op.attempt == ARGV[5] and op.worker == ARGV[6]) then return illegal(op) end
elseif not may_begin(op, ARGV[5]) then
  return illegal(op)
end
local refused = not_claimed(writes)
if refused then return refused end
op_write(K.run, K.ops, ARGV[4], op.status, {status = ARGV[8], attempt = ARGV[5], worker = ARGV[6], settled = ARGV[7],
  planned = op.planned, target = op.target, action = op.action, rest = ARGV[10]})
local answer = ok(append(K.run, K.journal, ARGV[11], ARGV[7]))
write_all(writes, answer)
return answer
