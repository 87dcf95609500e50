-- DOUBT. KEYS: meta, run, journal, doubts. ARGV: incarnation, token, run id, op, attempt, reason, line, digest.
local run, refusal = enter(KEYS[1], KEYS[2], ARGV[1], ARGV[2],
  {'token', 'tip', 'running', 'done', 'failed', 'skipped', 'in_doubt', 'op:' .. ARGV[4]})
if refusal then return refusal end
local status, attempt, worker, settled, words = op_words(run.held[8])
if attempt ~= ARGV[5] or (status ~= 'Q' and status ~= 'I') then return illegal(status, attempt, worker) end
if status == 'Q' then return repeated(run, KEYS[3]) end
local planned, target, action = string.match(words, '^(%S+) (%S+) (%S+)$')
redis.call('HSET', KEYS[4], target,
  table.concat({ARGV[3], ARGV[4], attempt, worker, action, planned, ARGV[6]}, ' '))
op_write(run, ARGV[4], status, 'Q', op_rest(run.held[8]))
return ok(append(run, KEYS[3], ARGV[7], ARGV[8]))
