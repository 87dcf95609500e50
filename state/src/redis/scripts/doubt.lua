-- KEYS: meta, run, ops, journal, doubts. ARGV: incarnation, token, run id, op, attempt, reason, line, digest.
local refusal = fence(KEYS[1], KEYS[2], ARGV[1], ARGV[2])
if refusal then return refusal end
local op = op_read(KEYS[3], ARGV[4])
if op.attempt ~= ARGV[5] or (op.status ~= 'Q' and op.status ~= 'I') then return illegal(op) end
if op.status == 'Q' then return repeated(KEYS[2], KEYS[4]) end
redis.call('HSET', KEYS[5], op.target,
  table.concat({ARGV[3], ARGV[4], op.attempt, op.worker, op.action, op.planned, ARGV[6]}, ' '))
op.status = 'Q'
op_write(KEYS[2], KEYS[3], ARGV[4], 'I', op)
return ok(append(KEYS[2], KEYS[4], ARGV[7], ARGV[8]))
