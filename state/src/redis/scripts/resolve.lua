-- RESOLVE. KEYS: see writes.lua. ARGV: incarnation, token, run id, op, attempt, worker, digest of the resolution, the
-- new status (D, F or P), digest of the line, payload, line, writes.
local writes = read_writes(12)
local run, refusal = enter(META, RUN, ARGV[1], ARGV[2], with_own(writes,
  {'token', 'tip', 'running', 'done', 'failed', 'skipped', 'in_doubt', 'op:' .. ARGV[4]}))
if refusal then return refusal end
local status, attempt, worker, settled, words = op_words(run.held[8])
if status == ARGV[8] and attempt == ARGV[5] and settled == ARGV[7] then return repeated_writes(run, writes) end
if status ~= 'Q' or attempt ~= ARGV[5] then return illegal(status, attempt, worker) end
local refused = not_claimed(run, writes, 8)
if refused then return refused end
local target = string.match(words, '^%S+ (%S+)')
local doubt = redis.call('HGET', DOUBTS, target)
if doubt then
  local holder, index = string.match(doubt, '^(%S+) (%S+) ')
  if holder == ARGV[3] and index == ARGV[4] then redis.call('HDEL', DOUBTS, target) end
end
if ARGV[8] ~= 'P' then worker = ARGV[6] end
op_write(run, ARGV[4], status, ARGV[8],
  ARGV[5] .. ' ' .. worker .. ' ' .. ARGV[7] .. ' ' .. words .. '\n' .. ARGV[10])
return write_all(run, writes, ARGV[11], ARGV[9])
