-- SKIP and REOPEN. KEYS: meta, run, ops, journal. ARGV: incarnation, token, op, new status, statuses from which,
-- line, digest.
local refusal = fence(KEYS[1], KEYS[2], ARGV[1], ARGV[2])
if refusal then return refusal end
local op = op_read(KEYS[3], ARGV[3])
if op.status == ARGV[4] then return repeated(KEYS[2], KEYS[4]) end
if not string.find(ARGV[5], op.status, 1, true) then return illegal(op) end
local before = op.status
op.status = ARGV[4]
op_write(KEYS[2], KEYS[3], ARGV[3], before, op)
return ok(append(KEYS[2], KEYS[4], ARGV[6], ARGV[7]))
