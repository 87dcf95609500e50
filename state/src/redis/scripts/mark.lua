-- SKIP and REOPEN. KEYS: meta, run, journal. ARGV: incarnation, token, op, new status, the allowed current statuses,
-- line, digest.
local run, refusal = enter(KEYS[1], KEYS[2], ARGV[1], ARGV[2],
  {'token', 'tip', 'running', 'done', 'failed', 'skipped', 'in_doubt', 'op:' .. ARGV[3]})
if refusal then return refusal end
local status, attempt, worker, settled, words = op_words(run.held[8])
if status == ARGV[4] then return repeated(run, KEYS[3]) end
if not string.find(ARGV[5], status, 1, true) then return illegal(status, attempt, worker) end
op_write(run, ARGV[3], status, ARGV[4], op_rest(run.held[8]))
return ok(append(run, KEYS[3], ARGV[6], ARGV[7]))
