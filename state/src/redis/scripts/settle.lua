-- COMMIT and FAIL. KEYS: see writes.lua. ARGV: incarnation, token, run id, op, attempt, worker, digest of the step,
-- D or F, 1 if an intent must match, payload, line, writes.
local writes = read_writes(12)
local run, refusal = enter(META, RUN, ARGV[1], ARGV[2], with_own(writes,
  {'token', 'tip', 'running', 'done', 'failed', 'skipped', 'in_doubt', 'op:' .. ARGV[4]}))
if refusal then return refusal end
local status, attempt, worker, settled, words = op_words(run.held[8])
if status == ARGV[8] and attempt == ARGV[5] and worker == ARGV[6] and settled == ARGV[7] then
  return repeated_writes(run, writes)
end
if ARGV[9] == '1' then
  if not (status == 'I' and attempt == ARGV[5] and worker == ARGV[6]) then return illegal(status, attempt, worker) end
elseif not may_begin(status, attempt, ARGV[5]) then
  return illegal(status, attempt, worker)
end
local refused = not_claimed(run, writes, 8)
if refused then return refused end
op_write(run, ARGV[4], status, ARGV[8],
  ARGV[5] .. ' ' .. ARGV[6] .. ' ' .. ARGV[7] .. ' ' .. words .. '\n' .. ARGV[10])
return write_all(run, writes, ARGV[11], ARGV[7])
