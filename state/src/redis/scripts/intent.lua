-- KEYS: meta, run, journal, doubts, revisions. ARGV: incarnation, token, op, attempt, worker, target, planned, action,
-- subject, base revision or '', line, digest.
local run, refusal = enter(KEYS[1], KEYS[2], ARGV[1], ARGV[2],
  {'token', 'tip', 'running', 'done', 'failed', 'skipped', 'in_doubt', 'op:' .. ARGV[3], 'own:' .. ARGV[9]})
if refusal then return refusal end
local status, attempt, worker, settled, words = op_words(run.held[8])
local intended = ARGV[7] .. ' ' .. ARGV[6] .. ' ' .. ARGV[8]
if status == 'I' and attempt == ARGV[4] and worker == ARGV[5] and words == intended then
  return repeated(run, KEYS[3])
end
if not may_begin(status, attempt, ARGV[4]) then return illegal(status, attempt, worker) end
if run.held[9] ~= 'x' then return {'NOTCLAIMED', ARGV[9]} end
local doubt = redis.call('HGET', KEYS[4], ARGV[6])
if doubt then return {'DOUBTFUL', ARGV[6], doubt} end
if ARGV[10] ~= '' then
  local found = redis.call('HGET', KEYS[5], ARGV[9]) or '0'
  if found ~= ARGV[10] then return {'STALE', ARGV[9], ARGV[10], found} end
end
op_write(run, ARGV[3], status, 'I', ARGV[4] .. ' ' .. ARGV[5] .. ' - ' .. intended .. '\n')
return ok(append(run, KEYS[3], ARGV[11], ARGV[12]))
