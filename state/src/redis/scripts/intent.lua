-- KEYS: meta, run, ops, journal, own claims, doubts, revisions. ARGV: incarnation, token, op, attempt, worker, target,
-- planned, action, subject, base revision or '', line, digest.
local refusal = fence(KEYS[1], KEYS[2], ARGV[1], ARGV[2])
if refusal then return refusal end
local op = op_read(KEYS[3], ARGV[3])
if op.status == 'I' and op.attempt == ARGV[4] and op.worker == ARGV[5] and op.target == ARGV[6]
  and op.planned == ARGV[7] then
  return repeated(KEYS[2], KEYS[4])
end
if not may_begin(op, ARGV[4]) then return illegal(op) end
if redis.call('HGET', KEYS[5], ARGV[9]) ~= 'x' then return {'NOTCLAIMED', ARGV[9]} end
local doubt = redis.call('HGET', KEYS[6], ARGV[6])
if doubt then return {'DOUBTFUL', ARGV[6], doubt} end
if ARGV[10] ~= '' then
  local found = redis.call('HGET', KEYS[7], ARGV[9]) or '0'
  if found ~= ARGV[10] then return {'STALE', ARGV[9], ARGV[10], found} end
end
op_write(KEYS[2], KEYS[3], ARGV[3], op.status, {status = 'I', attempt = ARGV[4], worker = ARGV[5], settled = '-',
  planned = ARGV[7], target = ARGV[6], action = ARGV[8], rest = ''})
return ok(append(KEYS[2], KEYS[4], ARGV[11], ARGV[12]))
